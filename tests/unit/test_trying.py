"""`allmlp try`: a mixer of a user's own file beside the committed rows; errors of the file; git stays clean."""

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from allmlp import models
from allmlp.cli.extend import TRIED
from allmlp.common.errors import UserError
from allmlp.pipeline import try_mixer
from allmlp.pipeline.try_mixer import causal, loading, table
from allmlp.studies.crossover.settings import Tasks
from tests.conftest import PROJECT, call, git, small_clone

PAGE = (PROJECT / "docs/tutorial.md").read_text(encoding="utf-8")
(EXAMPLE,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Mixer" in block)
HEAD = "import torch\nfrom torch import nn\nclass Mixer(nn.Module):\n"
BUILT = f"{HEAD}    def __init__(self, d, T):\n        super().__init__()\n        self.out = nn.Linear(d, d)\n"
FORWARD = "    def forward(self, x):\n        return "


def of(text: str) -> str:
    """A mixer with this as what `forward` returns."""
    return f"{BUILT}{FORWARD}{text}\n"


WRONG = {
    "no class": ("x = 1\n", r"has no torch.nn.Module. Write one: `class Mixer\(nn.Module\)`"),
    "no Python": ("class\n", r"mixer.py:1: invalid syntax"),
    "an import": ("import nothing_of_that_name\n", r"mixer.py:1: cannot be run: ModuleNotFoundError"),
    "two classes": (
        "from torch import nn\nclass A(nn.Module): ...\nclass B(nn.Module): ...\n",
        r"several modules \(A, B\). Call the one to be tried `Mixer`",
    ),
    "an argument": (f"{HEAD}    def __init__(self, d, T, heads):\n        pass\n", r"Mixer\(8, 12\) failed: TypeError"),
    "no parameters": (f"{HEAD}    def __init__(self, d, T):\n        super().__init__()\n", "has no parameters"),
    "a wrong shape": (
        of("self.out(x)[:, -1]"),
        r"mixer.py:7: Mixer returns shape \(2, 8\) for x of shape \(2, 12, 8\)",
    ),
    "an error": (of("self.out(x.mT)"), r"mixer.py:8: Mixer failed on x of shape \(2, 12, 8\): RuntimeError"),
    "no tensor": (of("None"), "returns a NoneType"),
    "not a number": (of("self.out(x) / (x - x)"), "not finite"),
    "the future": (
        of("self.out(x.mean(1, keepdim=True) + x)"),
        r"mixer.py:7: is not causal: position 0 changes with token",
    ),
    "the batch": (of("self.out(x + x.mean(0, keepdim=True))"), r"mixer.py:7: .*the other rows of its batch"),
    "a device": (
        of("torch.ones(x.shape[1], x.shape[1]).tril() @ self.out(x)"),
        r"mixer.py:8: mixes a tensor of its own",
    ),
    "a constant of its own": (
        BUILT.replace("self.out =", "self.mask = torch.ones(T, T).tril(); self.out =")
        + FORWARD
        + "torch.einsum('ts,bsd->btd', self.mask[: x.shape[1], : x.shape[1]], self.out(x))\n",
        r"mixer.py:8: mixes a tensor .* `register_buffer`",
    ),
    "one length": (
        BUILT.replace("self.out =", "self.mix = nn.Parameter(torch.ones(T, T)); self.out =")
        + FORWARD
        + "self.mix.tril() @ self.out(x)\n",
        r"mixer.py:8: works on 12 tokens, the whole context, and not on 1: RuntimeError.*`weight\[:T, :T\]`",
    ),
    "the length": (of("self.out(x) * x.shape[1]"), r"mixer.py:7: gives other numbers for the first 1 of 12 tokens"),
    "a batch norm": (
        BUILT.replace("self.out =", "self.norm = nn.BatchNorm1d(d); self.out =")
        + FORWARD
        + "self.out(self.norm(x.mT).mT)\n",
        r"mixer.py:7: in training mode, predictions of a row change with the other rows .* as with BatchNorm",
    ),
    "the future in training": (
        of("self.out(x.mean(1, keepdim=True) + x) if self.training else self.out(x)"),
        r"mixer.py:7: is not causal in training mode: position 0 changes with token",
    ),
    "a type": (
        of("torch.eye(x.shape[1], device=x.device).float() @ self.out(x)"),
        r"mixer.py:8: cannot be checked for causality",
    ),
}


def check(file: Path) -> None:
    """All that is checked before a training."""
    given = {
        "file": str(file),
        "digest": file.read_text(),
        "vocabulary": 11,
        "context": 12,
        "d_model": 8,
        "n_blocks": 1,
    }
    loading.check(file, given)
    causal.check(file, given)


@pytest.mark.parametrize("fault", WRONG)
def test_a_fault_of_the_file_is_one_message_with_the_way_out(fault: str, tmp_path: Path) -> None:
    file = tmp_path / "mixer.py"
    file.write_text(WRONG[fault][0])
    with pytest.raises(UserError, match=WRONG[fault][1]) as error:
        check(file)
    assert str(file) in str(error.value)
    assert list(tmp_path.iterdir()) == [file], "no cache beside a user's file"


def test_constants_of_the_default_type_do_not_hinder_the_check(tmp_path: Path) -> None:
    file = tmp_path / "mixer.py"
    file.write_text(of("torch.ones(x.shape[1], x.shape[1], device=x.device).tril() @ self.out(x)"))
    check(file)
    file.write_text(of("torch.ones(x.shape[1], x.shape[1], device=x.device) @ self.out(x)"))
    with pytest.raises(UserError, match="not causal"):
        check(file)


FINE = {
    "dropout": of("torch.dropout(self.out(x.cumsum(1)), 0.5, self.training)"),
    "indices": of("self.out(x)[:, torch.arange(x.shape[1])]"),
    "numbers": of("self.out(x) * torch.tensor(2.0)"),
    "what meta cannot": of("self.out(x) if x.isfinite().all().item() else x"),
    "attention": of("torch.nn.functional.scaled_dot_product_attention(x, x, self.out(x), is_causal=True)"),
    "a buffer": BUILT
    + "        self.register_buffer('mask', torch.ones(T, T).tril())\n"
    + FORWARD
    + "self.mask[: x.shape[1], : x.shape[1]].to(x.dtype) @ self.out(x)\n",
    "a spectrum": of("torch.fft.irfft(torch.fft.rfft(self.out(x), dim=2), n=x.shape[2], dim=2)"),
}


@pytest.mark.parametrize("name", FINE)
def test_a_fair_mixer_passes_every_check(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mixer.py"
    file.write_text(FINE[name])
    check(file)
    file.write_text(FINE[name].replace("self.out(x", "self.out(x.flip(1)"))
    with pytest.raises(UserError, match=r"mixer\.py:\d+: "):
        check(file)


def test_a_scalar_parameter_is_audited_too(tmp_path: Path) -> None:
    file = tmp_path / "mixer.py"
    scaled = BUILT.replace("self.out =", "self.scale = nn.Parameter(torch.zeros(())); self.out =") + FORWARD
    file.write_text(f"{scaled}self.out(x.cumsum(1)) * self.scale\n")
    check(file)
    file.write_text(f"{scaled}self.out(x) + self.scale * x.flip(1)\n")  # as it begins, it multiplies the leak by zero
    with pytest.raises(UserError, match="not causal"):
        check(file)


def tried(task: str, needs: float, steps: int) -> table.TaskTrial:
    """Ten steps are the whole budget, and `needs` seconds of training."""
    row = {"task": task, "column": "mine", "part": "trained", "skill_1": 0.5, "diverged": False, "learning_rate_1": 0.2}
    rows = pd.DataFrame([{**row, "seed": seed, "run": f"r{seed}"} for seed in range(2)]).assign(skill_1=[1.0, 0.02])
    return table.TaskTrial(
        task, rows, steps, 10, 1000, needs, "laptop", capped=False, seconds=0.5, parameters=1234, rates=(0.1, 0.2)
    )


def test_too_few_minutes_are_answered_with_those_that_would_do() -> None:
    both = [tried("copying", 100, steps=10), tried("recall", 300, steps=4)]
    said = list(table.lines({"laptop": {"score": pd.DataFrame()}}, both, "mine"))
    assert said[1].split() == ["copying", "mine", "*", "0.510", "0.020", "to", "1.000", "1", "of", "2", "1e+04"]
    assert "copying: 10 steps, the whole budget of operations that each row of laptop had" in said
    model = "yours has 1,234 parameters and takes 500 ms a step; rate 0.2 of 0.1, 0.2, at an edge of the search"
    assert f"copying: {model}: a better one may lie beyond" in said
    capped = table.lines({"laptop": {"score": pd.DataFrame()}}, [both[0]._replace(capped=True)], "mine")
    assert "copying: 10 steps, the most that laptop allows; its operations would buy more" in list(capped)
    assert said[-1].startswith("recall: 4 of 10 steps, 40% of the other rows' operations, so not comparable. ")
    assert said[-1].endswith("give --minutes 11, or --task recall --minutes 6")


@pytest.mark.parametrize(
    ("seconds", "left", "scale"),
    [
        ((try_mixer.SHORT - 1, 5), 1000, "workstation"),
        ((try_mixer.SHORT + 1, 5), 1000, "laptop"),
        ((100, 5), 90, "laptop"),
        ((100, 95), 90, "laptop"),
    ],
)
def test_a_larger_scale_is_taken_if_it_is_short_and_fits(
    monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, float], left: float, scale: str
) -> None:
    takes = dict(zip(("workstation", "laptop"), seconds, strict=True))
    trials: Any = [SimpleNamespace(scale=name, steps=7, seconds=lambda cost, steps: cost) for name in takes]
    monkeypatch.setattr(try_mixer, "_cost", lambda context, trial: takes[trial.scale])
    context: Any = None
    chosen, cost, rest = try_mixer._choose_scale(context, trials, time.monotonic() + left)
    assert (chosen.scale, cost) == (scale, takes[scale])
    assert left - 1 < rest <= left


def test_the_help_names_every_task_that_a_mixer_can_be_tried_on() -> None:
    named = re.findall(r"[a-z-]+", TRIED.split(";")[0].replace(" or, at larger scales", ""))
    can = {name for name, of in try_mixer.TASKS.items() if of.reads == "tokens" and "all" in of.predicts}
    assert set(named) == can & {field.alias or name for name, field in Tasks.model_fields.items()}


@pytest.mark.usefixtures("in_project", "committed_results")
def test_the_page_prints_the_committed_rows_of_today() -> None:
    printed = [line.split() for line in PAGE.splitlines() if re.match(r"(copying|stories) .*\d of \d", line)]
    committed = {"laptop": try_mixer._committed_tables("laptop")}
    mine = pd.DataFrame({"task": ["copying", "stories"], "column": "my-mixer", "skill_1": 0.0, "run": "r"})
    mine = mine.assign(part="trained", diverged=False, learning_rate_1=0.1)
    both = [tried(task, 1, steps=10)._replace(rows=mine[mine["task"] == task]) for task in ("copying", "stories")]
    today = [line.split() for line in table.lines(committed, both, "my-mixer")]
    others = [line[:-1] for line in printed if "*" not in line]
    assert len(others) > 4
    assert [line for line in others if line not in [one[:-1] for one in today]] == []


@pytest.mark.slow
def test_the_example_of_the_page_is_tried_and_git_stays_clean(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")
    (tmp_path / "decaying_sum.py").write_text(EXAMPLE, encoding="utf-8")
    done = call(clone, "allmlp", "try", "../decaying_sum.py", "--scale", "smoke", "--task", "copying", "--seeds", "3")
    assert f"{tmp_path}/decaying_sum.py: is run here, as your own code" in done.stdout
    row = r"^copying  decaying-sum \*  -?0\.\d{3}  -?0\.\d{3} to -?0\.\d{3}   \d of 3 "
    assert re.search(row, done.stdout, re.MULTILINE)
    assert "copying: 3 steps, the most that smoke allows" in done.stdout
    matrix = clone / "own/try/decaying-sum/matrix.svg"
    assert done.stdout.splitlines()[-1] == str(matrix)
    assert "decaying-sum" in matrix.read_text(encoding="utf-8")
    assert git(clone, "status", "--porcelain") == ""
    assert "decaying-sum" not in models.REGISTRY

    failed = call(clone, "allmlp", "try", "transformer.py", "--scale", "smoke", ok=False)
    assert failed.returncode == 2
    assert "'transformer' is the name of an architecture of the registry" in failed.stderr

    slow(tmp_path / "slow.py", 0.4)
    failed = call(
        clone, "allmlp", "try", "../slow.py", "--scale", "smoke", "--task", "copying", "--minutes", "0.02", ok=False
    )
    assert re.search(
        r"copying: \d+ trainings of one step take \d+ s, and -?\d+ s are left .* Give --minutes", failed.stderr
    )


def slow(file: Path, seconds: float) -> None:
    """The example of the page, with a forward pass that takes so much longer."""
    file.write_text(
        "import time\n" + EXAMPLE.replace("return self.out(", f"time.sleep({seconds})\n        return self.out(")
    )


@pytest.mark.slow
def test_the_larger_scale_is_taken_where_it_fits_and_the_minutes_hold(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")
    settings = (clone / "config/crossover/smoke.yaml").read_text()
    for scale, steps in (("laptop", 20), ("workstation", 400)):
        (clone / f"config/crossover/{scale}.yaml").write_text(settings.replace("steps: 3", f"steps: {steps}"))
    (tmp_path / "quick.py").write_text(EXAMPLE)
    slow(tmp_path / "slow.py", 0.05)
    words = ("allmlp", "try", "--task", "copying", "--seeds", "1")
    assert "copying: 400 steps, the most that workstation allows" in call(clone, *words, "../quick.py").stdout

    before = time.monotonic()
    said = call(clone, *words, "../slow.py", "--minutes", "0.4").stdout
    assert time.monotonic() - before < 24 + 20, "the start of the command, the checks and the figure come on top"
    assert "copying: 20 steps, the most that laptop allows" in said
    before = time.monotonic()
    said = call(clone, *words, "../slow.py", "--minutes", "0.4", "--scale", "workstation").stdout
    assert time.monotonic() - before < 24 + 20
    assert re.search(r"copying: \d+ of 400 steps, \d+% of the other rows' operations", said)
