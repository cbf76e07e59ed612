"""The documentation as pages that need no server and no network: `make docs`. They lie in work/docs.

Sphinx makes them, in an environment of its own in work/pages. A warning ends the build.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tests.conftest import PROJECT
from tests.environments import behind
from tests.pages import sources

HERE = Path(__file__).parent
WORK, PAGES = PROJECT / "work/pages", PROJECT / "work/docs"


def main() -> None:
    """Make the pages and say where they are."""
    try:
        programs = environment()
    except subprocess.CalledProcessError:
        raise SystemExit(
            "error: make docs: the generator's packages cannot be had; the first time needs a network"
        ) from None
    build(programs, WORK / "source", PAGES)
    print(f"pages: {PAGES / 'index.html'}")


def environment() -> Path:
    """The programs of the generator's environment. CalledProcessError if its packages cannot be had."""
    return behind(WORK / "environment", (HERE / "requirements.txt").read_text(encoding="utf-8"))


def build(programs: Path, source: Path, pages: Path) -> None:
    """Write the sources, then the pages, each in place of what was there. SystemExit after a warning, with its text."""
    for folder in (source, pages):
        shutil.rmtree(folder, ignore_errors=True)
    sources.write(source, pages)
    words = [str(programs / "sphinx-build"), "--quiet", "--fail-on-warning", "--keep-going", "--conf-dir", str(HERE)]
    clean = {**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}{os.pathsep}{PROJECT}"}
    done = subprocess.run([*words, "--doctree-dir", f"{source}-read", str(source), str(pages)], cwd=PROJECT, env=clean)
    if done.returncode:
        raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
