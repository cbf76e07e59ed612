"""The Slurm profile, with real daemons: two nodes of two pretended GPUs each."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from allmlp.common.locks import holder
from allmlp.measurements import measurement
from allmlp.spec import catalogue
from allmlp.training import measuring
from tests.conftest import call, edit, environment, git, only, small_clone
from tests.workflow.asking import contents, trained
from tests.workflow.slurm import MissingError, Slurm, running
from tests.workflow.standing_in import BIN, HOLDER, held, instead, most_at_once

pytestmark = pytest.mark.slow

SNAKEMAKE = ("snakemake", "--workflow-profile", "workflow/profiles/slurm")
SOON = ("--slurm-init-seconds-before-status-checks", "1")
PATIENCE_S = 300.0

THRIFTY = f"""#!/bin/sh
# `allmlp`, which saves a training's state only when it is asked to; of seed 1, also every half second
case "$3" in *seed1*) ALLMLP_SAVE_SECONDS=0.5;; *) ALLMLP_SAVE_SECONDS=3600;; esac
export ALLMLP_SAVE_SECONDS
exec {BIN}/allmlp "$@"
"""


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    with ExitStack() as last:
        try:
            found = last.enter_context(running())
        except MissingError as error:
            pytest.skip(str(error))
        yield found


def words(slurm: Slurm, path: str | None = None, **more: str) -> dict[str, str]:
    """The environment of a call of Snakemake that reaches this Slurm."""
    return {**slurm.environment, "PATH": path or f"{BIN}:{slurm.environment['PATH']}", **more}


def jobs(slurm: Slurm, clone: Path) -> list[dict[str, str]]:
    """What Slurm knows of the jobs of a clone, by its own keywords, the oldest first."""
    said = [
        dict(re.findall(r"(\S+?)=(\S*)", line)) for line in slurm.ask("scontrol", "-o", "show", "jobs").splitlines()
    ]
    return sorted((job for job in said if job.get("WorkDir") == str(clone)), key=lambda job: int(job["JobId"]))


def rule(job: dict[str, str]) -> str:
    """The rule that a job works on."""
    return job["Comment"].removeprefix("rule_").partition("_wildcards_")[0]


def seed_of(job: dict[str, str]) -> int:
    """The seed that a job trains."""
    (found,) = re.findall(r"-seed(\d+)-", job["Comment"])
    return int(found)


def differing(clone: Path, other: Path, studies: Sequence[str]) -> list[str]:
    """The measurements of studies that one clone lacks, or that differ in more than seconds."""
    ours, theirs = (
        {path.relative_to(of): path for study in studies for path in (of / study).rglob("*.parquet")}
        for of in (clone / "work/measurements", other / "work/measurements")
    )
    lacking = set(ours) ^ set(theirs)
    return sorted(map(str, lacking)) or [name for name in map(str, ours) if not same(name, ours, theirs)]


def same(name: str, ours: dict[Path, Path], theirs: dict[Path, Path]) -> bool:
    """Is a measurement of both clones the same, but for seconds?"""
    study, measure, _ = Path(name).parts
    columns = catalogue.measure(study, measure).columns
    one, two = (measurement.read(of[Path(name)])[1].to_pandas() for of in (ours, theirs))
    return measuring.compare(one, two, columns).outcome == "identical"


def test_all_is_made_by_jobs_on_two_nodes_as_the_plan_asks(slurm: Slurm, pipeline: Path, clone: Path) -> None:
    studies = ("triangular",)
    only(clone, *studies)
    git(clone, "commit", "--quiet", "--all", "--message=one study")
    call(clone, *SNAKEMAKE, *SOON, **words(slurm))
    all_jobs = jobs(slurm, clone)
    done = {rule(job): job for job in all_jobs}
    counts = Counter(map(rule, all_jobs))
    assert counts.keys() == {"tokenize", "train", "measure"}
    assert counts["train"] == counts["measure"] == len(trained(clone)), "no job was repeated"
    assert {job["NodeList"] for job in all_jobs} == {"n1", "n2"}
    asked = {(job["JobState"], job["MinMemoryNode"], job["TimeLimit"]) for job in all_jobs}
    assert asked == {("COMPLETED", "4000M", "1-00:00:00")}
    assert (done["tokenize"]["NumCPUs"], done["train"]["NumCPUs"]) == ("4", "1")
    assert differing(clone, pipeline, studies) == [], "as a local run's"
    assert (clone / "results/report.html").is_file()
    assert "Nothing to be done" in call(clone, *SNAKEMAKE, **words(slurm)).stderr
    assert "Nothing to be done" in call(clone, "snakemake", "--cores", "1").stderr


def test_an_overlay_reaches_the_jobs(slurm: Slurm, clone: Path) -> None:
    only(clone, "quadrature")
    (clone / "my.yaml").write_text("studies: {quadrature: {steps: 25}}\n", encoding="utf-8")
    call(clone, *SNAKEMAKE, *SOON, "--configfile", "params.yaml", "my.yaml", "--until", "train", **words(slurm))
    logs = [path.read_text(encoding="utf-8") for path in (clone / "own/my/logs/train").iterdir()]
    assert any("25 steps" in log for log in logs)


def with_seeds(clone: Path, seeds: Sequence[int], steps: int = 20, **changes: str) -> tuple[str, ...]:
    """Leave one training of each seed in the plan of a clone. Returns the files that Snakemake makes of them."""
    only(clone, "quadrature")
    edit(clone, "config/quadrature/smoke.yaml", "seeds: [0]", f"seeds: {list(seeds)}")
    edit(clone, "config/quadrature/smoke.yaml", "steps: 20", f"steps: {steps}")
    return tuple(trained(clone, **changes)[: len(seeds)])


def test_four_gpu_jobs_at_once_have_a_device_each(slurm: Slurm, clone: Path) -> None:
    files = with_seeds(clone, range(4), device="cuda")
    more = words(slurm, instead(clone, HOLDER, slurm.environment["PATH"]), ALLMLP_FAKE_DEVICES="2", TOGETHER="4")
    call(clone, *SNAKEMAKE, *SOON, "--config", "device=cuda", "--", *files, **more)
    had = held(clone)
    assert sorted(device for device, *_ in had) == ["n1 0", "n1 1", "n2 0", "n2 1"]
    assert most_at_once([(began, ended) for _, began, ended, _ in had]) == 4
    assert all(note.startswith("left as chosen by SLURM_") for *_, note in had)
    assert [(job["MinMemoryNode"], job["TresPerJob"]) for job in jobs(slurm, clone)] == [("16000M", "gres:gpu:1")] * 4


STEPS = 2000


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The checkpoints of two long trainings that nothing happens to, made on this machine without Slurm."""
    clone = small_clone(tmp_path_factory.mktemp("undisturbed") / "clone")
    call(clone, "snakemake", "--cores", "2", *with_seeds(clone, (0, 1), STEPS))
    return contents(clone / "results/checkpoints")


@contextmanager
def training(slurm: Slurm, clone: Path) -> Iterator[Popen[str]]:
    """The same two trainings as jobs, in the background; the end of the block waits until all is done."""
    files = with_seeds(clone, (0, 1), STEPS)
    more = {**environment(clone), **words(slurm, instead(clone, THRIFTY, slurm.environment["PATH"]))}
    with Popen([*SNAKEMAKE, *SOON, *files], cwd=clone, env=more, stdout=PIPE, stderr=PIPE, text=True) as process:
        try:
            yield process
            _, said = process.communicate(timeout=3 * PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0, said


def soon(there: Callable[[], Any]) -> Any:
    """What `there` finds, as soon as it finds something."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if found := there():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE_S:.0f} s")


def steps_done(clone: Path, seed: int) -> int:
    """The steps that a training under way has done."""
    logs = list((clone / "work/runs").glob(f"*-seed{seed}-*/log.jsonl"))
    return logs[0].read_bytes().count(b"\n") if logs else 0


def in_the_middle(slurm: Slurm, clone: Path, *acts: Callable[[dict[str, str]], Any]) -> list[int]:
    """Do something to the job of each seed once its training is well under way. Returns the steps done by then."""
    done: dict[int, int] = {}
    until = time.monotonic() + PATIENCE_S
    while len(done) < len(acts):
        assert time.monotonic() < until, f"only {done} of {len(acts)} trainings came far enough"
        for seed, act in enumerate(acts):
            if seed not in done and (steps := steps_done(clone, seed)) > STEPS // 10:
                done[seed] = steps
                act(running_job(slurm, clone, seed))
        time.sleep(0.02)
    return [done[seed] for seed in range(len(acts))]


def running_job(slurm: Slurm, clone: Path, seed: int) -> dict[str, str]:
    """The running job of a seed."""
    here = [job for job in jobs(slurm, clone) if job["JobState"] == "RUNNING"]
    (job,) = [job for job in here if seed_of(job) == seed]
    return job


def went_on(clone: Path, seed: int) -> int:
    """The one step at which a training was taken up again."""
    (log,) = (clone / "logs/train").glob(f"quadrature-*-seed{seed}-*.log")
    (step,) = re.findall(r"going on at step (\d+)", log.read_text(encoding="utf-8"))
    return int(step)


def test_cancelled_and_killed_jobs_are_repeated_and_go_on(
    slurm: Slurm, clone: Path, undisturbed: dict[str, bytes]
) -> None:
    """`scancel` lets a training save its state; after SIGKILL it goes on from the last one that was due."""
    ages, saved = [], "work/runs/*-seed1-*/state-*.json"

    def cancel(job: dict[str, str]) -> None:
        slurm.ask("scancel", job["JobId"])

    def kill(job: dict[str, str]) -> None:
        soon(lambda: list(clone.glob(saved)))
        slurm.ask("scancel", "--full", "--signal=KILL", job["JobId"])
        ages.append(min(time.time() - file.stat().st_mtime for file in clone.glob(saved)))

    with training(slurm, clone):
        done = in_the_middle(slurm, clone, cancel, kill)
    states = [(seed_of(job), job["JobState"]) for job in jobs(slurm, clone)]
    assert (0, "CANCELLED") in states
    assert len(states) == 4, "each job was repeated once"
    assert went_on(clone, 0) >= done[0], "nothing was lost"
    assert went_on(clone, 1) > 0
    assert ages[0] < 5, "half a second, on a busy machine"
    assert contents(clone / "results/checkpoints") == undisturbed


def test_preempted_jobs_and_those_of_a_lost_node_are_requeued(
    slurm: Slurm, clone: Path, undisturbed: dict[str, bytes]
) -> None:
    found: list[dict[str, str]] = []

    def preempt(job: dict[str, str]) -> None:
        found.append(job)
        where = (f"--nodelist={job['NodeList']}", "--exclusive", "--output=/dev/null")
        slurm.ask("sbatch", "--partition=urgent", *where, "--wrap=sleep 1")

    def lose_node(job: dict[str, str]) -> None:
        found.append(job)
        slurm.ask("scontrol", "update", f"nodename={job['NodeList']}", "state=down", "reason=test")

    with training(slurm, clone):
        done = in_the_middle(slurm, clone, preempt, lose_node)
        assert {job["NodeList"] for job in found} == {"n1", "n2"}
        for job in found:
            soon(lambda job=job: job["JobId"] in slurm.jobs("pending"))
            slurm.ask("scontrol", "update", f"jobid={job['JobId']}", "starttime=now")  # not only after two minutes
        soon(lambda: {job["JobId"] for job in found} <= set(slurm.jobs()))
        (lost,) = [job["NodeList"] for job in found if seed_of(job) == 1]
        slurm.ask("scontrol", "update", f"nodename={lost}", "state=resume")
    assert [(job["JobState"], job["Restarts"]) for job in jobs(slurm, clone)] == [("COMPLETED", "1")] * 2
    assert all(went_on(clone, seed) >= steps for seed, steps in enumerate(done)), "nothing was lost"
    assert contents(clone / "results/checkpoints") == undisturbed


def test_a_job_out_of_time_saves_its_state_and_is_repeated(
    slurm: Slurm, clone: Path, undisturbed: dict[str, bytes]
) -> None:
    """Slurm looks at the limits every half minute. Until then the training is halted. Slurm wakes it with its signal,
    and it is halted once more for two seconds, as if its state were so large, unless it has saved it by then."""
    ended: list[str] = []

    def out_of_time(job: dict[str, str]) -> None:
        found = holder(next(clone.glob("work/runs/*-seed0-*/lock")))
        assert found, "it had ended"
        os.kill(found["pid"], signal.SIGSTOP)
        slurm.ask("scontrol", "update", f"jobid={job['JobId']}", "endtime=now")
        soon(lambda: job["JobId"] not in slurm.jobs())
        with suppress(ProcessLookupError):
            os.kill(found["pid"], signal.SIGSTOP)
            time.sleep(2)
            os.kill(found["pid"], signal.SIGCONT)
        ended.append(job["JobId"])

    with training(slurm, clone):
        (done,) = in_the_middle(slurm, clone, out_of_time)
    first, *_, again = [job for job in jobs(slurm, clone) if seed_of(job) == 0]
    assert (first["JobId"], first["JobState"], again["JobState"]) == (ended[0], "TIMEOUT", "COMPLETED")
    assert went_on(clone, 0) >= done, "nothing was lost"
    assert contents(clone / "results/checkpoints") == undisturbed
