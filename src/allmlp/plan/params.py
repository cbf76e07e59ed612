"""Every parameter that a user may change, strictly checked. Errors name the file, the line and the nearest key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from allmlp.common import paths, yaml_file
from allmlp.common.errors import UserError, format_value
from allmlp.common.schema import NAME, OF_NAMES, StrictModel, suggest_nearest, validate
from allmlp.common.yaml_file import LocatedYaml, Place, lookup
from allmlp.data.corpora.spec import Corpora, CorpusSpec, link_corpora
from allmlp.plan import merge
from allmlp.plan.merge import LOCAL as LOCAL
from allmlp.plan.merge import SCALES as SCALES
from allmlp.plan.merge import Scale
from allmlp.spec import catalogue

OF_IMAGES = {"images", "photographs", "digits"}  # blocks whose corpus holds images


class Top(StrictModel):
    scale: Scale
    device: Literal["cpu", "cuda"] | None = None
    weights: Literal["kept", "released"] | None = None
    recorded: list[str] = Field(default=[])
    corpora: dict[str, Any] = Field(default={})
    studies: dict[str, Any] = Field(default={})


@dataclass(frozen=True)
class Params:
    """Checked parameters: the scale asked for, the corpora, and each study's settings at each scale that it has.

    `recorded`: overlay files whose results are kept in git, to be judged and drawn beside this plan's.
    `weights`: kept, or released once nothing open reads them; None leaves it to the scale.
    """

    scale: Scale
    device: str | None
    recorded: tuple[str, ...]
    corpora: Corpora
    settings: dict[tuple[str, Scale], Any]
    weights: str | None = None
    files: dict[tuple[str, Scale], LocatedYaml] = field(default_factory=dict)  # where each setting stands

    def where(self, study: str, scale: Scale, key: str) -> str:
        """The file and line of a study's key at any depth, the last one written."""
        located = self.files[study, scale]
        places = [place for place in located.lines if place[:2] == ("studies", study) and place[-1] == key]
        return located.where(places[-1] if places else ("studies", study))


def load(
    path: Path, overlays: Sequence[Path] | None = None, changes: dict[str, str] | None = None, committed: bool = False
) -> Params:
    """The parameters of the project that `path`, its params.yaml, lies in, under overlays and single `changes`.

    `changes`: of top-level keys. `committed`: without this machine's corpora.
    """
    files = [yaml_file.read(path), *map(yaml_file.read, overlays or [])]
    located = merge.top_level(path.parent, files, changes or {}, committed)
    top = validate(Top, located.value, located, ())
    for name in top.corpora:
        if not NAME.fullmatch(name):
            where = located.where(("corpora", name))
            raise UserError(f"{where}: corpus {format_value(name)}: a name {OF_NAMES}. Rename it.")
    corpora, root = link_corpora(_specs(top.corpora, located)), path.parent
    settings: dict[tuple[str, Scale], Any] = {}
    places: dict[tuple[str, Scale], LocatedYaml] = {}
    for study in merge.planned_studies(root, located):
        place, model = ("studies", study), catalogue.module(study, "runs").Settings
        for scale, merged in merge.study_scales(root, study, top.scale, files):
            places[study, scale] = merged
            settings[study, scale] = validate(model, lookup(merged.value, place), merged, place)
            _check_corpora(settings[study, scale], corpora, merged, place)
            if scale == top.scale:
                _refuse_replaced_rates(settings[study, scale], merged, place, files)
    return Params(top.scale, top.device, tuple(top.recorded), corpora, settings, top.weights, places)


def _specs(corpora: dict[str, Any], located: LocatedYaml) -> dict[str, CorpusSpec]:
    """The entries of `corpora:`. UserError with a line for each thing that is wrong in any of them."""
    specs, wrong = {}, []
    for name, value in corpora.items():
        try:
            specs[name] = _corpus(name, value, located)
        except UserError as error:
            wrong.append(str(error))
    if wrong:
        raise UserError("\n".join(wrong))
    return specs


def _corpus(name: str, value: Any, located: LocatedYaml) -> CorpusSpec:
    place = ("corpora", name)
    spec: CorpusSpec = validate(CorpusSpec, value, located, place)
    return spec.model_copy(update={"where": located.where(place)})


def _refuse_replaced_rates(setting: Any, located: LocatedYaml, prefix: Place, files: Sequence[LocatedYaml]) -> None:
    """UserError for a learning rate in one of these files beside a search: it would rename runs and alter none."""
    named = {file for one in files for file, _ in one.lines.values()}
    for block in searching_blocks(setting):
        place = (*prefix, *block, "optimiser", "learning_rate")
        if located.lines.get(place, ("", 0))[0] in named:
            search = ".".join(map(str, (*prefix, *block, "search")))
            raise UserError(
                f"{located.where(place)}: the search of rates beside it replaces this learning rate, so that every run "
                f"would be trained again to the same result. Change {search}.learning_rates, or set {search}: null."
            )


def searching_blocks(setting: Any) -> Iterator[Place]:
    """The places of the blocks of settings with an optimiser and a search of its rate."""
    if getattr(setting, "search", None) is not None and hasattr(setting, "optimiser"):
        yield ()
    for key in type(setting).model_fields:
        for step, block in _blocks(getattr(setting, key)):
            yield from ((key, *step, *place) for place in searching_blocks(block))


def read(overlays: Sequence[Path] | None = None, changes: dict[str, str] | None = None) -> Params:
    """The parameters of this project under overlays."""
    return load(paths.project() / "params.yaml", overlays, changes)


def _check_corpora(setting: Any, corpora: dict[str, CorpusSpec], located: LocatedYaml, prefix: Place) -> None:
    for place, corpus in named_corpora(setting):
        if corpus not in corpora:
            advice = suggest_nearest(corpus, reversed(corpora), "There are")  # a user's own come last
            raise UserError(f"{located.where((*prefix, *place))}: no corpus {format_value(corpus)}. {advice}")
        wanted = "pairs" if {"pairs", "control"} & {*place} else "images" if OF_IMAGES & {*place} else "text"
        if (held := corpora[corpus].holds) != wanted:
            like = [name for name, spec in reversed(corpora.items()) if spec.holds == wanted]
            raise UserError(
                f"{located.where((*prefix, *place))}: corpus {format_value(corpus)} holds {held}, and {wanted} is read "
                f"here. {suggest_nearest(corpus, like, 'There are')}"
            )


def named_corpora(setting: Any) -> Iterator[tuple[Place, str]]:
    """The places where a study's settings, or a block in them, name a corpus, with its name."""
    for key in type(setting).model_fields:
        value = getattr(setting, key)
        if key in ("corpus", "control") and value is not None:
            yield (key,), value
        elif key in ("controls", "pairs"):
            yield from (((key, place), corpus) for place, corpus in enumerate(value))
        else:
            for step, block in _blocks(value):
                for place, corpus in named_corpora(block):
                    yield (key, *step, *place), corpus


def _blocks(value: Any) -> Iterator[tuple[Place, BaseModel]]:
    """The blocks of settings in a value: itself, or the items of a list or of a mapping."""
    if isinstance(value, BaseModel):
        yield (), value
    elif isinstance(value, list | dict):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        yield from (((place,), item) for place, item in items if isinstance(item, BaseModel))
