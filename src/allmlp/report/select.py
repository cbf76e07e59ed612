"""The input of the last mile: results/selected.json, written from the plan before `dvc repro`.

For every study and scale it names the planned runs, their existing measurements with digests, the complete sets that
replace larger plans, and the claims with rules younger than their results. The DVC stages depend on this one file and
need no plan, no parameters, no git and no checkpoints.
"""

from pathlib import Path
from typing import Any

from allmlp import measuring, recipes, rules, store, studies
from allmlp.corpora import identity
from allmlp.origins import Repository
from allmlp.outcomes import COST
from allmlp.plan import Plan
from allmlp.report import origins, rates, selection
from allmlp.report.ages import History
from allmlp.report.evidence import Evidence
from allmlp.report.selection import Content, Held, Packed
from allmlp.report.sets import Sets, Unit, lasting, units
from allmlp.run import Run


def _held(stored: store.Stored, run: Run, measure: str) -> Held | None:
    """A run's measurement, from those stored for the measure.

    A measurement by an older recipe is used and marked as `older` until it is made again, unless it lacks a column of
    today's measure.
    """
    if (key := (run.id, run.recipe(measure))) in stored.places:
        return Held(*key)
    same = stored.by_settings.get(run.settings_digest, [])
    columns = set(studies.measure(run.study, measure).COLUMNS) if same else set()
    whole = [one for one in same if columns <= set(stored.rows(one.key).column_names)]
    newest = max(whole, key=lambda one: one.recipes, default=None)
    return Held(*newest.key, older=True) if newest else None


def _of_scale(study: str, runs: list[Run]) -> Packed:
    stored = {measure: store.of(study, measure) for run in runs for measure in run.measures}
    held: dict[str, dict[str, Held]] = {}
    for run in runs:
        for measure in run.measures:
            if found := _held(stored[measure], run, measure):
                held.setdefault(measure, {})[run.id] = found
    digests = {measure: stored[measure].digest(one.key for one in of.values()) for measure, of in held.items()}
    begun = _begun(runs, held)
    packed = selection.packed(runs, held if begun else {}, digests if begun else {}, begun)
    return {**packed, "seeds": _seeds(runs), **(rates.packed(runs) if begun else {})}


def _seeds(runs: list[Run]) -> dict[str, dict[str, int]]:
    """measure -> part of the study -> how many seeds are planned, for `allmlp power`."""
    found: dict[str, dict[str, set[int]]] = {}
    for run in runs:
        for measure in run.measures:
            found.setdefault(measure, {}).setdefault(str(run.labels.get("part", "")), set()).add(run.seed)
    return {measure: {part: len(seeds) for part, seeds in parts.items()} for measure, parts in found.items()}


def _begun(runs: list[Run], held: dict[str, dict[str, Held]]) -> bool:
    """Is any trained run measured? A run without training belongs to every scale, and does not count."""
    steps = {run.id: run.steps for run in runs}
    measured = {run for of in held.values() for run in of}
    return any(steps[run] > 0 or not any(steps.values()) for run in measured)


def _standing(study: str, scale: str, content: Content, of_study: set[Unit], runs: list[Run], sets: Sets) -> Packed:
    """Which complete sets replace incomplete ones of the plan, and which no longer count."""
    names, places = {run.id: lasting(run) for run in runs}, {run.id: n for n, run in enumerate(runs)}
    standing, dropped = {}, {}
    for unit in sorted(of_study):
        found = Evidence(study, scale, content).of_parts(unit.parts, unit.also)
        if found is None:
            continue
        planned, measured = ({m: of(m) for m in unit.measures} for of in (found.planned, found.measured))
        stand = sets.take(study, scale, unit, planned, measured, names)
        if stand.runs is not None:
            standing[unit.key] = {measure: sorted(places[run] for run in of) for measure, of in stand.runs.items()}
        elif stand.dropped:
            dropped[unit.key] = list(stand.dropped)
    return {key: of for key, of in (("standing", standing), ("dropped", dropped)) if of}


def _younger(study: str, scale: str, content: Content, history: History) -> dict[str, Any]:
    """claim -> is its rule younger than the results that it judges here? None if git does not know."""
    lock, found = rules.read_lock(), {}
    for claim in studies.ledger(study):
        of_claim = Evidence(study, scale, content).whole_set(Unit.of_claim(claim)) if claim["test"] else None
        if of_claim is not None and all(of_claim.measured(measure) for measure in claim["measures"]):
            firsts = {
                history.firsts(study, measure)[store.of(study, measure).places[held.key][0].settings]
                for measure in claim["measures"]
                for held in of_claim.held(measure).values()
            }
            found[claim["id"]] = history.younger(claim["id"], lock.get(claim["id"]), scale, firsts)
    return found


def _of_study(plan: Plan, study: str, sets: Sets, history: History, repository: Repository | None) -> dict[str, Packed]:
    of_study, scales = set(units(study)), {}
    sets.keep_only(study, {unit.key for unit in of_study})
    for scale, runs in ((scale, planned[study]) for scale, planned in plan.by_scale.items() if study in planned):
        packed = _of_scale(study, runs)
        if selection.opened(packed)["runs"]:
            packed |= _standing(study, scale, selection.opened(packed), of_study, runs, sets)
            held = selection.opened(packed)["measurements"].get(COST, {})
            packed |= origins.looked_up(study, [run.id for run in runs], held, repository)
            packed["younger"] = _younger(study, scale, selection.opened(packed), history)
        scales[scale] = packed
    return scales


def _take_facts(plan: Plan) -> None:
    """Take facts again whose code has changed since they were measured: the list of architectures, say."""
    for run in plan.every:
        if run.steps == 0:
            for measure in store.unstored(run):
                before = store.of(run.study, measure).by_settings
                if run.settings_digest in before and measuring.is_fact(run, measure):
                    measuring.take(run, measure)


def select(plan: Plan) -> bool:
    """Take new measurements into the store; write results/selected.json, and complete sets into results/sets.json.

    Returns whether the selection changed.
    """
    _take_facts(plan)
    store.take_in(plan.every)
    at_home = Path.cwd().samefile(plan.root)
    lock = identity.read_lock(plan.root, committed=at_home)
    sets, history, repository = Sets.read(), History.of(plan.root), Repository.of(plan.root)
    of_studies = {
        study: _of_study(plan, study, sets, history, repository) for study in studies.STUDIES if studies.has_runs(study)
    }
    sets.write()
    content = {
        "plan": plan.digest(),
        "scale": plan.scale,
        **({} if at_home else {"overlays": [file.name for file in plan.overlays] or ["a trial"]}),
        "recorded": {name: other.scale for name, other in plan.recorded.items()},
        "studies": of_studies,
        "corpora": {name: {key: entry[key] for key in ("id", "spec", "counts")} for name, entry in lock.items()},
        "recipes": {module: recipes.of(module) for module in recipes.modules()},
    }
    return selection.write(content)
