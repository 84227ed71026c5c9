"""The checks of crash/services.py that have no control: they must see what they are there to see."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from crash.services_checks import breaks_of, digest_of, what_arrived_is_whole_and_in_order  # noqa: E402
from crash.services_kinds import Sent, only  # noqa: E402

(ARRAY,) = only("array")
FIRST, SECOND = Sent(ARRAY, b"", [b"a1", b"a2", b"a3"]), Sent(ARRAY, b"", [b"b1", b"b2"])


class Field:
    """Two parents whose parts go to `lane`, and what arrived there, each delivery under its own key or a given one."""

    def __init__(self, *came):
        self.sent, self.receiver, self.said = [FIRST, SECOND], self, []
        self.came = [c if isinstance(c, tuple) else (f"key of {c}", c) for c in came]

    def requests(self, path=None):
        return [{"path": "/in/lane", "whole": True, "headers": {"idempotency-key": key}, "sha256": digest_of(body.encode())}
                for key, body in self.came if path in (None, "/in/lane")]

    def say(self, problem):
        self.said.append(problem)


def judged(*came):
    field = Field(*came)
    what_arrived_is_whole_and_in_order(field)
    return " ".join(field.said)


def test_parts_in_order_are_right_also_when_one_came_twice():
    assert judged("a1", "a2", "a3", "b1", "b2") == ""
    assert judged("b1", "b2", "a1", "a2", "a1", "a3") == ""


@pytest.mark.parametrize("came, said", [
    (("a2", "a1", "a3", "b1", "b2"), "not in order"),
    (("a1", "b1", "a2", "a3", "b2"), "not in order"),
    (("a1", "a2", "b1", "b2"), "4 arrived of 5"),
    (("a1", "a2", "a3", "b1", "b2", ("another", "b2")), "6 arrived of 5"),
    (("a1", "a2", "a3", "b1", "b2", "c1"), "6 arrived of 5"),
    (("a1", "a2", "a3", "b1", "b2", ("key of a1", "a9")), "other bytes the second time"),
])
def test_what_is_wrong_is_said(came, said):
    assert said in judged(*came)


def pairs(*told):
    return [{"previous": previous and {"item": previous}, "new": {"item": new}} for previous, new in told]


def test_a_chain_from_nothing_to_the_record():
    assert breaks_of(pairs((None, "a"), ("b", "c"), ("a", "b")), "c") == 0
    assert breaks_of([], None) == 0


@pytest.mark.parametrize("told, last", [
    ([(None, "a"), ("b", "c")], "c"),               # a gap
    ([(None, "a"), (None, "b")], "b"),              # a fork
    ([(None, "a"), ("a", "b")], "c"),               # the record is another one
    ([(None, "a"), ("a", "b")], None),              # there is no record
    ([(None, "a"), ("a", "b"), ("b", "a")], "a"),   # set back
])
def test_breaks_of_a_chain(told, last):
    assert breaks_of(pairs(*told), last) > 0
