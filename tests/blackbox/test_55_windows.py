"""Delivery windows: what waits for an opening, and goes when it comes."""
import datetime
import json
import pathlib
import sys
import threading
import time

import pytest

from moved_clock import MovedClock
from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
{calendars}
systems:
  acme: {{}}
  shop: {{ {window} }}
  free: {{}}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "json:/to", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in" }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


def clock(minutes):
    """The time of day in UTC, so many minutes from now."""
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
    return at.strftime("%H:%M")


def window(open_in, close_in):
    return f'window: {{ open: "{clock(open_in)}", close: "{clock(close_in)}" }}'


def send(node, to="shop"):
    return node.accept("in", json.dumps({"to": to}))


def look(node, doc):
    return node.show(doc, "state deliveries { state held }")


def await_state(node, doc, *states, seconds=20):
    return node.await_state(doc, *states, look=look, seconds=seconds)


def apply(node, text):
    node.write_config(text)
    done = node.cli("apply", node.config_file)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def far():
    with Receiver() as r:
        yield r


@BOTH
@pytest.mark.proves("WI3")
def test_a_closed_window_holds_and_a_new_configuration_opens_it(make_node, far):
    def text(window, calendars=""):
        return CONFIG.format(window=window, url=far.url(""), calendars=calendars)

    node = make_node(config=text(window(120, 180)))
    node.start()
    held = [send(node) for _ in range(50)]
    for doc in held:
        assert await_state(node, doc, "held")["deliveries"][0]["held"] == ["window"]
    await_state(node, send(node, "free"), "delivered")  # others do not wait
    assert len(far.requests()) == 1
    apply(node, text(window(-60, 60)))
    for doc in held:
        await_state(node, doc, "delivered")
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    eve = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)).strftime("%Y-%m-%d")
    apply(node, text(window(-60, 60)[:-1] + ", holidays: feasts }",
                     f"calendars: {{ feasts: {{ dates: [ {eve}, {today} ] }} }}"))
    late = send(node)
    assert await_state(node, late, "held")["deliveries"][0]["held"] == ["window"]
    apply(node, text("title: Shop"))
    await_state(node, late, "delivered")
    keys = [r["headers"]["idempotency-key"] for r in far.requests()]
    assert len(keys) == len(set(keys)) == 52  # each once


@pytest.mark.proves("WI1")
@pytest.mark.parametrize("is_down", [False, True], ids=["running", "down"])
def test_an_opening_is_not_missed(make_node, far, tmp_path, is_down):
    """Opened by the clock while the node runs, or while it is down: its clock stands before a full minute."""
    ahead = 12
    clock = MovedClock(tmp_path)
    opens = time.monotonic() + ahead
    now = datetime.datetime.now(datetime.timezone.utc)
    shift = (60 - ahead - now.second - now.microsecond / 1e6) % 60
    clock.by(shift)
    at = now + datetime.timedelta(seconds=shift + ahead + 0.1)  # a full minute
    text = f'window: {{ open: "{at:%H:%M}", close: "{at + datetime.timedelta(hours=2):%H:%M}" }}'
    node = make_node(config=CONFIG.format(window=text, url=far.url(""), calendars=""), environment=clock.environment)
    node.start()
    docs = [send(node) for _ in range(20)]
    for doc in docs:
        await_state(node, doc, "held")
    if is_down:
        node.stop()
        time.sleep(max(opens + 1 - time.monotonic(), 0))
        node.start()
    for doc in docs:
        await_state(node, doc, "delivered", seconds=40)


@BOTH
@pytest.mark.proves("WI2")
def test_windows_that_open_and_close_leave_nothing_behind(make_node, far):
    """It opens and closes while documents come in: some are checked before a change and held behind it."""
    def text(is_open):
        return CONFIG.format(window=window(-60, 60) if is_open else window(120, 180), url=far.url(""), calendars="")

    node = make_node(config=text(False))
    node.start()
    over, room, docs = threading.Event(), threading.Semaphore(0), []

    def work():
        while room.acquire() and not over.is_set():
            docs.append(send(node))
            time.sleep(0.01)  # they are to come during the whole change

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(4):
            before = len(far.requests())
            room.release(50)
            apply(node, text(True))
            far.wait_for(before + 5, 60)
            room.release(50)
            apply(node, text(False))
    finally:
        over.set()
        room.release(len(threads))
        for thread in threads:
            thread.join()
    apply(node, text(True))
    for doc in docs:
        await_state(node, doc, "delivered", seconds=60)
    assert set(far.keys()) == {f"{doc}.api" for doc in docs} and set(far.keys().values()) == {1}


@BOTH
@pytest.mark.proves("WI7")
def test_all_reasons_are_shown_and_all_must_be_gone(make_node, far):
    def text(window):
        return CONFIG.format(window=window, url=far.url(""), calendars="").replace(
            '/in" }', '/in", retry: { first: 10ms, most: 50ms }, breaker: { failures: 2, wait: 200ms } }')

    def reasons():
        return set(await_state(node, doc, "held")["deliveries"][0]["held"])

    far.stop_listening()
    node = make_node(config=text(window(-60, 60)))
    node.start()
    doc = send(node)
    node.wait_event("endpoint.open")
    done = node.cli("hold", "add", "shop", "--until", "1h", "--reason", "stocktaking", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    hold = json.loads(done.stdout.splitlines()[0])["id"]
    apply(node, text(window(120, 180)))
    wait_until(lambda: reasons() == {"hold", "window", "breaker"}, 20, "all reasons")
    far.listen()  # nobody may ask there whether it is back
    apply(node, text(window(-60, 60)))
    wait_until(lambda: reasons() == {"hold", "breaker"}, 20, "the window to open")
    assert far.requests() == []
    assert node.cli("hold", "end", str(hold)).returncode == 0
    await_state(node, doc, "delivered")


@BOTH
@pytest.mark.proves("WI6")
def test_a_window_that_is_too_short_is_told(make_node, far):
    """Slow deliveries, and a window that closes long before all of them are gone."""
    far.behave("/in", "late", 0.25)
    text = CONFIG.format(window=window(-60, 1.9) + ", limits: { concurrency: 1 }", url=far.url(""), calendars="")
    node = make_node(config=text)
    node.start()
    for _ in range(600):
        send(node)
    told = node.wait_event("window.short", timeout=60)
    assert told["system"] == "shop" and told["waiting"] > 100 and told["per_hour"] > 0
    seen = node.graphql('{ system(name: "shop") { waiting windowFits drained } }')["system"]
    assert seen["windowFits"] is False and seen["drained"]


@pytest.mark.proves("WI4")
def test_nothing_begins_after_the_closing_and_what_runs_may_end(make_node, far, tmp_path):
    """Two are on their way when it closes: they arrive, and no other begins though there is room then."""
    clock = MovedClock(tmp_path)
    far.behave("/in", "late", 3)
    text = CONFIG.format(window=window(-60, 30) + ", limits: { concurrency: 2 }", url=far.url(""), calendars="")
    node = make_node(config=text, environment=clock.environment)
    node.start()
    docs = [send(node) for _ in range(8)]
    far.wait_for(2)
    clock.by(3600)
    node.wait_event("clock.step")  # it is closed by this reading, so it is closed
    begun = len(far.requests())
    assert [look(node, doc)["state"] for doc in docs].count("delivered") < begun < 8, "some are on their way"

    def states():
        return sorted(look(node, doc)["state"] for doc in docs)

    until = time.monotonic() + 30
    while states() != ["delivered"] * begun + ["held"] * (8 - begun):
        assert time.monotonic() < until, states()
        time.sleep(0.1)
    time.sleep(1)
    assert len(far.requests()) == begun
