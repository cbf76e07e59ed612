"""Environments beside the project's own: with further packages, each made when first asked for, or with only some."""

import subprocess
import sysconfig
import venv
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from tests.conftest import PROJECT

DONE = "installed.txt"  # what was asked for, written when it is there


def behind(folder: Path, packages: str) -> Path:
    """An environment with these packages, a requirement a line, and those of this one behind it. Returns its programs.

    It is made again when the packages or the project's environment change. CalledProcessError if they cannot be had.
    """
    programs, asked = folder / "bin", f"{packages.rstrip()}\n# before those of {sysconfig.get_path('purelib')}\n"
    if not (folder / DONE).is_file() or (folder / DONE).read_text(encoding="utf-8") != asked:
        print(f"installing {' '.join(packages.split())} in {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        wanted = folder / "wanted.txt"
        wanted.write_text(asked, encoding="utf-8")
        python = str(programs / "python")
        pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        constraint = str(PROJECT / "requirements.lock")
        subprocess.run([*pip, "--constraint", constraint, "--requirement", str(wanted)], check=True)
        where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        own = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
        Path(own, "behind.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        wanted.rename(folder / DONE)
    return programs


def with_only(folder: Path, packages: Iterable[metadata.Distribution]) -> Path:
    """An environment with links to these packages of this one, and no other package. Returns its programs."""
    venv.create(folder, symlinks=True, with_pip=False)
    (own,) = folder.glob("lib/python*/site-packages")
    for package in packages:
        for name in {file.parts[0] for file in package.files or () if file.parts[0] != ".."}:
            if not (own / name).exists():
                (own / name).symlink_to(Path(str(package.locate_file(name))).absolute())
    return folder / "bin"
