"""What piles up: the log of the SQLite database while another program reads it; documents behind a hold."""
import contextlib
import json
import pathlib
import re
import sqlite3
import sys

import pytest

from wire import at_once, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

MIB = 1 << 20
MOST = 10 * MIB  # above the size at which the log is moved
PATIENCE = 60


def log_bytes(node):
    return (node.data / "waybill.db-wal").stat().st_size


def send_until(node, true):
    """Documents until it is so; gives the last answer."""
    answers = []

    def look():
        answers.extend(node.post("open", bytes(2000)) for _ in range(20))
        return true(answers[-1])

    wait_until(look, PATIENCE, "it")
    return answers[-1]


@pytest.mark.node_options("limits: { disk_reserve: 0 }")
def test_the_log_is_bounded_while_another_program_reads(make_node):
    """A shell with an open transaction keeps the log from being moved: it grows to its limit and no further, and
    /readyz says why; it shrinks when the shell has gone."""
    node = make_node(environment={"WAYBILL_TEST_LOG_MOST": str(MOST)})
    node.start()
    node.accept("open", b"first")
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db", isolation_level=None)) as shell:
        shell.execute("BEGIN")
        shell.execute("SELECT count(*) FROM doc").fetchone()
        refused = send_until(node, lambda answer: answer.status == 503)
        assert refused.headers["Retry-After"]
        wait_until(lambda: node.request("GET", "/readyz").status == 503 and
                   "reads waybill.db" in node.request("GET", "/readyz").json["reasons"][-1], PATIENCE, "a reason")
        full = log_bytes(node)
        assert full < 3 * MOST
        for _ in range(50):
            assert node.post("open", bytes(2000)).status == 503
        assert log_bytes(node) < full + MIB
    wait_until(lambda: node.request("GET", "/readyz").status == 200, PATIENCE, "readiness")
    send_until(node, lambda answer: answer.status == 202)


def test_a_large_log_shrinks_when_the_reader_has_gone(node):
    """Beyond 16 MiB it is cut when it begins anew."""
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db", isolation_level=None)) as shell:
        shell.execute("BEGIN")
        shell.execute("SELECT count(*) FROM doc").fetchone()
        send_until(node, lambda _: log_bytes(node) > 18 * MIB)
    send_until(node, lambda _: log_bytes(node) <= 17 * MIB)


# ---- documents behind a hold --------------------------------------------------------------------

HELD = 400
FEW = 8  # reads beyond one for each claim
HELD_CONFIG = """\
systems:
  hub: {{ limits: {{ concurrency: 8 }} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "json:/to" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", timeout: 30s }}
routes:
  - {{ name: all, do: [ {{ deliver: api }} ] }}
"""


@pytest.fixture
def postgres(own_postgres):
    """Its log is told to show statements."""
    return own_postgres


@contextlib.contextmanager
def told_statements(server):
    """The statements that the server runs meanwhile, as lines of its log."""
    said = []
    server.sql("ALTER SYSTEM SET log_min_duration_statement = 0")
    server.sql("SELECT pg_reload_conf()")
    wait_until(lambda: server.sql("SHOW log_min_duration_statement").strip() == "0", PATIENCE, "the setting")
    before = pathlib.Path(server.log_path).stat().st_size
    try:
        yield said
    finally:
        with open(server.log_path, "rb") as log:
            log.seek(before)
            said += log.read().decode(errors="replace").splitlines()
        server.sql("ALTER SYSTEM RESET log_min_duration_statement")
        server.sql("SELECT pg_reload_conf()")


@pytest.mark.stores("postgres")
def test_a_backlog_is_read_many_documents_at_a_time(make_node, postgres):
    """Behind a hold documents wait in the store.  When it ends, what a claim brings is read together: one trip to the
    server for each document would make draining several times slower than accepting."""
    with Receiver() as receiver:
        node = make_node(config=HELD_CONFIG.format(url=receiver.url("")))
        node.start()
        placed = json.loads(node.cli("hold", "add", "hub", "--until", "1h", "--reason", "a backlog", "--json").stdout)
        at_once(8, lambda _: [node.accept("in", json.dumps({"to": "hub"})) for _ in range(HELD // 8)])
        wait_until(lambda: node.metrics()['waybill_deliveries_total{outcome="parked"}'] >= HELD, PATIENCE, "what waits")
        with told_statements(postgres) as said:
            assert node.cli("hold", "end", placed["hold"]["id"]).returncode == 0
            receiver.wait_for(HELD, PATIENCE)
        assert len(set(receiver.keys())) == HELD
        claims = [line for line in said if re.search(r"execute .*: WITH .*INSERT INTO task_lease", line)]
        for what in (r"FROM .*\bdelivery v\b", r"\bpayload_\d+"):
            reads = [line for line in said if re.search(rf"execute .*: SELECT .*{what}", line)]
            assert 0 < len(reads) <= len(claims) + FEW, reads[:3]
