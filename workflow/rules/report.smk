from allmlp.own import last_word, reported
from allmlp.workflow import pictures

unstored = plan.unstored
asked = unstored or workflow.main_snakefile  # Snakemake would run a rule without input and output each time

drawn = pictures(reported(plan))  # file -> what `snakemake --report` says of a figure; empty for all other calls

speaks = reported(plan)
if unstored or speaks.unreported():  # results/claims.json speaks of another plan, or soon will
    rule all:
        input:     asked
        message:   "judge, draw, tabulate, render"
        shell:     "allmlp report {speaks.arguments}"
else:  # a rule with a shell and no output would always run: without one, there is nothing to be done
    rule all:
        input:     asked, list(drawn)

if drawn:
    rule figure:  # that dvc repro has drawn
        output:    report("{path}.svg", caption="../report/figure.rst", category=lambda w: drawn[f"{w.path}.svg"]["paper"], labels=lambda w: {"figure": drawn[f"{w.path}.svg"]["title"]})
        params:    about=lambda w: drawn[f"{w.path}.svg"]

rule measurements:
    input:     asked

onsuccess:
    print(last_word(plan), end="")
