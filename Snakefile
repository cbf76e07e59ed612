# The workflow lies where Snakemake's catalog, `snakemake --snakefile` and `module` look for it.
from allmlp.pipeline.snakefile import make_default


include: "workflow/Snakefile"


make_default(workflow, "all")
