"""The verbs with which people set documents going again, against a fake admin API."""
import base64
import json
import os
import pty
import subprocess
import time

import pytest

from fake_api import FakeApi, Reply, data
from running_node import BINARY, clean_environment, run_program

DONE, NO, USAGE, UNREACHABLE, IO, DENIED = 0, 1, 2, 69, 74, 77


@pytest.fixture
def fake():
    api = FakeApi()
    yield api
    api.close()


@pytest.fixture
def ask(fake, tmp_path):
    """Run the program in an empty folder against the fake."""
    def run(*args, **options):
        return run_program(*args, "--url", fake.url, cwd=tmp_path,
                           env=clean_environment(TZ="UTC"), **options)
    return run


@pytest.fixture
def talk(fake, tmp_path):
    """The same on a terminal: types `answer` and gives back what was shown, and the status."""
    def run(*args, answer):
        ours, theirs = pty.openpty()
        with subprocess.Popen([BINARY, *args, "--url", fake.url], cwd=tmp_path, stdin=theirs,
                              stdout=theirs, stderr=theirs,
                              env=clean_environment(TZ="UTC", TERM="xterm")) as process:
            os.close(theirs)
            os.write(ours, answer.encode())
            shown = b""
            try:
                while piece := os.read(ours, 4096):
                    shown += piece
            except OSError:  # the terminal is closed
                pass
            process.wait(10)
        os.close(ours)
        return shown.decode(), process.returncode
    return run


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def document(**more):
    return {"id": "018f-1", "gateway": "orders", "sender": "acme", "receiver": "hub",
            "type": "order", "state": "dead", "size": 1536, "sha256": "ab" * 32, "name": None,
            "received": "2026-11-15T02:52:10.123456Z", "updated": "2026-11-15T02:52:11.000000Z",
            "error": None, "contentType": None, "config": 3, "caller": None, "route": "orders",
            "again": 0, "attributes": [], "deliveries": [], **more}


def delivery(endpoint, state, **more):
    return {"id": f"018f-1.{endpoint}", "endpoint": endpoint, "system": "hub", "state": state,
            "held": [], "attempts": 1, "due": None, "status": None, "code": None, "message": None,
            "name": None, "updated": "2026-11-15T02:52:11.000000Z", **more}


def entry(stage, outcome, **more):
    return {"time": "2026-11-15T02:52:10.123456Z", "node": "1", "stage": stage, "what": None,
            "outcome": outcome, "duration": None, "attempt": None, "status": None, "config": None,
            "message": None, "bytes": None, **more}


# -- looking

def test_show_tells_deliveries_reasons_and_the_remedy(ask, fake):
    full = document(
        error={"code": "rejected", "message": "answered 422"},
        attributes=[{"name": "region", "value": "nord\x07"}],
        deliveries=[delivery("archive", "delivered", status=200),
                    delivery("api", "dead", attempts=4, status=422, code="rejected",
                             message="answered 422"),
                    delivery("slow", "held", held=["breaker", "window"]),
                    delivery("later", "retrying", due="2026-11-15T03:00:00.000000Z",
                             message="answered 503")])
    fake.answer(data(document=full))
    got = ask("docs", "show", "018f-1")
    assert got.returncode == DONE
    for line in ("route         orders", "attribute     region=nord?", "error         rejected",
                 "              answered 422", "remedy        its receiver refused it"):
        assert line in got.stdout
    rows = {row.split()[0]: row.split() for row in got.stdout.splitlines() if row.strip()}
    assert rows["ENDPOINT"] == ["ENDPOINT", "SYSTEM", "STATE", "ATTEMPTS", "NEXT", "STATUS", "WHY"]
    assert rows["archive"] == ["archive", "hub", "delivered", "1", "-", "200", "-"]
    assert rows["api"] == ["api", "hub", "dead", "4", "-", "422", "rejected:", "answered", "422"]
    assert rows["slow"][-2:] == ["breaker,", "window"]
    assert rows["later"][4:7] == ["2026-11-15", "03:00:00.000", "+00:00"]
    assert objects(ask("docs", "show", "018f-1", "--json").stdout) == [full]


def test_show_is_quiet_about_what_is_not_there(ask, fake):
    fake.answer(data(document=document(state="delivered")))
    out = ask("docs", "show", "018f-1").stdout
    assert "error" not in out and "remedy" not in out and "ENDPOINT" not in out
    assert "sent again" not in out
    fake.answer(data(document=document(again=2)))
    assert "sent again    2\n" in ask("docs", "show", "018f-1").stdout


def test_trace_is_the_timeline(ask, fake):
    lines = [entry("accept", "done", what="orders"),
             entry("step", "done", what="replace", duration=812, config=3,
                   bytes={"stage": 1, "size": 2048, "sha256": "cd" * 32}),
             entry("delivery", "retrying", what="api", attempt=2, status=503, message="busy")]
    fake.answer(data(document={"id": "018f-1", "timeline": lines}))
    got = ask("docs", "trace", "018f-1")
    rows = [row.split() for row in got.stdout.splitlines()]
    assert rows[0] == ["TIME", "NODE", "STAGE", "WHAT", "OUTCOME", "TOOK", "DETAILS"]
    assert rows[1][3:] == ["1", "accept", "orders", "done", "-", "-"]
    assert rows[2][3:] == ["1", "step", "replace", "done", "812", "us", "version", "3,", "stage",
                           "1,", "2.0", "KiB"]
    assert rows[3][5:] == ["api", "retrying", "-", "attempt", "2,", "status", "503:", "busy"]
    assert objects(ask("docs", "trace", "018f-1", "--json").stdout) == lines
    fake.answer(data(document=None))
    got = ask("docs", "trace", "nope")
    assert got.returncode == NO and "there is no document nope" in got.stderr
    fake.answer(data(document={"id": "018f-1"}))
    assert ask("docs", "trace", "018f-1").returncode == UNREACHABLE


def test_filters_of_docs_ls(ask, fake):
    fake.answer(data(documents={"items": [], "next": None}))
    assert ask("docs", "ls", "--error", "no_route", "--where", "po=47=11", "--where", "region=",
               "--state", "dead").returncode == DONE
    assert fake.requests[0].variables["filter"] == {
        "state": "dead", "error": "no_route",
        "where": [{"name": "po", "value": "47=11"}, {"name": "region", "value": ""}]}
    for wrong in ("po", "=4711"):
        got = ask("docs", "ls", "--where", wrong)
        assert got.returncode == USAGE and "K=V" in got.stderr


def test_bytes_of_a_stage(ask, fake):
    fake.answer(Reply(b"changed"))
    got = ask("docs", "payload", "018f/1", "--stage", "2")
    assert got.returncode == DONE and got.stdout == "changed"
    assert fake.requests[0].path == "/documents/018f%2F1/payload?stage=2"
    fake.answer(Reply({"error": {"code": "unknown_stage", "message": "There is no stage 9."}},
                      status=404))
    got = ask("docs", "payload", "018f-1", "--stage", "9")
    assert got.returncode == NO and "There is no stage 9. (404)" in got.stderr


# -- retry and cancel

def result(ident, kind, message):
    return {"id": ident, "result": kind, "message": message}


def test_retry(ask, fake):
    answers = [result("a", "done", "2 deliveries are ready"), result("b", "busy", "being sent")]
    fake.answer(data(retry=answers))
    got = ask("docs", "retry", "a", "b", "--from", "delivery", "--again", "--by", "ann")
    assert got.returncode == NO
    assert got.stdout == "a  2 deliveries are ready\nb  busy: being sent\n"
    assert fake.requests[0].variables == {"ids": ["a", "b"], "from": "delivery", "again": True,
                                          "by": "ann"}
    assert objects(ask("docs", "retry", "a", "b", "--json", "--by", "").stdout) == answers
    assert fake.requests[1].variables == {"ids": ["a", "b"], "from": None, "again": False, "by": ""}
    fake.answer(data(retry=answers[:1]))
    assert ask("docs", "retry", "a").returncode == DONE


def test_many_ids_go_in_portions(ask, fake):
    fake.answer(lambda r: data(cancel=[result(i, "done", "ended") for i in r.variables["ids"]]))
    ids = [f"id-{n}" for n in range(250)]
    got = ask("docs", "cancel", *ids)
    assert got.returncode == DONE and len(got.stdout.splitlines()) == 250
    assert [len(r.variables["ids"]) for r in fake.requests] == [100, 100, 50]


@pytest.mark.parametrize("args, says", [
    (["docs", "retry"], "usage: waybill docs retry ID..."),
    (["docs", "retry", "a", "--from", "start"], "extract, route or delivery"),
    (["docs", "cancel"], "usage: waybill docs cancel ID..."),
    (["docs", "cancel", "x" * 300], "1 to 255 bytes"),
    (["docs", "payload", "a", "--stage", "0"], "from 1 to"),
    (["dead", "ls", "--by", "colour"], "reason, receiver or type"),
    (["dead", "retry"], "a filter, or --all"),
    (["dead", "retry", "--all", "--type", "order"], "leave out the filters"),
    (["dead", "discard", "--since", "soon"], "is not a time"),
])
def test_usage(ask, fake, args, says):
    got = ask(*args)
    assert got.returncode == USAGE and says in got.stderr and got.stdout == ""
    assert fake.requests == []


def test_an_answer_without_results(ask, fake):
    fake.answer(data(retry=None))
    assert ask("docs", "retry", "a").returncode == UNREACHABLE


# -- dead letters

def letter(n, **more):
    return {"document": f"018f-{n}", "delivery": None, "code": "no_route",
            "message": "no route for acme, hub, order", "died": "2026-11-15T02:52:10.123456Z",
            "gateway": "orders", "sender": "acme", "receiver": "hub", "type": "order",
            "endpoint": None, **more}


def test_dead_ls(ask, fake):
    fake.answer(data(deadLetters={"items": [letter(1), letter(2)], "next": "2"}),
                data(deadLetters={"items": [letter(3, endpoint="api")], "next": None}))
    got = ask("dead", "ls", "--receiver", "hub", "--since", "2026-11-15T00:00Z")
    assert [row.split()[0] for row in got.stdout.splitlines()] == ["DOCUMENT", "018f-1", "018f-2",
                                                                   "018f-3"]
    first, second = (r.variables for r in fake.requests)
    assert first["filter"] == {"receiver": "hub", "since": "2026-11-15T00:00:00.000000Z"}
    assert first["after"] is None and second["after"] == "2"
    fake.answer(data(deadLetters={"items": [letter(1)], "next": "1"}))
    got = ask("dead", "ls", "--limit", "1")
    assert "there are more" in got.stderr
    assert objects(ask("dead", "ls", "--limit", "1", "--json").stdout) == [letter(1)]
    assert ask("dead", "ls").returncode == UNREACHABLE  # the same page for ever


def group(key, code, count):
    return {"key": key, "code": code, "count": count, "oldest": "2026-11-15T02:52:10.123456Z",
            "newest": "2026-11-15T02:53:10.123456Z", "message": "no route"}


def test_dead_groups(ask, fake):
    groups = [group("hub", "no_route", 12), group("mars", "unknown_system", 3),
              group("venus", "unknown_system", 1)]
    fake.answer(data(deadGroups=groups))
    got = ask("dead", "ls", "--by", "receiver")
    lines = got.stdout.splitlines()
    assert lines[0].split()[:3] == ["RECEIVER", "REASON", "COUNT"]
    assert lines[1].split()[:3] == ["hub", "no_route", "12"]
    assert sum(line.startswith("unknown_system: ") for line in lines) == 1
    assert fake.requests[0].variables == {"by": "receiver", "filter": {}}
    assert objects(ask("dead", "ls", "--by", "receiver", "--json").stdout) == groups
    reason = ask("dead", "ls", "--by", "reason").stdout.splitlines()
    assert reason[0].split()[:2] == ["REASON", "COUNT"] and reason[1].split()[:2] == ["no_route", "12"]


def bulk(field, count=0, done=0, skipped=0, following=None):
    return data(**{field: {"count": count, "done": done, "skipped": skipped,
                           "begin": "0-77", "next": following}})


@pytest.mark.proves("DL3")
def test_dead_retry_counts_first(ask, fake):
    """A dry run says how many are meant; then they go in portions."""
    fake.answer(bulk("deadRetry", 1500), bulk("deadRetry", 1000, 1000, 0, "1000"),
                bulk("deadRetry", 500, 497, 3))
    got = ask("dead", "retry", "--receiver", "hub", "--yes")
    assert got.returncode == DONE
    assert got.stdout == ("1497 dead letters on their way again, 3 left alone: they are being "
                          "worked on, went on meanwhile, or go with their batch\n")
    assert [(r.variables["dry"], r.variables["after"]) for r in fake.requests] == [
        (True, None), (False, "0-77"), (False, "1000")]
    assert all(r.variables["filter"] == {"receiver": "hub"} for r in fake.requests)


@pytest.mark.proves("DL3")
def test_a_bulk_change_goes_at_its_rate(ask, fake):
    """So many at once as the rate allows for a second, and a rest behind each portion."""
    fake.answer(bulk("documentsRetry", 5), bulk("documentsRetry", 4, 4, 0, "9-1"),
                bulk("documentsRetry", 1, 1, 0))
    began = time.monotonic()
    got = ask("docs", "retry", "--state", "dead", "--rate", "4/s", "--by", "ann", "--yes",
              "--from", "route")
    assert got.returncode == DONE and got.stdout == "5 documents on their way again\n", got.stderr
    assert time.monotonic() - began >= 1
    for request in fake.requests:
        v = request.variables
        assert v["portion"] == 4 and v["by"] == "ann" and v["filter"] == {"state": "dead"}
        assert v["from"] == "route" and v["again"] is False
    fake.answer(bulk("documentsCancel", 3, 0, 0, "7-1"), bulk("documentsCancel", 2))
    got = ask("docs", "cancel", "--all", "--dry")
    assert got.returncode == DONE and got.stdout == "5 documents\n"
    fake.answer(bulk("documentsDiscard", 1))
    got = ask("docs", "discard", "--name", "x*", "--dry", "--json", "--after", "7-1")
    assert objects(got.stdout) == [{"count": 1}] and fake.requests[-1].variables["after"] == "7-1"


def test_bulk_that_breaks_off_says_where_to_go_on(ask, fake):
    fake.answer(bulk("documentsCancel", 9), bulk("documentsCancel", 4, 4, 0, "5-77"), Reply(503))
    got = ask("docs", "cancel", "--all", "--yes")
    assert got.returncode == UNREACHABLE
    assert "4 of 9 were done; --after 5-77 goes on" in got.stderr


@pytest.mark.parametrize("words", [
    ["retry"], ["cancel", "a", "--all"], ["discard", "a", "--state", "dead"], ["retry", "a", "--dry"],
    ["retry", "--all", "--state", "dead"], ["cancel", "--all", "--rate", "fast"],
    ["discard", "--all", "--rate", "0/s"]])
def test_bulk_usage(ask, fake, words):
    assert ask("docs", *words).returncode == USAGE and not fake.requests


def test_without_a_terminal_nothing_is_done_unasked(ask, fake):
    fake.answer(bulk("deadDiscard", 2))
    got = ask("dead", "discard", "--all", stdin="y\n")
    assert got.returncode == USAGE and "2 dead letters; say --yes to discard them" in got.stderr
    assert [r.variables["dry"] for r in fake.requests] == [True]
    fake.answer(bulk("deadDiscard", 0))
    got = ask("dead", "discard", "--all")
    assert got.returncode == DONE and got.stdout == "0 dead letters discarded\n"


def test_a_terminal_is_asked(talk, fake):
    fake.answer(bulk("deadDiscard", 1), bulk("deadDiscard", 1, 1))
    shown, status = talk("dead", "discard", "--error", "expired", answer="y\n")
    assert status == DONE and "discard 1 dead letter? [y/N]" in shown
    assert "1 of 1" in shown and "1 dead letter discarded" in shown
    fake.answer(bulk("deadDiscard", 1))
    shown, status = talk("dead", "discard", "--error", "expired", answer="\n")
    assert status == NO and "nothing was changed" in shown
    assert len(fake.requests) == 3


def test_bulk_as_json_and_odd_answers(ask, fake):
    fake.answer(bulk("deadRetry", 2), bulk("deadRetry", 2, 1, 1))
    got = ask("dead", "retry", "--all", "--yes", "--json")
    assert objects(got.stdout) == [{"count": 2, "done": 1, "skipped": 1}]
    fake.answer(bulk("deadRetry", 2), bulk("deadRetry", 1, 1, 0, "7"))
    assert ask("dead", "retry", "--all", "--yes").returncode == UNREACHABLE
    fake.answer(data(deadRetry=None))
    assert ask("dead", "retry", "--all", "--yes").returncode == UNREACHABLE


# -- send --dry

FOUND = {"config": 7, "gateway": "orders", "sender": "acme", "receiver": "hub", "type": "order",
         "attributes": [{"name": "po", "value": "4711"}], "route": "orders", "steps": ["replace"],
         "deliveries": [{"endpoint": "api", "system": "hub"}], "error": None}


def test_send_dry(ask, fake, tmp_path):
    fake.answer(data(rehearse=FOUND))
    (tmp_path / "o.xml").write_bytes(b"<Order/>\x00\xff")
    got = ask("send", "orders", "o.xml", "--dry", "--header", "X-Sender:acme", "--header", "X-E:",
              "--name", "o.xml")
    assert got.returncode == DONE
    assert got.stdout == ("config        version 7\nsender        acme\nreceiver      hub\n"
                          "type          order\nattribute     po=4711\nroute         orders\n"
                          "step          replace\ndelivery      api of hub\n")
    sent = fake.requests[0].variables
    assert base64.b64decode(sent["payload"]) == b"<Order/>\x00\xff"
    assert sent["gateway"] == "orders" and sent["name"] == "o.xml"
    assert sent["headers"][:2] == ["X-Sender: acme", "X-E:"]
    assert "Content-Type: application/xml" in sent["headers"]
    assert objects(ask("send", "orders", "--dry", "--json", stdin="x").stdout) == [FOUND]
    assert [r.path for r in fake.requests] == ["/graphql", "/graphql"]


def test_send_dry_that_would_die(ask, fake):
    fake.answer(data(rehearse={**FOUND, "route": None, "steps": [], "deliveries": [],
                               "error": {"code": "no_route", "message": "nothing fits"}}))
    got = ask("send", "orders", "-", "--dry", stdin="x")
    assert got.returncode == NO
    assert "dead letter   no_route\n              nothing fits\nremedy        add a route" in got.stdout


def test_send_dry_is_bounded(ask, fake, tmp_path):
    (tmp_path / "big").write_bytes(b"x" * ((6 << 20) + 1))
    got = ask("send", "orders", "big", "--dry")
    assert got.returncode == NO and "up to 6 MiB" in got.stderr
    assert fake.requests == []
    (tmp_path / "big").write_bytes(b"x" * (6 << 20))
    fake.answer(data(rehearse=FOUND))
    assert ask("send", "orders", "big", "--dry").returncode == DONE
