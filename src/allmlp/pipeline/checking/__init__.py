"""`allmlp check`: do the files that are written from the sources agree with them? `--fix` writes them again.

| file | what it holds | who decides |
| --- | --- | --- |
| recipes.lock | the sources behind each RECIPE | the author: raise RECIPE, or name the module as behaving the same |
| rules.lock | the digest of each claim's rule | the author: the rule judges as before, or it is a new one |
| model_facts.json | facts on architectures and tasks for the plan, without torch | - |
| golden.json | the first losses of each architecture | - |
| corpora.lock | the identity of each corpus | - |
| dvc.yaml | the studies that are drawn | - |
| config.schema.json | the keys of params.yaml and config/, for editors | - |
| README.md | the numbers of the results, between marks | - |
| words_to_avoid.json | how often the words of docs/development.md still occur | - |

The ledgers of claims and errata and about.yaml must have their form first, figures and tables must name measures that
there are, and the test of a new or changed rule must not fail on what is measured. Only the author can write them.
"""

from collections.abc import Sequence
from pathlib import Path

from allmlp.common import paths, recipes
from allmlp.data.corpora import identity
from allmlp.judging import rule_digests
from allmlp.pipeline import json_schema
from allmlp.pipeline.checking import files
from allmlp.pipeline.checking.files import (
    corpora,
    drawn_studies,
    golden_losses,
    known_answers,
    parameters,
    readme,
    words,
)
from allmlp.pipeline.checking.findings import Decisions, Discrepancy
from allmlp.pipeline.checking.locks import recipe_lock, rule_lock
from allmlp.plan import model_facts
from allmlp.report import first_screen, headlines
from allmlp.report import readme as readme_pieces
from allmlp.spec import catalogue, exhibits

PARTS = (recipe_lock, rule_lock, known_answers, golden_losses, corpora, drawn_studies, parameters, readme, words)


def written() -> list[Path]:
    """The files that a check may write."""
    names = (recipes.LOCK, rule_digests.LOCK, files.GOLDEN, identity.LOCK, files.DVC, json_schema.FILE, files.WORDS)
    return [model_facts.FILE, *(paths.project() / name for name in (*names, readme_pieces.README))]


def find_discrepancies(
    fix: bool, same_behaviour: Sequence[str] = (), new_rule: Sequence[str] = ()
) -> list[Discrepancy]:
    """Everything out of line, in the order of PARTS. `fix`: write it if no decision is needed, or if one is given.

    `same_behaviour`: modules (or "all") and claims with changed sources but the same results. `new_rule`: claims.
    """
    catalogue.check_ledgers()
    for study in catalogue.STUDIES:
        headlines.check(study)
        first_screen.paper_setup(study)
        exhibits.study_exhibits(study, "figures"), exhibits.study_exhibits(study, "tables")
    decisions = Decisions(frozenset(same_behaviour), frozenset(new_rule))
    decisions.refuse_unknown()
    return [found for part in PARTS for found in part(fix, decisions)]


def check(fix: bool, same_behaviour: Sequence[str] = (), new_rule: Sequence[str] = ()) -> int:
    """Print what is out of line and what was done. Returns 1 if something is left to do, else 0."""
    found = find_discrepancies(fix, same_behaviour, new_rule)
    for one in found:
        print(one.text())
    left = sum(one.open for one in found)
    if left and not fix:
        print("`allmlp check --fix` writes what needs no decision")
    elif not left:
        print("all in line: recipes, rules, known answers, golden losses, corpora, studies, schema, README, words")
    return 1 if left else 0
