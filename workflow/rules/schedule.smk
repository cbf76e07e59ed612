# What Snakemake does between jobs. Its limit of jobs per second (--max-jobs-per-timespan, 100) looks at the queue once more
# after every pass, and every job that ends adds a look per second that never stops: after some thirty jobs the scheduler took
# a quarter of a core from the trainings. Jobs on this machine need no such limit; what a cluster is asked keeps its own.
from allmlp.workflow import limit_gpus

onstart:
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
        limit_gpus(workflow.scheduler, plan)
