"""`allmlp report --export`: the verdicts as a data set that others load without this project."""

import json
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.report import dataset
from tests.conftest import PROJECT

FRAMES = ("claims", "verdicts", "claim_runs", "runs", "power")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The committed results as a data set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        to = tmp_path_factory.mktemp("data") / "set"
        written = dataset.export(to)
        assert written == dataset.export(to), "the same folder takes the next one"
    return to


def frame(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(folder / f"{name}.parquet")


def test_every_column_has_its_type_and_meaning(folder: Path) -> None:
    package = json.loads((folder / "datapackage.json").read_text())
    files = {one["name"]: one for one in package["resources"]}
    assert set(files) == {*FRAMES, "rules"}
    for name in FRAMES:
        fields, rows = files[name]["schema"]["fields"], frame(folder, name)
        assert [one["name"] for one in fields] == list(rows)
        assert all(one["description"] and one["type"] in ("string", "number", "integer", "boolean") for one in fields)
        assert files[name]["hash"] == f"sha256:{paths.file_sha256(folder / files[name]['path'])}"
        assert len(pd.read_json(folder / f"{name}.json")) == len(rows)


def test_verdicts_are_those_of_the_report(folder: Path) -> None:
    judged = json.loads((PROJECT / "results/claims.json").read_text())
    verdicts, links = frame(folder, "verdicts"), frame(folder, "claim_runs")
    whole = verdicts[verdicts["part"].eq("")]
    decided = whole[whole["decides"]].set_index("claim")
    entries = {entry["id"]: entry for entry in judged["claims"]}
    assert decided["verdict"].to_dict() == {id_: entry["verdict"] for id_, entry in entries.items()}
    assert frame(folder, "claims")["claim"].tolist() == list(entries)
    for key in ("value", "low", "high"):
        known = {id_: entry[key] for id_, entry in entries.items() if entry.get(key) is not None}
        assert decided[key].dropna().to_dict() == pytest.approx(known)
    for claim in ("002-1", "003-4"):
        scale = decided.loc[claim, "scale"]
        runs = links[links["claim"].eq(claim) & links["scale"].eq(scale)]["run"]
        assert len(runs) == decided.loc[claim, "origin_runs"] > 0
        assert set(runs) <= set(frame(folder, "runs")["run"])
    parts = verdicts[verdicts["part"].ne("") & verdicts["decides"]].groupby("claim").size()
    assert parts.to_dict() == {id_: len(entry["parts"]) for id_, entry in entries.items() if entry.get("parts")}


def test_rules_have_the_form_that_their_schema_says(folder: Path) -> None:
    rules, schema = (json.loads((folder / name).read_text()) for name in ("rules.json", "rules.schema.json"))
    jsonschema.validate(rules, schema)
    assert [rule["id"] for rule in rules] == frame(folder, "claims")["claim"].tolist()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{**rules[0], "reproduced_if": None}], schema)


def test_a_folder_with_other_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UserError, match="is there, and no data set"):
        dataset.export(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
