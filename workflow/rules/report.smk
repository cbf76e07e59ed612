from allmlp.own import last_word, reported

if (speaks := reported(plan)).unreported():  # results/claims.json speaks of another plan
    rule all:
        input:     plan.measurements
        message:   "judge, draw, tabulate, render"
        shell:     "allmlp report {speaks.arguments}"
else:  # a rule with a shell and no output would always run: without one, there is nothing to be done
    rule all:
        input:     plan.measurements

rule measurements:
    input:     plan.measurements

onsuccess:
    print(last_word(plan), end="")
