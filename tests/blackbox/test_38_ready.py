"""Ready means that it can commit: /readyz follows the last commits, and says why not."""
import contextlib
import http.client
import sqlite3
import time

import pytest

from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
PATIENCE = 60


@pytest.fixture(scope="module")
def postgres(own_postgres):
    return own_postgres


def readiness(node):
    """The status, and all reasons in one text."""
    answer = node.request("GET", "/readyz")
    return answer.status, " / ".join(answer.json["reasons"])


def await_not_ready(node, word):
    """Waits until it is not ready for a reason with this word."""
    wait_until(lambda: readiness(node)[0] == 503 and word in readiness(node)[1], PATIENCE, f"a reason with {word!r}")


def await_ready(node):
    wait_until(lambda: readiness(node)[0] == 200, PATIENCE, "readiness")


@contextlib.contextmanager
def locked(node, postgres):
    """Somebody else has the database: a shell with an open transaction."""
    if node.store is None:
        with contextlib.closing(sqlite3.connect(node.data / "waybill.db", isolation_level=None)) as shell:
            shell.execute("BEGIN IMMEDIATE")
            yield
            shell.execute("ROLLBACK")
        return
    import psycopg  # pylint: disable=import-outside-toplevel
    with psycopg.connect(postgres.conninfo(node.store.rpartition("/")[2])) as shell:
        shell.execute("LOCK TABLE doc IN ACCESS EXCLUSIVE MODE")
        yield
        shell.rollback()


@BOTH
@pytest.mark.proves("XC5", "IN1")
def test_a_locked_database_is_not_ready(node, request):
    """Also when nobody sends: a balancer asks before it does.  Of what is refused meanwhile nothing is stored."""
    refused = 'waybill_documents_refused_total{gateway="open"}'
    await_ready(node)
    with locked(node, request.getfixturevalue("postgres") if node.store else None):
        wait_until(lambda: readiness(node)[0] == 503, PATIENCE, "refusal")
        assert node.request("GET", "/healthz").status == 200
        wait_until(lambda: node.post("open", b"x").status == 503, PATIENCE, "503 for a document")
        assert "commit" in readiness(node)[1] and node.metrics()[refused] >= 1
        node.wait_event("store.closed", timeout=PATIENCE)
    await_ready(node)
    assert node.post("open", b"x").status == 202
    node.wait_event("store.open", timeout=PATIENCE)
    assert len(node.documents()) == 1


@pytest.mark.proves("XC5")
def test_the_reason_of_the_last_commit(node):
    """What the database said is what /readyz says."""
    with locked(node, None):
        await_not_ready(node, "locked")
    await_ready(node)


@POSTGRES
@pytest.mark.proves("XC5")
def test_a_database_that_is_down_at_start(make_node, postgres):
    """The port is open, /healthz answers, one line in the log; when it is up the node is."""
    node = make_node()
    postgres.stop()
    try:
        node.launch()
        waits = node.wait_event("store.wait", timeout=PATIENCE)
        node.url = "http://" + waits["listen"]
        assert node.request("GET", "/healthz").status == 200
        status, why = readiness(node)
        assert status == 503 and "cannot be reached" in why
        refused = node.post("open", b"x")
        assert refused.status == 503 and refused.json["error"]["code"] == "store_unreachable"
        assert int(refused.headers["Retry-After"]) >= 1
        said = len(node.events)
        time.sleep(3)  # several attempts
        assert len(node.events) == said, "one line, however long it takes"
    finally:
        postgres.start()
    node.await_ready()
    assert node.url == "http://" + waits["listen"]
    await_ready(node)
    assert node.post("open", b"x").status == 202


@POSTGRES
def test_a_stop_while_the_database_is_down(make_node, postgres):
    node = make_node()
    postgres.stop()
    try:
        node.launch()
        node.wait_event("store.wait", timeout=PATIENCE)
        assert node.stop() == 0
    finally:
        postgres.start()


@POSTGRES
@pytest.mark.proves("XC5")
def test_a_database_that_goes_down(node, postgres):
    """Not ready while it is away, ready again by itself."""
    postgres.stop_immediate()
    try:
        await_not_ready(node, "")
        with contextlib.suppress(http.client.HTTPException):
            assert node.post("open", b"x").status == 503
    finally:
        postgres.start()
    await_ready(node)
    assert node.post("open", b"x").status == 202
