"""known.json: what the plans of all scales ask of architectures and tasks, so that planning imports no torch."""

import json
from collections.abc import Iterable, Iterator

from allmlp import known, paths
from allmlp.checking.found import Decisions, Found
from allmlp.plan import load_plan

NAME = known.FILE.name


def look(fix: bool, decisions: Decisions) -> Iterator[Found]:
    """Answers that are missing, that classes give otherwise by now, and that nobody asks any more."""
    del decisions
    written, asked = known.read(known.FILE), answers()
    missing, unused = asked.keys() - written.keys(), written.keys() - asked.keys()
    differ = {key for key in asked.keys() & written.keys() if asked[key] != written[key]}
    if fix and (missing or unused or differ):
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(asked.items()))
        paths.write_whole(known.FILE, "{\n" + ",\n".join(lines) + "\n}\n")
    if missing:
        yield Found(NAME, f"{len(missing)} answers that plans ask for and that are not there", _names(missing), not fix)
    if differ:
        yield Found(NAME, "the class says otherwise by now", _names(differ), not fix)
    if unused:  # harmless: a smaller plan asks less
        yield Found(NAME, f"{len(unused)} answers that no plan asks for", _names(unused), open=False)


def answers() -> dict[str, object]:
    """What git's plans of all scales ask. Classes are asked again; counts are those of known.json where it has them."""
    memory = known.restart()
    for of_study in load_plan().of_git.by_scale.values():
        for run in (run for runs in of_study.values() for run in runs):
            sequences = known.batch(run.task, run.task_parameters).sequences
            known.counts(run.architecture, run.hyperparameters, sequences)
    return memory.used


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    """The architectures and tasks that keys of known.json belong to."""
    return tuple(sorted({key.split(":")[0] for key in keys}))
