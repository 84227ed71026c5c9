"""The checks of crash/jobs.py: they must see what they are there to see."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from crash.jobs_checks import Judge, Record  # noqa: E402
from crash.jobs_service import Seen  # noqa: E402

GOOD = [(1, 0, 0), (2, 1, 1), (3, 2, 2)]    # claim, minute, number


def record(state=3, served=None, stop=0, due=True, tokens=1):
    return Record(state, state if served is None else served, stop, due, tokens)


def judged(seen, final=None, told=0, each_minute=True):
    judge = Judge()
    judge.job("work", [Seen(claim, f"2026-07-01T12:{minute:02}:00.000000Z", number) for claim, minute, number in seen],
              told, final or record(), each_minute)
    return {name: count for name, count in judge.counts.items() if count}


def test_what_is_right():
    assert judged(GOOD) == {}
    assert judged(GOOD[:1] + [(4, 0, 0), (5, 1, 1), (6, 2, 2)], told=3) == {}      # a run that was killed
    assert judged([GOOD[1], GOOD[0], GOOD[2]]) == {}                                # a request that came late
    assert judged(GOOD, record(state=2)) == {}                                      # the last run is not over
    assert judged([(1, 0, 0), (2, 5, 1), (3, 6, 2)], each_minute=False) == {}


@pytest.mark.parametrize("seen, what", [
    ([(1, 0, 0), (2, 2, 1), (3, 3, 2)], {"lost": 1}),           # a minute without its run
    ([(1, 0, 0), (2, 4, 1), (3, 5, 2)], {"lost": 3}),
    ([(1, 0, 0), (2, 1, 2), (3, 2, 3)], {"lost": 1}),           # a number that nobody brought
    ([(1, 0, 0), (2, 0, 1), (3, 1, 2)], {"twice": 1}),          # its time was recorded, and it came again
    ([(1, 0, 0), (2, 1, 1), (3, 0, 1)], {"twice": 1}),
    ([(1, 0, 0), (2, 1, 1), (3, 2, 0)], {"state_back": 1}),     # a number that went back ...
    ([(1, 0, 2), (2, 1, 2), (3, 2, 2)], {"state_back": 2}),     # ... or stood still, and the schedule went on
])
def test_requests_that_must_not_be(seen, what):
    assert judged(seen, record(state=seen[-1][2] + 1)) == what


@pytest.mark.parametrize("final, told, what", [
    (record(tokens=0), 0, {"stranded": 1}), (record(due=False), 0, {"stranded": 1}), (record(stop=2), 0, {"stranded": 1}),
    (record(tokens=2), 0, {"twice": 1}),
    (record(served=4), 0, {"twice": 1}), (record(served=2), 0, {"lost": 1}),
    (record(state=1), 0, {"state_back": 1}), (record(state=5), 0, {"lost": 1}),
    (record(state=2), 3, {"state_back": 1}),
])
def test_records_that_must_not_be(final, told, what):
    assert judged(GOOD, final, told) == what


def test_a_job_without_a_record():
    judge = Judge()
    judge.job("work", [], 0, None, True)
    assert judge.counts["stranded"] == 1 and not judge.clean()


def test_looks_and_the_log():
    judge = Judge()
    judge.numbers({"a": 3, "b": 1}, {"a": 3, "b": 2})
    assert judge.clean()
    judge.numbers({"a": 3}, {"a": 2})
    judge.numbers({"a": 3}, {})
    judge.log([("a", "2026", "2")])
    assert judge.counts["state_back"] == 2 and judge.counts["twice"] == 1
