"""Seconds of work are recorded line by line, whatever becomes of the work, and counted from a moment on."""

import time
from pathlib import Path

import pytest

from allmlp import busy
from allmlp.reproducing import shares


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_seconds_of_blocks_add_up_even_of_one_that_fails(here: Path) -> None:
    before = time.time()
    with busy.spent("train a"):
        time.sleep(0.05)

    def failing() -> None:
        with busy.spent("measure a cost"):
            time.sleep(0.05)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert 0.1 <= busy.since(here, before) < 5
    assert len(busy.BUSY.read_text().splitlines()) == 2
    assert busy.since(here, time.time() + 1) == 0


def test_nothing_recorded_and_half_a_line_count_for_nothing(here: Path) -> None:
    assert busy.since(here, 0) == 0
    with busy.spent("train a"):
        pass
    with busy.BUSY.open("a") as stream:
        stream.write('{"work": "train b", "began": 17')
    assert busy.since(here, 0) < 1


def test_shares_add_up_to_the_whole() -> None:
    said = shares(200, 300, 10, 2)
    assert "tokens, training and measuring 150 s (300 s of one core, on 2), last mile 10 s; " in said
    assert "; workflow overhead 40 s, 20.0% of the wall time " in said
