# Where the process that trains a batch has measured it, no other one starts.
rule measure:
    input:
        lambda w: ancient(plan.measuring_inputs(plan.batch(w.batch))),
    output:
        "work/measured/{batch}.json",
    log:
        "logs/measure/{batch}.log",
    priority: lambda w: priorities.job_priority(plan.batch(w.batch).to_measure, measuring=True)
    params:
        plan=plan.arguments,
    message:
        "measure {wildcards.batch}"
    shell:
        "mv work/taken/{wildcards.batch}.json {output} 2> /dev/null"
        " || allmlp measure --batch {wildcards.batch} {params.plan} > {log} 2>&1"
        " || {{ tail -n 3 {log} >&2; false; }}"
