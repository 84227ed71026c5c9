"""The crash checker itself: it must see what it is there to see."""
import hashlib
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig import checker  # noqa: E402
from rig.journal import Journal  # noqa: E402

BODIES = {f"k{n}": f"body of k{n}".encode() for n in range(5)}


def sha(body):
    return hashlib.sha256(body).hexdigest()


class Store:
    """What a node holds, behind the few calls that the checker makes."""

    def __init__(self):
        self.documents = {f"d{key[1:]}": body for key, body in BODIES.items()}
        self.listed_as = {}

    def describe(self, identity):
        body = self.documents[identity]
        return {"id": identity, "sha256": self.listed_as.get(identity, sha(body)),
                "size": len(body)}


class FakeApi:
    store = None

    def __init__(self, node, admin=False):
        pass

    def close(self):
        pass

    def document(self, identity):
        return self.store.describe(identity) if identity in self.store.documents else None

    def payload_digest(self, identity, digest):
        if identity not in self.store.documents:
            return 404, 0
        digest.update(self.store.documents[identity])
        return 200, len(self.store.documents[identity])

    def graphql(self, query, variables):
        names = sorted(self.store.documents)
        start = names.index(variables["after"]) + 1 if variables["after"] else 0
        page = names[start:start + 2]
        return {"documents": {"items": [self.store.describe(n) for n in page],
                              "next": page[-1] if start + 2 < len(names) else None}}


@pytest.fixture(name="store")
def make_store(monkeypatch):
    store = Store()
    monkeypatch.setattr(checker, "Api", FakeApi)
    monkeypatch.setattr(FakeApi, "store", store)
    return store


@pytest.fixture(name="journal")
def make_journal(tmp_path):
    path = tmp_path / "journal"
    lines = []
    for n, (key, body) in enumerate(BODIES.items()):
        lines.append(f"S {key} {sha(body)} {len(body)} {100 * n}\n")
        lines.append(f"A {key} 202 d{key[1:]} {100 * n + 50}\n")
    path.write_text("".join(lines))
    return Journal(path)


def look(journal):
    return checker.Checker(None, journal, random.Random(1)).check(doctor=False)


def test_a_whole_store_is_clean(store, journal):
    findings = look(journal)
    assert findings.clean()
    assert (findings.acked, findings.documents, findings.payloads_read) == (5, 5, 5)


def test_a_missing_document_is_lost(store, journal):
    del store.documents["d3"]
    assert look(journal).lost == 1


def test_other_bytes_are_a_loss(store, journal):
    store.listed_as["d2"] = sha(store.documents["d2"])
    store.documents["d2"] = b"BODY OF k2"
    assert look(journal).lost == 1


def test_a_wrong_digest_is_a_loss(store, journal):
    store.listed_as["d2"] = sha(b"other")
    assert look(journal).lost == 1


def test_a_second_document_of_a_key_is_a_double(store, journal):
    store.documents["d9"] = BODIES["k1"]
    findings = look(journal)
    assert (findings.lost, findings.doubled) == (0, 1)


def test_a_document_that_nobody_sent_is_a_problem(store, journal):
    store.documents["d9"] = b"from nowhere"
    findings = look(journal)
    assert (findings.lost, findings.doubled) == (0, 0) and not findings.clean()


def test_a_refusal_is_a_problem(store, journal):
    with open(journal.path, "a", encoding="ascii") as file:
        file.write("A k1 422 - 900\n")
    assert not look(journal).clean()


def test_a_busy_answer_is_none(store, journal):
    with open(journal.path, "a", encoding="ascii") as file:
        file.write("A k1 503 - 900\n")
    assert look(journal).clean()


def test_acks_after_a_power_cut_do_not_count(store, journal):
    assert journal.read().drop_acks_after(time_ns=260, first=1) == 2
    del store.documents["d4"]
    assert look(journal).clean()
    del store.documents["d1"]
    assert look(journal).lost == 1


def test_half_a_line_waits_for_its_end(journal):
    journal.read()
    with open(journal.path, "a", encoding="ascii") as file:
        file.write("A k1 202 d")
    assert len(journal.read().acks) == 5
    with open(journal.path, "a", encoding="ascii") as file:
        file.write("1 900\n")
    assert len(journal.read().acks) == 6
