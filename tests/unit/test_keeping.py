"""Published models: pointers that name the remote in git, their tokenizers, and the limit on their size."""

import json
from pathlib import Path

import pytest
import yaml

from allmlp.common import dvc
from allmlp.common.errors import UserError
from tests.conftest import PROJECT, call, git

RUN, TOKENS = "model-seed0-12345678", "stories-12345678"


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one trained run and its tokens."""
    run, tokens = tmp_path / "results/checkpoints" / RUN, tmp_path / "results/tokens" / TOKENS
    for folder in (run, tokens):
        folder.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"run": {"task": ["next-token", {}, TOKENS]}}))
    (run / "final.safetensors").write_bytes(bytes(1000))
    for name in ("meta.json", "tokenizer.json", "train-00000.arrow"):
        (tokens / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_published_run_is_pulled_from_a_clone_with_its_tokenizer_and_no_tokens(trained: Path) -> None:
    git(trained, "init", "--quiet")
    (trained / ".dvc").mkdir()
    (trained / ".dvc/config").write_text((PROJECT / ".dvc/config").read_text())
    (trained / ".gitignore").write_text((PROJECT / ".gitignore").read_text() + "/.dvc/cache\n/.dvc/tmp\n")
    dvc.publish([RUN])
    assert {folder.name for folder, of in dvc.pointers().items() if dvc.is_published(of)} == {RUN, TOKENS}
    dvc.keep([RUN], push=False, of_git=list)
    assert dvc.is_published(dvc.pointers()[Path("results/checkpoints") / RUN]), "kept again, it stays published"
    git(trained, "add", "--all")
    git(trained, "commit", "--quiet", "--message=published")
    clone = trained / "elsewhere/clone"
    git(trained, "clone", "--quiet", str(trained), str(clone))
    call(clone, "dvc", "pull")
    assert (clone / "results/checkpoints" / RUN / "final.safetensors").read_bytes() == bytes(1000)
    assert sorted(path.name for path in (clone / "results/tokenizers" / TOKENS).iterdir()) == [
        "meta.json",
        "tokenizer.json",
    ]
    assert not (clone / "results/tokens").exists()


def test_a_users_own_runs_and_texts_are_kept_only_by_name(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(trained, "init", "--quiet")
    call(trained, "dvc", "init", "--quiet")
    with pytest.raises(UserError, match=rf"nothing complete of git's plan.*Left out: 2 .* such as {RUN}\."):
        dvc.keep(None, push=False, of_git=list)
    assert not list(trained.rglob("*-12345678.dvc"))
    dvc.keep(None, push=False, of_git=lambda: [RUN])
    said = capsys.readouterr().out
    assert [folder.name for folder in dvc.pointers()] == [RUN]
    assert f"Left out: 1 of your own runs, texts and trials, such as {TOKENS}." in said
    assert f"New or changed pointers: 1, such as results/checkpoints/{RUN}.dvc. Commit them" in said
    dvc.keep([RUN], push=False, of_git=list)
    assert "Commit" not in capsys.readouterr().out, "the same pointer"
    dvc.keep([TOKENS], push=False, of_git=list)
    assert f"From tokens the text can be read: {TOKENS}." in capsys.readouterr().out
    assert {folder.name for folder in dvc.pointers()} == {RUN, TOKENS}


@pytest.mark.parametrize("undone", [True, False], ids=["undo", "rm"])
@pytest.mark.parametrize("then", ["checkout", "pull"])
def test_a_kept_run_stays_when_its_pointer_is_taken_back(trained: Path, undone: bool, then: str) -> None:
    git(trained, "init", "--quiet")
    call(trained, "dvc", "init", "--quiet")
    call(trained, "dvc", "remote", "add", "--default", "local", str(trained / "remote"))
    for _ in range(2):
        dvc.keep([RUN, TOKENS], push=True, of_git=list)
    if undone:
        dvc.undo([RUN, TOKENS])
        assert not list(trained.glob("results/*/.gitignore"))
    else:
        for folder in dvc.pointers():
            Path(f"{folder}.dvc").unlink()
    call(trained, "dvc", then)
    assert not dvc.pointers()
    assert (trained / "results/checkpoints" / RUN / "final.safetensors").read_bytes() == bytes(1000)
    assert (trained / "results/tokens" / TOKENS / "train-00000.arrow").is_file()


def test_a_run_that_dvc_itself_put_here_stays_when_its_pointer_is_taken_back(trained: Path) -> None:
    git(trained, "init", "--quiet")
    call(trained, "dvc", "init", "--quiet")
    call(trained, "dvc", "add", f"results/checkpoints/{RUN}")
    (trained / "results/checkpoints" / f"{RUN}.dvc").unlink()
    dvc.undo([RUN])
    call(trained, "dvc", "checkout")
    assert (trained / "results/checkpoints" / RUN / "final.safetensors").is_file()


def test_what_has_no_pointer_or_a_published_one_is_not_taken_back(trained: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no pointer, complete run or tokens of that name here"):
        dvc.undo(["nowhere"])
    pointer = {"outs": [{"md5": "0.dir", "size": 600, "remote": "models", "path": RUN}]}
    (trained / f"results/checkpoints/{RUN}.dvc").write_text(yaml.safe_dump(pointer))
    with pytest.raises(UserError, match="is published"):
        dvc.undo([RUN])


def test_more_than_git_takes_is_refused_before_anything_is_written(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointer = {"outs": [{"md5": "0.dir", "size": 600, "remote": "models", "path": "other-87654321"}]}
    (trained / "results/checkpoints/other-87654321.dvc").write_text(yaml.safe_dump(pointer))
    monkeypatch.setattr(dvc, "LARGEST", 1500)
    with pytest.raises(UserError, match="git takes at most"):
        dvc.publish([RUN])
    assert [folder.name for folder in dvc.pointers()] == ["other-87654321"]
    with pytest.raises(UserError, match="nowhere: no complete run of that name here"):
        dvc.publish(["nowhere"])


def test_a_run_without_its_tokens_here_says_how_to_make_them(trained: Path) -> None:
    for file in (trained / "results/tokens" / TOKENS).iterdir():
        file.unlink()
    (trained / "results/tokens" / TOKENS).rmdir()
    with pytest.raises(UserError, match="`allmlp tokenize stories` makes it"):
        dvc.publish([RUN])
