"""params.yaml is strict: what is wrong is said with file, line, value and the way out."""

from pathlib import Path

import pytest

from allmlp import params
from allmlp.errors import UserError
from tests.conftest import PROJECT

TEXT = (PROJECT / "params.yaml").read_text()


def load(folder: Path, old: str = "", new: str = "", **changes: str) -> params.Params:
    """The project's params.yaml with one replacement."""
    assert not old or TEXT.count(old) == 1
    (folder / "params.yaml").write_text(TEXT.replace(old, new) if old else TEXT)
    return params.load(folder / "params.yaml", [], changes)


def line_of(text: str) -> int:
    return TEXT[: TEXT.index(text)].count("\n") + 1


def test_the_projects_own_parameters_are_valid_at_every_scale(tmp_path: Path) -> None:
    found = load(tmp_path)
    assert found.scale == "laptop"
    assert {scale for _, scale in found.settings} == set(params.SCALES)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "    train_share: 0.8",
            "    train_shore: 0.8",
            "unknown key 'train_shore' in studies.quadrature. Did you mean 'train_share'?",
        ),
        ("    p: 59", "    p: many", "studies.quadrature.p is 'many': input should be a valid integer"),
        (
            "    batch_size: 512",
            "    batch_size: 0",
            "studies.language.batch_size is 0: input should be greater than 0",
        ),
        (
            "    corpus: stories\n    context",
            "    corpus: storys\n    context",
            "no corpus 'storys'. There are: stories, c4.",
        ),
        (
            "  copying:             #",
            "  copyin:             #",
            "no study 'copyin' with runs. There are: language, copying, quadrature.",
        ),
        ("    source: stories", "    source: tales", "is 'tales'"),
        (
            "      paper: {seeds: [0], steps: 10000}",
            "      papre: {seeds: [0], steps: 10000}",
            "no scale 'papre'",
        ),
        ("scale: laptop ", "scale: [laptop ", "is not YAML"),
        ("    documents: 30000", "    documents: 30000\n    documents: 5", "key 'documents' stands twice"),
    ],
)
def test_a_mistake_is_said_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        load(tmp_path, old, new)
    assert said in str(error.value)
    assert str(error.value).startswith("params.yaml:")


def test_the_line_is_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"^params.yaml:{line_of('    train_share')}: "):
        load(tmp_path, "    train_share: 0.8", "    train_shore: 0.8")


def test_a_scales_own_key_is_found_on_its_own_line(tmp_path: Path) -> None:
    with pytest.raises(
        UserError,
        match=rf"^params.yaml:{line_of('      paper: {seeds: [0], steps: 10000}')}: .*'stesp'.*'steps'",
    ):
        load(tmp_path, "      paper: {seeds: [0], steps: 10000}", "      paper: {seeds: [0], stesp: 10000}")


def test_an_overlay_is_laid_upon_and_named_in_errors(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(TEXT)
    (tmp_path / "my.yaml").write_text("studies:\n  quadrature:\n    optimiser:\n      learning_rate: 2e-3\n")
    found = params.load(tmp_path / "params.yaml", [tmp_path / "my.yaml"])
    optimiser = found.settings["quadrature", "laptop"].optimiser
    assert (optimiser.learning_rate, optimiser.weight_decay) == (2e-3, 2.0)
    (tmp_path / "my.yaml").write_text("studies:\n  quadrature:\n    optimiser:\n      learning_rte: 2e-3\n")
    with pytest.raises(UserError, match=r"^my.yaml:4: unknown key 'learning_rte' .* Did you mean 'learning_rate'\?"):
        params.load(tmp_path / "params.yaml", [tmp_path / "my.yaml"])


def test_a_corpus_of_another_source_replaces_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(TEXT)
    (tmp_path / "my.yaml").write_text(
        "corpora:\n  stories: {source: local, files: [a.txt], tokenizer: {kind: bytes}}\n"
    )
    assert params.load(tmp_path / "params.yaml", [tmp_path / "my.yaml"]).corpora["stories"].source.source == "local"


def test_only_scale_and_device_can_be_set_singly(tmp_path: Path) -> None:
    assert load(tmp_path, scale="smoke").scale == "smoke"
    with pytest.raises(UserError, match="only `scale` and `device`"):
        load(tmp_path, steps="3")
    with pytest.raises(UserError, match="scale is 'lapdog'"):
        load(tmp_path, scale="lapdog")


def test_corpora_of_this_machine_need_no_change_of_params(tmp_path: Path) -> None:
    (tmp_path / "corpora.local.yaml").write_text("mine: {source: local, files: [a.txt], tokenizer: {kind: bytes}}\n")
    assert "mine" in load(tmp_path).corpora
