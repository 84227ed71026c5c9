"""The judges of crash/peer_kinds.py: they must see what they are there to see."""
import base64
import hashlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from crash.peer_kinds import Hl7Senders, MllpIn, MllpOut, Smtp, bytes_of, judge_things, message, payloads  # noqa: E402
from crash.peer_scene import line  # noqa: E402
from crash.peer_sql import ROWS, Sql, SqlMaria  # noqa: E402

TITLE = "a.sftp"
EXPECTED = {f"{TITLE}-{n}": bytes_of(TITLE, n) for n in range(3)}


def test_files_that_are_missing_half_or_twice_are_counted():
    assert judge_things(EXPECTED, dict(EXPECTED), TITLE) == (0, 0, 0)
    first, second, third = EXPECTED
    assert judge_things(EXPECTED, {first: EXPECTED[first], second: EXPECTED[second]}, TITLE) == (1, 0, 0)
    assert judge_things(EXPECTED, {**EXPECTED, third: EXPECTED[third][:-1]}, TITLE) == (0, 1, 0)
    assert judge_things(EXPECTED, {**EXPECTED, "other": EXPECTED[first]}, TITLE) == (0, 0, 1)
    assert judge_things(EXPECTED, {**EXPECTED, "other": b"of another scene"}, TITLE) == (0, 0, 0)


def test_bytes_differ_from_document_to_document():
    assert len({bytes_of(TITLE, n) for n in range(20)} | {bytes_of("b.sftp", n) for n in range(20)}) == 40


class Mails:
    """A mail server that has these."""

    def __init__(self, *bodies):
        self.bodies = bodies

    def mails(self):
        return [({}, b"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n" + body)
                for body in self.bodies]


def test_a_mail_may_come_twice_and_not_never():
    kind = Smtp.__new__(Smtp)
    first, second = (base64.b64encode(bytes_of("s.smtp", n)) for n in range(2))
    kind.server = Mails(first, second, second)
    assert kind.judge("s", range(2)) == {"lost": 0, "again": 1}
    kind.server = Mails(second)
    assert kind.judge("s", range(2)) == {"lost": 1, "again": 0}


def test_a_message_that_did_not_arrive_is_counted(tmp_path):
    kind = MllpOut(tmp_path)
    try:
        kind.came[message("s.mllp_out", 0)] += 2
        assert kind.judge("s", range(1)) == {"lost": 0}
        assert kind.judge("s", range(2)) == {"lost": 1}
    finally:
        kind.close()


class Store:
    """An API with these documents."""

    def __init__(self, *bodies, gateway="lab"):
        self.bodies, self.gateway = bodies, gateway

    def graphql(self, query, variables):
        assert variables["gateway"] == self.gateway and "next" in query
        return {"documents": {"next": None, "items": [{"id": n} for n in range(len(self.bodies))]}}

    def request(self, method, path):
        answer = type("Answer", (), {"status": 200})()
        answer.read = lambda: self.bodies[int(path.split("/")[2])]
        assert method == "GET"
        return answer


def test_messages_that_are_not_stored_or_twice_are_counted(tmp_path):
    kind = MllpIn(tmp_path)
    kind.senders = type("Senders", (), {"count": 2, "wrong": [], "stored_unacked": 1})()
    first, second = (message("s.mllp", n) for n in range(2))
    assert kind.judge_store("s", Store(first, second)) == {"lost": 0, "doubled": 0, "unacked_stored": 1}
    assert kind.judge_store("s", Store(first, first)) == {"lost": 1, "doubled": 1, "unacked_stored": 1}
    assert list(payloads(Store(first), "lab")) == [first]


def heard(ack, tries=1, sent_ms=1000.0):
    senders = Hl7Senders(1, 0, None)
    senders.acked = [False]
    senders._hear(0, message("s.mllp", 7), ack, tries, sent_ms)  # pylint: disable=protected-access
    return senders.acked[0], len(senders.wrong), senders.stored_unacked


def test_an_acknowledgement_is_of_its_own_message():
    def ack(code="AA", control="s.mllp-7", ms=900):
        return (f"\x0bMSH|^~\\&|EHR|CLINIC|LAB|HOSP|2026||ACK^R01^ACK|{ms:012X}00000001|P|2.5\r"
                f"MSA|{code}|{control}\r\x1c\r").encode()
    assert heard(ack(ms=1001)) == (True, 0, 0)
    assert heard(ack(), tries=2) == (True, 0, 1), "it was stored before it was sent again"
    assert heard(ack(ms=1001), tries=2) == (True, 0, 0)
    assert heard(ack("AE")) == (False, 0, 0)
    assert heard(ack("AR")) == (True, 1, 0)
    assert heard(ack(control="s.mllp-8")) == (True, 1, 0)


def database(kind=Sql):
    """One without a server: what it is told to do is kept in `said`, its answer is `rows`."""
    made = kind.__new__(kind)
    made.said, made.rows = [], []

    def sql(text):
        made.said.append(text)
        return "\n".join("\t".join(row) for row in made.rows)

    made.sql = sql
    return made


def test_a_document_is_in_the_table_once_with_its_own_bytes():
    kind = database()
    good = [(f"s.sql-{n}", hashlib.md5(bytes_of("s.sql", n)).hexdigest()) for n in range(3)]
    for rows, bad in ((good, 0), (good[:2], 1), (good + good[:1], 1), ([(good[0][0], good[1][1])] + good[1:], 2),
                      (good + [("s.sql-7", "of nobody")], 1), ([], 3)):
        kind.rows = rows
        assert kind.judge("s", range(3)) == {"not_once": bad}


def test_a_row_is_one_document():
    kind = database(SqlMaria)
    kind.begin("s", 2)
    kind.allow(1)
    kind.allow(2)
    kind.allow(2)
    assert len(kind.said) == 2 and "'last'" not in kind.said[0] and kind.said[1].endswith(f"{2 * ROWS}, 'last')")
    assert kind.acked() == 2 * ROWS
    bodies = [json.dumps({"id": n}) for n in range(1, 2 * ROWS + 1)]
    for found, bad in ((bodies, 0), (bodies[1:], 1), (bodies + bodies[:2], 2), (bodies + ['{"id": 0}'], 1)):
        assert kind.judge_store("s", Store(*found, gateway="sql_maria_rows")) == {"rows_not_once": bad}


def test_the_line_says_both_databases_and_both_ways_together():
    kinds = [kind.__new__(kind) for kind in (Sql, SqlMaria, MllpIn, MllpOut)]
    counts = ({"not_once": 1, "rows_not_once": 2}, {"not_once": 4, "rows_not_once": 8},
              {"lost": 1, "unacked_stored": 3}, {"lost": 2})
    assert line(dict(zip(kinds, counts))) == "sql not_once=15, mllp lost=3 unacked_stored=3"
