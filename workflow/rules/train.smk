# A batch: short runs share a process, which measures them too unless another job does.
# A shell that a signal ends has Slurm kill the training in the middle of saving its state: with the trap it waits, as
# long as the plugin forwards no signals (snakemake-executor-plugin-slurm#242).
rule train:
    input:
        lambda w: ancient(plan.training_inputs(plan.batch(w.batch))),
    output:
        "work/trained/{batch}.json",
    log:
        "logs/train/{batch}.log",
    priority: lambda w: priorities.job_priority(plan.batch(w.batch).to_train)
    threads: lambda w: plan.batch(w.batch).cores
    resources:
        gpu=lambda w: plan.batch(w.batch).gpus,
        mem_mb=lambda w: plan.batch(w.batch).memory_mb,
        disk_mb=lambda w: costs.disk_mb(plan.batch(w.batch).to_train) if plan.releases else 0,
    params:
        measure=lambda w: "--measure" if plan.is_measured_in_training(plan.batch(w.batch)) else "",
        plan=plan.arguments,
    message:
        "train {wildcards.batch}"
    shell:
        "trap : TERM USR1; allmlp train --batch {wildcards.batch} {params.measure} {params.plan} >> {log} 2>&1"
        " || {{ tail -n 3 {log} >&2; false; }}"
