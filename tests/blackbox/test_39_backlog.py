"""What piles up: the log of the SQLite database while another program reads it."""
import contextlib
import sqlite3

import pytest

from wire import wait_until

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


@pytest.mark.proves("XC7")
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
