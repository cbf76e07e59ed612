rule measurements:
    input:
        lambda w: last_mile.measure_targets(),


rule report:  # where the user typed it, and only where it is behind
    input:
        lambda w: last_mile.measure_targets(),
    output:
        touch(last_mile.note),
    log:
        "logs/report.log",
    localrule: True
    params:
        plan=lambda w: last_mile.report_plan.arguments,
    message:
        "judge, draw, tabulate, render"
    shell:
        "allmlp report {params.plan} > {log} 2>&1 || {{ tail -n 3 {log} >&2; false; }} && tail -n 1 {log}"


rule result:  # a file of the last mile by its name: DVC's, so Snakemake neither makes nor deletes it
    input:
        lambda w: last_mile.note if last_mile.is_outdated else ancient(last_mile.note),
    output:
        report(
            "results/{file}",
            caption="../report/figure.rst",
            category=lambda w: last_mile.figure_labels(w.file)["paper"],
            labels=lambda w: {"figure": last_mile.figure_labels(w.file)["title"]},
        ),
    wildcard_constraints:
        file=r"[a-z]+\.(json|html)|(figures|tables)/.+",
    params:
        about=lambda w: last_mile.figure_labels(w.file),
