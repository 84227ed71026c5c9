"""The private PostgreSQL cluster that other tests stand on."""
import os
import pathlib
import subprocess
import sys
import time

import psycopg
import pytest

HARNESS = pathlib.Path(__file__).parents[1] / "harness"
sys.path.insert(0, str(HARNESS))
import postgres  # noqa: E402


@pytest.fixture(scope="module", name="pg")
def fixture_pg():
    with postgres.Cluster() as cluster:
        yield cluster


def test_answers_on_its_own_socket_with_fsync_on(pg):
    assert pg.port < 32768
    assert pg.sql("SHOW fsync") == "on" and pg.sql("SHOW synchronous_commit") == "on"
    assert pg.sql("SHOW listen_addresses") == ""
    with psycopg.connect(pg.url()) as c:
        assert c.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(postgres.PostgresError, match="syntax"):
        pg.sql("SELEKT")


@pytest.mark.parametrize("end", ["stop", "stop_immediate", "kill_hard"])
def test_committed_rows_outlive_every_end(pg, end):
    name = "t_" + end
    c = psycopg.connect(pg.create_database(name), autocommit=True)
    c.execute("CREATE TABLE t (n int)")
    c.execute("INSERT INTO t VALUES (1)")
    backend = c.info.backend_pid
    getattr(pg, end)()
    assert not postgres.is_running(backend)
    assert not pg.is_ready()
    pg.start()
    assert pg.sql("SELECT n FROM t", name) == "1"
    pg.drop_database(name)


def test_freeze_stops_answers_until_thaw(pg):
    with psycopg.connect(pg.conninfo(), autocommit=True) as c:
        pg.freeze()
        query = subprocess.Popen(
            ["psql", "-X", "-A", "-t", "-d", pg.conninfo(), "-c", "SELECT 5"],
            stdout=subprocess.PIPE, text=True)
        time.sleep(0.2)
        assert query.poll() is None
        pg.thaw()
        assert query.communicate(timeout=20)[0].strip() == "5"
        assert c.execute("SELECT 1").fetchone() == (1,)


def test_nothing_stays_behind():
    cluster = postgres.Cluster()
    pid = cluster.process.pid
    cluster.close()
    assert not postgres.is_running(pid)
    assert not os.path.exists(cluster.directory) and not os.path.exists(cluster.socket_dir)


def test_ends_when_its_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys, os, signal\n"
        f"sys.path.insert(0, {str(HARNESS)!r})\n"
        "import postgres\n"
        "c = postgres.Cluster()\n"
        "print(c.process.pid, c.directory, c.socket_dir, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n")
    said = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=False)
    pid, directory, socket_dir = said.stdout.split()
    deadline = time.monotonic() + 10
    while postgres.is_running(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not postgres.is_running(int(pid))
    subprocess.run(["rm", "-rf", directory, socket_dir], check=True)
