# What Snakemake does between jobs; included after all rules.
from allmlp import uncommitted
from allmlp.workflow import limit_gpus

# A measure that fails must not cost the weights that its job has made: files are whole or not there.
# Snakemake's limit of jobs per second (--max-jobs-per-timespan, 100) looks at the queue once more after every pass, and
# every job that ends adds a look per second that never stops: after some thirty jobs the scheduler took a quarter of a core
# from the trainings. Jobs on this machine need no such limit; what a cluster is asked keeps its own.
onstart:
    uncommitted.caution(plan.root)
    workflow.execution_settings.keep_incomplete = True
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
        limit_gpus(workflow.scheduler, plan)

onerror:
    workflow.execution_settings.keep_incomplete = False  # or Snakemake says that the user has asked for it

# Snakemake copies all globals for each text that it fills in for a job, and every rule leaves a function there that nothing
# asks for by name: at the paper scale they take a third of the time of `snakemake -n`.
for name in [name for name in workflow.globals if name.startswith(("__train_", "__measure_"))]:
    del workflow.globals[name]
