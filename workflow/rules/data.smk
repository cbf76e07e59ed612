# Here a corpus gets half of the cores, so that a training may go on beside it; a job on a cluster gets all that the
# profile names. They are asked for only where the rule runs: --report and --unlock have none.
rule tokenize:
    input:     lambda w: ancient(plan.before_tokens(w.corpus))
    output:    "results/tokens/{corpus}-{digest}/meta.json"
    log:       "logs/tokenize/{corpus}-{digest}.log"
    wildcard_constraints: digest="[0-9a-f]{8}"
    threads:   lambda w: -(-workflow.cores // 2) if workflow.local_exec else workflow.cores
    priority:  priorities.highest
    message:   "tokenize {wildcards.corpus}"
    shell:     "RAYON_NUM_THREADS={threads} allmlp tokenize {wildcards.corpus} {plan.arguments} > {log} 2>&1 || {{ tail -n 3 {log} >&2; false; }}"
