"""Alerts: raised once, cleared once, told until somebody hears."""
import http.server
import json
import sqlite3
import subprocess
import threading
import time

import pytest

from moved_clock import MovedClock

BOTH = pytest.mark.stores("sqlite", "postgres")

CONFIG = """\
systems: {{ acme: {{}}, shop: {{}}, other: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "json:/to", type: "value:order" }} }}
  quiet: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "value:other", type: "value:order" }} }}
endpoints:
  shop-api: {{ kind: http, system: shop, url: "http://127.0.0.1:{port}/in", breaker: {{ failures: 1, wait: 100ms }} }}
routes:
  - {{ name: shop, when: {{ receiver: shop }}, do: [ {{ deliver: shop-api }} ] }}
alerts:
{alerts}
"""


class Ears:
    """A receiver of webhooks, and of documents: answers what `status` says.  Deaf: its port is taken, and refuses."""

    def __init__(self, deaf=False):
        self.heard = []  # (path, headers, JSON)
        self.status = 200
        self.pause = None  # the Retry-After of an answer, in seconds
        self.hold = threading.Event()  # clear: nobody is answered
        self.hold.set()
        self.thread = None
        ears = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                ears.heard.append((self.path, dict(self.headers), json.loads(body)))
                ears.hold.wait(290)
                self.send_response(ears.status)
                self.send_header("Content-Length", "0")
                if ears.pause is not None:
                    self.send_header("Retry-After", str(ears.pause))
                self.end_headers()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server.daemon_threads = True
        self.server.server_bind()
        self.port = self.server.server_port
        if not deaf:
            self.listen()

    def listen(self):
        self.server.server_activate()
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def notices(self, kind=None, code=None):
        """What was told, each thing once however often it was sent."""
        told = {h["Idempotency-Key"]: n for _, h, n in list(self.heard) if "notice" in n}
        return [n for n in told.values() if kind in (None, n["notice"]) and code in (None, n["alert"]["code"])]

    def close(self):
        self.hold.set()
        if self.thread is not None:
            self.server.shutdown()
            self.thread.join()
        self.server.server_close()


@pytest.fixture
def ears():
    one = Ears()
    yield one
    one.close()


@pytest.fixture
def deaf():
    one = Ears(deaf=True)
    yield one
    one.close()


def config(alerts, port=1, to=None):
    if not any(a.startswith("disk") for a in alerts):
        alerts = ["disk: off", *alerts]  # whatever machine this is
    lines = [f'  to: {{ ops: {{ url: "http://127.0.0.1:{to}/hook", retry: {{ first: 100ms, most: 1s }},'
             ' headers: { X-Token: "${secret:hook}" } } }'] if to else []
    return CONFIG.format(port=port, alerts="\n".join(lines + ["  " + a for a in alerts] or ["  {}"]))


def wait_for(what, node, seconds=120):
    until = time.monotonic() + seconds
    while True:
        got = what()
        if got:
            return got
        assert time.monotonic() < until, node.tail()
        time.sleep(0.05)


def alerts(node, cleared=False):
    return node.graphql("query($c: Boolean) { alerts(cleared: $c) { id code object message state count raised last "
                        "cleared ended waiting givenUp notices { kind to state attempts sent error } } }",
                        c=cleared)["alerts"]


def open_one(node, code):
    return next((a for a in alerts(node) if a["code"] == code), None)


def send(node, to):
    answer = node.post("in", json.dumps({"to": to}))
    assert answer.status == 202, answer.body
    return answer.json["document"]


def discard_all(node):
    while node.graphql("mutation { deadDiscard { next done } }")["deadDiscard"]["next"]:
        pass


@BOTH
@pytest.mark.proves("DL2", "SC16")
def test_a_flood_of_dead_letters_is_one_alert_and_one_clear(make_node, ears):
    node = make_node(config=config(["receiver_failing: off"], to=ears.port))
    node.config_file.write_text(node.config_file.read_text().replace("${secret:hook}", "open sesame"))
    node.start()
    count, began = 150, time.monotonic()
    for _ in range(count):
        send(node, "other")
    wait_for(lambda: (open_one(node, "dead_letters") or {}).get("count", 0) >= count or time.sleep(0.2), node, 150)
    told = wait_for(lambda: ears.notices("raised"), node)
    assert len(told) == 1 and told[0]["alert"]["code"] == "dead_letters"
    assert told[0]["alert"]["object"] == "store" and told[0]["alert"]["cleared"] is None
    assert "dead_letters raised" in told[0]["text"]
    path, headers, _ = ears.heard[0]
    assert path == "/hook" and headers["X-Token"] == "open sesame"
    assert headers["Idempotency-Key"].startswith("alert-notice-")
    assert headers["Content-Type"] == "application/json"

    assert "dead_letters" in node.cli("alerts", "ls").stdout
    node.restart()  # it is still so: nobody is told again
    assert open_one(node, "dead_letters")["count"] >= count
    discard_all(node)
    cleared = wait_for(lambda: ears.notices("cleared"), node)
    assert [n["notice"] for n in ears.notices(code="dead_letters")] == ["raised", "cleared"]
    assert cleared[0]["alert"]["id"] == told[0]["alert"]["id"] and cleared[0]["alert"]["cleared"]
    assert [a["state"] for a in alerts(node, True) if a["code"] == "dead_letters"] == ["cleared"]
    shown = node.cli("alerts", "show", cleared[0]["alert"]["id"])
    assert shown.returncode == 0 and "ops" in shown.stdout and "sent" in shown.stdout
    assert node.cli("alerts", "show", "4711").returncode == 1
    node.stop()
    lines = [e["event"] for e in node.events if e["level"] in ("warn", "error")
             and e["event"] not in ("node.confine", "node.warn", "config.warn")]  # of the start
    assert lines.count("alert.raise") == 1
    assert lines.count("document.run") <= 5 + (time.monotonic() - began) / 60, lines
    assert len(lines) - lines.count("document.run") <= 5, lines


@pytest.mark.proves("XC10")
def test_what_nobody_heard_shows_until_somebody_does(make_node, deaf):
    pager = f'pager: {{ url: "http://127.0.0.1:{deaf.port}/", retry: {{ first: 50ms, for: 100ms }} }}, ops:'
    node = make_node(config=config(["receiver_failing: off"], to=deaf.port).replace("${secret:hook}", "x")
                     .replace("ops:", pager))
    node.start()
    send(node, "other")
    alert = wait_for(lambda: next((a for a in alerts(node) if a["givenUp"] and a["notices"][1]["attempts"]), None), node)
    assert [(n["to"], n["state"]) for n in alert["notices"]] == [("pager", "given_up"), ("ops", "waits")]
    assert all(n["error"] for n in alert["notices"])
    wait_for(lambda: any("could not be sent" in r for r in node.get("/readyz").json["reasons"]), node)
    assert node.get("/readyz").status == 200  # it works all the same
    assert node.metrics()["waybill_alert_notices_waiting"] >= 1
    assert {e["to"] for e in node.events if e["event"] == "alert.unsent"} == {"ops", "pager"}
    assert "given up" in node.cli("alerts", "ls").stdout
    node.kill()  # the notice is a row
    deaf.status = 503
    deaf.listen()
    node.start()
    wait_for(deaf.notices, node)
    deaf.status = 200
    wait_for(lambda: alerts(node)[0]["waiting"] == 0, node)
    wait_for(lambda: node.get("/readyz").json["reasons"] == ["notices of alerts that were given up: 1"], node)
    assert len(deaf.notices()) == 1 and len(deaf.heard) > 1
    assert node.metrics()["waybill_alert_notices_given_up"] == 1
    assert node.metrics()["waybill_alert_notices_waiting"] == 0 and node.metrics()["waybill_alerts_open"] == 1


@pytest.mark.proves("DL2")
def test_dead_letters_are_told_again_while_they_wait(make_node, ears):
    node = make_node(config=config(["dead_letters: { remind: 1s }", "receiver_failing: off"], to=ears.port)
                     .replace("${secret:hook}", "x"))
    node.start()
    send(node, "other")
    wait_for(lambda: len(ears.notices("reminder")) >= 1, node)
    assert len(ears.notices("raised")) == 1
    assert "lasts" in ears.notices("reminder")[0]["text"]


def test_a_receiver_that_fails_is_told_with_its_failures(make_node, deaf):
    node = make_node(config=config(["receiver_failing: { after: 1s }", "dead_letters: off"], port=deaf.port))
    node.start()
    for _ in range(3):
        send(node, "shop")
    alert = wait_for(lambda: open_one(node, "receiver_failing"), node)
    assert alert["object"] == "shop-api" and "breaker" in alert["message"] and alert["count"] >= 1
    deaf.listen()
    wait_for(lambda: not alerts(node), node)
    wait_for(lambda: len(deaf.heard) >= 3, node)
    assert [(a["code"], a["state"]) for a in alerts(node, True)] == [("receiver_failing", "cleared")]


REFUSING = "{ endpoints { name breaker broken failing } }"


@BOTH
@pytest.mark.parametrize("pause", [None, 1], ids=["at_once", "retry_after"])
@pytest.mark.proves("DE16")
def test_a_receiver_that_answers_and_takes_nothing_is_told(make_node, ears, pause):
    """503 for ever: the breaker stays closed, for it answers; a person learns of it long before `retry.for` is over.
    A pause that it asks for with each answer changes nothing."""
    ears.status, ears.pause = 503, pause
    node = make_node(config=config(["receiver_failing: { after: 1s }", "dead_letters: off"], port=ears.port)
                     .replace("breaker: {", "retry: { first: 50ms, most: 500ms }, breaker: {"))
    node.start()
    doc = send(node, "shop")
    alert = wait_for(lambda: open_one(node, "receiver_failing"), node, 60)
    assert alert["object"] == "shop-api" and "takes nothing" in alert["message"] and "503" in alert["message"]
    assert node.show(doc, "state")["state"] in ("retrying", "active")   # between two attempts, or within one
    one, = [e for e in node.graphql(REFUSING)["endpoints"] if e["name"] == "shop-api"]
    assert one["breaker"] == "closed" and one["broken"] is None and "503" in one["failing"]
    heard = len(ears.heard)
    wait_for(lambda: len(ears.heard) >= heard + 3, node, 60)
    assert open_one(node, "receiver_failing")["id"] == alert["id"]      # through more answers of the same kind
    ears.status, ears.pause = 200, None
    wait_for(lambda: node.show(doc, "state")["state"] == "delivered", node, 60)
    wait_for(lambda: not alerts(node), node, 60)
    assert all(e["failing"] is None for e in node.graphql(REFUSING)["endpoints"])
    told = [e["event"] for e in node.events if e["event"] in ("endpoint.refuse", "endpoint.take")]
    assert told and told == ["endpoint.refuse", "endpoint.take"] * (len(told) // 2)


def test_depth_and_age_of_what_waits(make_node):
    node = make_node(config=config(["queue_depth: { high: 5, low: 1 }", "queue_age: { after: 1s }",
                                    "scale: { high: 5, low: 1 }", "receiver_failing: off"])
                     .replace("wait: 100ms", "wait: 1h").replace("shop: {}", "shop: { limits: { concurrency: 1 } }", 1))
    node.start()
    for _ in range(6):
        send(node, "shop")
    wait_for(lambda: {a["code"] for a in alerts(node)} == {"queue_depth", "queue_age"}, node)
    assert {a["object"] for a in alerts(node)} == {"shop"}
    assert open_one(node, "queue_depth")["count"] >= 5 and open_one(node, "scale_out") is None  # nothing could go
    held = node.graphql('mutation { holdAdd(system: "shop", owner: "ann", reason: "x") { hold { id } } }')
    wait_for(lambda: {a["code"] for a in alerts(node)} == {"queue_depth"}, node)  # a person wants it so
    assert held["holdAdd"]["hold"]["id"]


def test_much_that_could_go_is_the_signal_to_scale_out(make_node, ears):
    text = config(["scale: { high: 100, low: 5 }", "silence: {}"], port=ears.port)
    node = make_node(config=text.replace("shop: {}", "shop: { limits: { concurrency: 1 } }", 1))
    ears.hold.clear()
    node.start()
    try:
        for _ in range(130):
            send(node, "shop")
        alert = wait_for(lambda: open_one(node, "scale_out"), node)
        assert alert["object"] == "store" and "that could go, for 1 node" in alert["message"]
        assert open_one(node, "scale_in") is None
    finally:
        ears.hold.set()
    wait_for(lambda: not alerts(node), node)
    assert [a["code"] for a in alerts(node, True)] == ["scale_out"]


def certificate(folder, name, days):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", str(days), "-subj", "/CN=x", "-keyout", str(folder / f"{name}.key"),
                    "-out", str(folder / f"{name}.pem")], check=True, capture_output=True)


@pytest.mark.stores("postgres")
def test_of_several_nodes_one_speaks_and_another_takes_over(make_node, ears):
    text = config(["receiver_failing: off"], to=ears.port).replace("${secret:hook}", "x")
    first, second = make_node(config=text), make_node(config=text)
    first.start()
    second.start()
    for _ in range(5):
        send(first, "other")
        send(second, "other")
    wait_for(lambda: ears.notices("raised"), first)
    wait_for(lambda: sum(g["count"] for g in second.graphql("{ deadGroups { count } }")["deadGroups"]) == 10, second)
    first.stop()
    discard_all(second)
    wait_for(lambda: ears.notices("cleared"), second, 60)
    assert [n["notice"] for n in ears.notices()] == ["raised", "cleared"]

    def told(event):
        return [e["event"] for node in (first, second) for e in node.events].count(event)
    wait_for(lambda: told("alert.clear") > 0, second)       # who hears of it may do so before the line is written
    assert told("alert.raise") == 1 and told("alert.clear") == 1


@pytest.mark.proves("DE19")
def test_silence_a_full_disk_and_a_certificate_that_ends(make_node, ears, tmp_path):
    certificate(tmp_path, "shop", 12)

    def text(*lines):
        return config(["dead_letters: off", *lines], to=ears.port).replace("${secret:hook}", "x").replace(
            'url: "http://127.0.0.1:1/', f'tls: {{ cert: "{tmp_path}/shop.pem", key: "{tmp_path}/shop.key" }}, '
            'url: "https://127.0.0.1:1/')
    node = make_node(config=text("silence: { quiet: 2s }", "disk: { free: 1000000 GiB }"))
    node.start()
    wait_for(lambda: {a["code"] for a in alerts(node)} == {"silence", "disk", "certificate"}, node)
    disk, silence, ends = (open_one(node, code) for code in ("disk", "silence", "certificate"))
    assert disk["object"].startswith("node ") and disk["object"].endswith(str(node.data)[-20:])
    assert silence["object"] == "quiet"
    assert ends["object"] == "endpoint shop-api" and "its certificate ends 20" in ends["message"]

    def speak():
        assert node.post("quiet", b"{}").status == 202
        return open_one(node, "silence") is None
    wait_for(speak, node)
    told = wait_for(lambda: ears.notices("cleared", "silence"), node)
    assert told[0]["alert"]["id"] == silence["id"]
    node.write_config(text("disk: off"))
    assert node.cli("apply", node.config_file).returncode == 0
    wait_for(lambda: [a["code"] for a in alerts(node)] == ["certificate"], node)
    ended = next(a for a in alerts(node, True) if a["code"] == "disk")
    assert ended["id"] == disk["id"] and "off" in ended["ended"]
    node.stop()
    certificate(tmp_path, "shop", 90)
    node.start()
    wait_for(lambda: not alerts(node), node)
    assert len(ears.notices("raised", "certificate")) == 1


@pytest.mark.proves("DE19")
def test_certificates_of_every_kind_are_watched(make_node, tmp_path):
    certificate(tmp_path, "ours", 12)
    tls = f'tls: {{ cert: "{tmp_path}/ours.pem", key: "{tmp_path}/ours.key" }}'
    kinds = {"mllp": 'address: "127.0.0.1:1"', "smtp": 'url: "smtps://127.0.0.1:1", from: a@example.org, to: b@example.org',
             "ftp": 'url: "ftps://127.0.0.1:1/"', "s3": 'url: "https://127.0.0.1:1", bucket: orders'}
    endpoints = "".join(f"  {kind}: {{ kind: {kind}, system: other, {keys}, {tls} }}\n" for kind, keys in kinds.items())
    gateways = f'  hl7: {{ kind: mllp, listen: "127.0.0.1:0", {tls}, extract: hl7 }}\n'
    node = make_node(config=config([]).replace("routes:\n", endpoints + "routes:\n").replace(
        "endpoints:\n", gateways + "endpoints:\n"))
    node.start()
    expected = {"gateway hl7"} | {f"endpoint {kind}" for kind in kinds}
    wait_for(lambda: {a["object"] for a in alerts(node) if a["code"] == "certificate"} >= expected, node)


@pytest.mark.parametrize("line,place,said", [
    ("silence: { nobody: 1h }", "nobody", "there is no gateway `nobody`"),
    ("queue_depth: { high: 5, low: 5 }", "{ high", "`low` must be less than `high`"),
    ("to: { ops: { url: 'http://127.0.0.1:1/', headers: { Content-Type: x } } }", "{ url", "cannot be set"),
])
def test_a_mistake_is_named_with_its_place(make_node, line, place, said):
    node = make_node(config=config([]))
    node.start()
    node.write_config(config([line]))
    answer = node.cli("apply", node.config_file)
    assert answer.returncode == 1 and said in answer.stdout, answer
    at = next(i for i, l in enumerate(node.config_file.read_text().splitlines(), 1) if line in l)
    text = node.config_file.read_text().splitlines()[at - 1]
    assert f":{at}:{text.index(place) + 1}:" in answer.stdout, answer.stdout


def age_versions(node, seconds):
    """Of a node that is down: every version was made so much earlier."""
    if node.store:
        subprocess.run(["psql", node.store, "-qc", f"UPDATE config SET made_us = made_us - {seconds}::bigint * 1000000"],
                       check=True, capture_output=True)
        return
    with sqlite3.connect(node.data / "waybill.db") as db:
        db.execute("UPDATE config SET made_us = made_us - ? * 1000000", (seconds,))
    db.close()


@BOTH
def test_a_new_version_neither_ends_nor_prevents_a_silence(make_node, ears):
    """It is late when the configuration asked for it for so long, whichever version did; what is received ends it."""
    def text(note, *gateways):
        lines = config(["silence: { " + ", ".join(f"{gateway}: 1h" for gateway in gateways) + " }", "dead_letters: off"],
                       to=ears.port).replace("${secret:hook}", "x").replace("order: {}", f"order: {{}}, {note}: {{}}")
        quiet = next(line for line in lines.splitlines() if "quiet: { kind" in line)
        return lines.replace(quiet, quiet + "\n" + quiet.replace("quiet", "later"))

    def apply(note, *gateways):
        node.write_config(text(note, *gateways))
        assert node.cli("apply", node.config_file).returncode == 0

    def later(minutes):
        node.stop()
        age_versions(node, minutes * 60)
        node.start()

    def silent():
        return {a["object"]: a["id"] for a in alerts(node)}
    node = make_node(config=text("one", "in", "quiet"))
    node.start()
    later(40)
    apply("two", "in", "quiet")
    later(40)
    apply("three", "in", "quiet")
    wait_for(lambda: set(silent()) == {"in", "quiet"}, node)  # though the version in force is new
    first = silent()["quiet"]
    node.restart()
    apply("four", "in", "quiet", "later")
    send(node, "other")
    wait_for(lambda: "in" not in silent(), node)  # two looks at each of them
    assert silent() == {"quiet": first}  # and what is asked for since now is not late
    assert not [n for n in ears.notices("cleared", "silence") if n["alert"]["object"] != "in"]

    apply("five", "in", "later")
    wait_for(lambda: not silent(), node)  # nobody asks for it
    later(30)
    apply("six", "in", "quiet", "later")
    second = wait_for(lambda: silent().get("quiet"), node)
    later(45)  # an hour ago nobody asked for it
    wait_for(lambda: "later" in silent(), node)
    assert silent()["quiet"] == second != first
    assert node.post("quiet", b"{}").status == 202
    wait_for(lambda: set(silent()) == {"later"}, node)
    assert len(alerts(node, True)) == 4


STUCK = """\
systems: {{ acme: {{}}, shop: {{ limits: {{ concurrency: 1 }} }}, other: {{}} }}
types: {{ order: {{}}, slow: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "json:/to", type: "json:/type" }} }}
endpoints:
  api: {{ kind: http, url: "http://127.0.0.1:{port}/in", retry: {{ first: 1h, for: 1d }} }}
  slow: {{ kind: http, system: shop, url: "http://127.0.0.1:{port}/slow", timeout: 5m }}
routes:
  - {{ name: slow, when: {{ type: slow }}, do: [ {{ deliver: slow }} ] }}
  - {{ name: order, when: {{ type: order }}, do: [ {{ deliver: api }} ] }}
alerts: {{ disk: off, queue_age: off, receiver_failing: off }}
"""


@BOTH
@pytest.mark.proves("QC5")
@pytest.mark.parametrize("answer, rule, states, code, remedy", [
    (None, "{}", ("retrying", "held"), "receiver_failing", ("cancel",)),
    (500, "{ in_doubt: hold }", ("in_doubt",), "dead_letters", ("resolve", "--delivered")),
    (422, "{}", ("dead",), "dead_letters", ("discard",))], ids=["waits", "doubt", "dead"])
def test_a_state_that_lasts_is_told_and_has_a_way_out(make_node, deaf, answer, rule, states, code, remedy):
    """What waits for a receiver that is not there, what waits for a person; a verb ends each of them."""
    deaf.status = answer
    if answer is not None:
        deaf.listen()
    text = config(["receiver_failing: { after: 1s }"], port=deaf.port)
    node = make_node(config=text.replace("shop: {},", f"shop: {rule},"))
    node.start()
    doc = send(node, "shop")

    def state():
        return node.graphql("query($id: ID!) { document(id: $id) { state } }", id=doc)["document"]["state"]

    wait_for(lambda: state() in states, node)
    wait_for(lambda: open_one(node, code), node)
    wait_for(lambda: node.cli("docs", remedy[0], doc, *remedy[1:]).returncode == 0, node)  # it may be tried just now
    wait_for(lambda: state() in ("cancelled", "delivered"), node)
    deaf.status = 200
    if answer is None:
        deaf.listen()
    send(node, "shop")  # a breaker closes with the next that arrives
    wait_for(lambda: not open_one(node, code), node)


@pytest.mark.proves("QC5")
def test_a_queue_that_is_stuck_shows_beside_another_one_of_its_endpoint(make_node, ears, tmp_path):
    clock = MovedClock(tmp_path)
    node = make_node(config=STUCK.format(port=ears.port), environment=clock.environment)
    node.start()

    def send_one(to, kind, state=None):
        doc = node.accept("in", json.dumps({"to": to, "type": kind}))
        wait_for(lambda: state in (None, node.graphql("query($id: ID!) { document(id: $id) { state } }",
                                                      id=doc)["document"]["state"]), node)
    node.graphql('mutation { holdAdd(system: "other", owner: "ann", reason: "x") { hold { id } } }')
    ears.status = 503
    send_one("shop", "order", "retrying")
    send_one("other", "order", "held")  # waits for the same endpoint, and says why
    ears.status = 200
    ears.hold.clear()
    send_one("shop", "slow")  # the system takes no other while it waits for an answer
    wait_for(lambda: [path for path, _, _ in ears.heard] == ["/in", "/slow"], node)
    clock.by(2 * 3600)
    wait_for(lambda: node.metrics().get('waybill_system_queue_oldest_seconds{system="shop"}'), node)
    clock.by(2 * 3600 + 700)
    wait_for(lambda: "api" in [a["object"] for a in alerts(node) if a["code"] == "stuck"], node)
    ears.hold.set()
    wait_for(lambda: not alerts(node), node)
