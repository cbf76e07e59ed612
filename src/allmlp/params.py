"""Every parameter that a user may change, strictly checked. Errors name the file, the line and the nearest key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from allmlp import layered, paths, studies, yamlfile
from allmlp.corpora.spec import CorpusSpec, taught
from allmlp.errors import UserError, shown
from allmlp.layered import LOCAL as LOCAL
from allmlp.layered import SCALES as SCALES
from allmlp.layered import Scale as Scale
from allmlp.strict import NAME, OF_NAMES, Strict, checked, nearest
from allmlp.yamlfile import Located, Place, at


class _Top(Strict):
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
    corpora: dict[str, CorpusSpec]
    settings: dict[tuple[str, Scale], Any]
    weights: str | None = None
    files: dict[tuple[str, Scale], Located] = field(default_factory=dict)  # where each setting stands

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
    files = [yamlfile.read(path), *map(yamlfile.read, overlays or [])]
    located = layered.top_level(path.parent, files, changes or {}, committed)
    top = checked(_Top, located.value, located, ())
    for name in top.corpora:
        if not NAME.fullmatch(name):
            raise UserError(f"{located.where(('corpora', name))}: corpus {name!r}: a name {OF_NAMES}. Rename it.")
    specs = {name: checked(CorpusSpec, value, located, ("corpora", name)) for name, value in top.corpora.items()}
    corpora, root = taught(specs), path.parent
    settings: dict[tuple[str, Scale], Any] = {}
    places: dict[tuple[str, Scale], Located] = {}
    for study in layered.planned(root, located):
        place, model = ("studies", study), studies.module(study, "runs").Settings
        for scale, merged in layered.of_study(root, study, top.scale, files):
            places[study, scale] = merged
            settings[study, scale] = checked(model, at(merged.value, place), merged, place)
            _check_corpora(settings[study, scale], corpora, merged, place)
    return Params(top.scale, top.device, tuple(top.recorded), corpora, settings, top.weights, places)


def read(overlays: Sequence[Path] | None = None, changes: dict[str, str] | None = None) -> Params:
    """The parameters of this project under overlays."""
    return load(paths.project() / "params.yaml", overlays, changes)


def _check_corpora(setting: Any, corpora: dict[str, CorpusSpec], located: Located, prefix: Place) -> None:
    for place, corpus in _named_corpora(setting):
        if corpus not in corpora:
            advice = nearest(corpus, corpora, "There are")
            raise UserError(f"{located.where((*prefix, *place))}: no corpus {shown(corpus)}. {advice}")


def _named_corpora(setting: Any) -> Iterator[tuple[Place, str]]:
    """The places where a study's settings, or a block in them, name a corpus, with its name."""
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
    """The blocks of settings in a value: itself, or the items of a list."""
    if isinstance(value, BaseModel):
        yield (), value
    elif isinstance(value, list):
        yield from (((place,), item) for place, item in enumerate(value) if isinstance(item, BaseModel))
