"""`allmlp doctor`: a line per check, and the first thing to mend as the next step."""

import json
import os
import shutil
import socket
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from allmlp.common import locks
from allmlp.common.errors import UserError
from allmlp.pipeline import doctor
from tests.conftest import PROJECT


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALLMLP_PROJECT", str(PROJECT))
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "0")
    return tmp_path


def found(check) -> dict[str, doctor.Line]:  # type: ignore[no-untyped-def]
    return {line.about: line for line in check()}


def test_the_first_fault_is_the_next_step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [doctor.Line("disk", "1.0 GB free", "make room"), doctor.Line("locks", "do not hold", "move it")]
    monkeypatch.setattr(doctor, "CHECKS", (lambda: [doctor.Line("python", "3.11"), *lines],))
    assert doctor.show() == 1
    assert capsys.readouterr().out.splitlines() == [
        "  python     3.11",
        "! disk       1.0 GB free",
        "! locks      do not hold",
        "",
        "next  make room",
    ]
    monkeypatch.setattr(doctor, "CHECKS", (lambda: [doctor.Line("python", "3.11")],))
    assert doctor.show() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing is wrong; `allmlp` says what is next"
    monkeypatch.setattr(doctor, "CHECKS", (lambda: [doctor.Line("history", "no git repository", limits=True)],))
    assert doctor.show() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing is wrong, but see history; `allmlp` says what is next"


def test_each_kind_of_weights_says_where_it_comes_from(here: Path) -> None:
    assert not found(doctor._weights), "no pointer and no measured run"
    for name, remote in (("a-1", "  remote: models\n"), ("b-2", "  remote: models\n"), ("c-3", "")):
        pointer = here / f"results/checkpoints/{name}.dvc"
        pointer.parent.mkdir(parents=True, exist_ok=True)
        pointer.write_text(f"outs:\n- md5: 0.dir\n  size: 1\n{remote}  path: {name}\n")
    (here / "results/checkpoints/a-1").mkdir()
    (here / "results/tables").mkdir()
    rows = ("laptop,one,AMD EPYC", "laptop,two,AMD EPYC", "laptop,three,Xeon", "laptop,untrained,", "long,four,H100")
    (here / "results/tables/runs.csv").write_text("\n".join(["scale,run,hardware", *rows]) + "\n")
    lines = found(doctor._weights)
    assert lines["models"].found.startswith("2 folders published in git, results/models, 1 not here: `dvc pull ")
    assert lines["kept"].found.startswith("1 folder kept in a remote of your own, 1 not here")
    assert lines["other runs"].found.endswith("git has AMD EPYC (2 runs) and Xeon (1 run)")
    assert not any(line.mend for line in lines.values())


def test_packages_as_locked_are_fine_and_further_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    locked = [line.split("==") for line in (PROJECT / "requirements.lock").read_text().split()]
    there = [SimpleNamespace(name=name, version=version) for name, version in [*locked, ("ipython", "9")]]
    monkeypatch.setattr(metadata, "distributions", lambda: there)
    assert found(doctor._packages)["packages"] == doctor.Line("packages", "as in requirements.lock")


def test_other_versions_are_named_and_packages_that_only_train_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [SimpleNamespace(name="NumPy", version="1.0"), SimpleNamespace(name="torch", version="2.13.0+cu130")]
    monkeypatch.setattr(metadata, "distributions", lambda: there)
    lines = found(doctor._packages)
    assert lines["packages"].found.startswith("1 differ from requirements.lock: numpy 1.0 (lock: ")
    assert lines["packages"].mend.startswith("make install")
    assert lines["workflow"].found.startswith("snakemake, dvc, pydantic not installed")
    assert not lines["workflow"].mend


def test_devices_are_none_fake_or_beyond_this_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(doctor._torch)["gpu"].found == "none: trainings run on the CPU"
    monkeypatch.setenv("ALLMLP_FAKE_DEVICES", "4")
    assert found(doctor._torch)["gpu"].found == "4 fake ones, for tests"
    monkeypatch.delenv("ALLMLP_FAKE_DEVICES")
    monkeypatch.setattr(doctor, "machine", lambda: [("0", "GPU-1"), ("1", "GPU-2")])
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    line = found(doctor._torch)["gpu"]
    assert line.found == "2, which this torch cannot use"
    assert "torch for this driver" in line.mend


def test_too_little_room_is_said_with_its_place(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, short in ((6 * 10**9, False), (10**9, True)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        monkeypatch.setattr(psutil, "virtual_memory", lambda free=free: SimpleNamespace(available=free))
        lines = found(doctor._room)
        assert {line.found for line in lines.values()} == {f"{free // 10**9}.0 GB free"}
        assert [bool(line.mend) for line in lines.values()] == [short, short]
    assert lines["disk"].mend == f"make room in {here}: 5 GB are needed"
    assert lines["memory"].mend.endswith(": 4 GB are needed")


def test_locks_are_tried_and_leave_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(doctor._locks)["locks"] == doctor.Line("locks", "hold")
    assert not list((here / "work").iterdir())
    real = locks.take
    monkeypatch.setattr(locks, "take", lambda path: real(path.with_name(f"{len(list(path.parent.glob('*')))}")))
    (here / "work").mkdir(exist_ok=True)
    assert found(doctor._locks)["locks"].mend == doctor.LOCAL, "two at once"

    def refused(path: Path) -> None:
        raise UserError(f"{path}: no locks available")

    monkeypatch.setattr(locks, "take", refused)
    assert found(doctor._locks)["locks"].mend == doctor.LOCAL


def test_calls_at_work_and_begun_runs_are_listed(here: Path) -> None:
    for name, step in (("begun", 300), ("ended", 500), ("fresh", 0)):
        (here / "work/runs" / name).mkdir(parents=True)
        (here / "work/runs" / name / f"state-{step}.json").write_text("{}")
    (here / "results/checkpoints/ended").mkdir(parents=True)
    assert found(doctor._unfinished_runs)["unfinished"].found.startswith("1 runs: begun at step 300;")
    mine = {"pid": os.getpid(), "host": socket.gethostname(), "since": "2026-01-01T00:00:00+00:00"}
    (here / "work/runs/begun/lock").write_text(json.dumps(mine))
    (here / "work/advance.lock").write_text(json.dumps({**mine, "pid": 2**22 + 1}))
    assert [line.found for line in doctor._active_jobs()] == [
        f"begun: pid {mine['pid']} on {mine['host']} since {mine['since']}"
    ], "the other holder is dead"


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!{sys.executable}\n{script}\n")
    (folder / name).chmod(0o755)


def test_slurm_and_remotes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "bin").mkdir()
    monkeypatch.setenv("PATH", str(here / "bin"))
    assert found(doctor._slurm) == {} == found(doctor._remote)
    program(here / "bin", "sinfo", "print('3\\n2')")
    monkeypatch.setattr(metadata, "distributions", list)
    assert found(doctor._slurm)["slurm"].found == "5 nodes"
    assert "pip install -e .[slurm]" in found(doctor._slurm)["slurm"].mend
    program(here / "bin", "sinfo", "import sys; sys.exit('no controller')")
    assert found(doctor._slurm)["slurm"].mend == "ask the cluster's administrator: no controller"
    monkeypatch.setattr(doctor, "PATIENCE_S", 0.2)
    program(here / "bin", "sinfo", "import time; time.sleep(60)")
    assert found(doctor._slurm)["slurm"].mend == "ask the cluster's administrator: nothing within a minute"
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(here / "bin"))
    program(here / "bin", "dvc", f"print('local   {here}/my data   (default)\\nfar     s3://bucket/x')")
    lines = [line.found for line in doctor._remote()]
    assert lines == [f"local: {here}/my data, not there yet: `allmlp keep --push` makes it", "far: s3://bucket/x"]
