"""Parameters are strict: an error names the file, the line, the value and the way out."""

import subprocess
import sys
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.data.corpora import identity
from allmlp.plan import params
from allmlp.spec import catalogue
from tests.conftest import PROJECT, lay

CORPORA, QUADRATURE, COPYING = "config/corpora.yaml", "config/quadrature/study.yaml", "config/copying/study.yaml"
SMOKE = "config/copying/smoke.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The tests' own parameters in a folder of one test's own."""
    lay(tmp_path)
    return tmp_path


def load(project: Path, overlay: str = "", **changes: str) -> params.Params:
    """Its parameters, perhaps under an overlay my.yaml."""
    (project / "my.yaml").write_text(overlay)
    return params.load(project / "params.yaml", [project / "my.yaml"] if overlay else [], changes)


def replace(project: Path, file: str, old: str, new: str) -> int:
    """Replace the one place where `old` stands in a file. Returns its line."""
    text = (project / file).read_text()
    assert text.count(old) == 1
    (project / file).write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def test_the_projects_own_parameters_are_valid_at_every_scale(published: Path) -> None:
    found = params.load(published, committed=True)
    assert found.scale == "laptop"
    assert {scale for _, scale in found.settings} == set(params.SCALES)


def test_no_file_of_parameters_is_long_or_wide() -> None:
    for file in (PROJECT / "params.yaml", *(PROJECT / "config").rglob("*.yaml")):
        lines = file.read_text().splitlines()
        assert len(lines) <= 150, file
        assert max(map(len, lines)) <= 120, file


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            QUADRATURE,
            "heads: 4",
            "heads: many",
            "studies.quadrature.n_heads is 'many': input should be a",
        ),
        (COPYING, "    n_blocks: 2\n    b", "    n_blocks: 0\n    b", "studies.copying.n_blocks is 0: input should be"),
        (
            COPYING,
            "corpus: stories-bytes",
            "corpus: stories-byte",
            "no corpus 'stories-byte'. Did you mean 'stories-bytes'?",
        ),
        (CORPORA, "source: digits", "source: tales", "corpora.digits.source is 'tales': there are: stories, local"),
        ("params.yaml", "recorded: []", "recorded: [", "is not YAML"),
        (QUADRATURE, "p: 59", "p: 59\n    p: 61", "key 'p' stands twice"),
        (
            QUADRATURE,
            "train_share: 0",
            "train_shore: 0",
            "unknown key 'train_shore' in studies.quadrature. Did you ",
        ),
        (
            COPYING,
            " causal-rn: ",
            " causal-rm: ",
            "no architecture 'causal-rm' in studies.copying.models. Did ",
        ),
        (COPYING, " causal-rn: ", " qqq: ", "no architecture 'qqq' in studies.copying.models. There are: mlp, "),
        (SMOKE, "seeds: [0]\n", "seeds: [-1]\n", "studies.copying.seeds.0 is -1: "),
        (SMOKE, "string_lengths: [4]", "string_lengths: [0]", "studies.copying.string_lengths.0 is 0: "),
        (SMOKE, "    steps: 12", "    stesp: 12", "unknown key 'stesp' in studies.copying. Did you mean 'steps'?"),
        (QUADRATURE, "0.98]", "1.0]", "studies.quadrature.optimiser.betas.1 is 1.0: "),
        (QUADRATURE, "1e-3", ".inf", "studies.quadrature.optimiser.learning_rate is inf: input"),
        (QUADRATURE, "1e-3", ".nan", "studies.quadrature.optimiser.learning_rate is nan: input"),
        (QUADRATURE, "p: 59", "p: 5\a9", r"is not YAML: holds the character '\x07'. Remove it."),
        (CORPORA, "documents: 200", "documents: -1", "corpora.stories-few.documents is -1: input should be greater"),
    ],
)
def test_a_mistake_is_reported_on_its_own_line(project: Path, file: str, old: str, new: str, said: str) -> None:
    line = replace(project, file, old, new) + (said in ("key 'p' stands twice", "is not YAML"))
    with pytest.raises(UserError) as error:
        load(project)
    assert str(error.value).startswith(f"{file}:{line}: {said}")


@pytest.mark.parametrize(
    ("file", "new", "said"),
    [
        ("papre.yaml", "studies: {quadrature: {seeds: [0], steps: 3}}", "no scale 'papre'. There are: smoke, laptop, "),
        ("laptop.yaml", "studies: {quadrture: {steps: 3}}", "must hold `studies: {quadrature: ...}`, without scales"),
        ("laptop.yaml", "scale: laptop", "must hold `studies: {quadrature: ...}`, without scales, and nothing else."),
        ("laptop.yaml", "", "must hold `studies: {quadrature: ...}`, without scales, and nothing else."),
    ],
)
def test_a_file_of_config_holds_one_study_at_one_scale(project: Path, file: str, new: str, said: str) -> None:
    (project / "config/quadrature" / file).write_text(new)
    with pytest.raises(UserError) as error:
        load(project)
    assert str(error.value).startswith(f"config/quadrature/{file}:1: {said}")


def test_a_folder_of_config_is_a_study(project: Path) -> None:
    (project / "config/copying").rename(project / "config/copyin")
    with pytest.raises(
        UserError, match=r"^config/copyin/study.yaml: no study 'copyin' with runs. Did you mean 'copying'"
    ):
        load(project)


def test_a_study_that_is_not_listed_is_told_where(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "config/copying").rename(project / "config/averages")
    (tmp_path / "averages").mkdir()
    (tmp_path / "averages/about.yaml").touch()
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    monkeypatch.setattr(catalogue, "has_runs", lambda study: True)
    with pytest.raises(UserError) as error:
        load(project)
    assert str(error.value) == (
        "config/averages/study.yaml: no study 'averages', but a folder of that name: "
        "add it to STUDIES in src/allmlp/spec/catalogue.py."
    )


def test_an_overlay_counts_at_the_chosen_scale(project: Path) -> None:
    for scale, steps in (("laptop", 40), ("long", 50)):
        text = f"studies: {{quadrature: {{seeds: [3], steps: {steps}}}}}"
        (project / f"config/quadrature/{scale}.yaml").write_text(text)
    overlay = "studies: {quadrature: {steps: 30, sweep: {weight_decay: [0.5], seeds: [0]}}}"
    before, found = load(project).settings, load(project, f"scale: laptop\n{overlay}").settings
    laptop = found["quadrature", "laptop"]
    assert (laptop.seeds, laptop.steps, laptop.sweep.weight_decay) == ([3], 30, [0.5])
    assert found["quadrature", "long"] == before["quadrature", "long"]
    assert load(project, overlay, scale="long").settings["quadrature", "long"].steps == 30


def test_an_overlay_replaces_at_other_scales_what_the_study_shares(project: Path) -> None:
    (project / "config/quadrature/laptop.yaml").write_text("studies: {quadrature: {seeds: [3], steps: 40, p: 31}}")
    found = load(project, "studies: {quadrature: {p: 43, optimiser: {learning_rate: 2e-3}}}").settings
    assert (found["quadrature", "smoke"].p, found["quadrature", "laptop"].p) == (43, 31)
    assert found["quadrature", "laptop"].optimiser.learning_rate == 2e-3


def test_an_overlay_may_name_scales_and_later_overlays_are_on_top(project: Path) -> None:
    overlay = "studies: {quadrature: {scales: {laptop: {seeds: [1], steps: 9}, smoke: {steps: 7}}}}"
    found = load(project, overlay).settings
    assert (found["quadrature", "laptop"].steps, found["quadrature", "smoke"].steps) == (9, 7)
    (project / "second.yaml").write_text("studies: {quadrature: {steps: 8}}")
    both = params.load(project / "params.yaml", [project / "my.yaml", project / "second.yaml"]).settings
    assert (both["quadrature", "laptop"].steps, both["quadrature", "smoke"].steps) == (9, 8)


def test_a_study_without_the_chosen_scale_is_named(project: Path) -> None:
    said = r"^my.yaml:2: quadrature has no scale 'long'. It has: smoke. Choose one of them: `scale:` in the file"
    with pytest.raises(UserError, match=said):
        load(project, "studies:\n  quadrature: {steps: 3}\n", scale="long")


def test_an_overlay_is_named_in_errors(project: Path) -> None:
    found = load(project, "studies:\n  quadrature:\n    optimiser:\n      learning_rate: 2e-3\n")
    optimiser = found.settings["quadrature", "smoke"].optimiser
    assert (optimiser.learning_rate, optimiser.weight_decay) == (2e-3, 2.0)
    with pytest.raises(UserError, match=r"^my.yaml:4: unknown key 'learning_rte' .* Did you mean 'learning_rate'\?"):
        load(project, "studies:\n  quadrature:\n    optimiser:\n      learning_rte: 2e-3\n")
    with pytest.raises(UserError, match=r"^my.yaml:6: no corpus 'mine'. There are: "):
        load(project, "studies:\n  copying:\n    scales:\n      smoke:\n        text:\n          corpus: mine\n")


def test_a_corpus_of_another_source_replaces_the_old_one(project: Path) -> None:
    overlay = "corpora:\n  stories: {source: local, files: [a.txt], tokenizer: {kind: bpe, vocabulary: 1024}}\n"
    assert load(project, overlay).corpora["stories"].source.source == "local"


def test_only_scale_and_device_can_be_set_singly(project: Path) -> None:
    assert load(project, scale="paper").scale == "paper"
    with pytest.raises(UserError, match="only `scale`, `device` and `study`"):
        load(project, steps="3")
    with pytest.raises(UserError, match="scale is 'lapdog'"):
        load(project, scale="lapdog")


def test_corpora_of_this_machine_need_no_change_of_params(project: Path) -> None:
    (project / "corpora.local.yaml").write_text("mine: {source: local, files: [a.txt], tokenizer: {kind: bytes}}\n")
    assert "mine" in load(project).corpora


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        ("studies:\n  copyin: {}\n", "my.yaml:2: no study 'copyin' with runs. Did you mean 'copying'?"),
        ("studies:\n  copying:\n", "my.yaml:2: studies.copying is empty: it must hold keys and values"),
        ("studies:\n  copying: 5\n", "my.yaml:2: studies.copying is 5: it must"),
        ("studies:\n  copying:\n    scales:\n", "my.yaml:3: studies.copying.scales is empty: it must"),
        ("studies:\n  copying:\n    scales: {smoke: 3}\n", "my.yaml:3: studies.copying.scales.smoke is 3: it must"),
        ("studies:\n  copying:\n    scales: {smoek: {}}\n", "my.yaml:3: no scale 'smoek'. There are: smoke, "),
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
        ("corpora:\n  mine: {source: hub, name: a/b, revision: f1588ec}\n", "my.yaml:2: corpora.mine.revision is 'f1"),
        ("corpora:\n  mine: {source: [hub]}\n", "my.yaml:2: corpora.mine.source is ['hub']: did you mean 'hub'?"),
        ("corpora:\n  mine: {source: local, files: 5}\n", "my.yaml:2: corpora.mine.files is 5: "),
    ],
)
def test_an_overlays_mistake_is_reported_with_its_own_file_and_line(project: Path, overlay: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        load(project, overlay)
    assert str(error.value).startswith(said)


def test_an_overlay_that_is_a_folder_is_refused(project: Path) -> None:
    with pytest.raises(UserError, match=r": cannot be read: Is a directory$"):
        params.load(project / "params.yaml", [project])


def test_a_mistake_in_this_machines_corpora_is_reported_with_that_file_and_line(project: Path) -> None:
    text = "# here\nmine:\n  source: local\n  files: [a.jsonl]\n  feild: text\n"
    (project / "corpora.local.yaml").write_text(text)
    with pytest.raises(UserError, match=r"^corpora.local.yaml:5: unknown key 'feild' in corpora.mine. .*'field'"):
        load(project)


def test_all_bad_corpora_are_named_at_once(project: Path) -> None:
    (project / "corpora.local.yaml").write_text("one: {source: local}\ntwo: {source: locale, files: a.txt}\n")
    with pytest.raises(UserError) as raised:
        load(project)
    one, two = str(raised.value).splitlines()
    assert one.startswith("corpora.local.yaml:1: corpora.one lacks")
    assert two.startswith("corpora.local.yaml:2: corpora.two.source is 'locale': did you mean 'local'?")


def test_a_tab_says_the_way_out(project: Path) -> None:
    with pytest.raises(UserError, match=r"^my.yaml:2: is not YAML: .*A tab stands in this line: indent with spaces\.$"):
        load(project, "corpora:\n\tmine: {source: local, files: a.txt}\n")


def test_reading_parameters_does_not_import_torch() -> None:
    code = "import sys; from allmlp.plan import params; params.read(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT)


def test_a_corpus_whose_files_are_not_there_is_reported_with_its_own_file_and_line(project: Path) -> None:
    (project / "corpora.local.yaml").write_text("# mine\nmine: {source: local, files: no.txt}\n")
    corpora = params.load(project / "params.yaml").corpora
    with pytest.raises(UserError) as error:
        identity.token_id("mine", corpora["mine"], project)
    assert str(error.value).startswith("corpora.local.yaml:2: corpora.mine: files: nothing matches 'no.txt'")
    assert "corpora.lock" not in str(error.value), "a user's own corpus is never there"
