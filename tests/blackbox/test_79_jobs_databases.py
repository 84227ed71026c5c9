"""Jobs of kind `check`: what should not be there in databases is found, told with examples until it is gone, and what
cannot be looked at is never fine."""
import datetime
import json

import pytest

from links import Databases
from test_79_jobs_check import alerts, await_alerts, log_of, mishaps
from wire import wait_until

SECONDS = 120
KINDS = pytest.mark.parametrize("kind", ["postgres", "sqlite", "mariadb"])
QUICK = {"WAYBILL_TEST_JOB_CHECK_MS": "200"}
JOB = "clean"
HEAD = "kind: check, at: \"0 0 1 1 *\", log: all, retry: { for: 0s }, suspend: never"


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def utc(**ago):
    """A point in time as text, without a zone."""
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**ago)).strftime("%Y-%m-%d %H:%M:%S")


class Checked:
    """A node with a job that checks databases, by name."""

    def __init__(self, make_node, bases, checks, keys="", database="base"):
        self.bases, self.keys, self.database = bases, keys, database
        folders = sorted({str(b.path.parent) for b in bases.values() if b.kind == "sqlite"})
        self.node = make_node(config=self.config(checks), environment=QUICK, options=f"folders: {json.dumps(folders)}" if folders else "")
        self.start()

    def start(self):
        """The record of a job follows the configuration a moment later."""
        self.node.start()
        wait_until(lambda: [j["name"] for j in self.node.graphql("{ jobs { items { name } } }")["jobs"]["items"]] == [JOB], SECONDS)

    def config(self, checks):
        return ("databases:\n" + "".join(f"  {name}: {base.settings()}\n" for name, base in self.bases.items())
                + f"jobs:\n  {JOB}: {{ {HEAD}, database: {self.database}{self.keys}, checks: [ {', '.join(checks)} ] }}\n")

    def apply(self, *checks):
        path = self.node.folder / "next.yaml"
        path.write_text(self.config(checks))
        got = self.node.cli("apply", "--yes", path)
        assert got.returncode == 0, got.stdout + got.stderr

    def run(self, want="done"):
        """One run: what it says."""
        before = {r["run"] for r in log_of(self.node, JOB)}
        got = self.node.cli("jobs", "run", JOB)
        assert got.returncode == 0, got.stdout + got.stderr

        def ended():
            return [r for r in log_of(self.node, JOB) if r["run"] not in before and r["outcome"] in ("done", "failed")]
        wait_until(lambda: ended(), SECONDS, "the run ends")
        run = ended()[0]
        assert run["outcome"] == want, run
        return run["message"]

    def state(self):
        return json.loads(self.node.graphql("query($n: String!) { job(name: $n) { states { text } } }", n=JOB)["job"]["states"][0]["text"])


def make_shop(base):
    """Customers, orders and their lines, and what is to be sent."""
    time_type = {"postgres": "timestamptz", "sqlite": "datetime", "mariadb": "datetime"}[base.kind]
    key = "varchar(60)" if base.kind == "mariadb" else "text"
    end = base.suffix()
    base.run(f"create table customer (id bigint primary key, email {key}, country {key}){end}",
             f"create table orders (id bigint primary key, buyer bigint){end}",
             f"create table order_line (id bigint primary key, order_id bigint){end}",
             f"create table outbox (id bigint primary key, created_at {time_type}, sent_at {time_type}){end}",
             "insert into customer values (1, 'a@x', 'de'), (2, 'b@x', 'de'), (3, null, 'de'), (4, null, 'fr')",
             "insert into orders values (10, 1), (11, 2)",
             "insert into order_line values (100, 10), (101, 11), (102, null)")
    base.run(("insert into outbox values (1, ?, null)", utc(minutes=5)), ("insert into outbox values (2, ?, ?)", utc(days=3), utc(days=1)))


ALL = ("{ duplicates: customer, columns: [email] }", "{ orphans: order_line, columns: order_id, in: orders }",
       "{ orphans: orders, columns: [buyer], in: customer, keys: [id] }",
       "{ older: outbox, column: created_at, than: 2h, empty: [sent_at] }", "{ counts: customer, with: other, to: clients, apart: 1 }")


@KINDS
@pytest.mark.smoke
@pytest.mark.stores("sqlite", "postgres")
def test_what_should_not_be_there_is_told_until_it_is_gone(databases, make_node, kind):
    base, other = databases.of(kind), databases.of("sqlite" if kind != "sqlite" else "postgres")
    make_shop(base)
    other.run("create table clients (id bigint primary key)", "insert into clients values (1), (2), (3)")
    checked = Checked(make_node, {"base": base, "other": other}, ALL)
    said = checked.run()
    assert said.startswith("5 checks, nothing found: duplicates: customer (email); orphans: order_line (order_id) in orders; "), said
    assert checked.state()["found"] == 0 and [c["count"] for c in checked.state()["checks"]] == [0, 0, 0, 0, 4]
    assert alerts(checked.node, "check_found") == [] and mishaps(checked.node, "check_found") == {}
    base.run("insert into customer values (5, 'a@x', 'it'), (6, 'a@x', 'it')", "insert into order_line values (103, 77), (104, 78)",
             "update outbox set sent_at = null")
    said = checked.run()
    assert said.startswith("4 of 5 checks found something: "), said
    assert "duplicates: customer (email): 1 values, at most 0: email = a@x (3 rows)" in said
    assert "orphans: order_line (order_id) in orders: 2 rows, at most 0: id = 103, order_id = 77; id = 104, order_id = 78" in said
    assert "older: outbox (created_at): 1 rows, at most 0: id = 2, created_at = " in said
    assert "counts: customer with clients of other: 6 and 3 rows, at most 1 apart" in said
    await_alerts(checked.node, "check_found", [JOB])
    wait_until(lambda: mishaps(checked.node, "check_found") == {JOB: 1}, SECONDS)
    message = [a for a in checked.node.graphql("{ alerts { code message } }")["alerts"] if a["code"] == "check_found"][0]["message"]
    assert "a@x" in message
    found = checked.state()["checks"]
    assert [c["found"] for c in found] == [True, True, False, True, True]
    assert found[0]["examples"] == ["email = a@x (3 rows)"] and (found[4]["count"], found[4]["other"]) == (6, 3)
    base.run("delete from customer where id > 4", "delete from order_line where id > 102", "delete from outbox where id = 2")
    assert "nothing found" in checked.run()
    await_alerts(checked.node, "check_found", [])
    wait_until(lambda: mishaps(checked.node, "check_found") == {JOB: 1}, SECONDS)


@KINDS
def test_so_much_may_be_there_and_examples_are_few(databases, make_node, kind):
    base = databases.of(kind)
    make_shop(base)
    base.run(*[f"insert into order_line values ({n}, {n})" for n in range(1000, 1020)])
    one = "{{ orphans: order_line, columns: order_id, in: orders, most: {} }}"
    checked = Checked(make_node, {"base": base}, [one.format(20)])
    assert "nothing found" in checked.run() and checked.state()["checks"][0]["count"] == 20
    checked.apply(one.format(19))
    assert ": 20 rows, at most 19: " in checked.run() and len(checked.state()["checks"][0]["examples"]) == 5
    checked.keys = ", examples: 0"
    checked.apply(one.format(19))
    said = checked.run()
    assert said.endswith(": 20 rows, at most 19") and checked.state()["checks"][0]["examples"] == []


@KINDS
def test_counting_ends_somewhere(databases, make_node, kind):
    base = databases.of(kind)
    make_shop(base)
    connection = base.connect()
    connection.cursor().executemany(f"insert into order_line values ({base.mark}, {base.mark})", [(n, n) for n in range(1000, 11005)])
    connection.commit()
    connection.close()
    checked = Checked(make_node, {"base": base}, ["{ orphans: order_line, columns: order_id, in: orders }"])
    assert ": more than 10000 rows, at most 0: " in checked.run()
    seen = checked.state()["checks"][0]
    assert (seen["count"], seen["more"]) == (10000, True)


@KINDS
def test_only_some_rows_count(databases, make_node, kind):
    base = databases.of(kind)
    make_shop(base)
    base.run("insert into customer values (5, 'a@x', 'it'), (7, 'c@x', 'fr'), (8, 'c@x', 'fr')")
    checked = Checked(make_node, {"base": base}, ["{ duplicates: customer, columns: [email], where: { country: de } }",
                                                  "{ duplicates: customer, columns: [email, country], where: { country: fr } }",
                                                  "{ counts: customer, with: base, to: orders, where: { id: 10 }, apart: 0 }",
                                                  "{ duplicates: customer, columns: [country], empty: [email] }"])
    said = checked.run()
    assert said.startswith("2 of 4 checks found something: ")
    assert "email = c@x, country = fr (2 rows)" in said and "0 and 1 rows" in said, said


@KINDS
def test_names_and_values_of_others_change_nothing(databases, make_node, kind):
    """Names are quoted, values are parameters, and what is shown is short and clean."""
    base = databases.of(kind)
    table, column, key = 'od"d `t\'a; --', 'c"o`l\'; --', "varchar(500)" if kind == "mariadb" else "text"
    base.run(f"create table {base.quote(table)} (id bigint primary key, {base.quote(column)} {key}){base.suffix()}")
    rows = ["'; drop table x; --", "x" * 400, "tab\tand\x1bescape", "𝄞ä"]
    for n, value in enumerate(rows * 2):
        base.run((f"insert into {base.quote(table)} values (?, ?)", n, value))
    quoted, named = json.dumps(table), json.dumps(column)
    checked = Checked(make_node, {"base": base}, [f"{{ duplicates: {quoted}, columns: [{named}] }}",
                                                  f"{{ duplicates: {quoted}, columns: [{named}], where: {{ {named}: \"'; drop table x; --\" }} }}"])
    checked.run()
    first, second = checked.state()["checks"]
    assert first["count"] == 4 and second["count"] == 1
    assert {e.removeprefix(f"{column} = ") for e in first["examples"]} == {
        "'; drop table x; -- (2 rows)", "x" * 60 + "... (2 rows)", "tab?and?escape (2 rows)", "𝄞ä (2 rows)"}


@KINDS
def test_what_cannot_be_checked_is_never_fine(databases, make_node, kind):
    """What is found beside it is told all the same."""
    base = databases.of(kind)
    make_shop(base)
    base.run("insert into customer values (5, 'a@x', 'it')")
    checked = Checked(make_node, {"base": base}, ["{ duplicates: customer, columns: [email] }", "{ duplicates: clients, columns: [email] }",
                                                  "{ orphans: order_line, columns: [nobody], in: orders }",
                                                  "{ older: customer, column: id, than: 1d }",
                                                  "{ duplicates: customer, columns: [email], where: { id: abc } }"])
    said = checked.run("failed")
    assert said.startswith("4 of 5 checks could not be made: duplicates: clients (email): database base: "), said
    assert "name a table that is there" in said and "has no column nobody; it has id, order_id; correct the check" in said
    assert "and no date or point in time" in said
    wait_until(lambda: mishaps(checked.node, "check_found") == {JOB: 1} and JOB in mishaps(checked.node, "job_failed"), SECONDS)
    checked.apply("{ duplicates: customer, columns: [email] }", "{ duplicates: clients, columns: [email] }")
    said = checked.run("failed")
    assert said.endswith(". 1 of 2 checks found something: duplicates: customer (email): 1 values, at most 0: email = a@x (2 rows)"), said


def test_no_account_no_right_and_no_server(databases, make_node):
    base, maria = databases.of("postgres"), databases.of("mariadb")
    make_shop(base)
    make_shop(maria)
    base.run("create role reader login password 'open'", "grant select on orders to reader")
    one = "{ duplicates: customer, columns: [email] }"
    checked = Checked(make_node, {"base": base}, [one])

    class Elsewhere:
        kind = "postgres"

        def __init__(self, dsn):
            self.dsn = dsn

        def settings(self):
            return f"{{ kind: {self.kind}, dsn: \"{self.dsn}\", connect_timeout: 2s, timeout: 2s }}"

    checked.bases["base"] = Elsewhere(f"{base.conninfo} user=reader password=open")
    checked.apply(one)
    said = checked.run("failed")
    assert "customer" in said and "let the account read it (SELECT)" in said, said
    checked.bases["base"] = Elsewhere("postgres://hub:wrong@127.0.0.1:1/nothing")
    checked.apply(one, "{ orphans: order_line, columns: order_id, in: orders }")
    said = checked.run("failed")
    assert said.startswith("2 of 2 checks could not be made: duplicates: customer (email): database base: ") and "whether it runs" in said, said
    assert "hub:wrong" not in said
    checked.bases["base"] = type("Maria", (Elsewhere,), {"kind": "mariadb"})(f"mariadb://hub:wrong@127.0.0.1:{maria.server.port}/{maria.name}")
    checked.apply(one)
    assert "Access denied" in checked.run("failed")
    checked.bases["base"] = maria
    checked.apply(one)
    assert "nothing found" in checked.run()


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_lock_or_a_slow_answer_is_no_answer(databases, make_node, kind):
    base = databases.of(kind)
    make_shop(base)

    class Hasty:
        kind = base.kind

        @staticmethod
        def settings():
            return base.settings().replace(" }", ", timeout: 2s }")

    checked = Checked(make_node, {"base": Hasty()}, ["{ duplicates: customer, columns: [email] }"])
    holder = base.connect()
    try:
        holder.cursor().execute("lock table customer in access exclusive mode" if kind == "postgres" else "lock tables customer write")
        said = checked.run("failed")
        assert "1 of 1 check could not be made" in said and "database base" in said, said
    finally:
        holder.close()
    assert "nothing found" in checked.run()


def test_a_statement_that_takes_too_long_is_ended_by_its_server(databases, make_node):
    base = databases.of("mariadb")
    base.run("create table big (id bigint primary key, name longtext) engine=InnoDB",
             "insert into big select seq, concat(repeat('x', 200), md5(seq)) from seq_1_to_400000")

    class Hasty:
        kind = "mariadb"

        @staticmethod
        def settings():
            return base.settings().replace(" }", ", timeout: 1s }")

    checked = Checked(make_node, {"base": Hasty()}, ["{ duplicates: big, columns: [name] }", "{ counts: big, with: base, where: { id: 7 }, to: big2 }"])
    base.run("create table big2 (id bigint primary key) engine=InnoDB", "insert into big2 values (7)")
    said = checked.run("failed")
    assert "duplicates: big (name): database base: " in said and "raise `timeout` of the database" in said, said
    assert not [p for p in base.ask("show processlist") if "big" in str(p[7]) and "processlist" not in str(p[7])]


def test_a_file_without_an_index_that_is_too_large_is_not_sorted(databases, make_node):
    base = databases.of("sqlite")
    base.run("create table wide (id integer primary key, name text)",
             "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into wide "
             "select i, printf('%d', i) || hex(zeroblob(25000)) from n")
    checked = Checked(make_node, {"base": base}, ["{ duplicates: wide, columns: [name] }"])
    said = checked.run("failed")
    assert "no index that begins with these columns" in said and "make such an index" in said, said
    base.run("create index by_name on wide (name)")
    assert "nothing found" in checked.run()


def test_times_of_a_file_are_texts(databases, make_node):
    base = databases.of("sqlite")
    base.run("create table t (id integer primary key, at text, day date, moment timestamptz)")
    now = datetime.datetime.now(datetime.timezone.utc)
    base.run(("insert into t values (1, ?, ?, ?)", utc(hours=5), (now - datetime.timedelta(days=9)).strftime("%Y-%m-%d"), utc(hours=5) + "Z"))
    rules = ["{ older: t, column: at, than: 4h }", "{ older: t, column: at, than: 6h }", "{ older: t, column: day, than: 7d }",
             "{ older: t, column: moment, than: 4h }", "{ older: t, column: moment, than: 6h }",
             "{ older: t, column: at, than: 6h, zone: Asia/Tokyo }", "{ older: t, column: at, than: 8h, zone: America/New_York }"]
    checked = Checked(make_node, {"base": base}, rules)
    checked.run()
    assert [c["found"] for c in checked.state()["checks"]] == [True, False, True, True, False, True, False]
    base.run("insert into t values (2, 'yesterday', null, null)")
    assert "has values that are no times as text" in checked.run("failed")


def test_tables_of_one_database_are_compared(databases, make_node):
    base = databases.of("postgres")
    base.run("create table a (id bigint primary key)", "create table b (id bigint primary key)", "insert into a select generate_series(1, 10)",
             "insert into b select generate_series(1, 12)")
    checked = Checked(make_node, {"base": base}, ["{ counts: a, with: base, to: b }"])
    assert "10 and 12 rows, at most 0 apart" in checked.run()
    base.run("insert into a values (11), (12)")
    assert "nothing found" in checked.run()


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_a_check_that_is_told_to_stop_ends_and_says_nothing_is_fine(databases, make_node, kind):
    base = databases.of(kind)
    make_shop(base)
    checked = Checked(make_node, {"base": base}, ["{ duplicates: customer, columns: [email] }"])
    if kind == "sqlite":
        base.run("pragma journal_mode = delete")
    holder = base.connect()
    try:
        holder.execute("lock table customer in access exclusive mode" if kind == "postgres" else "begin exclusive")
        assert checked.node.cli("jobs", "run", JOB).returncode == 0
        wait_until(lambda: checked.node.graphql("query($n: String!) { job(name: $n) { state } }", n=JOB)["job"]["state"] == "running", SECONDS)
        assert checked.node.cli("jobs", "cancel", JOB).returncode == 0
        wait_until(lambda: log_of(checked.node, JOB) and log_of(checked.node, JOB)[0]["outcome"] not in ("running", "done"), SECONDS)
        wait_until(lambda: checked.node.graphql("query($n: String!) { job(name: $n) { state } }", n=JOB)["job"]["state"] == "scheduled", SECONDS)
    finally:
        holder.close()
    assert mishaps(checked.node, "check_found") == {}
    assert "nothing found" in checked.run()


@pytest.mark.stores("sqlite", "postgres")
def test_what_was_found_is_known_after_a_restart_and_goes_with_its_job(databases, make_node):
    base = databases.of("sqlite")
    make_shop(base)
    base.run("insert into customer values (5, 'a@x', 'it')")
    checked = Checked(make_node, {"base": base}, ["{ duplicates: customer, columns: [email] }"])
    checked.run()
    await_alerts(checked.node, "check_found", [JOB])
    wait_until(lambda: mishaps(checked.node, "check_found") == {JOB: 1}, SECONDS)
    checked.node.stop()
    checked.start()
    await_alerts(checked.node, "check_found", [JOB])
    assert mishaps(checked.node, "check_found") == {JOB: 1}
    path = checked.node.folder / "next.yaml"
    path.write_text("jobs: {}\n")
    assert checked.node.cli("apply", "--yes", path).returncode == 0
    await_alerts(checked.node, "check_found", [])


def test_an_address_is_a_secret(databases, make_node):
    base = databases.of("postgres")
    make_shop(base)
    one = "{ duplicates: customer, columns: [email] }"
    checked = Checked(make_node, {"base": base}, [one])
    got = checked.node.cli("secret", "add", "shop", stdin=f"{base.conninfo} password=hush\n")
    assert got.returncode == 0, got.stdout + got.stderr
    checked.bases["base"] = type("Hidden", (), {"kind": "postgres", "settings": staticmethod(lambda: "{ kind: postgres, dsn: secret:shop }")})
    checked.apply(one)
    assert "nothing found" in checked.run()
    base.run("alter table customer rename to gone")
    assert "there is no table" in checked.run("failed")
    assert all("hush" not in json.dumps(e) for e in checked.node.events)


def test_as_many_checks_and_examples_as_may_be(databases, make_node):
    """What is kept and told of them is cut, and nothing breaks."""
    base = databases.of("sqlite")
    column = "c\"" * 25
    base.run(f"create table t (id integer primary key, {base.quote(column)} text)")
    for n in range(40):
        base.run((f"insert into t values (?, ?)", n, f"{n // 2}" + "\"\\" * 100))
    rule = f"{{ duplicates: t, columns: [{json.dumps(column)}] }}"
    checked = Checked(make_node, {"base": base}, [rule] * 50, keys=", examples: 10")
    assert checked.run().startswith("50 of 50 checks found something: duplicates: t (")
    state = checked.state()
    assert state["found"] == 50 and len(state["checks"]) in (0, 50)
    await_alerts(checked.node, "check_found", [JOB])
    assert len(checked.node.cli("jobs", "log", JOB, "--json").stdout) > 0
