"""Seconds of work are recorded line by line, whatever becomes of the work, and counted from a moment on."""

import time
from pathlib import Path

import pytest

from allmlp.pipeline import timing
from allmlp.pipeline.reproduce import time_shares

pytestmark = pytest.mark.usefixtures("here")


def test_seconds_of_blocks_add_up_even_of_one_that_fails(here: Path) -> None:
    before = time.time()
    with timing.record_seconds("train a"):
        time.sleep(0.05)

    def failing() -> None:
        with timing.record_seconds("measure a cost"):
            time.sleep(0.05)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert 0.1 <= timing.seconds_since(here, before) < 5
    assert timing.seconds_since(here, before, "cpu_seconds") < 0.05, "it slept"
    assert len(timing.BUSY.read_text().splitlines()) == 2
    assert timing.seconds_since(here, time.time() + 1) == 0


def test_nothing_recorded_and_half_a_line_count_for_nothing(here: Path) -> None:
    assert timing.seconds_since(here, 0) == 0
    with timing.record_seconds("train a"):
        pass
    with timing.BUSY.open("a") as stream:
        stream.write('{"work": "train b", "began": 17')
    assert timing.seconds_since(here, 0) < 1


def test_shares_add_up_to_the_whole() -> None:
    said = time_shares(200, 300, 10, 2)
    assert "tokens, training and measuring 150 s (300 s of one core, on 2), last mile 10 s; " in said
    assert "; workflow overhead 40 s, 20.0% of the wall time " in said
