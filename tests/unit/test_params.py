"""params.yaml is strict: what is wrong is said with file, line, value and the way out."""

import subprocess
import sys
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
        ("    p: 59", "    p: many", "studies.quadrature.p is 'many': input should be a valid integer"),
        (
            "    batch_size: 512",
            "    batch_size: 0",
            "studies.language.batch_size is 0: input should be greater than 0",
        ),
        (
            "    corpus: stories\n    context",
            "    corpus: storys\n    context",
            "no corpus 'storys'. There are: stories, stories-few, ",
        ),
        (
            "      corpus: stories-bytes\n",
            "      corpus: stories-byte\n",
            "no corpus 'stories-byte'. There are: stories, stories-few, ",
        ),
        (
            "  copying:             #",
            "  copyin:             #",
            "no study 'copyin' with runs. There are: language, mixers, copying, quadrature, triangular, crossover.",
        ),
        ("    source: stories\n    documents: 30000", "    source: tales\n    documents: 30000", "is 'tales'"),
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


def test_a_scales_own_key_is_found_on_its_own_line(tmp_path: Path) -> None:
    with pytest.raises(
        UserError,
        match=rf"^params.yaml:{line_of('      paper: {seeds: [0], steps: 10000}')}: .*'stesp'.*'steps'",
    ):
        load(tmp_path, "      paper: {seeds: [0], steps: 10000}", "      paper: {seeds: [0], stesp: 10000}")


def test_a_corpus_of_a_block_is_found_on_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(TEXT)
    (tmp_path / "my.yaml").write_text(
        "studies:\n  copying:\n    scales:\n      laptop:\n        text:\n          corpus: mine\n"
    )
    with pytest.raises(UserError, match=r"^my.yaml:6: no corpus 'mine'. There are: stories, "):
        params.load(tmp_path / "params.yaml", [tmp_path / "my.yaml"])
    line = line_of("      corpus: stories-bytes\n")
    with pytest.raises(UserError, match=rf"^params.yaml:{line}: no corpus 'tales-bytes'"):
        load(tmp_path, "      corpus: stories-bytes\n", "      corpus: tales-bytes\n")


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
    with pytest.raises(UserError, match="only `scale`, `device` and `study`"):
        load(tmp_path, steps="3")
    with pytest.raises(UserError, match="scale is 'lapdog'"):
        load(tmp_path, scale="lapdog")


def test_corpora_of_this_machine_need_no_change_of_params(tmp_path: Path) -> None:
    (tmp_path / "corpora.local.yaml").write_text("mine: {source: local, files: [a.txt], tokenizer: {kind: bytes}}\n")
    assert "mine" in load(tmp_path).corpora


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "    train_share: 0",
            "    train_shore: 0",
            "unknown key 'train_shore' in studies.quadrature. Did you mean 'train_share'?",
        ),
        (
            " causal-rn: ",
            " causal-rm: ",
            "no architecture 'causal-rm' in studies.copying.models. Did you mean 'causal-rn'?",
        ),
        (" causal-rn: ", " qqq: ", "no architecture 'qqq' in studies.copying.models. There are: mlp, "),
        (
            "seeds: [0]\n        string_lengths: [4]",
            "seeds: [-1]\n        string_lengths: [4]",
            "studies.copying.seeds.0 is -1: ",
        ),
        ("string_lengths: [4]", "string_lengths: [0]", "studies.copying.string_lengths.0 is 0: "),
        ("betas: [0.9, 0.98]", "betas: [0.9, 1.0]", "studies.quadrature.optimiser.betas.1 is 1.0: "),
        ("2e-3, clip: 1.0, warmup_steps: 50", ".inf", "studies.copying.optimiser.learning_rate is inf: input"),
        ("2e-3, clip: 1.0, warmup_steps: 50", ".nan", "studies.copying.optimiser.learning_rate is nan: input"),
        ("    documents: 30000", "    documents: 3\a0000", r"is not YAML: holds the character '\x07'. Remove it."),
        (
            "    documents: 30000",
            "    documents: -1",
            "corpora.stories.documents is -1: input should be greater than 0",
        ),
        ("    revision: 1588ec", "    revision: f1588ec", "corpora.c4.revision is 'f1588ec"),
    ],
)
def test_a_wrong_value_is_said_on_its_own_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        load(tmp_path, old, new)
    assert str(error.value).startswith(f"params.yaml:{line_of(old)}: {said}")


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        ("studies:\n  copying:\n", "my.yaml:2: studies.copying is empty: it must hold keys and values"),
        ("studies:\n  copying: 5\n", "my.yaml:2: studies.copying is 5: it must"),
        ("studies:\n  copying:\n    scales:\n", "my.yaml:3: studies.copying.scales is empty: it must"),
        ("studies:\n  copying:\n    scales: {smoke: 3}\n", "my.yaml:3: studies.copying.scales.smoke is 3: it must"),
        ("device: 2020-13-45\n", "my.yaml: is not YAML: month must be in 1..12"),
        (
            "corpora:\n  stories:\n    tokeniser: 1\n",
            "my.yaml:3: unknown key 'tokeniser' in corpora.stories. Did you mean 'tokenizer'?",
        ),
        (
            "corpora:\n  stories:\n    qqq: 1\n",
            "my.yaml:3: unknown key 'qqq' in corpora.stories. Valid keys: source, docu",
        ),
        (
            "corpora:\n  stories:\n    tokenizer: {vocabulry: 9}\n",
            "my.yaml:3: unknown key 'vocabulry' in corpora.stories.tokenizer. Did you mean 'vocabulary'?",
        ),
        ("corpora:\n  mine:\n    documents: 3\n", "my.yaml:2: corpora.mine lacks the key 'source'"),
        ("corpora:\n  mine: {source: hub, name: a/b}\n", "my.yaml:2: corpora.mine lacks the key 'revision'"),
        ("corpora:\n  mine: {source: [hub]}\n", "my.yaml:2: corpora.mine.source is ['hub']: "),
        ("corpora:\n  mine: {source: local, files: 5}\n", "my.yaml:2: corpora.mine.files is 5: "),
    ],
)
def test_an_overlays_mistake_is_said_with_its_own_file_and_line(tmp_path: Path, overlay: str, said: str) -> None:
    (tmp_path / "params.yaml").write_text(TEXT)
    (tmp_path / "my.yaml").write_text(overlay)
    with pytest.raises(UserError) as error:
        params.load(tmp_path / "params.yaml", [tmp_path / "my.yaml"])
    assert str(error.value).startswith(said)


def test_an_overlay_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(TEXT)
    with pytest.raises(UserError, match=r": cannot be read: Is a directory$"):
        params.load(tmp_path / "params.yaml", [tmp_path])


def test_a_mistake_in_this_machines_corpora_is_said_with_that_file_and_line(tmp_path: Path) -> None:
    text = "# here\nmine:\n  source: local\n  files: [a.jsonl]\n  feild: text\n"
    (tmp_path / "corpora.local.yaml").write_text(text)
    with pytest.raises(UserError, match=r"^corpora.local.yaml:5: unknown key 'feild' in corpora.mine. .*'field'"):
        load(tmp_path)


def test_reading_parameters_does_not_import_torch() -> None:
    code = "import sys; from allmlp import params; params.read(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT)
