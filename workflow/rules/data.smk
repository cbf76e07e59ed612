# A corpus gets half of the cores, so that a training may go on beside it; on a cluster what the profile names.
rule tokenize:
    input:
        lambda w: ancient(plan.token_inputs(w.corpus)),
    output:
        "results/tokens/{corpus}-{digest}/meta.json",
    log:
        "logs/tokenize/{corpus}-{digest}.log",
    wildcard_constraints:
        digest="[0-9a-f]{8}",
    priority: priorities.highest
    threads: lambda w: -(-workflow.cores // 2)
    params:
        plan=plan.arguments,
    message:
        "tokenize {wildcards.corpus}"
    shell:
        "RAYON_NUM_THREADS={threads} allmlp tokenize {wildcards.corpus} {params.plan} > {log} 2>&1"
        " || {{ tail -n 3 {log} >&2; false; }}"
