"""The web console: its files, and a browser that looks at every page and works with it.

The browser is Debian's Chromium; tests/console/*.mjs say what it does.  Pictures of every page in
light and dark are left in build/screenshots.
"""
import contextlib
import gzip
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import time
import uuid

import pytest

import npm_folder
from running_node import ROOT, clean_environment
from test_64_in_flight import Gate
from test_76_jobs_run import Service
from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

SHOTS = ROOT / "build" / "screenshots"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
          "require-trusted-types-for 'script'")

CONFIG = """\
location: {{ name: Hamburg, environment: test, colour: violet }}
systems:
  webshop: {{ title: Web shop, ids: [WS-01] }}
  erp:     {{ title: Order system, ids: ["4012345000009"] }}
  finance: {{ title: Invoice system }}
  partner: {{ title: Partner, window: {{ days: mon-sun, open: "06:00", close: "05:59" }} }}
  clinic:  {{ title: Clinic, in_doubt: hold }}
  archive: {{ title: Archive }}
types:
  order:   {{ title: Purchase order, search: {{ po: "xml:/Order/@number" }} }}
  invoice: {{ title: Invoice }}
  note:    {{ title: Note }}
gateways:
  orders:
    kind: http
    auth: none
    extract: {{ sender: "xml:/Order/Buyer/@id", receiver: "xml:/Order/Supplier/@id", type: "value:order" }}
  papers:
    kind: http
    auth: none
    extract: {{ sender: "value:webshop", receiver: "header:X-To", type: "header:X-Type" }}
endpoints:
  erp-api:     {{ kind: http, system: erp, url: "{url}/orders" }}
  finance-api: {{ kind: http, system: finance, url: "{url}/b/status/400" }}
  partner-api: {{ kind: http, system: partner, url: "{url}/partner" }}
  clinic-api:  {{ kind: http, system: clinic, url: "{url}/b/close" }}
  archive-folder: {{ kind: file, system: archive, path: "{folder}" }}
  dead-end:    {{ kind: http, system: archive, url: "http://127.0.0.1:1/" }}
routes:
  - name: orders
    when: {{ receiver: erp, type: order }}
    do:
      - replace: {{ find: " ", with: "-" }}
      - deliver: [erp-api, archive-folder]
  - name: invoices
    when: {{ receiver: finance }}
    do: [ {{ deliver: [finance-api] }} ]
  - name: partner
    when: {{ receiver: partner }}
    do: [ {{ deliver: [partner-api] }} ]
  - name: clinic
    when: {{ receiver: clinic }}
    do: [ {{ deliver: [clinic-api] }} ]
"""

HL7 = ("MSH|^~\\&|LAB|WEST|HIS|EAST|20261115||ORU^R01|77|P|2.5\r"
       "PID|1||4711^^^WEST||DOE^JANE\rOBX|1|NM|GLU||5.4|mmol/l\r")
EVIL = '<Order number="1"><img src=x onerror=alert(1)><script>alert(1)</script></Order>'


def order(number, supplier="4012345000009"):
    return (f'<?xml version="1.0"?><Order number="{number}"><Buyer id="WS-01">Paper and Pen</Buyer>'
            f'<Supplier id="{supplier}"/><Line sku="B-1001" quantity="3">Notebook, ruled</Line></Order>')


def paper(node, to, kind, body):
    answer = node.post("papers", body, {"X-To": to, "X-Type": kind})
    assert answer.status == 202, answer.body
    return answer.json["document"]


def wait_state(node, document, *states):
    deadline = time.monotonic() + 60
    while True:
        got = node.get(f"/documents/{document}").json["state"]
        if got in states:
            return
        assert time.monotonic() < deadline, f"{document} is {got}, not {states}"
        time.sleep(0.05)


@pytest.fixture
def scene(make_node, tmp_path):
    """A node with something of everything: delivered, dead, held, in doubt."""
    with Receiver() as receiver:
        (tmp_path / "archive").mkdir()
        node = make_node(config=CONFIG.format(url=receiver.url(""), folder=tmp_path / "archive"))
        node.start()
        node.graphql('mutation { holdAdd(system: "partner", reason: "their move", owner: "kim") { hold { id } } }')
        node.done = [node.post("orders", order(4000 + i)).json["document"] for i in range(12)]
        node.dead = [node.post("orders", order(5000 + i, "9900000000000")).json["document"] for i in range(3)]
        rejected = [paper(node, "finance", "invoice", json.dumps({"invoice": i, "lines": [1, {"a": []}]})) for i in range(3)]
        node.foreign = rejected[0]
        held = paper(node, "partner", "note", "a note")
        doubts = [paper(node, "clinic", "note", HL7), paper(node, "clinic", "note", HL7.replace("4711", "4712"))]
        paper(node, "erp", "note", EVIL)
        for document in node.done:
            wait_state(node, document, "delivered")
        for document in [*node.dead, *rejected]:
            wait_state(node, document, "dead")
        wait_state(node, held, "held")
        for document in doubts:
            wait_state(node, document, "in_doubt")
        yield node


def browse(script, node, **more):
    """Runs a script of tests/console; what it prints is shown when it fails."""
    folder = npm_folder.install("console")
    env = {**clean_environment(), "WAYBILL_URL": node.url, "WAYBILL_MODULES": str(folder / "node_modules"),
           "WAYBILL_SHOTS": str(SHOTS), "TOKEN": node.token, **more}
    if "WAYBILL_CHROMIUM" in os.environ:
        env["WAYBILL_CHROMIUM"] = os.environ["WAYBILL_CHROMIUM"]
    got = subprocess.run(["node", folder / script], env=env, capture_output=True, text=True,
                         timeout=240, check=False)
    assert got.returncode == 0, got.stdout + got.stderr


def test_files(node):
    page = node.request("GET", "/", headers={"Accept": "text/html"})
    assert page.status == 200
    assert page.headers["Content-Security-Policy"] == POLICY
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert page.headers["Cache-Control"] == "no-cache"
    script = re.search(r'src="(/console/app-[^"]+\.js)"', page.body.decode())[1]
    plain = node.request("GET", script)
    packed = node.request("GET", script, headers={"Accept-Encoding": "br;q=1.0, gzip"})
    assert plain.status == 200 and "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert "immutable" in packed.headers["Cache-Control"]
    assert packed.headers["ETag"] != plain.headers["ETag"]
    refused = node.request("GET", script, headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers
    same = node.request("GET", script, headers={"If-None-Match": f'"x", W/{packed.headers["ETag"]}'})
    assert same.status == 304 and same.body == b""
    head = node.request("HEAD", script)
    assert head.headers["Content-Length"] == str(len(plain.body)) and head.body == b""


def test_addresses(node):
    """Deep links are the console's; what is not stays what it was."""
    page = node.request("GET", "/").body
    for path in ("/documents", "/documents?state=dead", "/systems/erp", "/config/text", "/login", "/audit", "/links/orders/public.customer"):
        assert node.request("GET", path).body == page, path
    document = node.post("open", b"hello").json["document"]
    assert node.get(f"/documents/{document}").json["id"] == document
    assert node.request("GET", f"/documents/{document}", headers={"Accept": "text/html,*/*;q=0.8"}).body == page
    assert node.request("GET", f"/documents/{document}/payload", headers={
        "Accept": "text/html", "Authorization": f"Bearer {node.token}"}).body == b"hello"
    for path in ("/console/", "/console/nothing.js", "/console/../token", "/nothing", "/documentsx"):
        assert node.request("GET", path).status == 404, path
    assert node.request("POST", "/").status in (404, 405)


def test_every_page(scene):
    browse("pages.mjs", scene, DEAD=scene.dead[0], DONE=scene.done[0])


def test_work(scene):
    lines = [paper(scene, "partner", "note", text) for text in ("\ufeffpo;sku\r\n4711;B\r\n".encode(), HL7.encode())]
    mixed = paper(scene, "partner", "note", b"4711\r\n4712\n")
    browse("work.mjs", scene, FOREIGN=scene.foreign, LINES=" ".join(lines), MIXED=mixed)


MOVING = """\
systems: {{ hub: {{}}, shop: {{}} }}
types: {{ note: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "header:X-To", type: "value:note" }} }}
endpoints:
  slow: {{ kind: http, url: "{slow}", timeout: 240s }}
  shelf: {{ kind: file, path: "{folder}" }}
routes:
  - {{ name: slow, when: {{ receiver: hub }}, do: [ {{ deliver: slow }} ] }}
  - name: shelf
    when: {{ receiver: shop }}
    do: [ {{ replace: {{ find: a, with: c }} }}, {{ replace: {{ find: c, with: b }} }}, {{ deliver: shelf }} ]
"""


def test_what_is_being_sent(make_node, tmp_path):
    """A send that takes long, in list, page and counts; and a stage that was not stored."""
    (tmp_path / "shelf").mkdir()
    gate = Gate()
    try:
        node = make_node(config=MOVING.format(slow=gate.url, folder=tmp_path / "shelf"))
        node.start()
        done = node.accept("in", "a banana", {"X-To": "shop"})
        wait_state(node, done, "delivered")
        sending = node.accept("in", "a note", {"X-To": "hub"})
        wait_until(lambda: node.show(sending, "deliveries { state }")["deliveries"] == [{"state": "sending"}], 60,
                   "it is noted")
        browse("moving.mjs", node, SENDING=sending, DONE=done)
    finally:
        gate.close()


FAMILY = """\
systems: { pim: {}, hub: {}, north: {}, south: {} }
types: { "*": {} }
gateways:
  in: { kind: http, auth: none, extract: { sender: "value:pim", receiver: "value:hub", type: "header:X-Type" } }
subscriptions:
  articles: { to: [ north, south ] }
routes:
  - { name: lists, when: { type: list }, do: [ { split: { json: "", type: "value:article" } } ] }
  - { name: articles, when: { receiver: hub, type: article }, do: [ { subscribe: articles } ] }
  - { name: rest, do: [ { drop: } ] }
"""


def row_of(document):
    """The number that its id holds (base/id.h)."""
    return uuid.UUID(document).int >> 18 & (1 << 44) - 1


def test_a_family_is_followed(make_node):
    """Parts with their numbers, page by page; copies for whom; answers; from each the way back."""
    node = make_node(config=FAMILY)
    node.start()
    made = node.accept("in", json.dumps(list(range(25))), {"X-Type": "list"})
    answered, answer = (node.accept("in", "x", {"X-Type": "note"}) for _ in range(2))
    for document in (made, answered, answer):
        wait_state(node, document, "done")
    wait_until(lambda: len(node.documents()) == 25 * 3 + 3, 60, "all copies")
    assert node.stop() == 0
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db")) as c:  # LINK_ANSWER of store/road/link.h
        c.execute("INSERT INTO link(parent, kind, child) VALUES (?, 4, ?)", (row_of(answered), row_of(answer)))
        c.commit()
    node.start()
    browse("family.mjs", node, LIST=made, ANSWER=answer, ANSWERED=answered)


def test_a_configuration_that_is_a_file_is_read_only(make_node):
    text = "systems: { hub: {} }\ngateways: { in: { kind: http, auth: none } }\n"
    node = make_node(config=text, options="config: file")
    node.start()
    node.stop()
    node.write_config(text + "types: { order: {} }\n")     # a second version, made of the file
    node.start()
    browse("file_config.mjs", node, FILE=str(node.config_file))


JOBS = """\
jobs:
  tick:   {{ kind: note, every: 1s, log: all, title: A tick }}
  yearly: {{ kind: note, at: "30 2 24 12 *", zone: Europe/Berlin }}
  print:  {{ kind: call, url: "{printer}", body: "{{}}", every: 1h, retry: {{ for: 0s }} }}
  slow:   {{ kind: call, url: "{slow}", body: "{{}}", every: 1h, timeout: 1h }}
"""


def test_somebody_looks_after_jobs(make_node):
    with Service(lambda *_: (500, {"error": "no paper in the printer", "retry": False})) as printer, \
            Service(lambda *_: (None, None)) as slow:
        node = make_node(config=JOBS.format(printer=printer.url, slow=slow.url))
        node.start()
        logged = "{ jobRuns { items { job } } }"
        wait_until(lambda: {"tick", "print"} <= {r["job"] for r in node.graphql(logged)["jobRuns"]["items"]}, 60, "runs are logged")
        browse("jobs.mjs", node)
