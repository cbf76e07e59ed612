"""`make audit` does not pass where nothing was audited: pip-audit does, unless it is asked to be strict."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import environment

PROGRAM = shutil.which("pip-audit")
NOWHERE = "http://127.0.0.1:9"  # no proxy is there


@pytest.mark.skipif(PROGRAM is None, reason="needs pip-audit, which `make audit` installs")
def test_no_audit_is_an_error_that_says_so(clone: Path) -> None:
    programs = Path(str(PROGRAM)).parent
    done = subprocess.run(
        ["make", "audit", f"BIN={programs}", f"--old-file={programs}/ready"],
        cwd=clone,
        env={**environment(clone), "HTTPS_PROXY": NOWHERE, "https_proxy": NOWHERE},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "requirements.lock: the audit was not made: not every package could be looked up" in done.stdout
