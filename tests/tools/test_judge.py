"""The judge of the crash tests: it must see what it is there to see, on the whole road."""
import hashlib
import pathlib
import random
import sys
from collections import Counter

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from crash.judge import RoadChecker  # noqa: E402
from crash.road import Arrival, Sight  # noqa: E402
from rig.checker import Findings, Listed  # noqa: E402
from rig.journal import Journal  # noqa: E402


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def listed(key, state="delivered", code=None):
    return Listed(sha(f"sent {key}"), 10, state, code)


class Receivers:
    """What a catcher has noted."""

    def __init__(self):
        self.arrivals, self.taken = [], set()
        self.reached, self.booked = Counter(), Counter()

    def read(self):
        return self.arrivals

    def got(self, endpoint, document, text, status=200, delivery=None):
        self.arrivals.append(Arrival(endpoint, document, delivery or f"{document}.{endpoint}",
                                     sha(text) if text else None, status))
        if status == 200:
            self.taken.add((endpoint, document))
        if status != 503:
            self.reached[endpoint, document] += 1
            self.booked[endpoint, document] += text is not None


class Folder:
    """What a watcher has seen."""

    def __init__(self):
        self.sights, self.touched, self.present = [], [], {}

    def read(self):
        return self.sights

    def scan(self):
        pass

    def left_overs(self):
        return []

    def saw(self, path, key, text):
        self.present[path] = Sight(path, key, sha(text))
        self.sights.append(self.present[path])


class World:
    """A document of each kind that did well; of two receivers that fail one knows its keys."""

    def __init__(self, folder):
        self.kinds = {"k1": "order", "k2": "note", "k3": "line", "k4": "refused", "k5": "unknown",
                      "k6": "once", "k7": "asked"}
        journal = folder / "journal"
        journal.write_text("".join(
            f"E {key} {kind} {sha('got ' + key)}\nS {key} {sha('sent ' + key)} 10 1\n"
            f"A {key} 202 d{key[1:]} 2\n" for key, kind in self.kinds.items()))
        self.journal = Journal(journal).read()
        self.receivers, self.folder = Receivers(), Folder()
        self.listed = {"d1": listed("k1"), "d2": listed("k2"), "d3": listed("k3"),
                       "d4": listed("k4", "dead", "rejected"),
                       "d5": listed("k5", "dead", "no_route"),
                       "d6": listed("k6"), "d7": listed("k7")}
        self.resent = set()
        self.receivers.got("shop", "d1", "got k1")
        self.receivers.got("moody", "d2", None, 0)
        self.receivers.got("moody", "d2", "got k2", 503)
        self.receivers.got("moody", "d2", "got k2")
        self.receivers.got("never", "d4", "got k4", 422)
        self.receivers.got("strict", "d6", "got k6", 503)
        self.receivers.got("strict", "d6", "got k6", 500)
        self.receivers.got("exact", "d7", None, 0)
        self.receivers.got("exact", "d7", "got k7", 0)
        self.folder.saw("order/d1.json", "k1", "got k1")
        self.folder.saw("refused/d4.json", "k4", "got k4")
        self.book, self.inbox = folder / "book", folder / "inbox"
        self.book.mkdir()
        (self.inbox / ".waybill/claim").mkdir(parents=True)
        self.lines = ["got k3"]

    def judge(self):
        # a line of the book is what its document is, with its end
        expected = self.journal.expected["k3"]
        self.journal.expected["k3"] = (expected[0], sha("got k3\n"))
        (self.book / "lines.txt").write_text("".join(line + "\n" for line in self.lines))
        checker = RoadChecker(None, self.journal, random.Random(1), self.receivers, self.folder,
                              self.book, self.inbox)
        checker.settled = True
        checker.resent = self.resent
        findings = Findings()
        checker.before_listing()
        checker.after_listing(self.listed, findings, True)
        findings.lost = len(checker.lost_ids)
        return findings


@pytest.fixture(name="world")
def make_world(tmp_path):
    return World(tmp_path)


def counts(findings):
    return (findings.lost, findings.unrecorded, findings.torn, findings.poison)


def test_a_road_without_trouble_is_clean(world):
    findings = world.judge()
    assert findings.clean(), findings.problems


@pytest.mark.parametrize("pair", [("shop", "d1"), ("moody", "d2")])
def test_delivered_and_not_at_its_receiver_is_lost(world, pair):
    world.receivers.taken.remove(pair)
    assert counts(world.judge()) == (1, 0, 0, 0)


@pytest.mark.parametrize("path", ["order/d1.json", "refused/d4.json"])
def test_a_file_that_is_gone_is_lost(world, path):
    del world.folder.present[path]
    assert counts(world.judge()) == (1, 0, 0, 0)


def test_a_line_that_is_not_in_the_book_is_lost(world):
    world.lines.clear()
    assert counts(world.judge()) == (1, 0, 0, 0)


def test_a_file_that_was_never_taken_in_is_lost(world):
    world.journal.dropped["k9"] = 1
    assert counts(world.judge()) == (1, 0, 0, 0)


@pytest.mark.parametrize("place", ["k9.json", ".waybill/claim/k9.json"])
def test_a_file_that_still_waits_is_not(world, place):
    world.journal.dropped["k9"] = 1
    (world.inbox / place).write_text("{}")
    assert world.judge().clean()


@pytest.mark.parametrize("status, text", [(200, "got k1"), (503, "got k1"), (0, None)])
def test_what_arrives_without_a_record_is_seen(world, status, text):
    world.receivers.got("shop", "d9", text, status)
    assert counts(world.judge()) == (0, 1, 0, 0)


def test_a_file_without_a_record_is_seen(world):
    world.folder.saw("order/d9.json", "k9", "got k9")
    assert counts(world.judge()) == (0, 1, 0, 0)


def test_other_bytes_are_torn(world):
    world.receivers.got("shop", "d1", "got half of k1")
    assert counts(world.judge()) == (0, 0, 1, 0)


def test_a_file_that_was_not_whole_for_a_moment_is_torn(world):
    world.folder.sights.insert(0, Sight("order/d1.json", "-", sha("")))
    assert counts(world.judge()) == (0, 0, 1, 0)


def test_a_file_that_is_written_to_is_torn(world):
    world.folder.touched.append("order/d1.json")
    assert counts(world.judge()) == (0, 0, 1, 0)


def test_two_files_of_one_document_are_torn(world):
    world.folder.saw("order/d1-again.json", "k1", "got k1")
    world.listed["d1-again"] = listed("k1")
    world.receivers.taken.add(("shop", "d1-again"))
    assert world.judge().torn == 1


@pytest.mark.parametrize("lines", [["got k3", "got k3"], ["got k3", "who?"]])
def test_a_line_too_many_is_torn(world, lines):
    world.lines = lines
    assert counts(world.judge()) == (0, 0, 1, 0)


def test_poison_is_counted(world):
    world.listed["d1"] = listed("k1", "dead", "poison")
    assert world.judge().poison == 1


@pytest.mark.parametrize("state, code", [("dead", "rejected"), ("retrying", None),
                                         ("cancelled", None), ("in_doubt", None)])
def test_a_state_that_it_should_not_have_is_told(world, state, code):
    world.listed["d2"] = listed("k2", state, code)
    findings = world.judge()
    assert not findings.clean()


def test_another_delivery_id_is_told(world):
    world.receivers.got("shop", "d1", "got k1", delivery="d1.shop.2")
    assert not world.judge().clean()


# ---- what may not come twice ----------------------------------------------------------------------

@pytest.mark.parametrize("status, text", [(200, "got k6"), (0, "got k6"), (0, None)])
def test_twice_at_a_receiver_that_minds_is_doubled(world, status, text):
    world.receivers.got("strict", "d6", text, status)
    assert world.judge().hold_doubled == 1


def test_twice_after_a_decision_is_not(world):
    world.receivers.got("strict", "d6", "got k6")
    world.resent.add("d6")
    assert world.judge().clean()


def test_in_doubt_is_a_state_for_them(world):
    world.listed["d6"] = listed("k6", "in_doubt", "in_doubt")
    world.listed["d7"] = listed("k7", "in_doubt", "in_doubt")
    assert world.judge().clean()


def test_taken_twice_by_a_receiver_that_was_asked_is_seen(world):
    world.receivers.got("exact", "d7", "got k7")
    assert world.judge().probe_not_once == 1


def test_never_taken_by_a_receiver_that_was_asked_is_seen(world):
    world.receivers.booked["exact", "d7"] = 0
    findings = world.judge()
    assert (findings.probe_not_once, findings.lost) == (1, 1)


def test_missed_by_a_receiver_that_takes_repetitions_is_counted(world):
    world.receivers.taken.remove(("moody", "d2"))
    assert world.judge().resend_missed == 1
