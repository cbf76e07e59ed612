"""What the first release wrote, kept in tests/artifacts, is read; what a newer one writes is refused and stays."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from allmlp.common.formats import FORMATS, NewerError, read
from allmlp.data.corpora import identity
from allmlp.data.corpora.pairs.summaries import SummaryCache
from allmlp.data.tokens import TokenFile
from allmlp.judging import claims_json, selection
from allmlp.judging.complete_runs import Sets
from allmlp.measurements import measurement, store
from allmlp.pipeline.bundles.unpacking import unpack
from allmlp.plan import portable
from allmlp.report import render
from allmlp.studies.quadrature import certify
from allmlp.training.state import WorkFolder
from tests.conftest import PROJECT
from tests.faults.test_hostile_bundles import packed, true_manifest

KEPT = PROJECT / "tests/artifacts"


class Kind(NamedTuple):
    """Of a kind: its file, where it lies in a project, how it is read, and what must be found in it."""

    kind: str
    file: str
    place: str
    read: Callable[[Path], Any]
    found: Any


def restored(place: Path) -> Any:
    model = torch.nn.Linear(2, 1)
    found = WorkFolder(place.parent).restore(model, torch.optim.AdamW(model.parameters()))
    return found and (found["step"], round(model.bias.item(), 3))


def of_store(place: Path) -> Any:
    return store.read_measure("language", "loss_curve").table([("a-run-seed0-00000000", 1)])["loss_nats"].to_pylist()


def of_corpus(place: Path) -> Any:
    return identity.read_lock(place.parent)["kept"]["counts"]["documents"]


def shape(place: Path) -> Any:
    return certify.read(place.parent / "final.safetensors")["W_E"].shape


def names_of_sets(place: Path) -> Any:
    return Sets.read().complete["quadrature"]["smoke"]["neurons"]["neurons"]


RUN, PART, STORE = (
    "a-run-seed0-00000000-r1.parquet",
    "09e8087a442b04d4.parquet",
    "results/measurements/language/loss_curve",
)
INDEX = "results/tables/quadrature/index.json"
KINDS = [
    Kind("tokens", "tokens/meta.json", "tokens/meta.json", lambda at: TokenFile(at.parent).meta["documents"], 40),
    Kind("checkpoint", "checkpoint/manifest.json", "checkpoint/manifest.json", shape, (7, 6)),
    Kind(
        "checkpoint",
        "checkpoint/run.json",
        "checkpoint/run.json",
        lambda at: read("checkpoint", at)["ending"]["steps_done"],
        0,
    ),
    Kind("state", "state/state-1.json", "state/state-1.json", restored, (1, -0.583)),
    Kind(
        "measurement",
        f"measurement/{RUN}",
        RUN,
        lambda at: measurement.read(at)[1]["loss_nats"].to_pylist(),
        [1.5, 1.25],
    ),
    Kind("measurement", f"part/{PART}", f"{STORE}/{PART}", of_store, [1.5, 1.25]),
    Kind(
        "claims",
        "claims.json",
        "results/claims.json",
        lambda at: claims_json.read()["claims"][0]["study"],
        "quadrature",
    ),
    Kind(
        "selection", "selected.json", "results/selected.json", lambda at: [*selection.read()["studies"]], ["quadrature"]
    ),
    Kind("sets", "sets.json", "results/sets.json", names_of_sets, ["a-seed0-0", "b-seed1-0"]),
    Kind("power", "power.json", "results/power.json", lambda at: len(render.read_content("power", at)), 1),
    Kind("exhibits", "index.json", INDEX, lambda at: len(render.read_content("exhibits", at)), 1),
    Kind("corpora", "corpora.lock", "corpora.lock", of_corpus, 40),
    Kind("summary", "summaries.jsonl", "summaries.jsonl", lambda at: SummaryCache(at)["A long story."], "A story."),
    Kind("plan", "plan.json", "work/plan.json", lambda at: portable.parse_plan(at.read_text()).scale, "smoke"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    store._load_files.cache_clear()
    store._read.cache_clear()
    return tmp_path


def put(kind: Kind, here: Path) -> Path:
    """The kept file, with its neighbours where it is one of a folder's."""
    place = here / kind.place
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind.file == kind.place and "/" in kind.file:
        shutil.copytree((KEPT / kind.file).parent, place.parent, dirs_exist_ok=True)
    shutil.copy(KEPT / kind.file, place)
    return place


def renumber(path: Path, number: int) -> Path:
    """Make it a file of that format. Returns its path: a part is named after its bytes."""
    if path.suffix == ".parquet":
        return _renumber_table(path, number)
    content = json.loads(path.read_text(encoding="utf-8"))
    (content["kept"] if path.name == identity.LOCK else content)["format"] = number
    path.write_text(json.dumps(content) + "\n", encoding="utf-8")
    return path


def _renumber_table(path: Path, number: int) -> Path:
    table = pq.read_table(path)
    said = json.loads((table.schema.metadata or {}).get(b"allmlp", "{}"))
    about = {"allmlp": json.dumps({**said, "format": number})} if said else {"format": str(number)}
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(about), buffer)
    content = buffer.getvalue().to_pybytes()
    path.unlink()
    other = path if said else path.with_name(f"{store.part_digest(content)}.parquet")
    other.write_bytes(content)
    return other


every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)


@every_kind
def test_what_the_first_release_wrote_is_read(kind: Kind, here: Path) -> None:
    assert kind.read(put(kind, here)) == kind.found


@every_kind
def test_the_number_of_this_form_may_stand_in_it(kind: Kind, here: Path) -> None:
    assert kind.read(renumber(put(kind, here), FORMATS[kind.kind])) == kind.found


@every_kind
def test_what_a_newer_release_wrote_is_refused_and_kept(kind: Kind, here: Path) -> None:
    path = renumber(put(kind, here), FORMATS[kind.kind] + 1)
    before = path.read_bytes()
    with pytest.raises(NewerError, match=r"is of format \d+, .* A newer release wrote it: update with `git pull`"):
        kind.read(path)
    assert path.read_bytes() == before


def test_a_bundle_of_this_form_is_read_and_a_newer_one_refused(here: Path) -> None:
    members = {"work/timings/a-run.json": b"{}"}
    manifest = json.loads(true_manifest(members))
    assert manifest["format"] == FORMATS["bundle"]
    for number in (FORMATS["bundle"] + 1, "three"):
        (here / "bundle").write_bytes(packed(json.dumps({**manifest, "format": number}).encode(), members))
        with pytest.raises(NewerError):
            unpack(here / "bundle")
    unpack(KEPT / "bundle")
    assert Path("work/timings/a-run.json").is_file()


def test_every_kind_is_tried() -> None:
    assert {kind.kind for kind in KINDS} | {"bundle"} == set(FORMATS)
