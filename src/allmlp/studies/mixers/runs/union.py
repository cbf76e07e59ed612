"""Several parts of the study ask for one run: it is planned once, with the measures of all."""

from dataclasses import replace

from allmlp.run import Run


def united(runs: list[Run]) -> list[Run]:
    """Runs of one id as one, where it first stands and with its labels: it has the measures of all."""
    found: dict[str, Run] = {}
    for run in runs:
        first = found.get(run.id, run)
        found[run.id] = replace(first, measures=tuple(dict.fromkeys((*first.measures, *run.measures))))
    return list(found.values())
