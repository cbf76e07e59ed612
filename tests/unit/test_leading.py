"""The lead of the crossover is said again without the tasks that attention did not learn."""

from typing import Any

import pandas as pd
import pytest

from allmlp.report.render import templates
from allmlp.studies.crossover import nearest
from tests.conftest import PROJECT

SKILLS = {  # task -> family -> skill, and whether it was surely learnt
    "copying": {"attention": (0.9, True), "flat": (0.8, True), "deep": (0.6, True)},
    "recall": {"attention": (0.0, False), "flat": (0.1, False), "deep": (0.9, True)},
    "digits": {"attention": (0.9, True), "flat": (0.1, False)},
}


def skills(seeds: int = 5) -> pd.DataFrame:
    """The table `skills` as text, with a little noise from seed to seed in attention."""
    return pd.DataFrame(
        {
            "task": task,
            "column": family,
            "family": family,
            "seed": str(seed),
            "skill_1": str(skill + 0.01 * (seed - (seeds - 1) / 2) * (family == "attention")),
            "learnt": str(learnt),
        }
        for task, families in SKILLS.items()
        for family, (skill, learnt) in families.items()
        for seed in range(seeds)
    )


def distances(common: str = "copying, recall") -> pd.DataFrame:
    return pd.DataFrame({"family": ["deep", "flat", "single"], "common": [common, common, ""]})


def test_another_family_may_lead_where_attention_learnt() -> None:
    found = nearest.lead_on_learnt_tasks(skills(), distances())
    assert (found["learnt"], found["missed"]) == (["copying"], ["recall"])
    assert {family: round(float(one["behind"]), 6) for family, one in found["nearest"].items()} == {
        "flat": 0.1,
        "deep": 0.3,
    }
    assert list(found["nearest"]) == ["flat", "deep"]
    assert float(found["nearest"]["flat"]["low"]) < 0.1 < float(found["nearest"]["flat"]["high"])
    template: Any = templates().get_template("findings-crossover.html.j2")
    said = template.make_module({"study": {"tables": []}}).on_learnt(found, {"family": "deep"})
    assert "learnt, its interval above zero, 1 of these 2 tasks</strong>, not recall, where" in said
    assert "On the 1 alone, flat is first, 0.10 of skill behind (from 0.08 behind to 0.12 behind)" in said
    assert "and deep is 0.30 of skill behind" in said


def test_few_seeds_give_no_interval_and_no_common_task_no_lead() -> None:
    assert nearest.lead_on_learnt_tasks(skills(seeds=2), distances())["nearest"]["flat"]["low"] == "nan"
    assert nearest.lead_on_learnt_tasks(skills(), distances("recall"))["nearest"] == {}
    assert nearest.lead_on_learnt_tasks(skills(), distances("").head(0))["learnt"] == []


@pytest.mark.parametrize("changed", [{"name": "other"}, {"scale": "laptop"}, {"rows": distances().head(0)}])
def test_without_both_tables_of_one_scale_nothing_is_said(changed: dict[str, Any]) -> None:
    tables = [
        {"name": name, "scale": "long", "rows": rows}
        for name, rows in (("skills", skills()), ("distances", distances()))
    ]
    assert nearest.find_lead(tables)["learnt"] == ["copying"]
    assert nearest.find_lead([tables[0], {**tables[1], **changed}]) == {}


def test_of_all_common_tasks_it_gives_what_the_table_of_distances_says() -> None:
    def read(name: str) -> pd.DataFrame:
        return pd.read_csv(PROJECT / f"results/tables/crossover/{name}.csv", dtype=str, keep_default_na=False)

    table = read("distances")
    everything = nearest.lead_on_learnt_tasks(read("skills").assign(learnt="True"), table)
    for row in table[table["common"] != ""].to_dict("records"):
        found = everything["nearest"][row["family"]]
        assert [float(found[key]) for key in ("behind", "low", "high")] == pytest.approx(
            [float(row[key]) for key in ("behind", "low", "high")], abs=2e-5
        )
