"""Databases of others as places of tables: what every driver has to do (tests/table/driver.c), on SQLite, PostgreSQL and
MariaDB; and what SQLite's own program thinks of a file that was written to."""
import itertools
import re
import sqlite3
import subprocess

import pytest

import mariadb
import postgres as pg_harness
from running_node import BINARY

SECONDS = 300
OURS = "waybill"


def run_driver(kind, address):
    """All checks of a driver; returns what it printed."""
    got = subprocess.run([BINARY.parent / "table_driver", kind, address],
                         capture_output=True, text=True, timeout=SECONDS, check=False)
    assert got.returncode == 0, got.stdout + got.stderr
    assert got.stdout.splitlines()[-1].endswith(" passed, 0 failed"), got.stdout
    return got.stdout


def sqlite_schema(path):
    """As .schema prints it."""
    db = sqlite3.connect(path)
    try:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        return "\n".join(sql for (sql,) in db.execute("select sql from sqlite_schema where sql is not null"))
    finally:
        db.close()


@pytest.mark.smoke
def test_sqlite(tmp_path):
    path = tmp_path / "shop.db"
    db = sqlite3.connect(path)
    db.execute("pragma journal_mode = wal")
    db.close()
    run_driver("sqlite", str(path))
    schema = sqlite_schema(f"{path}.before")  # the last check puts another file in its place
    assert "driver_types" in schema and OURS not in schema


def test_postgres():
    with pg_harness.Cluster(settings=pg_harness.UNSYNCED) as server:
        run_driver("postgres", server.create_database("shop"))
        schema = subprocess.run(["pg_dump", "-s", server.conninfo("shop")],
                                capture_output=True, text=True, check=True).stdout
    assert "driver_types" in schema and OURS not in schema.replace(f"OWNER TO {pg_harness.OWNER}", "").replace(
        f"Owner: {pg_harness.OWNER}", "")


def plans_of_copies(log):
    """The statement and the plan of each COPY, as auto_explain writes them."""
    for text in log.split("Query Text: ")[1:]:
        statement, _, plan = text.partition("\n")
        if statement.startswith("COPY "):
            yield statement, "\n".join(itertools.takewhile(lambda line: line.startswith("\t"), plan.split("\n")))


def test_postgres_reads_rows_by_the_index():
    with pg_harness.Cluster(settings={**pg_harness.UNSYNCED, "session_preload_libraries": "auto_explain",
                                      "auto_explain.log_min_duration": "0"}) as server:
        run_driver("postgres", server.create_database("shop"))
        with open(server.log_path, encoding="utf-8") as log:
            plans = list(plans_of_copies(log.read()))
    bounded = set()
    for statement, plan in plans:
        table = re.search(r'FROM "public"\.(".*?") t ', statement)[1]
        assert "Index Scan" in plan and "Sort" not in plan and "Filter" not in plan, (statement, plan)
        bounds = [word for word in ("after", "upto") if f"waybill.{word}_1" in statement]
        for word in bounds:
            assert f"waybill.{word}_1" in plan.partition("Index Cond:")[2], (statement, plan)
        if len(bounds) == 2:
            bounded.add(table)
    assert bounded >= {f'"driver_{name}"' for name in ("types", "pairs", "bytes", "uuids", "times")}, bounded


def test_mariadb():
    with mariadb.Server() as server:
        server.sql(f"grant process on *.* to {mariadb.USER}@'127.0.0.1'")  # which transactions are open
        run_driver("mariadb", f"mariadb://{mariadb.USER}:{mariadb.PASSWORD}@127.0.0.1:{server.port}/{mariadb.DATABASE}")
        names = server.sql("select table_name from information_schema.tables where table_schema = database() union all "
                           "select trigger_name from information_schema.triggers where trigger_schema = database() "
                           "union all select routine_name from information_schema.routines "
                           "where routine_schema = database()")
    assert "driver_types" in names and OURS not in names
