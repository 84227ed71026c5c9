"""Every configuration under examples/ does what its README says."""
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.request

import pytest

from peers import free_port
from running_node import BINARY, ROOT, clean_environment, run_program

EXAMPLES = ROOT / "examples"
SECONDS = 120
DECRYPT = "decrypt: { key: secret:our-key }"


class Receiver:
    """An HTTP server on a free port: takes what comes to /in/open and remembers it."""

    def __init__(self):
        self.requests = []
        taken = self.requests

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/in/open":
                    taken.append((self.path, self.headers, body))
                self.send_response(200 if self.path == "/in/open" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    one = Receiver()
    yield one
    one.close()


@pytest.fixture
def example(make_node, receiver):
    """A node with an example's files and configuration; only addresses are this test's own."""
    def start(name, *folders):
        text = (EXAMPLES / name / "waybill.yaml").read_text()
        text = re.sub(r"^node:\n.*?(?=^systems:)", "", text, flags=re.M | re.S)
        node = make_node(config=text.replace("127.0.0.1:8480", f"127.0.0.1:{receiver.port}"))
        for file in (EXAMPLES / name).iterdir():
            if file.is_file() and file.name != "waybill.yaml":
                shutil.copy(file, node.folder)
        for folder in folders:
            (node.folder / folder).mkdir()
        node.start()
        return node
    return start


def wait_until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for(node, what, condition):
    deadline = time.monotonic() + SECONDS
    while not (got := condition()):
        assert time.monotonic() < deadline, f"no {what} after {SECONDS} s:\n{node.tail()}"
        time.sleep(0.05)
    return got


def state(node, identity):
    return node.graphql("query($id: ID!) { document(id: $id) { state } }",
                        id=identity)["document"]["state"]


def send(node, gateway, name):
    """A file of the example; gives the document's id."""
    answer = node.post(gateway, (node.folder / name).read_bytes())
    assert answer.status == 202, answer.body
    return answer.json["document"]


def files_in(folder):
    """All but what is the gateway's own."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and ".waybill" not in p.parts)


@pytest.mark.parametrize("name", sorted(str(p.relative_to(EXAMPLES))
                                        for p in EXAMPLES.rglob("*.yaml")
                                        if not p.name.endswith(".facts.yaml")))
def test_is_valid(name):
    got = run_program("check", EXAMPLES / name)
    assert got.returncode == 0, got.stdout


def test_every_folder_has_a_readme():
    for folder in (p for p in EXAMPLES.iterdir() if p.is_dir()):
        assert (folder / "README.md").exists() and (folder / "waybill.yaml").exists()
        assert f"({folder.name})" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.iterdir() if p.is_dir()))
def test_its_test_files_pass(name, tmp_path):
    assert "waybill test" in (EXAMPLES / name / "README.md").read_text()
    folder = copy_of(name, tmp_path)
    got = run_program("test", folder, timeout=280)
    assert got.returncode == 0 and got.stdout.endswith(" passed\n"), got.stdout + got.stderr


def copy_of(name, below):
    """A copy of an example; its steps have the time that they take on a busy machine."""
    folder = below / name
    shutil.copytree(EXAMPLES / name, folder)
    config = folder / "waybill.yaml"
    assert DECRYPT in config.read_text() or name != "encrypted-file"
    config.write_text(config.read_text().replace(DECRYPT, DECRYPT.replace(" }", ", limits: { time: 60s } }")))
    return folder


class Reader:
    """Somebody who types what the README of an example says, in a copy of its folder."""

    def __init__(self, folder, port):
        self.folder, self.port, self.nodes = folder, port, []
        self.bin = folder / ".bin"
        self.bin.mkdir()
        self.env = dict(clean_environment(), PATH=f"{self.bin}:{os.environ['PATH']}")
        program = self.bin / "waybill"
        program.write_text(f"""#!/bin/sh
case $1 in send|docs|batches|dead|secret|records) exec {BINARY} "$@" --url http://127.0.0.1:{port};; esac
exec {BINARY} "$@"
""")
        program.chmod(0o755)
        config = folder / "waybill.yaml"
        config.write_text(config.read_text().replace(":8480", f":{port}"))

    def blocks(self):
        return re.findall(r"^```sh\n(.*?)^```", (self.folder / "README.md").read_text(), re.M | re.S)

    def serve(self, block):
        command = "exec > node.log 2>&1; " + block.replace("waybill serve", "exec waybill serve")
        node = subprocess.Popen(["sh", "-e", "-c", command], cwd=self.folder, env=self.env)
        self.nodes.append(node)
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5):
                    return
            except OSError:
                assert node.poll() is None and time.monotonic() < deadline, (self.folder / "node.log").read_text()
                time.sleep(0.05)

    def type(self, block):
        """The output; the last commands look at what the node has done, so they may come too early."""
        deadline = time.monotonic() + SECONDS
        while True:
            got = subprocess.run(["sh", "-e", "-c", block], cwd=self.folder, env=self.env, capture_output=True,
                                 text=True, timeout=2 * SECONDS, check=False)
            if got.returncode == 0:
                return got.stdout
            assert time.monotonic() < deadline, got.stdout + got.stderr
            time.sleep(0.1)

    def type_all(self, done=None):
        """The output of each block; `done`, after one that gives the node something to do, waits until it has."""
        said = []
        for block in self.blocks():
            if "waybill serve" in block:
                self.serve(block)
            elif re.search("waybill send|^cp ", block, re.M):  # never twice
                got = subprocess.run(["sh", "-e", "-c", block], cwd=self.folder, env=self.env, capture_output=True,
                                     text=True, timeout=2 * SECONDS, check=False)
                assert got.returncode == 0, got.stdout + got.stderr
                said.append(got.stdout)
                if done:
                    done()
            else:
                said.append(self.type(block))
        return said

    def close(self):
        for node in self.nodes:
            node.terminate()
            node.wait(SECONDS)


@pytest.fixture
def reader(tmp_path):
    made = []

    def read(name):
        made.append(Reader(copy_of(name, tmp_path), free_port()))
        return made[-1]
    yield read
    for one in made:
        one.close()


def test_pass_through(reader):
    one = reader("pass-through")
    assert one.type_all()[0] == "2 passed\n"
    wait_until(lambda: one.type("waybill docs ls").count("delivered") == 2)


def test_hl7_to_json(reader):
    said = reader("hl7-to-json").type_all()
    assert '"patient":"4711"' in said[0] and said[1] == "3 passed\n"
    assert said[-1] == "".join((EXAMPLES / "hl7-to-json" / f"{case}.out.json").read_text()
                               for case in ("admit", "result"))


def test_xml_split(reader):
    one = reader("xml-split")
    said = one.type_all()
    assert said[0] == "3 passed\n"
    wait_until(lambda: len(list((one.folder / "finance").glob("*.xml"))) == 1
               and len(list((one.folder / "outbox").glob("*.xml"))) == 2)
    expected = [(EXAMPLES / "xml-split" / f"day.out.{n}.xml").read_bytes() for n in (1, 2, 3)]
    assert sorted(p.read_bytes() for p in (one.folder / "outbox").glob("*.xml")) == sorted([expected[0], expected[2]])
    assert [p.read_bytes() for p in (one.folder / "finance").glob("*.xml")] == [expected[1]]


def test_encrypted_file(reader):
    one = reader("encrypted-file")
    assert one.type_all()[0] == "2 passed\n"
    out, = (one.folder / "outbox").glob("*.csv")
    assert out.read_bytes() == (EXAMPLES / "encrypted-file" / "payments.out.csv").read_bytes()


def test_master_data(reader):
    one = reader("master-data")
    # A file, its products, a copy for each subscriber, and what each of them received.
    expected = iter([1 + 2 + 3 + 3, 1 + 3 + 3 + 3, 1 + 3])
    sent = []

    def settled():
        count = sum(sent) + next(expected)
        wait_until(lambda: len(states := [json.loads(line)["state"] for line in one.type(
            "waybill docs ls --json --limit 500").splitlines()]) == count and set(states) <= {"delivered", "done"})
        sent.append(count - sum(sent))

    said = one.type_all(done=settled)
    assert said[0] == "2 passed\n"
    assert '"price": 49.90' in said[2]  # every digit is kept
    got = {who: sorted(p.read_text() for p in (one.folder / "outbox" / who).glob("*.json"))
           for who in ("shop", "print")}
    atlas = [(EXAMPLES / "master-data" / "tuesday.out.1.json").read_text(),
             '{"sku":"B-1","title":"Atlas","price":49.9,"group":"Books and maps","was":null}']
    assert got["print"] == sorted(atlas)
    assert len(got["shop"]) == 4 and set(atlas) < set(got["shop"])


def test_nightly_batch(reader):
    said = reader("nightly-batch").type_all()
    assert said[0] == "2 passed\n"
    assert said[-1] == "till;amount\nt1;12.50\nt2;3.00\n"


@pytest.mark.smoke
def test_orders_http_to_http(example, receiver):
    node = example("orders-http-to-http")
    identity = send(node, "orders", "order.in.xml")
    wait_for(node, "delivery", lambda: state(node, identity) == "delivered")
    (path, headers, body), = receiver.requests
    assert path == "/in/open"
    assert body == (node.folder / "order.in.xml").read_bytes()
    assert headers["Waybill-Document"] == identity
    assert (headers["Waybill-Sender"], headers["Waybill-Receiver"]) == ("acme", "hub")
    assert headers["Waybill-Type"] == "order"
    assert headers["Idempotency-Key"]


def test_csv_drop_to_folder(example):
    node = example("csv-drop-to-folder", "inbox", "taken", "outbox")
    shutil.copy(node.folder / "shop1-0001.in.csv", node.folder / "inbox/shop1-0001.csv")
    out = node.folder / "outbox/shop1/2026-11-15/shop1-0001.csv"
    wait_for(node, "file", out.exists)
    assert out.read_bytes() == (node.folder / "shop1-0001.in.csv").read_bytes()
    wait_for(node, "taken file", (node.folder / "taken/shop1-0001.csv").exists)
    assert not files_in(node.folder / "inbox")


def test_fan_out(example, receiver):
    node = example("fan-out", "outbox")
    identity = send(node, "sales", "sales.in.csv")
    wait_for(node, "delivery", lambda: state(node, identity) == "delivered")
    want = (node.folder / "sales.in.csv").read_bytes().replace(b";", b",")
    assert [body for _, _, body in receiver.requests] == [want]
    kept, = files_in(node.folder / "outbox")
    assert kept.name == f"{identity}.csv" and kept.read_bytes() == want


def test_dead_letters(example, receiver):
    node = example("dead-letters", "outbox")
    papers = {name: send(node, "papers", name) for name in ("invoice.in.json", "order.in.json")}
    for name, code in (("invoice.in.json", "no_route"), ("order.in.json", "rejected")):
        wait_for(node, "dead letter", lambda: state(node, papers[name]) == "dead")
        assert code in node.cli("dead", "ls").stdout
    fixed = (EXAMPLES / "dead-letters/fixed.yaml").read_text()
    (node.folder / "fixed.yaml").write_text(
        fixed.replace("127.0.0.1:8480", f"127.0.0.1:{receiver.port}"))
    applied = node.cli("apply", "fixed.yaml")
    assert applied.returncode == 0, applied.stderr
    wait_for(node, "delivery", lambda: state(node, papers["invoice.in.json"]) == "delivered")
    kept, = files_in(node.folder / "outbox")
    assert kept.read_bytes() == (node.folder / "invoice.in.json").read_bytes()
    assert state(node, papers["order.in.json"]) == "dead"
    again = node.cli("dead", "retry", "--error", "rejected", "--yes")
    assert again.returncode == 0, again.stderr
    wait_for(node, "delivery", lambda: state(node, papers["order.in.json"]) == "delivered")
    assert [body for _, _, body in receiver.requests] == [
        (node.folder / "order.in.json").read_bytes()]
