"""The stages of `make gpu-hour` keep their minutes, and none of them spoils another; made-up ones, in seconds."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from allmlp.models import REGISTRY
from allmlp.pipeline.bundles.packing import first_runs
from allmlp.pipeline.gpu_hour import closing, deciding, running
from allmlp.pipeline.gpu_hour.stages import CHECKED, STEPS, Stage, has_wrong_kernels, stages, wrong_architectures
from allmlp.plan.portable import ResolvedPlan
from tests import tiny

WRITES = "import sys, time; open(sys.argv[1], 'a').write('half'); {}; open(sys.argv[1], 'a').write(' whole')"


def made_up(out: Path, name: str, work: str = "pass", minutes: float = 0.5) -> Stage:
    """A stage that writes half of its file, does the work, and writes the rest."""
    file = out / name
    words = ("-c", WRITES.format(work), str(file))
    return Stage(name, minutes, words, name, lambda path: path.read_text().endswith(" whole"), Path.read_text)


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the files; the project's own is beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def states(found: list[running.Outcome]) -> dict[str, str]:
    """stage -> its state."""
    return {one.stage: one.state for one in found}


def test_stages_are_done_once(out: Path) -> None:
    both = [made_up(out, "a"), made_up(out, "b")]
    assert states(list(running.run(both, out, 5))) == {"a": running.DONE, "b": running.DONE}
    assert states(list(running.run(both, out, 5))) == {"a": running.BEFORE, "b": running.BEFORE}
    assert (out / "a").read_text() == "half whole"


def test_a_stage_that_does_not_fit_is_not_begun_and_a_shorter_one_is(out: Path) -> None:
    found = list(running.run([made_up(out, "long", minutes=3), made_up(out, "short")], out, 1))
    assert states(found) == {"long": running.NO_TIME, "short": running.DONE}
    assert found[0].said.startswith("takes 3 minutes, 1.0 are left")
    assert not (out / "long").exists()


def test_a_stage_that_takes_too_long_is_stopped_and_keeps_what_it_wrote(out: Path) -> None:
    found = list(running.run([made_up(out, "slow", "time.sleep(60)", minutes=0.02), made_up(out, "b")], out, 5))
    assert states(found) == {"slow": running.STOPPED, "b": running.DONE}
    assert found[0].said == "half"
    assert found[0].minutes < 0.5


def test_a_stage_that_fails_is_named_with_its_last_words_and_the_next_begins(out: Path) -> None:
    work = "raise RuntimeError('no kernel image is available')"
    both = [made_up(out, "wrong", work), made_up(out, "b")]
    found = list(running.run(both, out, 5))
    assert states(found) == {"wrong": running.FAILED, "b": running.DONE}
    assert found[0].said == "RuntimeError: no kernel image is available"
    text = closing.close(found, both, out, 5)
    assert "RuntimeError: no kernel image is available" in text
    assert "1 of 2 stages are whole" in text
    assert (out / closing.TEXT).read_text() == text


def works(pid: int) -> bool:
    """Is there such a process, and has it not ended?"""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_killed_call_leaves_no_process_and_the_next_one_goes_on(out: Path) -> None:
    program = (
        "from pathlib import Path\nfrom allmlp.pipeline.gpu_hour import running\nfrom tests.unit import test_gpu_hour\n"
        "out = Path('out')\nlist(running.run([test_gpu_hour.made_up(out, 'a', 'time.sleep(60)')], out, 5))"
    )
    path = os.pathsep.join(sys.path)
    call = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path})
    until = time.monotonic() + 60
    while not (out / "a").is_file():
        assert call.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    pid = int(Path("work/gpu-hour/snakemake.pid").read_text())
    call.send_signal(signal.SIGKILL)
    call.wait()
    assert works(pid)  # without it
    assert states(list(running.run([made_up(out, "b")], out, 5))) == {"b": running.DONE}
    assert not works(pid)


def test_minutes_of_earlier_calls_count_and_only_whole_files_are_taken_in(out: Path) -> None:
    stage = made_up(out, "check", minutes=1)._replace(
        file=CHECKED, is_whole=lambda file: json.loads(file.read_text())["x"]
    )
    (out / CHECKED).write_text('{"hardware": "a card", "x": 0}')
    closing.close([running.Outcome("check", running.STOPPED, 2.0, "")], [stage], out, 5)
    assert "cp " not in (out / closing.TEXT).read_text()
    (out / CHECKED).write_text('{"hardware": "a card", "x": 1}')
    text = closing.close([running.Outcome("check", running.DONE, 1.5, "all")], [stage], out, 5)
    assert json.loads((out / closing.JSON).read_text())["stages"]["check"]["minutes"] == 3.5
    assert f"cp {out / CHECKED} benchmarks/gpu-check.json" in text
    assert text.startswith("a card: 1 of 1 stages are whole; 1.5 of 5 minutes taken")


def test_the_stages_of_a_gpu_have_two_to_five_minutes_and_files_of_the_folder(out: Path) -> None:
    found = stages(out, "cuda", tiny=False)
    assert all(2 <= stage.minutes <= 5 for stage in found)
    assert [stage.name for stage in found][:3] == ["check", "speeds", "steps"]
    assert found[-1].takes_rest
    assert {stage.file for stage in found} <= {CHECKED, "gpu.json", STEPS, "decided.json"}


def checks(out: Path, **failed: bool) -> None:
    """Write checks with these names, passed or not."""
    of = [{"check": name.replace("_", " "), "passed": passed, "said": ""} for name, passed in failed.items()]
    (out / CHECKED).write_text(json.dumps({"hardware": "a card", "complete": True, "checks": of}))


def test_runs_of_a_model_that_the_device_computes_wrongly_are_left_out(out: Path) -> None:
    names = {"llama, float32, compiled, 50 steps": False, "mlp": False, "gpt2": True, "relation exp, norm none": True}
    checks(out, **names, **{"transformer, 3 seeds as one stack, 50 steps": False})
    wrong = wrong_architectures(out)
    assert wrong == {"llama": {"compiled"}, "mlp": {"plain"}, "transformer": {"stacked"}}
    assert not has_wrong_kernels(out)
    runs = [
        tiny.run("llama"), tiny.run("llama", compile=True), tiny.run("mlp"), tiny.run("gpt2"),
        tiny.run("transformer", stacked=2), tiny.run("transformer"),
    ]  # fmt: skip
    child = replace(tiny.run("gpt2", seed=3), parent=runs[2].id, relatives={runs[2].id: runs[2]})
    resolved = ResolvedPlan("smoke", [*runs, child], [run.id for run in (*runs, child)], {}, {})
    left, count = deciding.without_wrong(resolved, wrong)
    assert left.order == [runs[0].id, runs[3].id, runs[5].id]
    assert count == 4


def test_a_wrong_kernel_is_replaced_in_the_benchmarks_and_no_run_takes_it(out: Path) -> None:
    checks(out, **{"relation elu, norm exact, 33 tokens": False})
    assert has_wrong_kernels(out)
    assert wrong_architectures(out) == {"causal-rn": {"plain"}}
    assert "causal-rn" in REGISTRY


def test_a_bundle_takes_the_first_runs_that_the_hours_do_and_whose_tokens_are_here(out: Path) -> None:
    first, long, text, last = (tiny.run(name) for name in ("transformer", "gpt2", "mlp", "causal-rn"))
    hours = {first.id: 0.5, long.id: 9.0, text.id: 0.1, last.id: 0.4}
    claims = {"one": frozenset({first.id}), "two": frozenset({first.id, long.id})}
    resolved = ResolvedPlan("smoke", [first, long, text, last], list(hours), hours, claims)
    chosen, left_out = first_runs(resolved, 1.0, 1e6)
    assert chosen.order == [first.id, last.id]
    assert left_out == {long.id: "no time", text.id: "its tokens are missing: `allmlp tokenize` makes them"}
    assert list(chosen.claims) == ["one"]
    undecided = {"text": frozenset({long.id, text.id}), "last": frozenset({last.id})}
    assert first_runs(replace(resolved, claims=undecided), 10.0, 1e6)[0].order[0] == last.id, (
        "of no claim without tokens"
    )
    tiny.write_tokens(Path.cwd())
    assert first_runs(resolved, 1.0, 1e6)[0].order == [first.id, text.id, last.id]
    assert first_runs(resolved, 1.0, 10)[1][text.id] == "no room for its tokens"
