"""Links whose one end is a database of another location: its node is asked, and gives what it lets the peer have."""
import contextlib
import hashlib
import json
import random
import time

import pytest

from both_ways import Both, Knowing, lost
from links import LINK, SECONDS, TABLE, Databases, PeerLink, location, pair, peer_key
from recorder import Recorder
from tables import Writers, row

ROWS = 2000


def wait_for(true):
    until = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


@pytest.mark.parametrize("source,dest,away", [("postgres", "postgres", "dest"), ("postgres", "sqlite", "source"),
                                              ("sqlite", "mariadb", "dest"), ("mariadb", "postgres", "source")])
def test_rows_go_there_and_come_from_there(databases, make_node, source, dest, away):
    source, dest = pair(databases, source, dest)
    link = PeerLink(make_node, source, dest, away)
    link.await_state("stopped", "TRIGGER")     # until its triggers are there
    link.install()
    assert len(link.await_equal()) == ROWS
    link.await_state("current")

    writers = Writers(source, TABLE).start()
    writers.await_changes(1500)
    writers.stop()
    link.await_equal()
    assert link.await_state("current")["setAside"] == 0


@contextlib.contextmanager
def recorded(node):
    recorder = Recorder(node.url)
    try:
        yield recorder
    finally:
        recorder.close()


@pytest.mark.proves("SC12", "VE1")
@pytest.mark.parametrize("source,dest,away", [("postgres", "postgres", "dest"), ("postgres", "sqlite", "source")])
def test_no_message_is_larger_than_both_allow(databases, make_node, source, dest, away):
    """Rows and answers that are larger go in parts; verification sends a small part of the table."""
    source, dest = pair(databases, source, dest, rows=3000)
    other = location(make_node, dest if away == "dest" else source, options="limits: { message_limit: 6000 }")
    with recorded(other) as recorder:
        link = PeerLink(make_node, source, dest, away, other=other, url=recorder.url,
                        more="    message_limit: 9000\n    verify: [ { mode: full, every: 1h } ]\n")
        link.install()
        link.await_equal()
        source.run(*[(f"update {TABLE} set note = ? where id = {n}", "0123456789" * (700 * 6 ** n)) for n in range(4)])
        link.await_equal()
        link.await_state("current")
        assert max(recorder.sizes) <= 6000 and len(recorder.sizes) > 200

        dest.run(f"delete from {TABLE} where id in (5, 6)", f"update {TABLE} set name = 'other' where id = 2000")
        before = len(recorder.sizes)
        done = json.loads(link.cli("verify", f"{LINK}/{TABLE}", "--wait", "--json", code=1))
        assert (done["result"], done["missing"], done["different"], done["extra"]) == ("diverged", 2, 1, 0)
        shown = link.cli("diff", f"{LINK}/{TABLE}", "--json", code=1).splitlines()
        assert [json.loads(line)["found"] for line in shown] == ["missing", "missing", "different"]
        assert json.loads(link.cli("verify", f"{LINK}/{TABLE}", "--repair", "--wait", "--json"))["repaired"] == 3
        link.await_equal()
        assert max(recorder.sizes[before:]) <= 6000


@pytest.mark.proves("RP3", "RP4", "SC10", "SC11")
@pytest.mark.parametrize("source,dest,away", [("postgres", "postgres", "dest"), ("postgres", "sqlite", "source")])
def test_kills_of_both_nodes_and_lost_answers(databases, make_node, source, dest, away):
    source, dest = pair(databases, source, dest, rows=10000)
    other = location(make_node, dest if away == "dest" else source)
    chance = random.Random(5)
    with recorded(other) as recorder:
        recorder.lose = lambda: chance.random() < 0.1
        link = PeerLink(make_node, source, dest, away, other=other, url=recorder.url)
        wait_for(lambda: link.node.cli("repl", "install", LINK, "--yes").returncode == 0)
        writers = Writers(source, TABLE, keys=15000).start()
        for n in range(6):
            writers.await_changes(writers.changes + 100)
            node = (link.node, other)[n % 2]
            node.kill()
            node.start()
            recorder.target = other.url
        writers.stop()
        link.await_equal()
        recorder.lose = lambda: False
        link.await_state("current")


@pytest.mark.proves("RP7")
def test_a_peer_does_what_it_may_and_is_told_nothing_of_the_rest(databases, make_node):
    source, dest = pair(databases, "postgres", "postgres", rows=100)
    other = location(make_node, dest, may="[read]")
    key = peer_key(other)
    link = PeerLink(make_node, source, dest, "dest", other=other, key=key)
    refused = link.cli("install", LINK, "--yes", code=69)
    assert "may not install" in refused and "here" in refused
    text = other.config_file.read_text()

    def allow(may):
        other.config_file.write_text(text.replace("base: [read]", may))
        assert other.cli("apply", str(other.config_file)).returncode == 0

    allow("base: [read, install]")
    link.install()
    stopped = link.await_state("stopped", "CREDENTIAL")
    assert "may not apply" in stopped["message"]
    allow(f"base: [read], base/{TABLE}: [apply]")
    link.await_equal()
    allow("base/elsewhere: [read, apply]")
    source.run(f"update {TABLE} set name = 'new' where id = 1")
    stopped = link.await_state("stopped", "CREDENTIAL")
    assert "it has no database base for here" in stopped["message"]
    other.cli("key", "rm", "--admin", *[json.loads(line)["id"] for line in
                                        other.cli("key", "ls", "--admin", "--json").stdout.splitlines()])
    wait_for(lambda: "refuses (401)" in link.state()["message"])
    assert "it has no database" not in link.state()["message"]


def test_hostile_messages_and_strangers(databases, make_node):
    """A body that is no message, cut, too large, changed or of another version is refused, and nothing is told."""
    database = databases.of("postgres")
    database.make(TABLE)
    node = location(make_node, database)
    keys = {role: json.loads(node.cli("key", "add", "--admin", "--title", title, "--role", role, "--json").stdout)["key"]
            for title, role in (("here", "peer"), ("eye", "viewer"))}
    keys["stranger"] = peer_key(node, title="stranger")

    def ask(body, key="peer", method="POST", path="/peer/ask"):
        return node.request(method, path, body, {"Authorization": f"Bearer {keys.get(key, key)}"} if key else {})

    def frame(content, what=0, version=2):
        text = b"WBP" + bytes([version, what]) + content
        return text + hashlib.sha256(text).digest()

    def text(value):
        return bytes([len(value)]) + value

    # what, database, table, link, table of the link, source, capture, key columns, room for the answer, columns
    describe = b"\0" + text(b"base") + text(TABLE.encode()) + text(b"l") + text(b"t") + b"\1" + b"\0\0\0\0" + b"\0" + b"\x80\x80\1" + b"\0"
    good = ask(frame(describe))
    assert good.status == 200 and b"price" in good.body and good.headers["Waybill-Message-Limit"] == "80000"
    assert ask(frame(describe), key=None).status == ask(frame(describe), key="wrong").status == 401
    assert ask(frame(describe), key="viewer").status == 403
    unknown = ask(frame(describe), key="stranger")
    assert unknown.status == 200 and b"it has no database base" in unknown.body and b"price" not in unknown.body
    nothing = ask(frame(describe.replace(b"base", b"wxyz")))
    assert nothing.body.replace(b"wxyz", b"base")[5:-32] == ask(frame(describe.replace(b"base", b"basf"))).body.replace(
        b"basf", b"base")[5:-32]                                     # what is not there, and what it may not see
    for bad in (b"", b"x", b"WBP", frame(describe)[:-1], frame(describe)[1:], frame(describe, version=1),
                frame(describe, what=9), frame(describe[:-3]), frame(describe + b"x"), frame(b"\x63" + describe[1:]),
                frame(describe).replace(b"base", b"bbbb"), frame(describe[:-1] + b"\xff\xff\xff\xff\x0f"), b"\0" * 70000):
        refused = ask(bad)
        assert refused.status == 400 and refused.json["error"]["code"] == "bad_request", (bad[:40], refused.body)
    assert ask(b"x" * 80001).status == 413
    assert ask(None, method="GET").status == 405 and ask(b"", path="/peer/other").status == 404
    part = bytes(16) + b"\xff\xff\xff\x7f" + b"\0" + b"abc"
    assert b"at most" in ask(frame(part, what=2), path="/peer/put").body
    assert b"not there any more" in ask(frame(bytes(16) + b"\x20\x05" + b"abc", what=2), path="/peer/put").body
    assert b"not there any more" in ask(frame(bytes(16) + b"\x20\0", what=3), path="/peer/get").body
    for name in (b"a\"; drop table x; --", b"\xff\xfe", b"x" * 120, b"item\0"):
        answer = ask(frame(b"\0" + text(b"base") + text(name) + describe[7 + len(TABLE):]))
        assert answer.status == 200 and b"price" not in answer.body, name
    assert ask(frame(describe)).status == 200


@pytest.mark.proves("RP6", "RP7", "SC11")
@pytest.mark.parametrize("kinds,rules", [(("postgres", "postgres"), ("version:price", "version:price")),
                                         (("postgres", "sqlite"), ("source", "dest"))])
def test_both_ways_through_a_cut(databases, make_node, kinds, rules):
    """While the locations do not reach each other both sides are written; afterwards they are the same, and nobody's change is
    lost without being kept."""
    one, two = (databases.of(kind) for kind in kinds)
    for database in (one, two):
        database.make(TABLE)
    other = location(make_node, two, name="two")
    with recorded(other) as recorder:
        both = Both(make_node, one, two, rules, peer=f'{{ url: "{recorder.url}", key: {peer_key(other)} }}')
        both.install()
        both.await_current()
        writers = [Knowing(one, "a", seed=1).start(), Knowing(two, "b", seed=2).start()]
        for turn in (200, 400):
            for w in writers:
                w.await_changes(turn)
            recorder.lose = (lambda: True) if turn == 200 else (lambda: False)
        for w in writers:
            w.stop()
        rows = both.await_equal()
        both.await_current()
        both.await_runs()
        assert one.rows(TABLE) == rows == two.rows(TABLE)
        sent = both.sent()
        both.await_runs()
        assert both.sent() == sent          # nothing goes to and fro
        assert not lost(writers, rows, both.losers())
