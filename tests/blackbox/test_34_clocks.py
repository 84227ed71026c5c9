"""Clocks that are wrong: idempotency keys go by the clock of the store, and no step of it refuses or forgets anything."""
import pytest

from moved_clock import MovedClock
from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
HOUR = 3600


def keyed(node, key, body=b"x"):
    return node.post("open", body, {"Idempotency-Key": key})


@POSTGRES
@pytest.mark.proves("EN3")
def test_one_node_three_days_ahead_forgets_nothing_of_others(make_node, tmp_path):
    one = make_node()
    one.start()
    ids = {f"k{n}": keyed(one, f"k{n}").json["document"] for n in range(5)}
    clock = MovedClock(tmp_path)
    clock.by(72 * HOUR)
    ahead = make_node(environment=clock.environment)
    ahead.start()
    theirs = keyed(ahead, "theirs")
    assert theirs.status == 202
    for node in (one, ahead):
        for key, first in ids.items():
            again = keyed(node, key)
            assert again.status in (200, 202) and again.json["document"] == first, "a second document"
        assert keyed(node, "theirs").json["document"] == theirs.json["document"]


@BOTH
@pytest.mark.proves("EN3")
@pytest.mark.parametrize("hours", [8, -8, 72])
def test_a_step_of_the_clock_refuses_no_keyed_document(make_node, tmp_path, hours):
    """Not for a moment; and what was accepted before is still known, also when the step is taken back."""
    clock = MovedClock(tmp_path)
    node = make_node(environment=clock.environment)
    node.start()
    first = keyed(node, "before").json["document"]
    clock.by(hours * HOUR)
    for n in range(20):
        answer = keyed(node, f"k{n}")
        assert answer.status == 202, answer.body
    assert node.post("open", b"without a key").status == 202
    assert keyed(node, "before").json["document"] == first, "a second document"
    clock.by(0)
    for n in range(20, 30):
        assert keyed(node, f"k{n}").status == 202
    assert keyed(node, "before").json["document"] == first, "a second document"


@pytest.mark.proves("EN3")
def test_a_step_that_is_confirmed_goes_on(make_node, tmp_path):
    """The clock of the keys follows when a second reading agrees: tables for the new time are there, keys are kept."""
    clock = MovedClock(tmp_path)
    node = make_node(environment=clock.environment)
    node.start()
    clock.by(8 * HOUR)
    node.wait_event("clock.steady", timeout=30)
    first = keyed(node, "behind the step")
    assert first.status == 202
    wait_until(lambda: keyed(node, "behind the step").json["document"] == first.json["document"], 30, "the same answer")
