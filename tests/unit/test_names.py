"""One name and one colour for each architecture, wherever a reader sees it."""

import doctest
import re

import matplotlib
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from allmlp import models
from allmlp.common import yaml_file
from allmlp.judging import evidence
from allmlp.report import names, style
from allmlp.report.headings import format_table
from allmlp.spec import catalogue, exhibits
from tests.conftest import PROJECT

IDS = re.compile(r"\b(?:gpt|llama)-\d+\b")  # read as the names of other models


def test_every_architecture_and_every_model_of_the_mixers_has_a_name() -> None:
    assert not doctest.testmod(names).failed
    assert set(models.REGISTRY) >= set(names.ARCHITECTURES), "one of a user's own is shown by its id"
    config = yaml_file.parse_plain((PROJECT / "config/mixers/study.yaml").read_text(encoding="utf-8"))["studies"][
        "mixers"
    ]
    for name, about in config["models"].items():
        assert names.display(name) not in (name, about["architecture"])
        assert names.architecture(name) == about["architecture"]
        assert style.colour(name) == style.colour(about["architecture"])


def test_a_table_of_the_page_shows_names_and_no_ids() -> None:
    table = pd.DataFrame({"model": ["llama-4", "flat mixer, left"], "variant": ["gpt-16", "x"], "note": ["a", "b"]})
    assert format_table(table).to_dict("list") == {
        "model": ["Llama, 4 heads", "flat mixer, left"],
        "variant": ["early GPT, 16 heads", "x"],
        "note": ["a", "b"],
    }


KNOWN = {names.display(name): name for name in (*names.VARIANTS, *names.ARCHITECTURES)}
KNOWN |= {names.display(f"{kind}-{n}"): f"{kind}-{n}" for kind in names.KINDS for n in (2, 4, 8, 16)}


def drawn(figure: Figure, architectures: set[str]) -> dict[str, set[str]]:
    """Architecture or variant -> its colours, of the legends' entries that name one of these architectures."""
    found: dict[str, set[str]] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            name = KNOWN.get(label) or KNOWN.get(label.rpartition(", ")[0])
            line = handle[0] if isinstance(handle, tuple) and handle else handle
            if name and names.architecture(name) in architectures and hasattr(line, "get_color"):
                found.setdefault(name, set()).add(to_hex(line.get_color()).upper())
    return found


def texts(figure: Figure) -> str:
    artists = figure.findobj(matplotlib.text.Text)
    return "\n".join(artist.get_text() for artist in artists)


@pytest.mark.slow
@pytest.mark.parametrize("study", catalogue.STUDIES)
def test_a_name_has_one_colour_in_all_figures(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    named = set()
    for name, exhibit in exhibits.study_exhibits(study, "figures").items():
        found = evidence.largest_evidence(study, exhibit) if exhibit.measures else None
        if found is None:
            continue
        with matplotlib.rc_context(style.rc()):
            figure = found.make_exhibit(exhibit)
        assert not IDS.search(texts(figure)), name
        architectures = {run["architecture"] for run in found.content["runs"].values()}
        for model, colours in drawn(figure, architectures).items():
            assert colours == {style.colour(model).upper()}, f"{name}: {model}"
            named.add(model)
    assert named or study in ("crossover", "quadrature")


def test_no_page_names_a_model_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    for study in catalogue.STUDIES:
        about = catalogue.read_about(study)
        assert not IDS.search(str([about["headlines"], about["slice"], about.get("notes"), about.get("says")]))
    for page in ("README.md", *(path.name for path in (PROJECT / "paper").glob("*.j2"))):
        path = PROJECT / page if page == "README.md" else PROJECT / "paper" / page
        assert not IDS.search(path.read_text(encoding="utf-8")), page
