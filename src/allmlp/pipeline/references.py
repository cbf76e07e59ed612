"""The results that runs made again are compared with: a git state's or, outside git, those before the first call.

Not those of the working tree: an earlier call on this machine, or one that was killed, may have put its own there.
"""

import io
import shutil
import tarfile
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from allmlp.common import formats, git, paths
from allmlp.common.paths import CLAIMS, SELECTED
from allmlp.measurements import store
from allmlp.measurements.store import STORE, StoredMeasurements


@dataclass(frozen=True)
class Reference:
    """`folder` has the store, the selection and the claims. `name`: as what a message speaks of them."""

    folder: Path
    name: str

    def read_measure(self, study: str, measure: str) -> StoredMeasurements:
        """The stored measurements of a measure."""
        with chdir(self.folder):
            return store.read_measure(study, measure)

    def verdicts(self) -> Mapping[str, str]:
        """claim -> verdict; empty where nothing was judged."""
        file = self.folder / CLAIMS
        return (
            {entry["id"]: entry["verdict"] for entry in formats.read("claims", file)["claims"]}
            if file.is_file()
            else {}
        )

    def forget(self) -> None:
        """Remove the folder, in one step."""
        gone = self.folder.with_name(f"{self.folder.name}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        self.folder.rename(gone)
        shutil.rmtree(gone)


def choose_reference(root: Path, apart: Path, against: str | None) -> Reference:
    """That of the state `against`, or else of git's HEAD; of a user's own folder, and without git, the earlier results.

    `apart`: a folder for a copy.
    """
    committed = Path.cwd().samefile(root) and git.output(root, "rev-parse", "--verify", "--quiet", "HEAD:./params.yaml")
    if against or committed:
        return _state_reference(root, against or "HEAD", apart, f"in {against}" if against else "committed")
    return _snapshot_reference(root / "work" / f"before-{paths.digest(str(Path.cwd()))}")


def _state_reference(root: Path, state: str, apart: Path, name: str) -> Reference:
    folder = apart / "against"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    places = [str(place) for place in (STORE, SELECTED, CLAIMS) if git.output(root, "ls-tree", "-r", state, str(place))]
    if places:
        content = git.output(root, "archive", "--format=tar", state, *places)
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(folder, filter="data")
    return Reference(folder, name)


def _snapshot_reference(folder: Path) -> Reference:
    """A copy of what lies here, unless a call that was killed has left its own."""
    if not folder.is_dir():
        beside = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(beside, ignore_errors=True)
        (beside / STORE).parent.mkdir(parents=True)
        if STORE.is_dir():
            shutil.copytree(STORE, beside / STORE)
        for file in (SELECTED, CLAIMS):
            if file.is_file():
                shutil.copy2(file, beside / file)
        beside.rename(folder)
    return Reference(folder, "before")
