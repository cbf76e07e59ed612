"""The store of measurements: whatever parts hold them, and in whatever order they came, it reads the same."""

import os
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.measurements import measurement, store
from allmlp.measurements.measurement import Measurement
from allmlp.pipeline import prune
from allmlp.plan import results_folder
from allmlp.spec import catalogue
from allmlp.spec.measures import Measure
from allmlp.training import measuring
from tests import tiny
from tests.conftest import git

STUDY, MEASURE = "copying", "falls"
FOLDER = store.STORE / STUDY / MEASURE
Taken = tuple[Measurement, pa.Table]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paths, "project", lambda: tmp_path)


def of(run: str, *values: float, recipe: int = 1, **columns: object) -> Taken:
    """A measurement: a row for each value."""
    rows = pa.table({"run": [run] * len(values), "seed": [0] * len(values), "value": list(values), **columns})
    return Measurement(run, f"settings of {run}", (1, 1, 1, recipe)), rows


def read() -> dict[store.Key, pd.DataFrame]:
    stored = store.read_measure(STUDY, MEASURE)
    return {key: stored.rows(key).to_pandas() for key in stored.places}


def same(one: dict[store.Key, pd.DataFrame], other: dict[store.Key, pd.DataFrame]) -> bool:
    return list(one) == list(other) and all(one[key].equals(other[key]) for key in one)


RUNS = [of(run, *values) for run, values in (("a", [1.0, float("nan")]), ("b", [2.5]), ("c", [3.0, 0.1, -0.0]))]
RUNS += [of("a", 7.0, recipe=2), of("d", 1.0, 2.0, text=["x", None]), of("e", 4, 5)]
PARTS = st.lists(st.lists(st.integers(0, len(RUNS) - 1), min_size=1, unique=True), min_size=1)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PARTS)
def test_any_parts_in_any_order_read_the_same(tmp_path: Path, parts: list[list[int]]) -> None:
    """With duplicates; and so after they are merged."""
    known = {number for part in parts for number in part}
    with pytest.MonkeyPatch.context() as patch:
        found, digests = [], []
        for name, batches in (
            ("one", parts),
            ("other", [list(reversed(part)) for part in reversed(parts)]),
            ("whole", [sorted(known)]),
        ):
            (tmp_path / name).mkdir(exist_ok=True)
            patch.chdir(tmp_path / name)
            for file in FOLDER.glob("*"):
                file.unlink()
            for batch in batches:
                store.write(STUDY, MEASURE, [RUNS[number] for number in batch])
            for _ in range(2):
                found.append(read())
                digests.append(store.read_measure(STUDY, MEASURE).digest(found[-1]))
                prune.compact()
    assert all(same(found[0], other) for other in found)
    assert len(set(digests)) == 1
    assert set(found[0]) == {RUNS[number][0].key for number in known}
    for number in known:
        assert found[0][RUNS[number][0].key].equals(RUNS[number][1].to_pandas())


def test_the_same_rows_are_the_same_file() -> None:
    first = store.write(STUDY, MEASURE, RUNS)
    assert store.write(STUDY, MEASURE, reversed(RUNS)) == first
    assert len(list(FOLDER.iterdir())) == len(first) == 3, "one for each set of columns and types"


def test_of_two_measurements_of_one_run_the_same_counts_whatever_came_first() -> None:
    found = []
    for order in ([1.0, 2.0], [2.0, 1.0]):
        for file in FOLDER.glob("*"):
            file.unlink()
        for value in order:
            store.write(STUDY, MEASURE, [of("a", value)])
        found.append(read())
    assert same(*found)


def test_a_table_is_the_runs_one_after_the_other_with_the_types_of_their_files() -> None:
    store.write(STUDY, MEASURE, RUNS[:3])
    table = store.read_measure(STUDY, MEASURE).table([("c", 1), ("a", 1)]).to_pandas()
    expected = pd.concat([RUNS[2][1].to_pandas(), RUNS[0][1].to_pandas()], ignore_index=True)
    pd.testing.assert_frame_equal(table, expected)


def test_two_clones_that_add_parts_merge_and_hold_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def clone(name: str, *taken: Taken) -> Path:
        folder = tmp_path / name
        git(tmp_path, "clone", "--quiet", str(tmp_path / "main"), str(folder))
        monkeypatch.chdir(folder)
        store.write(STUDY, MEASURE, taken)
        commit(folder)
        return folder

    (tmp_path / "main").mkdir()
    git(tmp_path / "main", "init", "--quiet", "--initial-branch=main")
    (tmp_path / "main/README.md").write_text("a project")
    commit(tmp_path / "main")
    first, second = clone("first", RUNS[0], RUNS[1]), clone("second", RUNS[1], RUNS[2])
    git(first, "pull", "--quiet", "--no-rebase", "--no-edit", str(second), "main")
    monkeypatch.chdir(first)
    assert list(read()) == [("a", 1), ("b", 1), ("c", 1)]
    assert git(first, "status", "--porcelain") == ""


def commit(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=more")
    return git(folder, "rev-parse", "HEAD").strip()


def test_merged_parts_keep_the_commit_that_first_added_a_measurement(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commits = []
    for taken in (RUNS[0], RUNS[1]):
        store.write(STUDY, MEASURE, [taken])
        commits.append(commit(tmp_path))
    store.write(STUDY, MEASURE, [RUNS[2]])
    assert prune.compact() == (3, 1)
    since = {one.run: one.since for one, _ in store.read_measure(STUDY, MEASURE).places.values()}
    assert since == {"a": commits[0], "b": commits[1], "c": ""}, "what is not committed has none"
    merged = list(FOLDER.iterdir())
    assert prune.compact() == (1, 1)
    assert list(FOLDER.iterdir()) == merged
    last = commit(tmp_path)
    prune.compact()
    assert store.read_measure(STUDY, MEASURE).places["c", 1][0].since == last
    git(tmp_path, "init", "--quiet", str(tmp_path / "elsewhere"))
    (tmp_path / ".git").rename(tmp_path / "gone")
    prune.compact()
    assert store.read_measure(STUDY, MEASURE).places["a", 1][0].since == commits[0], "without git it stays as it is"


def test_a_part_is_seen_at_once_also_after_its_folder_was_listed_and_came_to_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.write(STUDY, MEASURE, RUNS[:1])
    at_rest = FOLDER.stat().st_mtime - 60
    os.utime(FOLDER, (at_rest, at_rest))
    assert len(read()) == 1
    with monkeypatch.context() as patch:
        patch.setattr(store.os, "listdir", None)
        assert len(read()) == 1, "not listed again"
    store.write(STUDY, MEASURE, RUNS[1:2])
    assert len(read()) == 2
    changed = FOLDER.stat().st_mtime_ns
    store.write(STUDY, MEASURE, RUNS[2:3])
    os.utime(FOLDER, ns=(changed, changed))  # as within one tick of a file system's clock
    assert len(read()) == 3


def test_a_measurement_made_again_takes_the_place_of_the_one_that_is_there() -> None:
    store.write(STUDY, MEASURE, RUNS[:3])
    store.replace(STUDY, MEASURE, [of("b", 9.0), of("f", 1.0)], {"settings of b": "c" * 40})
    assert read()["b", 1]["value"].tolist() == [9.0]
    assert list(read()) == [("a", 1), ("b", 1), ("c", 1), ("f", 1)]
    assert store.read_measure(STUDY, MEASURE).places["b", 1][0].since == "c" * 40, (
        "it is as old as its first measurement"
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda file: file.rename(file.with_name("rn-seed0-aaaaaaaa-r1.parquet")), r"its name is no digest.*work/meas"),
        (lambda file: file.write_bytes(file.read_bytes()[:-9]), r"not those that its name.*`git checkout .*again"),
        (lambda file: file.rename(file.with_name(f"{'0' * 16}.parquet")), r"not those that its name.*`git checkout"),
        (lambda file: foreign(file), r"has no column settings, recipes, since, so it is no part.*`git checkout"),
    ],
)
def test_a_file_that_is_not_a_part_is_named_with_the_way_out(spoil, message: str) -> None:  # type: ignore[no-untyped-def]
    (file,) = store.write(STUDY, MEASURE, [RUNS[0]])
    spoil(file)
    (file,) = FOLDER.iterdir()
    with pytest.raises(UserError, match=f"{re.escape(str(file))}.*{message}"):
        read()


def foreign(file: Path) -> None:
    content = measurement.file_bytes(*RUNS[1])
    file.unlink()
    file.with_name(f"{store.sha256(content).hexdigest()[:16]}.parquet").write_bytes(content)


def test_what_work_holds_of_a_plan_is_taken_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = (tiny.run("transformer", seed=seed, measures=("cost",)) for seed in (0, 1))
    columns = catalogue.measure("copying", "cost").columns
    made = Measure(lambda trained: [(1.0,) * len(columns)], 1, columns)
    monkeypatch.setattr(catalogue, "measure", lambda study, measure: made)
    for one in (run, other):
        file = measuring.take(one, "cost", trained=None)
        assert file == Path(one.measurements["cost"])
        assert store.missing_files(one) == {}
        assert store.unstored_files(one) == {"cost": str(file)}
    (part,) = store.add_measurements([run, run])
    assert part.parent == store.STORE / "copying/cost"
    assert store.add_measurements([run]) == []
    assert store.unstored_files(run) == {}
    assert store.unstored_files(other) == other.measurements, "another plan's stays in work/"
    file = Path(other.measurements["cost"])
    file.write_bytes(b"half")
    with pytest.raises(UserError, match=f"{file}: cannot be read as a measurement.*Delete it, and measure the run"):
        store.add_measurements([other])


def test_a_folder_of_one_s_own_follows_merged_parts(tmp_path: Path) -> None:
    plan = type("Plan", (), {"root": tmp_path, "overlays": ()})()
    for taken in RUNS[:2]:
        store.write(STUDY, MEASURE, [taken])
    results_folder.prepare(plan, tmp_path / "own/my")  # type: ignore[arg-type]
    prune.compact()
    results_folder.prepare(plan, tmp_path / "own/my")  # type: ignore[arg-type]
    links = list((tmp_path / "own/my" / FOLDER).iterdir())
    assert [link.name for link in links] == [file.name for file in FOLDER.iterdir()]
    assert all(link.exists() for link in links)
