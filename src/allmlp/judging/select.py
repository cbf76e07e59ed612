"""The input of the last mile: results/selected.json, written from the plan before `dvc repro`.

For every study and scale it names the planned runs, their existing measurements with digests, the complete sets that
replace larger plans, and the claims with rules younger than their results. The DVC stages after `select` depend on this
one file and need no plan, no parameters, no git and no checkpoints.
"""

from pathlib import Path
from typing import Any

from allmlp.common import git, recipes
from allmlp.common.errors import UserError, warn
from allmlp.data.corpora import identity
from allmlp.judging import origins, rates, rule_digests, selection
from allmlp.judging.ages import History
from allmlp.judging.complete_runs import Sets, Unit, settings_name, units
from allmlp.judging.evidence import Evidence
from allmlp.judging.selection import Content, Packed, SelectedMeasurement
from allmlp.measurements import store
from allmlp.measurements.origins import Repository
from allmlp.measurements.search_losses import COST
from allmlp.plan import costs, results_folder
from allmlp.plan.plan import Plan
from allmlp.spec import catalogue
from allmlp.spec.run import Run
from allmlp.training import measuring


def _find_measurement(stored: store.StoredMeasurements, run: Run, measure: str) -> SelectedMeasurement | None:
    """A run's measurement, from those stored for the measure.

    A measurement by an older recipe is used and marked as `older` until it is made again, unless it lacks a column of
    today's measure.
    """
    if (key := run.keys[measure]) in stored.places:
        return SelectedMeasurement(*key)
    same = stored.measurements_by_settings.get(run.settings_digest, [])
    columns = set(catalogue.measure(run.study, measure).columns) if same else set()
    whole = [one for one in same if columns <= set(stored.rows(one.key).column_names)]
    newest = max(whole, key=lambda one: one.recipes, default=None)
    return SelectedMeasurement(*newest.key, older=True) if newest else None


def _select_scale(study: str, runs: list[Run]) -> Packed:
    stored = {measure: store.read_measure(study, measure) for run in runs for measure in run.measures}
    held: dict[str, dict[str, SelectedMeasurement]] = {}
    for run in runs:
        for measure in run.measures:
            if found := _find_measurement(stored[measure], run, measure):
                held.setdefault(measure, {})[run.id] = found
    digests = {measure: stored[measure].digest(one.key for one in of.values()) for measure, of in held.items()}
    begun = _has_begun(runs, held)
    packed = selection.pack_runs(runs, held if begun else {}, digests if begun else {}, begun)
    return {**packed, "seeds": _seeds(runs), **(rates.pack_searches(runs) if begun else {})}


def _seeds(runs: list[Run]) -> dict[str, dict[str, int]]:
    """measure -> part of the study -> how many seeds are planned, for `allmlp power`."""
    found: dict[str, dict[str, set[int]]] = {}
    for run in runs:
        for measure in run.measures:
            found.setdefault(measure, {}).setdefault(str(run.labels.get("part", "")), set()).add(run.seed)
    return {measure: {part: len(seeds) for part, seeds in parts.items()} for measure, parts in found.items()}


def _has_begun(runs: list[Run], held: dict[str, dict[str, SelectedMeasurement]]) -> bool:
    """Is any trained run measured? A run without training belongs to every scale, and does not count."""
    steps = {run.id: run.steps for run in runs}
    measured = {run for of in held.values() for run in of}
    return any(steps[run] > 0 or not any(steps.values()) for run in measured)


def _standing_sets(
    study: str, scale: str, content: Content, of_study: set[Unit], runs: list[Run], sets: Sets
) -> Packed:
    """Which complete sets replace incomplete ones of the plan, and which no longer count."""
    names, places = {run.id: settings_name(run) for run in runs}, {run.id: n for n, run in enumerate(runs)}
    standing, dropped = {}, {}
    for unit in sorted(of_study):
        found = Evidence(study, scale, content).select_parts(unit.parts, unit.also)
        if found is None:
            continue
        planned, measured = ({m: of(m) for m in unit.measures} for of in (found.planned_runs, found.measured_runs))
        stand = sets.take(study, scale, unit, planned, measured, names)
        if stand.runs is not None:
            standing[unit.key] = {measure: sorted(places[run] for run in of) for measure, of in stand.runs.items()}
        elif stand.dropped:
            dropped[unit.key] = list(stand.dropped)
    return {key: of for key, of in (("standing", standing), ("dropped", dropped)) if of}


def _younger_rules(study: str, scale: str, content: Content, history: History) -> dict[str, Any]:
    """claim -> is its rule younger than the results that it judges here? None if git does not know."""
    lock, found = rule_digests.read_lock(), {}
    for claim in catalogue.ledger(study):
        of_claim = Evidence(study, scale, content).claim_set(claim) if claim["test"] else None
        if of_claim is not None and all(of_claim.measured_runs(measure) for measure in claim["measures"]):
            firsts = {
                history.first_commits(study, measure)[store.read_measure(study, measure).places[held.key][0].settings]
                for measure in claim["measures"]
                for held in of_claim.measurements_by_run(measure).values()
            }
            found[claim["id"]] = history.is_younger(claim["id"], lock.get(claim["id"]), scale, firsts)
    return found


def _select_study(
    plan: Plan, study: str, sets: Sets, history: History, repository: Repository | None, before: dict[str, Packed]
) -> dict[str, Packed]:
    """scale -> selection. `before`: the last one, whose knowledge of git's history stays where none can be asked."""
    of_study, scales = set(units(study)), {}
    sets.keep_units(study, {unit.key for unit in of_study})
    for scale, runs in ((scale, planned[study]) for scale, planned in plan.report_runs.items() if study in planned):
        packed = _select_scale(study, runs)
        if selection.unpack(packed)["runs"]:
            packed |= _standing_sets(study, scale, selection.unpack(packed), of_study, runs, sets)
            held = selection.unpack(packed)["measurements"].get(COST, {})
            packed |= origins.known_origins(study, [run.id for run in runs], held, repository)
            packed["younger"] = _younger_rules(study, scale, selection.unpack(packed), history)
            if not history.bits:
                packed = selection.keep_history(packed, before.get(scale, {}))
        scales[scale] = packed
    return scales


def _take_facts(plan: Plan) -> None:
    """Take facts again whose code has changed since they were measured: the list of architectures, say."""
    for run in plan.reported:
        if run.steps == 0:
            for measure in store.unstored_files(run):
                before = store.read_measure(run.study, measure).measurements_by_settings
                if run.settings_digest in before and catalogue.measure(run.study, measure).is_fact:
                    measuring.take(run, measure)


def refuse_open(plan: Plan) -> None:
    """UserError, with the command that trains them, if the plan has open runs.

    For DVC, whose `repro` and `exp run` must neither train for hours nor pass over what was not trained.
    """
    store.add_measurements(plan.all_runs)
    if lacking := [run for run in plan.runs if store.unstored_files(run)]:
        hours = sum(costs.hours(run for batch in plan.batches_to_train for run in batch.to_train).values())
        raise UserError(
            f"scale {plan.scale}: {len(lacking):,} of {len(plan.runs):,} runs are not measured, and DVC trains none: "
            f"`snakemake --cores all --config scale={plan.scale}` trains them, about {hours:.2g} hours; "
            "`git checkout params.yaml config` takes a change back."
        )


def select(plan: Plan) -> bool:
    """Take new measurements into the store; write results/selected.json, and complete sets into results/sets.json.

    Returns whether the selection changed.
    """
    _take_facts(plan)
    store.add_measurements(plan.reported)
    at_home = Path.cwd().samefile(plan.root)
    shared = identity.read_lock(plan.root, committed=True)
    lock = shared if at_home else identity.read_lock(plan.root)
    sets, history, repository = Sets.read(), History.read(plan.root), Repository.read(plan.root)
    rules = rule_digests.lock_digest()
    before = {} if history.bits else selection.read_packed(rules)
    if lacking := git.missing_history(plan.root):
        warn(f"git's history is {lacking}. Ages of rules and origins of runs stay as committed.")
    of_studies = {
        study: _select_study(plan, study, sets, history, repository, before.get(study, {}))
        for study in catalogue.STUDIES
        if catalogue.has_runs(study)
    }
    sets.write()
    content = {
        "plan": plan.digest(),
        "rules": rules,
        "scale": plan.scale,
        **({} if at_home else {"overlays": results_folder.owner(plan) or [results_folder.NO_FILE]}),
        "recorded": {} if plan.has_own_results else {name: other.scale for name, other in plan.recorded_plans.items()},
        "studies": of_studies,
        "corpora": {
            name: {key: entry[key] for key in ("id", "spec", "counts")} | ({} if name in shared else {"own": True})
            for name, entry in lock.items()
        },
        "recipes": {module: recipes.recipe_number(module) for module in recipes.modules()},
    }
    return selection.write(content)
