# The work: corpora -> tokens -> checkpoints -> measurements. The last mile, from measurements to the report, is dvc.yaml's.
from allmlp import costs, launching
from allmlp.priorities import Priorities
from allmlp.workflow import follow, plan_of

plan = plan_of(workflow)  # params.yaml, --configfile overlays, --config scale=... device=...; errors name file, line and key
follow(workflow, plan)      # for the line of `--logger allmlp`
priorities = Priorities(launching.order(plan))

include: "workflow/rules/report.smk"    # rule all: measurements -> claims, figures, tables, report (dvc repro)
include: "workflow/rules/data.smk"      # corpora -> tokens
include: "workflow/rules/train.smk"     # tokens -> checkpoints
include: "workflow/rules/measure.smk"   # checkpoints -> measurements
include: "workflow/rules/schedule.smk"  # what Snakemake does between jobs

workflow.default_target = "all"         # Snakemake would take only a rule of this very file

localrules: all                         # the last mile runs where the user typed
