"""`allmlp certify`: of a run, of its folder, of anyone's safetensors file; and what it says of anything else."""

import json
import re

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from allmlp.cli import look
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.studies.quadrature import certify
from tests.unit.known_addition import adding, random_weights

PHI = 2 * np.pi * np.arange(7) / 7


def tensors(p=5, dtype=torch.float64):
    return {name: torch.tensor(value).to(dtype).contiguous() for name, value in adding(p, 1, PHI).items()}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project's folder with one published run; the user types somewhere else."""
    run = tmp_path / "project/results/checkpoints/constant-attention-p5-w7-seed0-0badcafe"
    run.mkdir(parents=True)
    save_file(tensors(), run / "final.safetensors")
    (run / "manifest.json").write_text(json.dumps({"final.safetensors": paths.file_sha256(run / "final.safetensors")}))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return run


def test_a_run_is_found_by_its_id_its_folder_and_its_file(project, tmp_path, capsys):
    start = tmp_path / "elsewhere"
    for name in (
        project.name,
        str(project),
        "../project/results/checkpoints/" + project.name,
        str(project / certify.FINAL),
    ):
        certify.show(name, start)
        shown = capsys.readouterr().out
        assert "p=5" in shown
        assert "Of 25 sums 25 are proved right by brute force and 0 wrong" in shown
        for level in ("brute force", "hidden layer", "Fourier terms", "the paper's story"):
            assert level in shown


def test_the_command_is_there_and_prints_the_certificate(project, monkeypatch, capsys):
    monkeypatch.setattr(look, "START", project.parent)
    look.certify(project.name)
    assert "of brute force" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_file_of_one_s_own_may_have_any_float_type_and_further_tensors(dtype, tmp_path, capsys):
    save_file({**tensors(dtype=dtype), "W_Q": torch.zeros(1, 2, 2, dtype=dtype)}, tmp_path / "own.safetensors")
    certify.show("own.safetensors", tmp_path)
    assert "Of 25 sums 25 are" in capsys.readouterr().out


def test_weights_are_read_as_exactly_the_numbers_in_the_file(tmp_path):
    weights = tensors(dtype=torch.float32)
    save_file(weights, tmp_path / "own.safetensors")
    read = certify.read(tmp_path / "own.safetensors")
    assert set(read) == set(weights)
    for name, values in read.items():
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, weights[name].numpy().astype(np.float64))


def test_a_run_that_is_not_there_is_answered_with_those_that_are(project):
    with pytest.raises(UserError, match=f"no safetensors file. Of 1 trained here the nearest: {project.name}"):
        certify.find("constant-attention-p5-w7-seed1-0badcafe", project.parent)


def test_a_run_that_is_kept_elsewhere_says_how_it_comes_back(project):
    project.with_name("constant-attention-p59-w512-seed0-f03931c2.dvc").write_text("outs:")
    with pytest.raises(
        UserError, match=r"`dvc pull results/checkpoints/.*\.dvc` may bring it back; `snakemake` trains it again"
    ):
        certify.find("constant-attention-p59-w512-seed0-f03931c2", project.parent)


def test_a_damaged_checkpoint_is_refused(project):
    save_file({**tensors(), "b_in": torch.ones(7, dtype=torch.float64)}, project / certify.FINAL)
    with pytest.raises(UserError, match=r"manifest.json says .*`dvc checkout"):
        certify.show(project.name, project.parent)


def test_a_file_that_is_no_safetensors_is_refused(tmp_path):
    (tmp_path / "own.safetensors").write_bytes(b"PK no tensors in here")
    with pytest.raises(UserError, match="cannot be read as safetensors"):
        certify.show("own.safetensors", tmp_path)


def test_a_file_of_another_shape_is_refused_by_its_name_and_the_tensor_s(tmp_path):
    save_file({**tensors(), "W_U": torch.zeros(6, 4)}, tmp_path / "own.safetensors")
    with pytest.raises(UserError, match=r"own.safetensors: W_U has shape \(6, 4\), but must be \(d, p\) with p = 5"):
        certify.show("own.safetensors", tmp_path)


def test_a_share_is_never_rounded_up_to_all():
    assert certify.percent(3480 / 3481) == "99.97 %"
    assert certify.percent(1 - 1e-9) == "99.99 %"
    assert certify.percent(1.0) == "100.00 %"


def test_a_random_network_of_the_documented_layout_is_accepted(tmp_path, capsys):
    weights = random_weights(np.random.default_rng(0), 7, 6)
    save_file({name: torch.tensor(value) for name, value in weights.items()}, tmp_path / "own.safetensors")
    certify.show("own.safetensors", tmp_path)
    assert "p=7, d_model=5, d_mlp=6" in capsys.readouterr().out


def margins(shown):
    """The smallest margin that a certificate's last line tells."""
    return float(re.search(r"smallest margin (\S+) nats", shown)[1])


def test_the_first_line_says_which_network_is_certified(project, tmp_path, capsys):
    certify.show(project.name, project.parent)
    first = capsys.readouterr().out.splitlines()[0]
    assert "attention 1/2 to both tokens, one layer of ReLUs" in first
    assert "weights of another network" not in first
    save_file(tensors(), tmp_path / "own.safetensors")
    certify.show("own.safetensors", tmp_path)
    first = capsys.readouterr().out.splitlines()[0]
    assert "attention 1/2 to both tokens" in first
    assert "weights of another network get numbers that are not its own (attention 1: --attention 1)" in first


def test_weights_trained_with_attention_1_get_their_own_certificate(tmp_path, capsys):
    save_file(tensors(), tmp_path / "half.safetensors")
    unscaled = {**tensors(), "W_V": tensors()["W_V"] / 2}
    save_file(unscaled, tmp_path / "one.safetensors")
    certify.show("half.safetensors", tmp_path)
    true = margins(capsys.readouterr().out)
    certify.show("one.safetensors", tmp_path)
    of_another = margins(capsys.readouterr().out)
    certify.show("one.safetensors", tmp_path, attention=1.0)
    shown = capsys.readouterr().out
    assert margins(shown) == true != of_another
    assert "attention 1 to both tokens" in shown.splitlines()[0]


@pytest.mark.parametrize("attention", [0.0, 0.3, 2.0, float("nan")])
def test_another_attention_is_refused(attention, tmp_path):
    save_file(tensors(), tmp_path / "own.safetensors")
    with pytest.raises(UserError, match=r"--attention .*: 0\.5, as in every run"):
        certify.show("own.safetensors", tmp_path, attention)


def test_a_run_of_this_project_has_the_attention_that_it_has(project):
    with pytest.raises(UserError, match=r"--attention 1: 0\.5, as in every run of this project"):
        certify.show(project.name, project.parent, 1.0)
