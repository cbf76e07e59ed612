# One rule per batch of runs that are still to be trained: short ones share a process.
# A shell that a signal ends has Slurm kill the training in the middle of saving its state: with the trap it waits.
for batch in plan.untrained:
    rule:
        name:      f"train_{batch.name}"
        input:     ancient(batch.read)
        output:    batch.made
        log:       f"logs/train/{batch.name}.log"
        params:    runs=batch.ids, measure="--measure" if batch.together else ""
        threads:   batch.cores
        priority:  priorities.of(batch.runs)
        resources: gpu=batch.gpus, mem_mb=batch.memory_mb, disk_mb=costs.disk_mb(batch.runs) if plan.releases else 0
        retries:   0 if workflow.remote_exec else getattr(workflow.execution_settings, "retries", 0) or 1  # not once more inside a job
        message:   f"train {'and measure ' if batch.together else ''}{batch.title}"
        shell:     "trap : TERM USR1; allmlp train {params.runs} {params.measure} {plan.arguments} >> {log} 2>&1 || {{ tail -n 3 {log} >&2; false; }}"
