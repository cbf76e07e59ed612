"""results/selected.json: the input of the last mile, in less than a megabyte.

Of each study at each scale, or recorded overlay, it holds

    measures   the sets of measures that its runs have
    about      the descriptions of its runs; runs that differ only in their seed share one
    runs       id, number of its description, seed, number of its set of measures
    recipes    measure -> recipe
    digests    measure -> digest of the rows of its runs, see `allmlp.measurements.store`
    lacking    measure -> runs that lack it, by their place in `runs`
    older      measure -> run -> the older run and recipe that are used in its place
    seeds      measure -> part of the study -> how many seeds are planned
    searches   the searches of learning rates, see `allmlp.judging.rates`
    searched   runs with a rate that a search chose, by their place in `runs` -> the search, by its place
    known      `cost` -> runs whose origin it knows in git's history, by their place; absent without a history
    younger    claim -> is its rule younger than the results that it judges?
    standing   claim or exhibit -> measure -> the runs of the last complete set, by their place in `runs`
    dropped    claim or exhibit -> runs of the last complete set that the plan no longer has

Beside the studies it holds `rules`, a digest of rules.lock: `younger` is true of these rules alone.

Before the first measurement, runs have no description. `unpack` gives the content that `Evidence` reads.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.common.paths import SELECTED
from allmlp.spec.run import Run

Packed = dict[str, Any]  # one study at one scale, as above
Content = dict[str, Any]  # the same, as `Evidence` needs it


class SelectedMeasurement(NamedTuple):
    """A measurement in the store: its run there, and the measure's recipe. `older`: is it older than the plan's?"""

    run: str
    recipe: int
    older: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Its key in the store."""
        return self.run, self.recipe


def pack_runs(
    runs: Sequence[Run], held: dict[str, dict[str, SelectedMeasurement]], digests: dict[str, str], begun: bool
) -> Packed:
    """The file's entry for these runs. held: measure -> run -> its measurement; digests: of these."""
    about: dict[str, dict[str, Any]] = {}  # the common settings of runs -> their description
    sets = list(dict.fromkeys(run.measures for run in runs))
    listed, corpus_of = [], {run.id: run.corpus for run in runs}
    for run in runs:
        said = _describe_run(run, corpus_of.get(run.parent or "")) if begun else {}
        alike = paths.canonical([said, run.hyperparameters, run.task_parameters, run.optimiser] if begun else [])
        about.setdefault(alike, said)
        listed.append([run.id, list(about).index(alike), run.seed, sets.index(run.measures)])
    measures = dict.fromkeys(measure for run in runs for measure in run.measures)
    places = {measure: [n for n, run in enumerate(runs) if measure in run.measures] for measure in measures}
    lacking = {m: [n for n in of if runs[n].id not in held.get(m, {})] for m, of in places.items()} if begun else {}
    older = {m: {run: [h.run, h.recipe] for run, h in of.items() if h.older} for m, of in held.items()}
    return {
        "measures": sets,
        "about": list(about.values()),
        "runs": listed,
        "recipes": {measure: runs[of[0]].recipe(measure) for measure, of in places.items()},
        "digests": digests,
        "lacking": {measure: of for measure, of in lacking.items() if of},
        "older": {measure: of for measure, of in older.items() if of},
    }


def _describe_run(run: Run, parent_corpus: str | None) -> dict[str, Any]:
    """The description of a run in figures and tables. `learning_rate`: of a training whose rate no search chose.
    `parent_corpus`: of weights that come from another text."""
    keys = ("labels", "architecture", "task", "corpus", "steps", "device", "threads")
    given = {"learning_rate": run.optimiser["learning_rate"]} if run.steps and not run.search else {}
    parent = {"parent_corpus": parent_corpus} if parent_corpus and parent_corpus != run.corpus else {}
    return {key: getattr(run, key) for key in keys} | given | parent


def unpack(packed: Packed) -> Content:
    """The content in the form of `Evidence`.

    runs: id -> its description, seed and `alike`, the description's number; planned: measure -> runs; measurements:
    measure -> run -> SelectedMeasurement; known: ids, None if absent; the rest as it is.
    """
    ids, about = [row[0] for row in packed["runs"]], packed["about"]
    begun = any(about)
    runs = {run: {**about[n], "seed": seed, "alike": n} for run, n, seed, _ in packed["runs"]} if begun else {}
    planned: dict[str, list[str]] = {}
    measurements: dict[str, dict[str, SelectedMeasurement]] = {}
    for run, _, _, number in packed["runs"]:
        for measure in packed["measures"][number]:
            planned.setdefault(measure, []).append(run)
    for measure, of in planned.items() if begun else ():
        gone = {ids[n] for n in packed["lacking"].get(measure, ())}
        found = {run: SelectedMeasurement(run, packed["recipes"][measure]) for run in of if run not in gone}
        older = packed["older"].get(measure, {})
        found |= {run: SelectedMeasurement(stands_in, recipe, older=True) for run, (stands_in, recipe) in older.items()}
        measurements |= {measure: found} if found else {}
    standing = {
        key: {measure: [ids[n] for n in of] for measure, of in sets.items()}
        for key, sets in packed.get("standing", {}).items()
    }
    known = {ids[n] for of in packed["known"].values() for n in of} if "known" in packed else None
    return {
        **packed,
        "known": known,
        "runs": runs,
        "planned": planned,
        "measurements": measurements,
        "standing": standing,
    }


def keep_history(packed: Packed, before: Packed) -> Packed:
    """A selection that was made without git's history, with what the one `before` it says of the same measurements.

    A shallow clone, or one without .git, must not rewrite what it cannot work out.
    """
    if any(packed[key] != before.get(key) for key in ("runs", "digests", "older")):
        return packed
    kept: Packed = {key: before[key] for key in ("known", "younger") if key in before}
    return {**{key: of for key, of in packed.items() if key not in kept}, **kept}  # they are last, and stay so


def read_packed(rules: str) -> dict[str, dict[str, Packed]]:
    """study -> scale -> what results/selected.json holds, if it was made under these rules; else empty."""
    try:
        content = formats.read("selection", SELECTED)
        return dict(content["studies"]) if content["rules"] == rules else {}
    except (UserError, KeyError, TypeError):
        return {}


def read() -> dict[str, Any]:
    """results/selected.json, with the content of each study and scale opened."""
    if not SELECTED.is_file():
        raise UserError(f"{SELECTED}: is missing. Run `allmlp select`, or `git checkout {SELECTED}`.")
    return _read(SELECTED.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _read(text: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = formats.check_format("selection", SELECTED, formats.parse_json(text))
        studies = {study: {s: unpack(at) for s, at in scales.items()} for study, scales in content["studies"].items()}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{SELECTED}: this code cannot read it ({error!r}). Run `allmlp select`.") from error
    return {**content, "studies": studies}


def write(content: dict[str, Any]) -> bool:
    """Write results/selected.json: a line for each run and each description. Returns whether that changed it."""
    text = paths.json_lines(content)
    if SELECTED.is_file() and SELECTED.read_text(encoding="utf-8") == text:
        return False
    paths.write_atomically(SELECTED, text)
    return True
