"""The description of a saved state: what belongs to it, and which damage is seen."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.training import state_file
from allmlp.training.storage import write_json

LOG = b'{"step": 0}\n{"step": 1}\n{"step": 2}\n'
BACK = "going back to an earlier step."


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def state(folder: Path) -> dict[str, object]:
    """A state before update 2 with one kept file, written."""
    (folder / "step-0.safetensors").write_bytes(b"weights")
    (folder / "log.jsonl").write_bytes(LOG)
    said = state_file.describe_checkpoint(2, "ab", 1.5, {"step-0.safetensors": digest(b"weights")}, LOG)
    write_json(folder / "state-2.json", said)
    return said


def test_a_description_holds_digests_of_the_rows_before_and_of_itself(tmp_path: Path) -> None:
    said = state(tmp_path)
    expected = {
        "step": 2,
        "sha256": "ab",
        "seconds": 1.5,
        "kept": {"step-0.safetensors": digest(b"weights")},
        "log": digest(b'{"step": 0}\n{"step": 1}\n'),
    }
    assert said == {**expected, "digest": digest(json.dumps(expected, sort_keys=True).encode())}
    assert state_file.read(tmp_path, 2) == said
    assert [state_file.rows(LOG, step) for step in (0, 1, 9)] == [b"", b'{"step": 0}\n', LOG]


def test_each_damage_is_named(tmp_path: Path) -> None:
    said = state(tmp_path)

    def message() -> str:
        with pytest.raises(UserError) as refused:
            state_file.read(tmp_path, 2)
        return str(refused.value)

    write_json(tmp_path / "state-2.json", {**said, "seconds": 2.5})
    assert message() == f"{tmp_path}/state-2.json: is damaged; {BACK}"
    (tmp_path / "state-2.json").write_text("{")
    assert message().startswith(f"{tmp_path}/state-2.json: is not JSON (")
    assert message().endswith(BACK)
    write_json(tmp_path / "state-2.json", {**said, "format": 2})
    assert "is of format 2, this code reads state up to 1" in message()
    write_json(tmp_path / "state-2.json", said)
    for log in (LOG.replace(b"1", b"7"), b""):
        (tmp_path / "log.jsonl").write_bytes(log)
        assert message() == f"{tmp_path}/log.jsonl: is damaged before step 2; {BACK}"
    (tmp_path / "log.jsonl").unlink()
    assert message() == f"{tmp_path}/log.jsonl: is damaged before step 2; {BACK}"
    (tmp_path / "log.jsonl").write_bytes(LOG)
    (tmp_path / "step-0.safetensors").write_bytes(b"Weights")
    assert message() == f"{tmp_path}/step-0.safetensors: is missing or damaged; {BACK}"
    (tmp_path / "step-0.safetensors").unlink()
    assert message() == f"{tmp_path}/step-0.safetensors: is missing or damaged; {BACK}"


def test_what_an_earlier_release_wrote_has_neither_digest(tmp_path: Path) -> None:
    said = state(tmp_path)
    old = {key: value for key, value in said.items() if key not in ("log", "digest")}
    write_json(tmp_path / "state-2.json", old)
    assert state_file.read(tmp_path, 2) == old
    assert state_file.is_intact(old)
    assert state_file.has_log(old, LOG)
    assert not state_file.has_log(old, LOG[:15])
    for lacking in ("step", "sha256", "seconds", "kept"):
        assert not state_file.is_intact({key: value for key, value in old.items() if key != lacking})
    assert not state_file.is_intact([*old])


def test_a_state_before_the_first_update_needs_no_log(tmp_path: Path) -> None:
    write_json(tmp_path / "state-0.json", state_file.describe_checkpoint(0, "ab", 0.0, {}, b""))
    assert state_file.read(tmp_path, 0)["log"] == digest(b"")
