"""A measurement is taken, written, read, and compared with the committed one by the kind of each column."""

import functools
import json
import math
import struct
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.measurements import measurement, store
from allmlp.measurements.measurement import Measurement, file_bytes, parquet
from allmlp.measurements.search_losses import held_out_loss, runs_it_reads
from allmlp.spec import catalogue
from allmlp.spec.columns import exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.training import checkpoint
from allmlp.training.measuring import compare, take
from allmlp.training.published import TrainedRun
from tests import tiny

COLUMNS = {"step": exact(""), "loss": numeric("", rtol=1e-2), "seconds": timing("")}
BASE = pd.DataFrame({"step": [1, 2], "loss": [2.0, float("nan")], "seconds": [1.0, 2.0]})


def change(**columns: list) -> str:
    return compare(BASE.assign(**columns), BASE, COLUMNS).outcome


def test_outcomes() -> None:
    assert change() == "identical"
    assert change(seconds=[9.0, 9.0]) == "identical"
    assert change(loss=[2.01, float("nan")]) == "within tolerance"
    assert change(loss=[2.1, float("nan")]) == "different"
    assert change(loss=[2.0, 1.0]) == "different"
    assert change(step=[1, 3]) == "different"
    assert compare(BASE[:1], BASE, COLUMNS).outcome == "different"


def test_a_missing_number_is_different() -> None:
    row, gone = BASE[:1], BASE[:1].assign(loss=float("nan"))
    assert compare(gone, row, COLUMNS) == ("different", "loss is nan in row 0, committed 2")
    assert compare(row, gone, COLUMNS).outcome == "different"
    assert compare(gone, gone, COLUMNS).outcome == "identical"


def test_the_worst_column_is_named() -> None:
    assert compare(BASE.assign(loss=[3.0, float("nan")]), BASE, COLUMNS).detail == "loss is 3 in row 0, committed 2"


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_an_infinite_number_is_different(value: float) -> None:
    infinite = BASE.assign(loss=[value, float("nan")])
    assert change(loss=[value, float("nan")]) == compare(BASE, infinite, COLUMNS).outcome == "different"
    assert compare(BASE.assign(loss=[-value, float("nan")]), infinite, COLUMNS).outcome == "different"
    assert compare(infinite, infinite, COLUMNS).outcome == "identical"


@pytest.mark.parametrize(
    ("fresh", "outcome", "detail"),
    [
        (BASE[:1], "different", "1 rows, committed 2"),
        (BASE.assign(step=[1, 3]), "different", "step differs in 1 of 2 rows"),
        (BASE.assign(step=[2, 3], loss=[9.0, 9.0]), "different", "step differs in 2 of 2 rows"),
        (BASE.assign(loss=[2.015, float("nan")]), "within tolerance", "loss by up to 0.015"),
        (BASE.assign(loss=[1.985, float("nan")]), "within tolerance", "loss by up to 0.015"),
        (BASE, "identical", ""),
    ],
)
def test_a_comparison_in_words(fresh: pd.DataFrame, outcome: str, detail: str) -> None:
    assert compare(fresh, BASE, COLUMNS) == (outcome, detail)


def test_a_tolerance_is_absolute_and_relative_to_what_is_committed() -> None:
    columns = {"a": numeric("", rtol=0.5, atol=1.0), "b": numeric("", rtol=0.0, atol=0.25)}
    committed = pd.DataFrame({"a": [-4.0, 0.0], "b": [1.0, 1.0]})

    def found(**changes: list[float]) -> tuple[str, str]:
        return compare(committed.assign(**changes), committed, columns)

    assert found(a=[-1.0, 0.0]) == ("within tolerance", "a by up to 3")
    assert found(a=[-7.0, 1.0]) == ("within tolerance", "a by up to 3")
    assert found(a=[-0.5, 0.0]) == ("different", "a is -0.5 in row 0, committed -4")
    assert found(a=[-4.0, 1.5]) == ("different", "a is 1.5 in row 1, committed 0")
    assert found(b=[1.25, 0.75]) == ("within tolerance", "b by up to 0.25")
    assert found(a=[-1.0, 0.0], b=[1.0, 1.5]) == ("different", "b is 1.5 in row 1, committed 1")
    assert found(a=[-1.0, 0.0], b=[1.0, 1.125]) == ("within tolerance", "a by up to 3")
    assert found(a=[-7.5, 2.25]) == ("different", "a is 2.25 in row 1, committed 0"), "the worst row"


def test_integers_are_compared_as_numbers() -> None:
    columns = {"n": numeric("", rtol=0.0, atol=1.0)}
    assert compare(pd.DataFrame({"n": [3]}), pd.DataFrame({"n": [4]}), columns) == ("within tolerance", "n by up to 1")


# --- a measurement is taken, written and read


RUN = tiny.run("transformer", steps=2, keep=(), measures=("cost",))


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainedRun:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.DIRECTORY, str(tmp_path))
    checkpoint.produce(RUN)
    return TrainedRun(RUN)


def test_a_measurement_names_its_run_its_seed_and_what_it_was_made_by(trained: TrainedRun) -> None:
    file = take(RUN, "cost")
    assert file == Path(RUN.measurements["cost"])
    about, table = measurement.read(file)
    module = catalogue.measure("copying", "cost")
    assert about == (RUN.id, RUN.settings_digest, (*RUN.identity["recipes"], module.recipe), "")
    assert about.key == (RUN.id, module.recipe)
    rows = table.to_pandas()
    assert list(rows) == ["run", "seed", *module.columns]
    assert (rows.run[0], rows.seed[0], rows.steps_done[0], len(rows)) == (RUN.id, RUN.seed, 2, 1)
    pd.testing.assert_frame_equal(rows[list(module.columns)], module(trained))
    content = file.read_bytes()
    take(RUN, "cost", trained)
    assert file.read_bytes() == content


def test_a_fact_is_measured_without_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = replace(RUN, study="mixers", measures=("masking",))
    rows, module = measurement.read(take(run, "masking"))[1].to_pandas(), catalogue.measure("mixers", "masking")
    assert (module.is_fact, catalogue.measure("copying", "cost").is_fact) == (True, False)
    assert set(rows.run) == {run.id}
    pd.testing.assert_frame_equal(rows[list(module.columns)], module())


def test_a_measure_that_lacks_a_column_or_every_row_is_refused(
    trained: TrainedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = catalogue.measure("copying", "cost")
    rows, names, source = cost(trained), list(cost.columns), "allmlp.studies.shared.measures:cost"
    rows["further"] = 1
    for returned, wrong in (
        (rows[[*names[1:], "further"]], f"{[*names[1:], 'further']}, declares {names}"),
        (rows[:0], "no row, so there is no record that it was taken"),
    ):
        make = functools.wraps(cost.make)(lambda trained, returned=returned: returned)
        monkeypatch.setattr(catalogue, "measure", lambda *_, make=make: replace(cost, make=make))
        with pytest.raises(ValueError, match="returns") as refused:
            take(RUN, "cost")
        assert str(refused.value) == f"{source}: returns {wrong}"
    assert not Path(RUN.measurements["cost"]).exists()


def test_a_measure_s_rows_are_tuples_dictionaries_or_a_table_with_the_declared_columns_in_their_order() -> None:
    rows = [{"class": "a", "further": 0, "value": 0.5}, {"class": "b", "further": 0, "value": 1.5}]
    wanted = pd.DataFrame({"value": [0.5, 1.5], "class": ["a", "b"]})
    for returned in (rows, iter(rows), pd.DataFrame(rows), [(0.5, "a"), (1.5, "b")]):
        made = measure(recipe=1, value=numeric("a number"), class_=exact("a letter"))(
            lambda returned=returned: returned
        )
        pd.testing.assert_frame_equal(made(), wanted)


ROWS = pa.table({"word": ["a", "b", "a"], "number": [1.5, 2.5, 3.5], "step": [1, 2, 3]})
ABOUT = Measurement("r", "s", (1, 2, 3))


def described(file: Path) -> dict[str, Any]:
    return json.loads(pq.read_schema(file).metadata[b"allmlp"])


def test_a_run_s_own_file_holds_its_description_and_a_digest_of_both(tmp_path: Path) -> None:
    file = tmp_path / "m.parquet"
    file.write_bytes(file_bytes(ABOUT, ROWS))
    assert measurement.read(file) == (ABOUT, ROWS)
    about = {"run": "r", "settings": "s", "recipes": [1, 2, 3]}
    digest = sha256(json.dumps(about).encode() + b"word\0a\0b\0anumber\0" + struct.pack("<3d", 1.5, 2.5, 3.5))
    digest.update(b"step\0" + struct.pack("<3q", 1, 2, 3))
    assert described(file) == {**about, "digest": digest.hexdigest()}


def test_parquet_is_small_and_the_same_for_the_same_rows(tmp_path: Path) -> None:
    pieces = pa.concat_tables([ROWS[:1], ROWS[1:]]).replace_schema_metadata({"pandas": "its notes"})
    assert parquet(pieces) == parquet(ROWS)
    (tmp_path / "m.parquet").write_bytes(parquet(ROWS, {"more": "text"}))
    file = pq.ParquetFile(tmp_path / "m.parquet")
    assert file.metadata.metadata == {b"more": b"text"}
    group = file.metadata.row_group(0)
    kinds = {group.column(n).path_in_schema: group.column(n) for n in range(3)}
    assert {column.compression for column in kinds.values()} == {"ZSTD"}
    assert not any(column.is_stats_set for column in kinds.values())
    assert {name: column.has_dictionary_page for name, column in kinds.items()} == {
        "word": True,
        "number": False,
        "step": False,
    }
    large = ROWS.set_column(0, "word", ROWS["word"].cast(pa.large_string()))
    (tmp_path / "l.parquet").write_bytes(parquet(large))
    assert pq.ParquetFile(tmp_path / "l.parquet").metadata.row_group(0).column(0).has_dictionary_page


def test_a_damaged_measurement_names_the_way_out(tmp_path: Path) -> None:
    file, content = tmp_path / "m.parquet", file_bytes(ABOUT, ROWS)

    def message(written: bytes) -> str:
        file.write_bytes(written)
        with pytest.raises(UserError) as refused:
            measurement.read(file)
        return str(refused.value)

    end = "). Delete it, and measure the run again."
    other = parquet(ROWS.set_column(1, "number", pa.array([1.5, 2.5, 4.5])), {"allmlp": json.dumps({"run": "r"})})
    about = {"run": "r", "settings": "s", "recipes": [1, 2, 3], "digest": "0" * 64}
    for written, reason in (
        (content[:100], "ArrowInvalid("),
        (parquet(ROWS), "KeyError(b'allmlp')"),
        (other, "KeyError('settings')"),
        (parquet(ROWS, {"allmlp": json.dumps(about)}), "ValueError('its rows are not those that were written')"),
        (parquet(ROWS, {"allmlp": "{"}), "JSONDecodeError("),
        (parquet(ROWS, {"allmlp": json.dumps({**about, "format": 2})}), ""),
    ):
        said = message(written)
        if reason:
            assert said.startswith(f"{file}: cannot be read as a measurement ({reason}")
            assert said.endswith(end)
        else:
            assert said.startswith(f"{file}: is of format 2, this code reads measurement up to 1.")
    old = {key: value for key, value in about.items() if key != "digest"}
    file.write_bytes(parquet(ROWS, {"allmlp": json.dumps(old)}))
    assert measurement.read(file)[0] == ABOUT, "an earlier release wrote no digest"
    with pytest.raises(UserError, match=r"cannot be read as a measurement \(FileNotFoundError"):
        measurement.read(tmp_path / "none.parquet")


# --- the loss that a search reads


def with_cost(loss: float | None, diverged: bool) -> None:
    table = pa.table({"diverged": [diverged], "validation_nats": pa.array([loss], pa.float64())})
    file = Path(RUN.measurements["cost"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(file_bytes(Measurement(RUN.id, "s", (1, 1, 1, RUN.recipe("cost"))), table))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("loss", "diverged", "expected"),
    [(1.5, False, 1.5), (1.5, True, math.inf), (None, False, None), (math.nan, False, None), (math.inf, False, None)],
)
def test_the_held_out_loss_is_that_of_the_measured_cost(
    loss: float | None,
    diverged: bool,
    expected: float | None,
    stored: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert held_out_loss(RUN) is None
    with_cost(loss, diverged)
    if stored:
        store.add_measurements([RUN])
        Path(RUN.measurements["cost"]).unlink(missing_ok=True)
    assert held_out_loss(RUN) == expected
    assert held_out_loss(replace(RUN, measures=("parameter_counts",))) is None


def test_a_training_reads_its_parent_and_searched_runs_without_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = replace(RUN, seed=7)
    relatives = {RUN.id: RUN, other.id: other}
    child = replace(RUN, seed=9, parent=RUN.id, search=(RUN.id, other.id), relatives=relatives)
    searching = replace(child, parent=None)
    assert runs_it_reads(searching) == (RUN.id, other.id)
    with_cost(1.5, False)
    assert runs_it_reads(searching) == (other.id,)
    assert runs_it_reads(child) == (RUN.id, RUN.id, other.id)


def test_the_column_nearest_to_its_tolerance_is_named() -> None:
    columns = {"a": numeric("", rtol=0.0, atol=1.0), "b": numeric("", rtol=0.0, atol=1.0)}
    committed = pd.DataFrame({"a": [0.0], "b": [0.0]})
    assert compare(committed.assign(a=0.9, b=0.1), committed, columns).detail == "a by up to 0.9"
