"""`allmlp pack`: the open runs of a scale, with their inputs and finished work, as one file."""

import io
import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from allmlp.common import git
from allmlp.common.errors import UserError
from allmlp.measurements import store
from allmlp.measurements.measurement import file_bytes
from allmlp.measurements.search_losses import runs_it_reads
from allmlp.pipeline.bundles.members import FORMAT, MANIFEST, Member, sort_key
from allmlp.pipeline.bundles.states import newest_state
from allmlp.plan import priorities, status
from allmlp.plan.portable import PLAN, ResolvedPlan, RunPlan
from allmlp.spec.run import Run

NAMED = 5  # the largest members, named if a bundle is too large


def pack(plan: RunPlan, file: Path, max_mb: float, hours: float | None = None) -> None:
    """Write the bundle. UserError, with its largest members, if it would be larger than `max_mb`.

    `hours`: only as many of the open runs, in their order, as these do, and that fit with their inputs.
    Trainings may go on meanwhile: their newest saved states are taken.
    """
    resolved = status.resolve(plan)
    if hours is not None:
        resolved, left_out = first_runs(resolved, hours, max_mb * 2**20)
        for reason, count in Counter(left_out.values()).items():
            print(f"left out: {count} runs: {reason}")
    _pack(resolved, gather(resolved), file, max_mb)


def pack_finished(resolved: ResolvedPlan, file: Path, max_mb: float) -> None:
    """What was made here, without tokens; of begun runs as many states as there is room for, the smallest first."""
    made = [member for member in gather(resolved) if not member.name.startswith("results/tokens/")]
    states = [member for member in made if member.name.startswith("work/runs/")]
    room, of_run = max_mb * 2**20 - sum(_size(member) for member in made if member not in states), dict[str, int]()
    for member in states:
        run = member.name.split("/")[2]
        of_run[run] = of_run.get(run, 0) + _size(member)
    taken = set()
    for run, size in sorted(of_run.items(), key=lambda one: one[1]):
        if size <= room:
            taken.add(run)
            room -= size
    if lost := sorted(of_run.keys() - taken):
        print(f"no room for the states of {len(lost)} begun runs, {lost[0]} among them: they begin again elsewhere")
    kept = [member for member in made if member not in states or member.name.split("/")[2] in taken]
    _pack(resolved, kept, file, max_mb)


def first_runs(resolved: ResolvedPlan, hours: float, most_bytes: float) -> tuple[ResolvedPlan, dict[str, str]]:
    """The first open runs that so many hours do, and whose inputs fit; and why others are left out.

    Claims that need a run without tokens here do not count in their order. A run whose hours no longer fit is passed
    over, for shorter ones after it.
    """
    opened = status.open_runs(resolved.runs, resolved.hours)
    inputs = {run: _inputs(resolved.run(run)) for run in opened}
    left_out = {run: "its tokens are missing: `allmlp tokenize` makes them" for run in opened if inputs[run] is None}
    possible = {
        claim: of
        for claim, of in resolved.claims.items()
        if not priorities.add_dependencies(opened, of) & left_out.keys()
    }
    taken, files = dict[str, None](), dict[str, int]()
    for run in priorities.order(opened, possible):
        own = inputs[run]
        if own is None:
            continue
        if any(one in opened and one not in taken for one in opened[run].waits):
            left_out[run] = "another run, which is not in the bundle, comes before"
        elif opened[run].hours > hours:
            left_out[run] = "no time"
        elif sum((files | own).values()) > most_bytes:
            left_out[run] = "no room for its tokens"
        else:
            taken[run], files, hours = None, files | own, hours - opened[run].hours
    claims = {claim: of for claim, of in resolved.claims.items() if of & opened.keys() <= taken.keys()}
    return replace(resolved, order=list(taken), claims=claims), left_out


def _inputs(run: Run) -> dict[str, int] | None:
    """file -> bytes of the tokens that it reads; None if they are missing."""
    if not run.token_file:
        return {}
    folder = Path(run.token_file).parent
    if not (folder / "meta.json").is_file():
        return None
    return {str(path): path.stat().st_size for path in folder.iterdir()}


def _size(member: Member) -> int:
    return int(member.entry()["bytes"])


def _pack(resolved: ResolvedPlan, members: list[Member], file: Path, max_mb: float) -> None:
    beside = file.with_name(f".{file.name}.partial")
    try:
        _write(resolved.scale, members, beside)
        if (size := beside.stat().st_size) > max_mb * 2**20:
            raise UserError(
                f"{file}: would have {size / 2**20:.1f} MiB, --max-mb is {max_mb:g}: "
                f"give a larger one. {_list_largest(members)}"
            )
        beside.replace(file)
    except OSError as error:
        raise UserError(
            f"{file}: cannot be written ({error.strerror}). Give a path with room, in a folder that exists."
        ) from error
    finally:
        beside.unlink(missing_ok=True)
    print(f"{file}: {size / 2**20:.2f} MiB, {len(members)} files. {status.summary(resolved)}", flush=True)


def gather(resolved: ResolvedPlan) -> list[Member]:
    """The members, in the order in which they are written. UserError where tokens that a run reads are missing."""
    opened, untrained, git = resolved.open_runs(), resolved.untrained_runs(), _committed_parts()
    found: dict[str, Member] = {}

    def add(*members: Member) -> None:
        found.update({member.name: member for member in members if member.name not in found})

    for run in opened:
        add(*(newest_state(run.id)[1] if run.id in untrained else ()))
        for one in _runs_it_reads(run, run.id in untrained):
            add(*_folder(one.folder, "final.safetensors"))
            if one.token_file:
                add(*_tokens(one))
        for searched in {*run.search} - {*runs_it_reads(run)} if run.id in untrained else ():
            add(*_measurements(run.relatives[searched], True, git))
    ids = {run.id for run in opened}
    for run in resolved.known:
        taken = list(_measurements(run, run.id in ids, git))
        timing = Path("work/timings") / f"{run.id}.json"
        add(*taken, *([Member(str(timing))] if timing.is_file() and (taken or run.id in ids) else []))
    listed = [found[name] for name in sorted(found, key=sort_key)]
    return [Member(str(PLAN), resolved.to_json().encode()), *listed]


def _runs_it_reads(run: Run, untrained: bool) -> list[Run]:
    """The run itself and those whose tokens and checkpoints its training, or its measures, read."""
    needed = runs_it_reads(run) if untrained else ((run.parent,) if run.parent else ())
    return [run, *(run.relatives[one] for one in needed)]


def _folder(folder: Path, whole: str) -> list[Member]:
    """The files of a complete folder; `whole` is the file that represents it."""
    there = sorted(path for path in folder.glob("[!.]*") if path.is_file()) if (folder / whole).is_file() else []
    return [Member(str(path)) for path in there]


def _tokens(run: Run) -> list[Member]:
    folder = Path(run.token_file or "").parent
    if not (members := _folder(folder, "meta.json")):
        raise UserError(f"{folder}: is missing, and {run.id} reads it. Make it first: `allmlp tokenize {run.corpus}`.")
    return members


def _measurements(run: Run, opened: bool, git: set[str]) -> Iterator[Member]:
    """A run's own files of measurements that are not in git; all of them if the run is open."""
    for measure, file in run.measurements.items():
        stored, key = store.read_measure(run.study, measure), run.keys[measure]
        if key not in stored.places:
            yield from [Member(file)] if Path(file).is_file() else []
        elif opened or stored.places[key][1].part.name not in git:
            yield Member(file, file_bytes(stored.places[key][0], stored.rows(key)))


def _committed_parts() -> set[str]:
    """The names of the store's parts in the last commit; none without git or a repository."""
    names = git.output(Path(), "ls-tree", "-r", "-z", "--name-only", "HEAD", str(store.STORE)).decode()
    return {Path(name).name for name in names.split("\0")}


def _write(scale: str, members: list[Member], file: Path) -> None:
    entries = {member.name: member.entry() for member in members}
    manifest = json.dumps({"format": FORMAT, "scale": scale, "members": entries}, indent=1) + "\n"
    with pa.CompressedOutputStream(str(file), "zstd") as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
        for member in (Member(MANIFEST, manifest.encode()), *members):
            content = member.read()
            about = tarfile.TarInfo(member.name)  # without time or owner: the same members give the same bytes
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))


def _list_largest(members: list[Member]) -> str:
    sizes = sorted(((_size(member), member.name) for member in members), reverse=True)
    return "Largest: " + ", ".join(f"{name} {size / 2**20:.1f} MiB" for size, name in sizes[:NAMED])
