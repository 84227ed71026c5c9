"""HTTP out, endpoint and client together, against a receiver with every bad habit."""
import json
import pathlib
import subprocess
import sys

import pytest

from running_node import BINARY

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import BEHAVIOURS, Receiver  # noqa: E402

MIB = 1 << 20


def send(url, count=1, size=100, once=False, more="timeout: 1s"):
    """What came of each attempt."""
    endpoint = f"{{ kind: http, url: '{url}', {more} }}"
    command = [BINARY.parent / "send_one", endpoint, count, size, *(["once"] if once else [])]
    done = subprocess.run([str(c) for c in command], timeout=60, text=True, check=True,
                          stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as r:
        yield r


ANSWERED = {"ok": 200, "echo": 200, "chunked": 200, "http10": 200, "no_length": 200,
            "gzip_bomb": 200, "huge": 200, "excess": 200, "too_long": 200, "redirect": 302,
            "status/500": 500, "never_continue": 200, "continue_": 200, "refuse_continue": 200,
            "close_after": 200, "close_silently": 200, "die_second": 200, "early": 413}
UNCLEAR = ["no_answer", "close", "reset", "reset_after/10", "garbage", "only_100", "cut_head",
           "half", "too_short", "short_reset", "chunked_cut", "chunked_no_end", "chunked_bad",
           "bad_status", "endless_head", "late/3", "slow/1", "early/200"]


def test_every_habit_is_tried():
    named = {name.split("/")[0] for name in [*ANSWERED, *UNCLEAR]}
    # `known` is asked, not sent to: test_51_in_doubt.py.  `steady`, `stall`: test_61_timeouts.py.  `shout`:
    # tests/crash/services.py.  `typed`: test_47_reply_receiver.py.
    assert named | {"typed", "two_lengths", "half_body", "status", "known", "steady", "stall", "shout"} == set(BEHAVIOURS)


@pytest.mark.proves("DE6", "DE18")
@pytest.mark.parametrize("habit", UNCLEAR)
def test_no_whole_answer_is_in_doubt(receiver, habit):
    # `early` answers what it must not when a body is waited for
    size = 2 * MIB if habit.startswith("early") else 100
    receiver.reset()
    got, = send(receiver.url("/b/" + habit), once=True, size=size)
    assert (got["reach"], got["verdict"], got["sends"]) == ("unclear", "doubt", 1), got
    assert got["took_ms"] < 2500
    assert len(receiver.requests()) == 1


@pytest.mark.parametrize("habit", ANSWERED)
def test_a_whole_answer_is_judged(receiver, habit):
    size = 2 * MIB if habit == "early" else 100
    got, = send(receiver.url("/b/" + habit), size=size, more="timeout: 20s")
    assert (got["reach"], got["status"]) == ("answered", ANSWERED[habit]), got


def test_two_lengths_are_never_taken_for_more_than_they_say(receiver):
    got, = send(receiver.url("/b/two_lengths"))
    assert got["reach"] in ("answered", "unclear")


@pytest.mark.proves("DE7", "DE8")
@pytest.mark.parametrize("status, retry_after, verdict, pause_s", [
    (200, "-", "delivered", 0), (201, "-", "delivered", 0), (204, "-", "delivered", 0),
    (301, "-", "rejected", 0), (304, "-", "rejected", 0), (307, "-", "rejected", 0),
    (400, "-", "rejected", 0), (404, "9", "rejected", 0), (409, "-", "rejected", 0),
    (422, "-", "rejected", 0), (401, "-", "credential", 0), (403, "-", "credential", 0),
    (407, "-", "credential", 0), (408, "-", "retry", 0), (425, "3", "retry", 3),
    (429, "-", "retry", 0), (429, "120", "retry", 120), (429, "999999", "retry", 86400),
    (503, "-", "retry", 0), (503, "2", "retry", 2), (500, "-", "doubt", 0),
    (502, "-", "doubt", 0), (504, "-", "doubt", 0),
])
def test_the_status_decides(receiver, status, retry_after, verdict, pause_s):
    got, = send(receiver.url(f"/b/status/{status}/{retry_after}/no%20stock"))
    assert (got["verdict"], got["retry_after_us"]) == (verdict, pause_s * 1000000), got
    assert verdict == "delivered" or str(status) in got["message"]


def test_outcome_overrides(receiver):
    got, = send(receiver.url("/b/status/409"), more="outcome: { 409: delivered }")
    assert got["verdict"] == "delivered"


@pytest.mark.proves("S16")
def test_connections_are_reused_and_a_redirect_is_not_followed(receiver):
    receiver.reset()
    assert [g["verdict"] for g in send(receiver.url("/b/redirect"), count=5)] == ["rejected"] * 5
    assert len({r["conn"] for r in receiver.requests()}) == 1
    assert {r["path"] for r in receiver.requests()} == {"/b/redirect"}


def test_an_empty_field_takes_no_other_with_it(receiver):
    receiver.reset()
    send(receiver.url("/in"), more="headers: { X-First: a, Waybill-A: '', Waybill-B: x, Waybill-C: '', X-Last: b }")
    fields = receiver.requests()[0]["headers"]
    assert [fields.get(f) for f in ("x-first", "waybill-a", "waybill-b", "waybill-c", "x-last")] == ["a", "", "x", "", "b"]


@pytest.mark.smoke
def test_what_goes_out(receiver):
    receiver.reset()
    send(receiver.url("/in"), more="headers: { X-Region: '${type}/${sender}' }")
    request, = receiver.requests()
    assert request["headers"] == {
        "host": f"127.0.0.1:{receiver.port}", "accept": "*/*", "content-type": "text/plain",
        "content-length": "100", "x-region": "order/acme",
        "idempotency-key": "0193a5b0-0000-7000-8000-000000000000.out",
        "waybill-document": "0193a5b0-0000-7000-8000-000000000000",
        "waybill-sender": "acme", "waybill-receiver": "salsify", "waybill-type": "order"}


@pytest.mark.parametrize("habit", ["continue_", "never_continue", "refuse_continue"])
def test_a_large_document_arrives_whole(receiver, habit):
    receiver.reset()
    got, = send(receiver.url("/b/" + habit), size=20 * MIB, more="timeout: 20s", once=True)
    assert got["verdict"] == "delivered"
    last = receiver.requests()[-1]
    assert last["whole"] and last["size"] == 20 * MIB


def test_a_connection_that_dies_between_two_requests(receiver):
    receiver.reset()
    first, second = send(receiver.url("/b/die_second"), count=2, once=True)
    assert (first["verdict"], second["verdict"], second["sends"]) == ("delivered", "doubt", 1)
    assert len(receiver.requests()) == 2
    receiver.reset()
    first, second = send(receiver.url("/b/die_second"), count=2)
    assert (second["verdict"], second["sends"]) == ("delivered", 2)
    assert [r["headers"]["idempotency-key"] for r in receiver.requests()] == [
        "0193a5b0-0000-7000-8000-000000000000.out"] * 3


@pytest.mark.proves("DE5")
def test_a_receiver_that_is_away_is_not_reached(receiver):
    receiver.reset()
    receiver.stop_listening()
    got, = send(receiver.url("/in"))
    assert (got["reach"], got["verdict"], got["sends"]) == ("not_sent", "unreached", 0)
    receiver.listen()
    got, = send(receiver.url("/in"))
    assert got["verdict"] == "delivered"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


@pytest.mark.proves("DE5")
@pytest.mark.parametrize("kind, more, verdict", [
    ("good", "tls: {{ ca: '{ca}' }}", "delivered"),
    ("good", "user: a", "unreached"),
    ("wrong_name", "tls: {{ ca: '{ca}' }}", "unreached"),
    ("expired", "tls: {{ ca: '{ca}' }}", "unreached"),
    ("self_signed", "tls: {{ ca: '{ca}' }}", "unreached"),
    ("self_signed", "tls: {{ verify: false }}", "delivered"),
    ("client", "tls: {{ ca: '{ca}', cert: '{cert}', key: '{key}' }}", "delivered"),
])
def test_certificates(certificates, kind, more, verdict):
    with Receiver(tls=kind, folder=certificates) as r:
        got, = send(r.url("/in"), more=more.format(ca=r.ca, cert=r.client_cert, key=r.client_key))
        assert got["verdict"] == verdict, got
        assert len(r.requests()) == (verdict == "delivered")
