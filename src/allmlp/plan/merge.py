"""The files of parameters, laid over one another, the later ones on top.

    config/corpora.yaml, params.yaml, corpora.local.yaml, the user's own files
    config/<study>/study.yaml, config/<study>/<scale>.yaml, then its keys in params.yaml and the user's own files

A key of a study in a user's file counts at the chosen scale. At the other scales it replaces what study.yaml sets.
`studies: {<study>: {scales: {<scale>: ...}}}` counts at that scale alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from allmlp.common import yaml_file
from allmlp.common.errors import UserError, format_value
from allmlp.common.schema import SCALES as SCALES
from allmlp.common.schema import Scale as Scale
from allmlp.common.yaml_file import LocatedYaml, Place, lookup
from allmlp.spec import catalogue

CONFIG, STUDY = "config", "study"
LOCAL = "corpora.local.yaml"  # the paths of this machine's own corpora; git ignores it


@dataclass(frozen=True)
class Layer:
    """A study's keys in one file: `plain` ones, and those of single `scales`."""

    plain: LocatedYaml
    scales: dict[Scale, LocatedYaml]


def top_level(root: Path, files: list[LocatedYaml], changes: Mapping[str, str], committed: bool) -> LocatedYaml:
    """All keys but those of the studies in config/. `files`: params.yaml, then the user's own.

    `changes`: of single keys. `committed`: without this machine's corpora.
    """
    layers, local = [*_read_config_files(root, "corpora.yaml").values(), files[0]], root / LOCAL
    if local.is_file() and not committed:
        layers.append(_rebase(yaml_file.read(local), (), ("corpora",)))
    located = reduce(yaml_file.merge, (*layers, *files[1:]))
    for key, value in changes.items():
        if key not in ("scale", "device"):
            raise UserError(
                f"--config {key}={value}: only `scale`, `device` and `study` can be set there. "
                "Put the rest into a file: --configfile my.yaml"
            )
        located = yaml_file.merge(located, LocatedYaml({key: value}, {(key,): ("--config", 1)}))
    return located


def planned_studies(root: Path, located: LocatedYaml) -> list[str]:
    """The studies with a folder in config/ or a key under `studies:`, in their order. UserError for an unknown one."""
    known = [name for name in catalogue.STUDIES if catalogue.has_runs(name)]
    there = {file.parent.name: file.relative_to(root).as_posix() for file in (root / CONFIG).glob(f"*/{STUDY}.yaml")}
    there |= {study: located.where(("studies", study)) for study in located.value.get("studies", {})}
    for study, where in there.items():
        if study not in known:
            raise UserError(f"{where}: {catalogue.unknown_study_message(study, known, ' with runs')}")
    return [study for study in known if study in there]


def study_scales(
    root: Path, study: str, chosen: Scale, files: list[LocatedYaml]
) -> Iterator[tuple[Scale, LocatedYaml]]:
    """Each scale that a study has, with its files laid over one another."""
    config, own = _config(root, study), [_layer(file, study) for file in files]
    scales = [scale for scale in SCALES if any(scale in layer.scales for layer in (config, *own))]
    asked = [layer.plain for layer in own if layer.plain.value["studies"][study]]
    if asked and chosen not in scales:
        raise UserError(
            f"{asked[0].where(('studies', study))}: {study} has no scale {chosen!r}. It has: {', '.join(scales)}. "
            "Choose one of them: `scale:` in the file, or --scale."
        )
    for scale in scales:
        layers = [config.plain]
        if scale != chosen:
            layers += [yaml_file.restrict_keys(plain, config.plain) for plain in asked]
        layers += [config.scales[scale]] if scale in config.scales else []
        for file in own:
            layers += [file.plain] if scale == chosen else []
            layers += [file.scales[scale]] if scale in file.scales else []
        yield scale, reduce(yaml_file.merge, layers)


def _config(root: Path, study: str) -> Layer:
    """A study's folder in config/: study.yaml, and a file per scale."""
    plain, scales = LocatedYaml({"studies": {study: {}}}), {}
    for name, file in _read_config_files(root, f"{study}/*.yaml").items():
        layer = _layer(file, study)
        if list(file.value) != ["studies"] or list(file.value["studies"]) != [study] or layer.scales:
            raise UserError(
                f"{file.where(())}: must hold `studies: {{{study}: ...}}`, without scales, and nothing else."
            )
        if name == STUDY:
            plain = layer.plain
        else:
            scales[_scale(name, file.where(()))] = layer.plain
    return Layer(plain, scales)


def _read_config_files(root: Path, pattern: str) -> dict[str, LocatedYaml]:
    """file of config/ -> its content; errors name files with their folders."""
    files = sorted((root / CONFIG).glob(pattern))
    return {file.stem: yaml_file.read(file, file.relative_to(root).as_posix()) for file in files}


def _layer(file: LocatedYaml, study: str) -> Layer:
    """What a file sets of a study."""
    place: Place = ("studies", study)
    if "studies" not in file.value or study not in _mapping(file, ("studies",)):
        return Layer(LocatedYaml({"studies": {study: {}}}), {})
    keys = _mapping(file, place)
    named = _mapping(file, (*place, "scales")) if "scales" in keys else {}
    scales = {}
    for name in named:
        scale = _scale(name, file.where((*place, "scales", name)))
        if named[name] is not None:  # a scale may have no settings
            _mapping(file, (*place, "scales", name))
        scales[scale] = _rebase(file, (*place, "scales", name), place)
    plain = {key: value for key, value in keys.items() if key != "scales"}
    return Layer(LocatedYaml({"studies": {study: plain}}, file.lines), scales)


def _scale(name: str, where: str) -> Scale:
    if name not in SCALES:
        raise UserError(f"{where}: no scale {format_value(name)}. There are: {', '.join(SCALES)}.")
    return name


def _rebase(located: LocatedYaml, source: Place, onto: Place) -> LocatedYaml:
    """The subtree at `source`, as if it stood at `onto`, with its own lines."""
    node = lookup(located.value, source)
    value: Any = {} if node is None else node
    for key in reversed(onto):
        value = {key: value}
    size, lines = len(source), located.lines.items()
    moved = {(*onto, *p[size:]): line for p, line in lines if p[:size] == source and p != source}
    return LocatedYaml(value, moved)


def _mapping(located: LocatedYaml, place: Place) -> dict[str, Any]:
    """The keys and values at `place`; an error if something else stands there."""
    node = lookup(located.value, place)
    if not isinstance(node, dict):
        found = "is empty" if node is None else f"is {format_value(node)}"
        raise UserError(f"{located.where(place)}: {'.'.join(map(str, place))} {found}: it must hold keys and values")
    return node
