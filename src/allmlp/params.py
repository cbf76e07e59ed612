"""params.yaml: every parameter that a user may change, strictly checked, with errors that name file and line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from allmlp import paths, studies, yamlfile
from allmlp.corpora import CorpusSpec, taught
from allmlp.errors import UserError
from allmlp.strict import Strict
from allmlp.yamlfile import Located, Place

Scale = Literal["smoke", "laptop", "workstation", "long", "gpu", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "workstation", "long", "gpu", "paper")
LOCAL = "corpora.local.yaml"  # where this machine's own corpora lie; git ignores it


class _Top(Strict):
    scale: Scale
    device: Literal["cpu", "cuda"] | None = None
    recorded: list[str] = Field(default=[])
    corpora: dict[str, Any]
    studies: dict[str, Any]


@dataclass(frozen=True)
class Params:
    """Checked parameters: the scale asked for, the corpora, and each study's settings at each scale that it has.

    `recorded`: overlay files whose results are kept in git, to be judged and drawn beside this plan's.
    """

    scale: Scale
    device: str | None
    recorded: tuple[str, ...]
    corpora: dict[str, CorpusSpec]
    settings: dict[tuple[str, Scale], Any]


def _at(node: Any, place: Place) -> Any:
    for key in place:
        node = node[key]
    return node


def _found(located: Located, loc: Place, prefix: Place) -> tuple[Place, Any]:
    """The deepest place that pydantic's `loc` names and the files hold, and what stands there."""
    if prefix[:1] == ("corpora",) and loc[:1] == ("source",) and len(loc) > 1:
        loc = loc[2:]  # a corpus's keys stand beside `source:`, where CorpusSpec gathers them from
    place: Place = prefix
    node: Any = _at(located.value, prefix)
    for key in loc:
        if (isinstance(node, dict) and key in node) or (
            isinstance(node, list) and isinstance(key, int) and key < len(node)
        ):
            place, node = (*place, key), _at(node, (key,))
    return place, node


def _message(located: Located, error: Any, prefix: Place) -> str:
    """One line for one pydantic error: where, what was found, what is right."""
    place, node = _found(located, error["loc"], prefix)
    owner = ".".join(map(str, place)) or "params"
    if error["type"] in ("unknown_key", "unknown_name"):
        key, advice = error["ctx"]["key"], error["ctx"]["advice"]
        wrong = "unknown key" if error["type"] == "unknown_key" else f"no {error['ctx']['what']}"
        return f"{located.where((*place, key))}: {wrong} {key!r} in {owner}. {advice}"
    if error["type"] == "missing":
        return f"{located.where(place)}: {owner} lacks the key '{error['loc'][-1]}'"
    return f"{located.where(place)}: {owner} is {node!r}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _checked(model: type[BaseModel], value: Any, located: Located, prefix: Place) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise UserError("\n".join(dict.fromkeys(_message(located, e, prefix) for e in error.errors()))) from None


def _mapping(located: Located, place: Place) -> dict[str, Any]:
    """The keys and values at `place`; an error if something else stands there."""
    node = _at(located.value, place)
    if not isinstance(node, dict):
        found = "is empty" if node is None else f"is {node!r}"
        raise UserError(f"{located.where(place)}: {'.'.join(map(str, place))} {found}: it must hold keys and values")
    return node


def _settings(located: Located, study: str) -> dict[tuple[str, Scale], Any]:
    """A study's settings at each of its scales: the shared keys, overlaid by the scale's own."""
    place: Place = ("studies", study)
    shared = _mapping(located, place)
    scales = _mapping(located, (*place, "scales")) if "scales" in shared else {}
    for scale, keys in scales.items():
        if scale not in SCALES:
            raise UserError(
                f"{located.where((*place, 'scales', scale))}: no scale {scale!r}. There are: {', '.join(SCALES)}."
            )
        if keys is not None:  # a scale may have nothing of its own
            _mapping(located, (*place, "scales", scale))
    settings = {}
    for scale in SCALES:
        if scale in scales:
            own = _rebased(located, (*place, "scales", scale), place)
            merged = yamlfile.merge(Located(located.value, located.lines), own)
            value = merged.value["studies"][study]
            value = {key: item for key, item in value.items() if key != "scales"}
            settings[study, scale] = _checked(studies.module(study, "runs").Settings, value, merged, place)
    return settings


def _rebased(located: Located, at: Place, onto: Place) -> Located:
    """The subtree at `at`, as if it stood at `onto`, with its own lines."""
    node = _at(located.value, at)
    value: Any = {} if node is None else node
    for key in reversed(onto):
        value = {key: value}
    lines = {(*onto, *p[len(at) :]): line for p, line in located.lines.items() if p[: len(at)] == at and p != at}
    return Located(value, lines)


def load(
    path: Path, overlays: list[Path] | None = None, changes: dict[str, str] | None = None, committed: bool = False
) -> Params:
    """params.yaml, then this machine's corpora, then the overlays in order, then single `changes` to top-level keys.

    `committed`: without this machine's corpora.
    """
    located = yamlfile.read(path)
    local = path.parent / LOCAL
    if local.is_file() and not committed:
        located = yamlfile.merge(located, _rebased(yamlfile.read(local), (), ("corpora",)))
    for overlay in overlays or []:
        located = yamlfile.merge(located, yamlfile.read(overlay))
    for key, value in (changes or {}).items():
        if key not in ("scale", "device"):
            raise UserError(
                f"--config {key}={value}: only `scale`, `device` and `study` can be set there. "
                "Put the rest into a file: --configfile params.yaml my.yaml"
            )
        located = yamlfile.merge(located, Located({key: value}, {(key,): ("--config", 1)}))
    top = _checked(_Top, located.value, located, ())
    for study in top.studies:
        if study not in studies.STUDIES or not studies.has_runs(study):
            known = [name for name in studies.STUDIES if studies.has_runs(name)]
            raise UserError(
                f"{located.where(('studies', study))}: no study {study!r} with runs. There are: {', '.join(known)}."
            )
    specs = {name: _checked(CorpusSpec, value, located, ("corpora", name)) for name, value in top.corpora.items()}
    corpora = taught(specs)
    settings: dict[tuple[str, Scale], Any] = {}
    for study in top.studies:
        settings |= _settings(located, study)
    _check_corpora(settings, corpora, located)
    return Params(top.scale, top.device, tuple(top.recorded), corpora, settings)


def _check_corpora(settings: dict[tuple[str, Scale], Any], corpora: dict[str, CorpusSpec], located: Located) -> None:
    for (study, scale), setting in settings.items():
        for place, corpus in _named_corpora(setting):
            if corpus not in corpora:
                own: Place = ("studies", study, "scales", scale, *place)
                where = located.where(own if own in located.lines else ("studies", study, *place))
                raise UserError(f"{where}: no corpus {corpus!r}. There are: {', '.join(corpora) or 'none'}.")


def _named_corpora(setting: Any) -> Iterator[tuple[Place, str]]:
    """Where a study's settings, or a block within them, name a corpus, and which."""
    for key in type(setting).model_fields:
        value = getattr(setting, key)
        if key in ("corpus", "control") and value is not None:
            yield (key,), value
        elif key in ("controls", "pairs"):
            yield from (((key, place), corpus) for place, corpus in enumerate(value))
        else:
            for step, block in _blocks(value):
                for place, corpus in _named_corpora(block):
                    yield (key, *step, *place), corpus


def _blocks(value: Any) -> Iterator[tuple[Place, BaseModel]]:
    """The blocks of settings that a value is, or lists."""
    if isinstance(value, BaseModel):
        yield (), value
    elif isinstance(value, list):
        yield from (((place,), item) for place, item in enumerate(value) if isinstance(item, BaseModel))


def read(overlays: list[Path] | None = None, changes: dict[str, str] | None = None) -> Params:
    """The project's params.yaml with overlays."""
    return load(paths.project() / "params.yaml", overlays, changes)
