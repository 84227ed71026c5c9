"""`waybill try` and `waybill test`: steps and routes without a node."""
import base64
import gzip
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from running_node import BINARY, ROOT, clean_environment, run_program
from wire import wait_until

EXAMPLES = ROOT / "examples"
CONFIG = """
systems: { hub: {}, shop: { ids: ["4711"] } }
types: { order: {}, line: {} }
services: { tidy: { replace: { find: x, with: y } } }
gateways:
  a: { kind: http, auth: none, extract: { sender: "json:/from", receiver: "value:hub", type: "value:order" } }
endpoints:
  out: { kind: file, system: hub, path: ./outbox }
routes:
  - name: orders
    when: { type: order }
    do: [ tidy, { jq: { file: lines.jq } }, { split: { json: /lines, type: "value:line" } } ]
  - { name: lines, when: { type: line }, do: [ { deliver: out } ] }
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "waybill.yaml").write_text(CONFIG)
    (tmp_path / "lines.jq").write_text("{ lines: .items }\n")
    (tmp_path / "order.in.json").write_text('{"from": "4711", "items": [{"n": 1.10}, {"n": "x"}]}')
    return tmp_path


def in_folder(folder, *words, **more):
    return run_program(*words, cwd=folder, env=dict(clean_environment(), TMPDIR=str(folder)), **more)


@pytest.mark.smoke
def test_a_step_is_tried(folder):
    got = in_folder(folder, "try", "jq: .items", "order.in.json")
    assert (got.returncode, got.stdout) == (0, '[{"n":1.1},{"n":"x"}]'), got.stderr
    assert "of memory" in got.stderr and "21 B" in got.stderr
    assert not list(folder.glob("waybill-try-*"))  # its own folder is gone


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
@pytest.mark.parametrize("words", [("try", "lua: { file: endless.lua, limits: { time: 60s } }", "order.in.json"),
                                   ("test", ".", "-c", "endless.yaml")], ids=["try", "test"])
def test_who_is_interrupted_leaves_no_folder_behind(folder, words, how):
    (folder / "endless.lua").write_text("while true do end\n")
    (folder / "endless.yaml").write_text(CONFIG.replace(
        "[ tidy, { jq: { file: lines.jq } },", "[ { lua: { file: endless.lua, limits: { time: 60s } } },"))
    with subprocess.Popen([str(BINARY), *words], cwd=folder, env=dict(clean_environment(), TMPDIR=str(folder)),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as running:
        wait_until(lambda: list(folder.glob("waybill-try-*/*.db")), seconds=60, what="its folder")
        if how == signal.SIGKILL:
            running.kill()
        else:
            os.killpg(running.pid, how)  # as a terminal does
        assert running.wait(60) == -how, running.stderr.read()
        wait_until(lambda: not list(folder.glob("waybill-try-*")), seconds=60, what="the removal")


def test_parts_are_listed_and_printed(folder):
    step = 'split: { json: /items, receiver: "value:hub" }'
    got = in_folder(folder, "try", step, "order.in.json")
    assert got.returncode == 0, got.stderr
    assert got.stdout.splitlines() == ['--- part 1 of 2: 11 B, receiver hub', '{"n": 1.10}',
                                       '--- part 2 of 2: 10 B, receiver hub', '{"n": "x"}']
    assert in_folder(folder, "try", step, "order.in.json", "--part", "2").stdout == '{"n": "x"}'
    assert in_folder(folder, "try", step, "order.in.json", "--part", "3").returncode == 1
    shown = json.loads(in_folder(folder, "try", step, "order.in.json", "--json").stdout)
    assert shown["end"] == "parts" and [r["text"] for r in shown["results"]] == ['{"n": 1.10}', '{"n": "x"}']
    assert shown["results"][1]["attributes"] == {"part": "2", "parts": "2"}


def test_steps_of_a_configuration(folder):
    named = in_folder(folder, "try", "-c", "waybill.yaml", "tidy", "order.in.json")
    assert (named.returncode, named.stdout) == (0, '{"from": "4711", "items": [{"n": 1.10}, {"n": "y"}]}')
    second = in_folder(folder, "try", "-c", "waybill.yaml", "orders:2", "order.in.json")
    assert (second.returncode, second.stdout) == (0, '{"lines":[{"n":1.1},{"n":"x"}]}'), second.stderr
    for step, said in (("orders:9", "has 3 steps"), ("nobody:1", "no route nobody"), ("lines:1", "makes nothing")):
        got = in_folder(folder, "try", "-c", "waybill.yaml", step, "order.in.json")
        assert got.returncode == 1 and said in got.stderr
    assert in_folder(folder, "try", "orders:2", "order.in.json").returncode == 2


def test_facts_of_the_document_are_given(folder):
    got = in_folder(folder, "try", 'lua: "log(doc.type) return doc.sender .. doc.attributes.day .. doc.name"', "-",
                    "--sender", "shop", "--type", "order", "--attribute", "day=mon", "--name", "n", stdin="")
    assert (got.returncode, got.stdout) == (0, "shopmonn"), got.stderr
    assert "log: order" in got.stderr


@pytest.mark.parametrize("step, said", [
    ("jq: '.a |'", "STEP:1:1: `filter`: line 1, column 5"),
    ("jqq: .a", "did you mean `jq`?"),
    ("jq: { filter: .a, limits: { tme: 1s } }", "STEP:1:29: unknown key `tme`"),
    ("jq: { file: nowhere.jq }", "nowhere.jq"),
    ("deliver: x", "there is no endpoint"),
    ("", "there is no step")])
def test_a_wrong_step_is_refused_with_its_place(folder, step, said):
    got = in_folder(folder, "try", step, "order.in.json")
    assert got.returncode == 1 and said in got.stdout + got.stderr


SHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>
<xsl:param name="to"/><xsl:template match="/"><xsl:value-of select="concat(/order/@id, ' for ', $to)"/></xsl:template>
</xsl:stylesheet>"""

# What comes in, and what comes out of the step that the help shows.
HELP = {
    "replace": (b"12.50 and 3.00", b"12,50 and 3,00"),
    "jq": (b'{"id": 7, "total": 1.5, "lines": [1, 2], "note": "x"}', b'{"id":7,"total":1.5,"lines":2}'),
    "xslt": (b'<order id="7"/>', b"7 for hub"),
    "lua": (b"MSH|^~\\&|A|B|C|D\rPID|1\r", b"MSH|^~\\&|A|B|C|hub\rPID|1\r"),
    "convert": (b"id;name\n7;Ann\n", b'{"format":"csv","separator":";","quotes":"needed","end":"\\n",'
                b'"columns":["id","name"],"rows":[\n{"id":"7","name":"Ann"}\n]}\n'),
    "split": (b'{"orders": [{"to": "hub", "n": 1.10}]}', b'{"to": "hub", "n": 1.10}'),
    "charset": (b"5 \xa4", "5 €".encode()),
    "compress": (b"banana", gzip.decompress),
    "decompress": (gzip.compress(b"banana"), b"banana"),
    "validate": (b'{"id": 7}', b'{"id": 7}'),
}
# They need keys, a service or a store: test_29_pgp.py, test_29_calls.py and test_29_records.py run these.
ELSEWHERE = {"encrypt", "decrypt", "sign", "verify", "call", "store", "enrich"}


def services_of_help():
    """Those that change a document."""
    words = [line.split()[0] for line in run_program("help", "service").stdout.splitlines() if line.startswith("  ")]
    return set(words) - {"deliver", "batch", "route", "subscribe", "drop"}


def test_the_help_of_each_service_has_an_example_that_runs(folder):
    assert services_of_help() == set(HELP) | ELSEWHERE
    (folder / "order.xslt").write_text(SHEET)
    (folder / "schemas").mkdir()
    (folder / "schemas/order.json").write_text('{"type": "object", "required": ["id"]}')
    for name, (body, want) in HELP.items():
        step, = re.findall(r"\nexample:\n  - (.*)\n", run_program("help", "service", name).stdout)
        (folder / "body").write_bytes(body)
        got = subprocess.run([BINARY, "try", step, "body", "--receiver", "hub", "--json"], cwd=folder, check=False,
                             env=dict(clean_environment(), TMPDIR=str(folder)), capture_output=True, timeout=240)
        assert got.returncode == 0, (name, got.stdout, got.stderr)
        result, = json.loads(got.stdout)["results"]
        out = result["text"].encode() if "text" in result else base64.b64decode(result["base64"])
        assert want(out) == body if callable(want) else out == want, (name, out)


def test_a_document_that_is_refused(folder):
    got = in_folder(folder, "try", "jq: .items[]", "order.in.json")
    assert got.returncode == 1 and "service_failed: jq: there is more than one result" in got.stderr
    got = in_folder(folder, "try", "lua: { script: 'while true do end', limits: { time: 100ms } }", "order.in.json")
    assert got.returncode == 1 and "budget: it takes longer than 100 ms" in got.stderr
    none = in_folder(folder, "try", "jq: empty", "order.in.json")
    assert (none.returncode, none.stdout) == (0, "") and "nothing came out" in none.stderr
    assert in_folder(folder, "try", "jq: .", "nowhere").returncode == 74


# ---- waybill test ----

def test_routes_and_parts_are_followed(folder):
    missing = in_folder(folder, "test", ".")
    assert missing.returncode == 1 and "deliveries: expected 0, are 2" in missing.stdout
    wrote = in_folder(folder, "test", ".", "--write")
    assert wrote.returncode == 0, wrote.stderr
    assert (folder / "order.out.2.json").read_text() == '{"n":"y"}'
    (folder / "order.facts.yaml").write_text(
        'sender: shop\nroute: orders\nstate: done\nparts: 2\n'
        'deliveries: [ { endpoint: out, system: hub, type: line, route: lines }, {} ]\n')
    got = in_folder(folder, "test", ".")
    assert (got.returncode, got.stdout) == (0, "1 passed\n"), got.stdout
    assert not (folder / "outbox").exists()  # nothing was sent


@pytest.mark.parametrize("facts, said", [
    ("sender: hub", "sender: expected hub, is shop"),
    ("sender: ~", "sender: expected none, is shop"),
    ("route: lines", "route: expected lines, is orders"),
    ("parts: 3", "parts: expected 3, are 2"),
    ("state: dead", "state: expected dead, is done"),
    ("code: no_route", "code: expected no_route, is none"),
    ("message: hello", 'message: expected to contain "hello"'),
    ("attributes: { a: b }", "attribute a: expected b, is none"),
    ("deliveries: [ {}, { endpoint: other } ]", "delivery 2, endpoint: expected other, is out"),
    ("deliveries: [ {} ]", "lists 1 deliveries"),
    ("gateway: nobody", "no gateway nobody"),
    ("sendr: hub", "order.facts.yaml:1:1: unknown key `sendr`"),
    ("- a", "a map is expected"),
    ("a: [", "order.facts.yaml:"),
    ("headers: 1", "`headers` is a map")])
def test_facts_that_differ(folder, facts, said):
    assert in_folder(folder, "test", ".", "--write").returncode == 0
    (folder / "order.facts.yaml").write_text(facts + "\n")
    got = in_folder(folder, "test", ".")
    assert got.returncode == 1 and said in got.stdout and "0 passed, 1 failed" in got.stdout, got.stdout


def test_a_dead_letter_is_expected_or_not(folder):
    (folder / "bad.in.json").write_text('{"from": "nobody", "items": []}')
    got = in_folder(folder, "test", ".")
    assert "it is a dead letter, unknown_system: no system has the name or id `nobody`" in got.stdout
    (folder / "bad.facts.yaml").write_text("state: dead\ncode: unknown_system\nmessage: no system has\n")
    (folder / "order.in.json").unlink()
    got = in_folder(folder, "test", ".", "--json")
    assert json.loads(got.stdout) == {"name": "bad", "passed": True, "differences": ""}


def test_bytes_that_differ_are_shown(tmp_path):
    folder = tmp_path / "hl7-to-json"
    shutil.copytree(EXAMPLES / "hl7-to-json", folder)
    assert run_program("test", folder).stdout == "3 passed\n"
    want = folder / "admit.out.json"
    want.write_bytes(want.read_bytes().replace(b"4711", b"4712", 1))
    got = run_program("test", folder)
    assert got.returncode == 1 and "2 passed, 1 failed" in got.stdout
    assert "admit.out.json: what is delivered to app-folder differs at byte" in got.stdout
    assert "expected 0x32, is 0x31" in got.stdout
    lines = got.stdout.splitlines()
    assert any(line.startswith("-") and "4712" in line for line in lines)
    assert any(line.startswith("+") and "4711" in line for line in lines)


def test_secrets_are_files(folder):
    (folder / "waybill.yaml").write_text(CONFIG.replace("with: y", 'with: "secret:word"'))
    (folder / "order.out.1.json").write_text('{"n":1.1}')
    (folder / "order.out.2.json").write_text('{"n":"zoo"}')
    got = in_folder(folder, "test", ".")
    assert got.returncode == 1 and "there is no secret word: waybill secret add word" in got.stdout, got.stdout
    (folder / "secrets").mkdir()
    (folder / "secrets" / "word").write_text("zoo\n")
    got = in_folder(folder, "test", ".")
    assert (got.returncode, got.stdout) == (0, "1 passed\n"), got.stdout


RECORDS = """
systems: { hub: {}, shop: {}, desk: {} }
types: { item: {} }
subscriptions: { all: { to: [ shop, desk ] } }
gateways:
  a: { kind: http, auth: none, extract: { receiver: "value:hub", type: "value:item" } }
endpoints:
  out: { kind: file, path: ./outbox }
routes:
  - name: items
    when: { receiver: hub }
    do:
      - store: { set: items, key: "json:/id" }
      - enrich: { set: groups, key: "json:/new/group", into: /group }
      - subscribe: all
  - { name: out, when: { receiver: [ shop, desk ] }, do: [ { deliver: out } ] }
"""


def test_records_and_copies(tmp_path):
    (tmp_path / "waybill.yaml").write_text(RECORDS)
    (tmp_path / "new.in.json").write_text('{"id": "1", "group": "g"}')
    (tmp_path / "changed.in.json").write_text('{"id": "2", "group": "g", "n": 1.10}')
    (tmp_path / "same.in.json").write_text('{"id": "3", "group": "g"}')
    (tmp_path / "same.facts.yaml").write_text("state: done\nparts: 0\n")
    got = in_folder(tmp_path, "test", ".")
    assert got.returncode == 1 and "the set `groups` has no record `g`" in got.stdout, got.stdout
    (tmp_path / "records" / "items").mkdir(parents=True)
    (tmp_path / "records" / "groups.csv").write_text("id,name\ng,Garden\n")
    (tmp_path / "records" / "items" / "2.json").write_text('{"id": "2", "group": "g", "n": 1.0}\n')
    (tmp_path / "records" / "items" / "3.json").write_text('{"id": "3", "group": "g"}')
    for name, previous in (("new", "null"), ("changed", '{"id": "2", "group": "g", "n": 1.0}')):
        new = (tmp_path / f"{name}.in.json").read_text()
        for n in (1, 2):
            (tmp_path / f"{name}.out.{n}.json").write_text(
                f'{{"previous":{previous},"new":{new},"group":{{"id":"g","name":"Garden"}}}}')
        (tmp_path / f"{name}.facts.yaml").write_text(
            "state: done\nparts: 2\ndeliveries: [ { receiver: desk, system: desk }, { receiver: shop } ]\n")
    got = in_folder(tmp_path, "test", ".")
    assert (got.returncode, got.stdout) == (0, "3 passed\n"), got.stdout + got.stderr
    tried = in_folder(tmp_path, "try", "-c", "waybill.yaml", "items:1", "changed.in.json", "--records", "records")
    assert '"previous":{"id": "2", "group": "g", "n": 1.0}' in tried.stdout, tried.stderr


@pytest.mark.parametrize("file, text, said", [
    ("groups.csv", "id,name\ng\n", "groups.csv: row 1: it has fewer cells"),
    ("items/1.json", "{", "1.json: "),
    ("items.txt", "", "items.txt: records are in SET.csv, or one by one in a folder SET")])
def test_records_that_cannot_be_read(tmp_path, file, text, said):
    (tmp_path / "waybill.yaml").write_text(RECORDS)
    (tmp_path / "new.in.json").write_text('{"id": "1", "group": "g"}')
    (tmp_path / "records" / file).parent.mkdir(parents=True)
    (tmp_path / "records" / file).write_text(text)
    got = in_folder(tmp_path, "test", ".")
    assert got.returncode == 74 and said in got.stderr


def asking(folder, facts="", **answers):
    """A case whose document is cut in two parts; each asks twice, `call` and then `enrich`."""
    (folder / "waybill.yaml").write_text("""
systems: { hub: {} }
types: { order: {}, line: {} }
gateways:
  a: { kind: http, auth: none, extract: { receiver: "value:hub", type: "value:order" } }
endpoints: { out: { kind: file, system: hub, path: ./outbox } }
routes:
  - { name: orders, when: { type: order }, do: [ { split: { json: /lines, type: "value:line" } } ] }
  - name: lines
    when: { type: line }
    do:
      - call: "https://tax.example/lines"
      - enrich: { url: "https://crm.example/", into: /buyer, missing: pass }
      - deliver: out
""")
    (folder / "order.in.json").write_text('{"lines": [1, 2]}')
    for name, text in {"1": '{"tax": 1}', "2": '{"name": "A"}', "3": '{"tax": 2}', "4": '{"name": "B"}',
                       **{name.removeprefix("n"): text for name, text in answers.items()}}.items():
        if text is not None:
            (folder / f"order.answer.{name}.json").write_text(text)
    (folder / "order.out.1.json").write_text('{"tax": 1,"buyer":{"name": "A"}}')
    (folder / "order.out.2.json").write_text('{"tax": 2,"buyer":{"name": "B"}}')
    (folder / "order.facts.yaml").write_text(facts or "parts: 2\n")
    return in_folder(folder, "test", ".")


def test_services_answer_from_files(tmp_path):
    got = asking(tmp_path)
    assert (got.returncode, got.stdout) == (0, "1 passed\n"), got.stdout + got.stderr


@pytest.mark.parametrize("facts, answers, said", [
    ("", {"n4": None}, "steps ask services 4 times, and there are 3 answers: write what a service answers to "
                       "order.answer.4.EXT"),
    ("", {"n5": "5"}, "order.answer.5.json is never asked for: steps ask services 4 times"),
    ("", {"n6": "6"}, "order.answer.6.json does not fit"),
    ("answers: [200, 200, 503]", {}, "part 2 is a dead letter, retries_exhausted"),
    ("answers: [200, 200, 422]", {}, "part 2 is a dead letter, rejected"),
    ("answers: [200, 404]", {}, 'order.out.1.json: what is delivered to out differs'),
    ("", {"n3": ""}, "deliveries: expected 2, are 1"),  # 204: the line ends
    ("answers: 7", {}, "`answers` is a list with the statuses of the 4 files"),
    ("answers: [7]", {}, "order.facts.yaml:1: an answer has a status of 100 to 599")])
def test_answers_that_do_not_fit(tmp_path, facts, answers, said):
    got = asking(tmp_path, facts, **answers)
    assert got.returncode == 1 and said in got.stdout, got.stdout


def test_a_service_is_not_asked_by_try(folder):
    got = in_folder(folder, "try", "call: http://127.0.0.1:9/", "order.in.json")
    assert got.returncode == 1 and "files of `waybill test` can say it" in got.stderr, got.stderr


def test_what_cannot_be_tested(folder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    shutil.copy(folder / "waybill.yaml", empty)
    shutil.copy(folder / "lines.jq", empty)
    got = run_program("test", empty)
    assert got.returncode == 1 and "no case" in got.stderr
    assert run_program("test", empty / "nowhere").returncode == 74
    (folder / "waybill.yaml").write_text("systems: { a: { titel: x } }\n")
    got = in_folder(folder, "test", ".")
    assert got.returncode == 1 and "waybill.yaml:1:17" in got.stdout
