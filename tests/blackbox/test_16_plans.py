"""How PostgreSQL carries out our statements when it believes that a table is empty.

Everything passes through these tables, so a vacuum may well find one without rows, and the planner goes
by that until the next.  Whatever it believes, it must look rows up by their keys (src/store/db/sql.h).
"""
import re
import sys
import time

import psycopg
import pytest

from running_node import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import gen_sql  # noqa: E402  pylint: disable=wrong-import-position

pytestmark = [pytest.mark.config("gateways:\n  open: { kind: http, auth: none }\n"), pytest.mark.stores("postgres")]

ROWS = 5000
FILL = {
    "doc": "(num, id, gateway, caller, config, received_us, size, sha256, seg, pos) "
           "SELECT i, '\\x00', 1, 1, 1, 1, 1, '\\x00', 1, 1",
    "delivery": "(num, doc, id, endpoint, system, queue, state, attempts, first_us, due_us, updated_us, status) "
                "SELECT i, i, 'x', 1, 1, 1, 0, 1, 1, 1, 1, 0",
    "task_lease": "SELECT i, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0",
    "task_ready": "SELECT 1, 1, 1, i, 1, 1, 0, 0",
    "task_later": "SELECT i, i, 1, 1, 1, 1, 0, 0",
    "order_open": "SELECT 1, i",
}
# Those that look at a whole table, seldom and on purpose: counts, and what no index answers.
WHOLE = {
    "task_queues", "queue_depths",
    "task_overdue", "job_held",                                     # all leases, as many as nodes hold in memory
    "node_forget", "task_orphans", "task_take_over",                # leases by node: at the end of one
    "task_unrouted",                                                # of a gateway that is removed
    "operate_later_search",                                         # a task that is not where it should be
    "doc_without_task", "delivery_wrong", "restore_unrouted",       # the same, once for a thousand
}
HOT = re.compile(rf"\b({'|'.join(FILL)})\b")
PLANNED = re.compile(r"(SELECT|WITH|INSERT|UPDATE|DELETE|\()\b", re.I)


def planner_settings(reader):
    """What a session of the product is set to, from where it says so."""
    text = (ROOT / "src/store/db/pg_connect.c").read_text()
    found = {}
    for name, value in re.findall(r'\{ "(plan_cache_mode|enable_\w+|jit)", ([^}]*?) \}', text):
        words = re.findall(r'"(\w+)"', value)
        found[name] = words[0 if reader or len(words) == 1 else 1]
    assert {"plan_cache_mode", "enable_seqscan", "enable_hashjoin"} <= set(found)
    return found


def statements():
    """Name, text and number of parameters of what is planned for one of the tables."""
    table = gen_sql.load(sorted((ROOT / "src/store/sql").glob("*.sql")))
    for name, entries in table.items():
        sql = gen_sql.for_dialect(entries, "postgresql")
        if sql and PLANNED.match(sql) and HOT.search(sql):
            yield name, sql, len(next(iter(entries.values()))["types"])


def test_the_catalogue_is_seen():
    names = {name for name, _, _ in statements()}
    assert WHOLE <= names
    assert {"settle_lease_drop", "settle_over", "settle_states", "settle_open", "delivery_move", "intent_leased",
            "order_head", "order_close", "batch_go", "task_claim", "doc_nums_of"} <= names


def leads(c):
    """The first column of each index."""
    return dict(c.execute(
        "SELECT i.relname, pg_get_indexdef(x.indexrelid, 1, true) FROM pg_index x "
        "JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid WHERE t.relname = ANY (%s)",
        (list(FILL),)).fetchall())


def read_whole(plan, lead, above=""):
    """The places of a plan in which one of the tables, or an index of it, is read from its start."""
    kind, index, cond = plan["Node Type"], plan.get("Index Name"), plan.get("Index Cond", "")
    if kind == "Seq Scan" and plan["Relation Name"] in FILL:
        yield f"Seq Scan of {plan['Relation Name']}"
    if index in lead and above != "Limit":     # LIMIT 1 in the order of an index is its first entry
        if not re.search(rf"\(+(ROW\()?{re.escape(lead[index])}(\)* [<>=]|, )", cond):
            yield f"{kind} of {index}, by {cond or 'nothing'}"
    if "ANY (ARRAY[" in plan.get("Filter", "") + plan.get("Join Filter", ""):
        yield f"{kind} of {index}, which is not searched by {plan.get('Filter') or plan['Join Filter']}"
    for below in plan.get("Plans", []):
        yield from read_whole(below, lead, kind)


@pytest.fixture
def emptied(make_node, postgres):
    """A session with the schema of a node, in which the planner believes that there are no rows."""
    node = make_node()
    node.start()
    assert node.stop() == 0
    with psycopg.connect(node.store, autocommit=True) as c:
        for table, rows in FILL.items():
            c.execute(f"INSERT INTO {table} {rows} FROM generate_series(1, {ROWS}) AS i")
            c.execute(f"DELETE FROM {table}")
            vacuum_empty(c, table)
        yield c


def vacuum_empty(c, table):
    """Until it knows that there are no rows: while the server itself analyzes the table, they cannot be removed."""
    until = time.monotonic() + 60
    while True:
        c.execute(f"VACUUM (TRUNCATE false) {table}")
        pages, tuples = c.execute("SELECT relpages, reltuples FROM pg_class WHERE relname = %s", (table,)).fetchone()
        if tuples == 0:
            assert pages > 0, table
            return
        assert time.monotonic() < until, f"{table}: {tuples} rows in {pages} pages"
        time.sleep(0.1)


def vacuum_all(c, table):
    """Until it knows of each page that everybody sees all of it: a snapshot that is older than the rows, such as that
    of a vacuum by the server itself, keeps it from that."""
    until = time.monotonic() + 60
    while True:
        c.execute(f"VACUUM (ANALYZE) {table}")
        pages, seen = c.execute("SELECT relpages, relallvisible FROM pg_class WHERE relname = %s", (table,)).fetchone()
        if seen == pages:
            return
        assert time.monotonic() < until, f"{table}: {seen} of {pages} pages are seen by all"
        time.sleep(0.1)


@pytest.mark.parametrize("reader", [False, True], ids=["writer", "reader"])
def test_rows_are_looked_up_by_their_keys_whatever_the_planner_believes(emptied, reader):
    c, lead = emptied, leads(emptied)
    for name, value in planner_settings(reader).items():
        c.execute(f"SET {name} = {value}")
    slots = dict(c.execute("SELECT family, max(slot) FROM part WHERE slot <> 1000000 GROUP BY family").fetchall())
    wrong = []
    for name, sql, parameters in statements():
        slot = slots[1 if "idem_@SLOT@" in sql else 2] if "@SLOT@" in sql else 0
        c.execute(f"PREPARE p AS {sql.replace('@SLOT@', str(slot))}")
        given = f"({', '.join(['NULL'] * parameters)})" if parameters else ""
        plan = c.execute(f"EXPLAIN (FORMAT JSON) EXECUTE p{given}").fetchone()[0][0]["Plan"]
        c.execute("DEALLOCATE p")
        if name not in WHOLE:
            wrong += [f"{name}: {place}" for place in read_whole(plan, lead)]
    assert not wrong, "\n".join(wrong)


def test_tables_that_fill_again_are_not_cut_off(emptied):
    """Nor would a lock for it stop everybody."""
    c = emptied
    for table in ("doc", "delivery", "task_lease"):
        before, = c.execute("SELECT pg_relation_size(%s)", (table,)).fetchone()
        c.execute(f"VACUUM {table}")
        after, = c.execute("SELECT pg_relation_size(%s)", (table,)).fetchone()
        assert before == after > 0, table


def test_live_documents_are_compared_by_their_size_without_their_rows(emptied):
    """They may lie far apart: with a cold cache each row is a read of its own.  Also by a plan that was made when
    there were none."""
    c = emptied
    sql, = (sql for name, sql, _ in statements() if name == "doc_sizes")
    for name, value in planner_settings(reader=True).items():
        c.execute(f"SET {name} = {value}")
    c.execute(f"PREPARE early AS {sql}")

    def plan(of):
        top = c.execute(f"EXPLAIN (FORMAT JSON, ANALYZE) EXECUTE {of}(1000, 300, 1, 9, 0)").fetchone()[0][0]["Plan"]
        return top["Plans"][0]
    assert (plan("early")["Node Type"], plan("early")["Index Name"]) == ("Index Only Scan", "doc_pkey")
    c.execute(f"INSERT INTO doc {FILL['doc']} FROM generate_series(1, {ROWS}) AS i")
    vacuum_all(c, "doc")
    c.execute(f"PREPARE late AS {sql}")
    for of in ("early", "late"):
        at = plan(of)
        assert (at["Node Type"], at["Index Name"], at["Heap Fetches"]) == ("Index Only Scan", "doc_pkey", 0), of


def test_of_ended_documents_a_search_by_size_reads_the_time_that_is_looked_for(emptied):
    """With a cold cache each row is a read of its own, and so is each page of the index."""
    c, many = emptied, 100_000
    table = gen_sql.load(sorted((ROOT / "src/store/sql").glob("*.sql")))
    slot, = c.execute("SELECT max(slot) FROM part WHERE family = 2 AND slot <> 1000000").fetchone()
    for name, value in planner_settings(reader=True).items():
        c.execute(f"SET {name} = {value}")
    c.execute(f"INSERT INTO done_{slot} SELECT i, '\\x00', 1, 1, 1, 1, 30000, '\\x00', 1, 1, NULL, NULL, NULL, 5, 1, "
              f"0, 0, 0, 0, 0 FROM generate_series(1, {many}) AS i")
    sql = gen_sql.for_dialect(table["done_sizes"], "postgresql").replace("@SLOT@", str(slot))
    c.execute(f"PREPARE sizes AS {sql}")
    middle = many // 2
    for vacuum in (False, True):
        if vacuum:
            vacuum_all(c, f"done_{slot}")
        found = c.execute(f"EXECUTE sizes({middle}, 300, 30000, 30000, {middle - 10})").fetchall()
        assert [num for num, _ in found] == list(range(middle - 1, middle - 11, -1))
        plan = c.execute("EXPLAIN (FORMAT JSON, ANALYZE, BUFFERS) "
                         f"EXECUTE sizes({middle}, 300, 30000, 30000, {middle - 10})").fetchone()[0][0]["Plan"]
        assert rows_read(plan, f"done_{slot}_by_size") == 10
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= (7 if vacuum else 20)


def rows_read(plan, index):
    """By all passes over an index."""
    here = plan["Actual Rows"] * plan["Actual Loops"] + plan.get("Rows Removed by Filter", 0)
    return (here if plan.get("Index Name") == index else 0) + sum(rows_read(p, index) for p in plan.get("Plans", []))


def test_vacuums_are_calm_and_not_for_what_goes_with_its_table(emptied):
    """One at full speed keeps those waiting who commit."""
    c = emptied
    options = dict(c.execute("SELECT relname, reloptions FROM pg_class WHERE relkind = 'r'").fetchall())
    for name in ("payload_0", "payload_piece_0", *(n for n in options if re.fullmatch(r"payload_(piece_)?\d+", n))):
        assert "autovacuum_vacuum_cost_delay=10" in options[name], name
    days = [name for name in options if re.fullmatch(r"done_\d+", name) and name != "done_1000000"]
    assert days
    for name in days:
        assert {"autovacuum_vacuum_scale_factor=100", "autovacuum_analyze_scale_factor=1",
                "autovacuum_vacuum_cost_delay=10"} <= set(options[name] or []), name
