"""What of links needs a person is an alert as long as it lasts, and counted; how their tables stand is at /metrics."""
import random

import pytest

from links import LINK, SECONDS, TABLE, Databases, Link
from tables import row
from test_79_jobs_check import mishaps
from wire import wait_until

ITEM = f"{LINK}/{TABLE}"
RULE = "    verify:\n      - { mode: full, every: 1h }\n"
CHEAP = ", constraint cheap check (price < 1000000000)"
QUICK = {"WAYBILL_TEST_JOB_CHECK_MS": "200"}


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def linked(databases, make_node, kinds=("postgres", "postgres"), more="", dest_more=""):
    """A link that is current, on a node that looks often."""
    chance = random.Random(5)
    source, dest = (databases.of(kind) for kind in kinds)
    source.make(TABLE)
    dest.make(TABLE, more=dest_more)
    source.fill(TABLE, [row(chance, n) for n in range(100)])
    link = Link(make_node, source, dest, more=more, environment=QUICK)
    link.install()
    link.await_equal()
    link.await_state("current")
    return link


def alert(link, code):
    """The open alert; None: there is none."""
    found = [a for a in link.node.graphql("{ alerts { code object message } }")["alerts"] if a["code"] == code]
    assert len(found) < 2, found
    return found[0] if found else None


def await_alert(link, code):
    wait_until(lambda: alert(link, code) is not None, SECONDS, f"{code} is raised")
    seen = alert(link, code)
    assert seen["object"] == ITEM
    return seen["message"]


def await_no_alert(link, *codes):
    for code in codes:
        wait_until(lambda c=code: alert(link, c) is None, SECONDS, f"{code} is cleared")


def await_checks(link, count=4):
    """Until the alerts were looked at so often again."""
    for _ in range(count):
        before = link.node.graphql("{ health { queueCheck } }")["health"]["queueCheck"]
        wait_until(lambda was=before: link.node.graphql("{ health { queueCheck } }")["health"]["queueCheck"] not in (None, was), SECONDS)


@pytest.mark.stores("sqlite", "postgres")
def test_a_table_that_stops_is_told_until_it_goes_on(databases, make_node):
    link = linked(databases, make_node)
    await_checks(link)
    assert alert(link, "link_stopped") is None
    before = mishaps(link.node, "link_stopped").get(ITEM, 0)     # it may have looked before it was installed
    link.source.run(f"truncate {TABLE}")
    assert await_alert(link, "link_stopped").startswith("TRUNCATED: ")
    wait_until(lambda: mishaps(link.node, "link_stopped") == {ITEM: before + 1}, SECONDS)
    link.node.stop()        # it is not raised anew, nor lost, by another process
    link.node.start()
    await_checks(link)
    assert alert(link, "link_stopped")
    link.cli("resync", ITEM)
    await_no_alert(link, "link_stopped")
    assert mishaps(link.node, "link_stopped") == {ITEM: before + 1}


def test_rows_that_are_set_aside_are_told_until_they_are_written_or_discarded(databases, make_node):
    link = linked(databases, make_node, dest_more=CHEAP)
    link.source.run(f"update {TABLE} set price = 2000000000 where id in (7, 8)")
    wait_until(lambda: link.state()["setAside"] == 2, SECONDS)
    await_alert(link, "quarantine")
    wait_until(lambda: ITEM in mishaps(link.node, "quarantine"), SECONDS)
    rows = link.node.graphql("{ linkQuarantine { items { id key } } }")["linkQuarantine"]["items"]
    one, other = (r["id"] for r in rows)
    link.cli("quarantine", "discard", one)
    wait_until(lambda: link.state()["setAside"] == 1, SECONDS)
    await_checks(link)
    assert alert(link, "quarantine")
    link.dest.run(f"alter table {TABLE} drop constraint cheap")
    link.cli("quarantine", "retry", other)
    await_no_alert(link, "quarantine")


def test_differences_are_told_until_they_are_repaired(databases, make_node):
    link = linked(databases, make_node, more=RULE)
    link.dest.run(f"delete from {TABLE} where id < 3", f"update {TABLE} set name = 'other' where id = 50")
    link.cli("verify", ITEM, "--wait", code=1)
    assert "3 missing" in await_alert(link, "rows_differ")
    link.cli("verify", ITEM, "--wait", "--mode", "count", code=1)
    await_checks(link)
    assert alert(link, "rows_differ")
    wait_until(lambda: mishaps(link.node, "rows_differ"), SECONDS)
    link.cli("verify", ITEM, "--wait", "--repair")
    await_no_alert(link, "rows_differ")


def test_differences_of_a_table_that_left_the_configuration_are_over(databases, make_node):
    link = linked(databases, make_node, more=RULE)
    link.dest.run(f"delete from {TABLE} where id < 3")
    link.cli("verify", ITEM, "--wait", code=1)
    await_alert(link, "rows_differ")
    path = link.node.folder / "next.yaml"
    path.write_text("systems: { hub: {} }\n")
    assert link.node.cli("apply", "--yes", path).returncode == 0
    await_no_alert(link, "rows_differ")


@pytest.mark.proves("SC14")
def test_a_table_that_is_behind_for_long_is_told_until_it_is_current(databases, make_node, own_postgres):
    """The destination does not answer.  A pause that a person has made is not told."""
    databases = Databases(own_postgres, databases.folder)
    more = "    verify: []\nalerts: { link_late: { after: 3s } }\n"
    link = linked(databases, make_node, ("sqlite", "postgres"), more=more)
    own_postgres.kill_hard()
    message = await_alert(link, "link_late")
    assert message.startswith("its runs fail: ")
    assert alert(link, "link_stopped") is None
    assert link.node.cli("jobs", "pause", ITEM, "--reason", "their release").returncode == 0
    await_no_alert(link, "link_late")
    own_postgres.start()
    assert link.node.cli("jobs", "resume", ITEM).returncode == 0
    link.await_equal()
    link.await_state("current")
    await_no_alert(link, "link_late")


def test_a_table_that_rests_is_not_late(databases, make_node):
    link = linked(databases, make_node, more="    verify: []\nalerts: { link_late: { after: 1s } }\n")
    path = link.node.folder / "next.yaml"
    path.write_text(link.config.replace("every: 200ms", "every: 1h"))
    assert link.node.cli("apply", "--yes", path).returncode == 0
    wait_until(lambda: link.state()["lag"] > 5_000_000, SECONDS, "it rests")
    await_checks(link)
    assert alert(link, "link_late") is None and link.state()["stands"] == "current"


def test_how_tables_stand_is_at_metrics(databases, make_node):
    link = linked(databases, make_node, more=RULE, dest_more=CHEAP)
    labels = f'{{link="{LINK}",table="{TABLE}"}}'

    def of(name):
        return link.node.metrics().get(f"waybill_repl_{name}{labels}")

    wait_until(lambda: of("state") == 2, SECONDS, "it is current")
    assert of("rows_total") == 100 and of("removed_total") == 0 and of("bytes_total") > 0
    assert of("backlog") == 0 and of("set_aside") == 0 and 0 <= of("lag_seconds") < SECONDS
    link.source.run(f"update {TABLE} set price = 2000000000 where id = 7", f"delete from {TABLE} where id in (8, 9)")
    wait_until(lambda: (of("removed_total"), of("set_aside")) == (2, 1), SECONDS)
    link.dest.run(f"alter table {TABLE} drop constraint cheap", f"delete from {TABLE} where id in (20, 21, 22)")
    link.cli("quarantine", "retry", link.node.graphql("{ linkQuarantine { items { id } } }")["linkQuarantine"]["items"][0]["id"])
    wait_until(lambda: of("set_aside") == 0, SECONDS)
    link.cli("verify", ITEM, "--wait", code=1)
    wait_until(lambda: of("differences") == 3 and of("verified_seconds") == -1, SECONDS)
    link.cli("verify", ITEM, "--wait", "--repair")
    wait_until(lambda: of("differences") == 0 and of("verified_seconds") >= 0, SECONDS)
    assert of("conflicts_total") == 0
    link.source.run(f"truncate {TABLE}")
    wait_until(lambda: of("state") == 4, SECONDS, "it is stopped")
    before = of("lag_seconds")
    wait_until(lambda: of("lag_seconds") > before, SECONDS, "the lag grows")
