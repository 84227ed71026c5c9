"""A table goes both ways with one link at each of two locations: both decide alike and list the same rows as lost."""
import hashlib
import json
import random
import time

import pytest

from apart import NAMES, Apart
from both_ways import LINKS, TABLE, Knowing, lost
from links import SECONDS, Databases, location, peer_key
from tables import row

NAME = f"update {TABLE} set name = '%s', price = %d where id = %d"


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


@pytest.fixture
def begin(databases, make_node):
    """Two locations whose links are installed; rows 0 to `rows` - 1 are there on both sides."""
    made = []

    def make(kinds=("postgres", "postgres"), rows=0, install=True, **more):
        both = [databases.of(kind) for kind in kinds]
        for one in both:
            one.make(TABLE)
            one.fill(TABLE, [row(random.Random(key), key) for key in range(rows)])
        apart = Apart(make_node, *both, **more)
        made.append(apart)
        if install:
            apart.install()
            apart.await_equal()
            apart.await_current()
        return apart

    yield make
    for one in made:
        one.close()


def wait_for(true, what=lambda: None):
    until = time.monotonic() + SECONDS
    while not (found := true()):
        assert time.monotonic() < until, what()
        time.sleep(0.1)
    return found


def await_alike(apart):
    wait_for(lambda: len(set(map(str, apart.lists()))) == 1, apart.lists)
    return apart.lists()[0]


def torn(apart, *changes):
    """Both sides change while neither reaches the other."""
    apart.cut()
    for side, statement in changes:
        (apart.one if side == "a" else apart.two).run(statement)
    apart.cut(False)
    rows = apart.await_equal()
    apart.await_current()
    apart.await_runs()
    assert apart.one.rows(TABLE) == apart.two.rows(TABLE) == rows
    return rows


@pytest.mark.proves("RP6", "RP7", "SC11")
@pytest.mark.parametrize("kinds,rules,pull", [(("postgres", "postgres"), ("version:price", "version:price"), False),
                                              (("sqlite", "postgres"), ("source", "dest"), False),
                                              (("postgres", "mariadb"), ("manual", "manual"), True)])
def test_two_locations_cut_and_healed(begin, kinds, rules, pull):
    apart = begin(kinds, rules=rules, pull=pull)
    writers = [Knowing(apart.one, "a", seed=1).start(), Knowing(apart.two, "b", seed=2).start()]
    for turn in (150, 300, 450):
        for w in writers:
            w.await_changes(turn)
        apart.cut(turn == 150)
        apart.wires[turn // 150 % 2].lose = (lambda: True) if turn == 300 else (lambda: False)
        if turn == 300:
            time.sleep(0.3)     # some answers are lost
            for wire in apart.wires:
                wire.lose = lambda: False
    for w in writers:
        w.stop()
    rows = apart.await_equal()
    apart.await_current()
    apart.await_runs()
    assert apart.one.rows(TABLE) == rows == apart.two.rows(TABLE)
    sent = apart.sent()
    apart.await_runs()
    assert apart.sent() == sent         # nothing goes to and fro
    listed = await_alike(apart)
    assert listed and {r[0] for r in listed} <= set(LINKS)
    assert {r["peer"] for r in apart.listed(0)} <= {None, "berlin"} and {r["peer"] for r in apart.listed(1)} <= {None, "hamburg"}
    assert not lost(writers, rows, apart.losers())


@pytest.mark.proves("RP6")
def test_nothing_goes_back(begin):
    apart = begin()
    apart.one.run(*[f"insert into {TABLE} (id, name, price) values ({n}, 'from one', {n})" for n in range(50)])
    apart.await_equal()
    apart.await_current()
    apart.await_runs()
    assert apart.sent() == [50, 0]
    apart.two.run(f"delete from {TABLE} where id < 10", f"insert into {TABLE} (id, name, price) values (100, 'from two', 1)")
    apart.await_equal()
    apart.await_current()
    apart.await_runs()
    assert apart.sent() == [50, 11] and apart.lists() == [[], []]


@pytest.mark.proves("RP7")
@pytest.mark.parametrize("rules", [("source", "dest"), ("manual", "manual")])
def test_what_has_lost_is_chosen_where_it_was_decided(begin, rules):
    apart = begin(rows=5, rules=rules)
    torn(apart, *[(side, NAME % (f"{side}{n}", n, n)) for n in range(3) for side in "ab"])
    listed = await_alike(apart)
    assert {r[2] for r in listed} == {"0", "1", "2"}
    which = LINKS.index(listed[0][0])       # where it was decided
    own, copy = (next(r for r in apart.listed(at) if (r["link"], r["key"]) == (listed[0][0], listed[0][2])) for at in (which, 1 - which))
    assert own["peer"] is None and copy["peer"] == NAMES[which]
    said = apart.at(1 - which, "quarantine", "retry", copy["id"], code=1)
    assert own["link"] in said and copy["peer"] in said and "there" in said
    apart.at(which, "quarantine", "discard", own["id"], "--reason", "looked at")
    wait_for(lambda: next(r for r in apart.listed(1 - which) if r["id"] == copy["id"])["discarded"])
    await_alike(apart)
    apart.at(which, "quarantine", "retry", own["id"], "--reason", "it is the right one")
    key, wanted = int(own["key"]), own["values"][1]
    wait_for(lambda: {one.rows(TABLE)[key][1] for one in (apart.one, apart.two)} == {wanted}, apart.lists)
    apart.await_current()
    listed = await_alike(apart)
    assert not [r for r in listed if r[2] == own["key"] and wanted in r[3] and r[0] == own["link"]]
    assert [r for r in listed if r[2] == own["key"]]       # what it has replaced


def test_both_links_have_to_say_alike(begin):
    """Each configuration has one of them, so it is seen when they run."""
    apart = begin(install=False, rows=3)
    apart.install()
    apart.await_equal()
    for change, words in (({"rule": "source"}, "which row wins"), ({"back": "other"}, "`back`")):
        apart.apply(1, **change)
        seen = wait_for(lambda: (s := apart.state("a-b"))["reason"] == "SCHEMA_DRIFT" and s)
        assert words in seen["message"] and "b-a of berlin" in seen["message"], seen
        apart.one.run(NAME % ("waits", 1, 1))
        apart.apply(1)
        assert apart.await_equal()[1][1] == "waits"
        apart.await_current()
        apart.one.run(NAME % ("first", 1, 1))
        apart.await_equal()


def test_one_that_cannot_be_kept_there_is_not_overwritten(begin):
    """The other location lets us write one table of its database only, so it cannot list what has lost."""
    apart = begin(rows=3, pull=True, may=("[read, install]",) * 2)
    apart.cut()
    apart.one.run(NAME % ("a", 1, 1))
    apart.two.run(NAME % ("b", 2, 1))
    apart.cut(False)
    stopped = [apart.await_state(link, "stopped", "CREDENTIAL") for link in LINKS[:1]]
    assert "may not apply" in stopped[0]["message"]
    assert apart.one.rows(TABLE)[1][1] == "a" and apart.two.rows(TABLE)[1][1] == "b"
    apart.may = ("[read, apply, install]",) * 2
    for which in (0, 1):
        apart.apply(which)
    apart.await_equal()
    apart.await_current()
    assert len(await_alike(apart)) >= 1


def test_what_a_peer_says_has_lost_is_checked(databases, make_node):
    """Names, sizes and rights; what is no row is shown as such."""
    database = databases.of("postgres")
    database.make(TABLE)
    node = location(make_node, database, may="[apply]")
    keys = {"here": peer_key(node), "stranger": peer_key(node, title="stranger")}

    def number(n):
        return bytes([n & 127 | 128]) + number(n >> 7) if n > 127 else bytes([n])

    def text(value):
        return number(len(value)) + value

    def keep(link=b"their link", table=b"t", key=b"\1k", data=b"no row", why=b"it \xff has\nlost", who="here", count=1):
        head = b"\x11" + text(b"base") + text(TABLE.encode()) + text(link) + text(table) + b"\0" + b"\0\0\0\0" + b"\0" + b"\x80\x80\1" + b"\0"
        row_of = text(key) + text(data) + text(why) + b"\x0e" + b"\0\0"
        frame = b"WBP\2\0" + head + number(count) + row_of * min(count, 2) + b"\0"
        return node.request("POST", "/peer/ask", frame + hashlib.sha256(frame).digest(), {"Authorization": f"Bearer {keys[who]}"})

    def listed():
        return [json.loads(line) for line in node.cli("repl", "quarantine", "--json").stdout.splitlines()]

    assert keep(who="stranger").status == 200 and b"it has no database" in keep(who="stranger").body and not listed()
    for bad in ({"link": b""}, {"link": b"a\nb"}, {"link": b"\xff"}, {"link": b"x" * 129}, {"table": b"\0"}, {"key": b""},
                {"key": b"k" * 40000}):
        refused = keep(**bad)
        assert refused.status == 200 and (b"cannot be" in refused.body), (bad, refused.body)
    assert keep(count=1001).status == 400 and not listed()
    assert keep().status == 200 and keep().status == 200
    (one,) = listed()
    assert (one["link"], one["table"], one["peer"], one["why"], one["values"]) == ("their link", "t", "here", "it ? has lost", None)
    assert "here" in node.cli("repl", "quarantine").stdout
    refused = node.cli("repl", "quarantine", "retry", one["id"])
    assert refused.returncode == 1 and "link their link of here" in refused.stderr, refused
    assert node.cli("repl", "quarantine", "discard", one["id"]).returncode == 0 and listed()[0]["discarded"]
