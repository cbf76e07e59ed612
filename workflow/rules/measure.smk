for batch in plan.unmeasured:
    rule:
        name:      f"measure_{batch.name}"
        input:     ancient(batch.measured)
        output:    batch.measurements
        log:       f"logs/measure/{batch.name}.log"
        params:    runs=batch.ids
        priority:  priorities.of(batch.runs, measuring=True)
        message:   f"measure {batch.title}"
        shell:     "allmlp measure {params.runs} {plan.arguments} > {log} 2>&1 || {{ tail -n 3 {log} >&2; false; }}"
