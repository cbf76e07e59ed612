from allmlp.own import last_word, reported

asked = plan.unstored or workflow.main_snakefile  # Snakemake would run a rule without input and output each time

if (speaks := reported(plan)).unreported() or plan.unstored:  # results/claims.json speaks of another plan, or soon will
    rule all:
        input:     asked
        message:   "judge, draw, tabulate, render"
        shell:     "allmlp report {speaks.arguments}"
else:  # a rule with a shell and no output would always run: without one, there is nothing to be done
    rule all:
        input:     asked

rule measurements:
    input:     asked

onsuccess:
    print(last_word(plan), end="")
