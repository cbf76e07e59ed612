"""The crossover: what is said of its skills, by rules, tables, the matrix and the findings of the page."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from allmlp.judging.rules import NotPlannedError
from allmlp.report import render
from allmlp.spec import catalogue
from allmlp.studies.crossover import families, tables, verdicts
from allmlp.studies.crossover.figures import _cells, matrix
from tests import judging
from tests.conftest import PROJECT
from tests.exhibits import make_exhibit
from tests.unit.known_crossover import PLACE, SKILLS, able, climbed, scores, spent


def judged(test: str, margin: float, rows: pd.DataFrame) -> Any:
    evidence = SimpleNamespace(margin={"skill_1": margin}, table=lambda measure: rows)
    return getattr(verdicts, test)(evidence)


def changed(family: str, task: str, skill: float) -> pd.DataFrame:
    return scores({**SKILLS, family: {**SKILLS[family], task: skill}})


def test_some_family_learns_stories_as_attention_does() -> None:
    found = judged("stories_alike", 0.01, scores())
    assert found.verdict == "reproduced"
    assert "masked mixing" in found.text
    assert judged("stories_alike", 0.01, changed("masked mixing", "stories", 0.44)).verdict == "contradicted"
    assert judged("stories_alike", 0.01, scores(seeds=3)).verdict == "undecided"


def test_the_distance_to_attention_has_the_sign_and_the_level_of_the_rule() -> None:
    found = judged("stories_alike", 0.01, changed("causal relation", "stories", 0.55))
    assert found.verdict == "reproduced"
    assert found.low < found.value < found.high < 0, "less than not behind: ahead"
    assert found.text.startswith("least behind of 2 families: causal relation, behind attention by mean -0.05")
    assert "97.5 % t interval" in found.text
    (claim,) = [row for row in catalogue.ledger("crossover") if row["id"] == "all-own-1"]
    assert "Bonferroni level" in claim["statistic"]
    assert "1 - 0.05 / k" in claim["statistic"]
    assert all("at that level" in claim[rule] for rule in ("reproduced_if", "contradicted_if"))


def test_the_level_is_that_of_all_families() -> None:
    """What one comparison at 95 % would decide is left open where three were made."""
    skills = {family: {"stories": 0.3} for family in ("masked mixing", "causal relation", "triangular")}
    rows = scores({"attention": {"stories": 0.5}, **skills})
    at = rows["family"] == "triangular"
    attention = rows.loc[rows["family"] == "attention", "skill_1"].to_numpy()
    rows.loc[at, "skill_1"] = attention - np.array([-0.004, 0.004, 0.0, 0.0035, -0.0035]) - 0.0045
    alone = judged("stories_alike", 0.01, rows[rows["family"].isin(["attention", "triangular"])])
    assert (alone.verdict, judged("stories_alike", 0.01, rows).verdict) == ("reproduced", "undecided")


def test_recall_sets_attention_apart() -> None:
    assert judged("recall_apart", 0.1, scores()).verdict == "reproduced"
    assert judged("recall_apart", 0.1, changed("masked mixing", "multi-recall", 0.79)).verdict == "below margin"
    assert judged("recall_apart", 0.1, changed("masked mixing", "multi-recall", 0.99)).verdict == "contradicted"


def test_nearness_to_an_attention_that_learnt_nothing_decides_nothing() -> None:
    rows = {family: {**of_task, "multi-recall": 0.02, "stories": 0.02} for family, of_task in SKILLS.items()}
    for test, task in (("stories_alike", "stories"), ("recall_apart", "multi-recall")):
        found = judged(test, 0.1, scores(rows))
        assert found.verdict == "undecided"
        assert f"attention is not shown to have learnt {task}" in found.text
    skills = {"attention": {"copying": 0.9, "recall": 0.0}, "masked mixing": {"copying": 0.9, "recall": 0.6}}
    found = judged("none_near_everywhere", 0.1, scores(skills))
    assert found.verdict == "undecided", "one task is no two"
    assert "near on all 2 tasks, 1 of which attention learnt" in found.text


def test_no_family_is_near_everywhere() -> None:
    found = judged("none_near_everywhere", 0.1, scores())
    assert found.verdict == "reproduced"
    assert "masked mixing: most behind on multi-recall" in found.text
    assert "causal relation: most behind on multi-recall" in found.text
    assert "constant attention" not in found.text, "one task is no comparison"
    skills = {"attention": {"copying": 0.9, "recall": 0.02}, "masked mixing": {"copying": 0.9, "recall": -0.6}}
    found = judged("none_near_everywhere", 0.1, scores({**skills, "triangular": {"copying": 0.1, "recall": 0.6}}))
    assert found.verdict == "undecided", "behind an attention that learnt nothing is not behind"
    assert "masked mixing: most behind on copying" in found.text


def test_one_family_that_is_near_everywhere_refutes_that_none_is() -> None:
    near = changed("causal relation", "multi-recall", 0.79)
    found = judged("none_near_everywhere", 0.1, near)
    assert found.verdict == "contradicted", "masked mixing is behind, and that does not save the claim"
    assert "causal relation: near on all 3 tasks, 3 of which attention learnt" in found.text
    assert found.value == pytest.approx(0.08, abs=0.01), "the number is that of the family that refutes"
    between = changed("causal relation", "multi-recall", 0.7)
    assert judged("none_near_everywhere", 0.1, between).verdict == "undecided"


def test_claims_without_their_runs_are_not_planned() -> None:
    only = {family: {"copying": of_task.get("copying", 0.0)} for family, of_task in SKILLS.items()}
    for test in ("stories_alike", "recall_apart"):
        with pytest.raises(NotPlannedError):
            judged(test, 0.1, scores(only))


def test_of_a_family_the_best_variant_counts_on_each_task() -> None:
    rows = scores({"attention": {"copying": 0.5}})
    other = scores({"attention": {"copying": 0.7}}).assign(column="llama", run="other")
    assert set(families.best_variants(pd.concat([rows, other]))["column"]) == {"llama"}


def tabled(rows: pd.DataFrame) -> pd.DataFrame:
    return tables.distances(score=rows, resources=spent(rows))


def test_distances_are_differences_of_skill_least_behind_first() -> None:
    table = tabled(scores())
    assert list(table["family"]) == ["causal relation", "masked mixing"], "constant attention shares no task"
    first = table.iloc[0]
    assert first["behind"] == pytest.approx(np.mean([0.9 - 0.92, 0.5 - 0.42, 0.8 - 0.3]), abs=0.01)
    assert first["low"] < first["behind"] < first["high"]
    assert (first["best_on"], first["worst_on"], first["tasks"]) == ("copying", "multi-recall", 3)
    assert (first["best"], first["worst"]) == pytest.approx((-0.02, 0.5), abs=0.01)
    assert first["common"] == "copying, stories, multi-recall"
    assert (first["parameters"], first["training_speed"], first["costs_on"]) == (2.0, 2.0, "stories")


def test_families_are_ranked_on_the_tasks_that_all_of_them_did() -> None:
    """On all that it did, causal relation is nearer than masked mixing; on the one common task it is farther."""
    skills = {
        "attention": {"copying": 0.8, "stories": 0.5, "digits": 0.4, "addition": 0.9},
        "causal relation": {"copying": 0.5, "digits": 0.8, "addition": 0.9},
        "masked mixing": {"copying": 0.6, "stories": 0.4},
        "constant attention": {"addition": 0.9},
    }
    table = tabled(scores(skills)).set_index("family")
    assert list(table.index) == ["masked mixing", "causal relation", "constant attention"]
    assert table["common"].tolist() == ["copying", "copying", ""]
    assert table["behind"].tolist()[:2] == pytest.approx([0.2, 0.3], abs=0.01)
    assert table.loc["causal relation", ["best_on", "tasks", "costs_on"]].tolist() == ["digits", 3, "copying"]
    last = table.loc["constant attention"]
    assert np.isnan(last[["behind", "low", "high"]].astype(float)).all()
    assert (last["best_on"], last["costs_on"]) == ("addition", "addition")
    page = findings(tabled(scores(skills)))
    assert "the mean over 1 task\nthat all ranked families can do (copying)" in page
    alone = "<strong>constant attention</strong> is not ranked, it lacks the tasks of the others: 0.00 behind on"
    assert alone in page
    assert "nan" not in page


def test_families_of_one_task_each_are_ranked_where_none_has_two_and_it_is_the_same() -> None:
    same = {"attention": {"copying": 0.8}, "causal relation": {"copying": 0.5}, "masked mixing": {"copying": 0.6}}
    assert tabled(scores(same))["common"].tolist() == ["copying"] * 2
    other = {**same, "attention": {"copying": 0.8, "stories": 0.5}, "masked mixing": {"stories": 0.6}}
    assert tabled(scores(other))["common"].tolist() == [""] * 2
    many = {"attention": {"multi-recall": 0.8}, "masked mixing": {"multi-recall": 0.6}}
    assert tabled(scores(many))["costs_on"].tolist() == ["multi-recall"], "every training has its costs"
    page = findings(tabled(scores(other)))
    assert "no task in common" in page
    assert "nan" not in page


def test_the_table_of_retrieval_says_what_was_read() -> None:
    rows = scores({"attention": {"stories": 0.5, "retrieval": 0.4}, "masked mixing": {"retrieval": 0.2}})
    rows = rows.assign(value=0.4, guess=1 / 32, cut_stories=0.9, cut_summaries=0.1)
    table = tables.retrieval(score=rows)
    assert table["family"].tolist() == ["attention", "masked mixing"]
    assert table[["cut_stories", "cut_summaries", "seeds"]].to_numpy().tolist() == [[0.9, 0.1, 5]] * 2


def test_the_matrix_says_who_cannot_and_why() -> None:
    figure = make_exhibit(matrix, {"score": scores(), "abilities": able()})
    texts = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert sum(text.startswith("cannot: It gives one answer per sequence, not one per token.") for text in texts) == 3
    assert sum(text == "not planned" for text in texts) == 4  # who could do addition and was not asked to
    assert [text for text in texts if text.startswith("1.00")]
    labels = [label.get_text().replace("\n", " ") for label in figure.axes[0].get_xticklabels()]
    assert labels == list(SKILLS)


def test_the_matrix_is_as_dark_as_the_mean_skill_itself() -> None:
    """Not as its share of the best of its task, or of the least."""
    skills = {"attention": {"recall": 0.5, "copying": 0.875}, "masked mixing": {"recall": 0.25, "copying": 0.625}}
    (image,) = make_exhibit(matrix, {"score": scores(skills), "abilities": able()}).axes[0].images
    tasks = [task for task in able()["task"].unique() if task in ("recall", "copying")]
    drawn = [[skills[family][task] for family in skills] for task in tasks]
    assert np.allclose(image.get_array(), drawn, atol=0.002)
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)


def test_worse_than_blind_is_printed_as_it_is_and_not_bold() -> None:
    rows = scores({"attention": {"recall": -0.4}, "masked mixing": {"recall": 0.3}})
    figure = make_exhibit(matrix, {"score": rows, "abilities": able()})
    weights = {text.get_text().split(" ±")[0]: text.get_weight() for text in figure.axes[0].texts}
    assert (weights["-0.40"], weights["0.30"]) == ("normal", "bold")
    assert {"learned in\n0 of 5 seeds", "learned in\n5 of 5 seeds"} <= set(weights)


def test_a_skill_that_is_not_surely_above_zero_is_not_the_best() -> None:
    rows = scores({"attention": {"recall": 0.2}, "masked mixing": {"recall": 0.3}}, seeds=5)
    assert _cells(rows).set_index("column")["best"].to_dict() == {"attention": False, "masked mixing": True}
    unsure = rows["family"] == "masked mixing"
    wide = rows.assign(skill_1=rows["skill_1"].where(~unsure, [0.3, 1.0, -0.4, 0.9, -0.3] * 2))
    cells = _cells(wide)
    assert not cells["best"].any()
    assert cells["half"].notna().all()
    assert cells.set_index("column")["learned"].to_dict() == {"attention": 5, "masked mixing": 3}


def test_a_task_that_no_family_learnt_has_no_best() -> None:
    rows = scores({"attention": {"copying": 0.01}, "masked mixing": {"copying": 0.02}})
    cells = _cells(rows)
    assert not cells["best"].any()
    assert cells["learned"].eq(0).all()
    assert tabled(rows).empty


def test_tables_have_a_row_for_each() -> None:
    table = tables.abilities(abilities=able())
    assert list(table["architecture"]) == ["transformer", "causal-rn", "constant-attention"]
    assert table.set_index("architecture").loc["constant-attention", "recall"] == (
        "cannot: It reads sequences of 2 tokens only."
    )
    rows = spent(scores())
    cost = rows[["run"]].assign(steps_done=7, counted_flops=70)
    assert len(tables.costs(resources=rows, cost=cost)) == len(rows)


def test_findings_say_where_attention_learnt_nothing() -> None:
    page = " ".join(findings(tabled(scores()), {"learnt": ["copying"], "missed": ["recall"], "nearest": {}}).split())
    learnt = (
        "Attention itself learnt, its interval above zero, 1 of these 2 tasks</strong>, not recall, where to be ahead"
    )
    assert learnt in page
    assert "Attention itself" not in findings(tabled(scores()))


def findings(table: pd.DataFrame | None, lead: dict[str, object] | None = None, **others: pd.DataFrame) -> str:
    environment = Environment(
        loader=FileSystemLoader(PROJECT / "paper"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    others_of_report = render.templates().filters.keys() - environment.filters.keys()
    environment.filters |= dict.fromkeys(others_of_report, str)  # of its other parts, which are loaded with `count`
    made = {**({} if table is None else {"distances": table}), **others}
    listed = [
        {
            "name": name,
            "rows": rows.map(lambda cell: f"{cell:.6g}" if isinstance(cell, float) else str(cell)),
            "scale": "workstation",
        }
        for name, rows in made.items()
    ]
    study = {"name": "crossover", "tables": listed, "lead": lead or {}}
    return environment.get_template("findings-crossover.html.j2").render(study=study)


def test_the_findings_answer_the_question_first() -> None:
    page = findings(tabled(scores()))
    assert page.index("<strong>causal relation</strong>") < page.index("<strong>masked mixing</strong>")
    lead = " ".join(page[page.index("<p") : page.index("</p>")].split())
    assert "Of the 2 all-MLP families here, <strong>causal relation</strong> comes nearest to attention" in lead
    assert "it is 0.19 of skill behind (from 0.1" in lead
    assert " behind), the mean over 3 tasks" in lead
    assert "that all ranked families can do (copying, stories, multi-recall)" in lead
    assert "best on copying (0.02 ahead), worst on multi-recall (0.50 behind)" in lead
    assert "2.00 times attention's weights" in lead
    assert "nan" not in page
    assert "too few" not in page
    assert findings(None).strip() == ""


def test_a_family_that_is_ahead_of_attention_is_not_near_it() -> None:
    rows = scores({"attention": {"copying": 0.5, "stories": 0.5}, "masked mixing": {"copying": 0.9, "stories": 0.5}})
    assert "comes out ahead of attention" in " ".join(findings(tabled(rows)).split())
    unsure = findings(tabled(rows[rows["seed"] < 2]))
    assert "comes nearest to attention" in " ".join(unsure.split()), "two seeds show nobody ahead"


@pytest.mark.parametrize("seeds", [1, 2])
def test_few_seeds_have_no_interval_in_table_matrix_and_findings(seeds: int) -> None:
    rows = scores(seeds=seeds)
    table = tabled(rows)
    assert table[["low", "high"]].isna().to_numpy().all()
    assert _cells(rows)["half"].isna().all()
    page = findings(table)
    assert "nan" not in page
    assert f"Means over {seeds} seed{'s' if seeds > 1 else ''} at scale workstation,\nwhich gives no interval" in page
    enough = scores(seeds=3)
    assert tabled(enough)[["low", "high"]].notna().to_numpy().all()
    assert _cells(enough)["half"].notna().all()


def test_the_findings_say_what_retrieval_read() -> None:
    read = pd.DataFrame([{"family": "attention", "cut_stories": "0.9", "cut_summaries": "0"}])
    page = findings(tabled(scores()), retrieval=read)
    assert "longer than the context, 90 % of the stories and 0 % of the summaries" in page


def test_the_findings_say_how_short_the_trainings_were() -> None:
    rows = spent(scores())
    cost = rows[["run"]].assign(steps_done=range(900, 900 + len(rows)), counted_flops=70)
    page = " ".join(findings(tabled(scores()), costs=tables.costs(resources=rows, cost=cost)).split())
    highest = (rows["family"] == "attention").sum()
    assert f"The budgets pay for 900 to {899 + len(rows)} steps of training" in page
    assert f"the largest of those tried in {highest} of {len(rows)} cases" in page


def test_it_is_said_that_the_sizes_of_recall_favour_attention() -> None:
    (claim,) = [row for row in catalogue.ledger("crossover") if row["id"] == "all-own-2"]
    for text in (claim["reason"], matrix.caption):
        assert "chosen by trials of attention alone" in text


def test_its_claims_are_this_projects_own() -> None:
    claims = [row["id"] for row in catalogue.ledger("crossover")]
    assert all(catalogue.is_project_claim(claim) for claim in claims)
    assert catalogue.ledger("crossover", "errata") == []


def on_ladder(claim: str, rows: pd.DataFrame) -> Any:
    return judging.judged(claim, scale="long", score=rows.drop(columns="counted_flops"), cost=rows)


def test_the_lead_changes_hands_where_the_models_of_a_ladder_meet() -> None:
    found = on_ladder("all-own-4", climbed())
    assert (found.verdict, found.unit) == ("reproduced", "billion operations")
    assert found.value == pytest.approx(0.99 * PLACE / 1e9, rel=0.05)
    assert found.low < found.value < found.high
    assert on_ladder("all-own-4", climbed(llama=0.1)).verdict == "contradicted", "both fall alike: nobody leads"
    assert on_ladder("all-own-4", climbed(masked=0.3, llama=0.1)).verdict == "contradicted", "the other way"
    assert on_ladder("all-own-4", climbed(seeds=3)).verdict == "undecided"


def test_each_model_counts_with_the_width_that_is_best_at_a_budget() -> None:
    rows = climbed()
    better = rows["model"].eq("llama") & rows["d_model"].eq(128) & rows["budget"].gt(5e11)
    rows.loc[better, ["value", "skill_1"]] += [-2.0, 1 / 3]
    finer = on_ladder("all-own-4", rows)
    assert finer.value == pytest.approx(0.99 * PLACE / 1e9, rel=0.05)
    assert "at 3,168 billion operations: mean 2.4" in finer.text


def test_the_same_at_every_width_and_of_a_hybrid() -> None:
    assert judging.parts(on_ladder("all-own-5", climbed())) == ["reproduced"] * 4
    assert judging.parts(on_ladder("all-own-5", climbed(hybrid=0.0)))[3] == "contradicted"
    with pytest.raises(NotPlannedError, match="needs masked-mixer of width 128"):
        on_ladder("all-own-5", climbed().query("d_model < 128"))
