"""Documents go when they were kept long enough, with their bytes, and nothing else does.

Nodes run with a wall clock that is seven weeks back while documents end, and with the true one
afterwards: so a day that is over is there at once, on both databases.
"""
import contextlib
import hashlib
import json
import pathlib
import sqlite3
import time

import pytest
from aged import CONFIG, DAY, Aged, doctor, retention, run, state_of, wait_for

BOTH = pytest.mark.stores("sqlite", "postgres")


@pytest.mark.proves("RE6")
def test_what_somebody_asked_for_goes_on_behind_a_backup(make_node, tmp_path):
    aged = Aged(make_node, tmp_path, environment={"WAYBILL_FAULT": "retain.slice:delay_ms:200,backup.copied:delay_ms:3000"})
    node, count = aged.node, 200
    for n in range(count):
        assert node.post("in", f"{n}", {"X-To": "shop", "X-Type": "order"}).status == 202
    wait_for(node, lambda: len(list(aged.out.iterdir())) == count)
    aged.today()
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: retention(node)["gone"] > 0)
    done = node.cli("backup", tmp_path / "copy", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["damaged"] == 0, done.stdout + done.stderr
    assert retention(node)["gone"] < count      # else it was too late to be in the way
    wait_for(node, lambda: retention(node)["gone"] == count)
    doctor(node)


@BOTH
@pytest.mark.proves("RE1", "RE8", "DL4")
def test_only_what_ended_and_was_kept_long_enough_goes(make_node, tmp_path):
    aged = Aged(make_node, tmp_path)
    node = aged.node
    assert node.cli("hold", "add", "slow", "--until", "open", "--owner", "me", "--reason", "wait").returncode == 0
    old = [aged.send(f"old {i}") for i in range(5)]
    large = aged.send("L" * (3 << 20))
    deed = aged.send("deed", kind="deed")
    held = aged.send("held", to="slow", state="held")
    dead = aged.send("dead", to="nobody", state="dead")
    kept = aged.send("kept")
    assert node.cli("docs", "keep", kept).returncode == 2
    done = node.cli("docs", "keep", kept, "--reason", "case 7")
    assert done.returncode == 0 and "it is kept" in done.stdout, done.stderr
    aged.today()
    young = aged.send("young")
    run(node, 6)
    for document in old + [large]:
        assert state_of(node, document) is None
        assert node.get(f"/documents/{document}/payload").status == 404
    assert [state_of(node, d) for d in (deed, held, dead, kept, young)] == [
        "delivered", "held", "dead", "delivered", "delivered"]
    for document, body in ((deed, b"deed"), (held, b"held"), (dead, b"dead"), (kept, b"kept")):
        assert node.get(f"/documents/{document}/payload").body == body
    assert set(node.documents()) == {deed, held, dead, kept, young}
    found = node.graphql("query($id: ID!) { document(id: $id) { kept { reason by }"
                         " timeline { message } } }", id=kept)["document"]
    assert found["kept"] == {"reason": "case 7", "by": "admin"}
    assert any("case 7" in line["message"] for line in found["timeline"] if line["message"])
    assert kept in node.cli("docs", "kept").stdout
    assert node.cli("docs", "unkeep", kept).returncode == 0
    assert node.cli("docs", "unkeep", kept).returncode == 1
    assert "0 are kept" in node.cli("retention", "show").stdout
    if node.store is None:
        assert list((node.data / "large").iterdir()) == []
    doctor(node)
    # The hold ends: it is delivered now, and counted from now on.
    ended = node.graphql("{ holds { id } }")["holds"][0]["id"]
    assert node.cli("hold", "end", ended).returncode == 0
    wait_for(node, lambda: state_of(node, held) == "delivered")
    run(node, 6)
    assert state_of(node, held) == "delivered"


@pytest.mark.proves("RE7")
def test_a_clock_that_jumps_lets_nothing_go(make_node, tmp_path):
    aged = Aged(make_node, tmp_path, days=0)
    node = aged.node
    documents = [aged.send(f"{i}", kind="note") for i in range(3)]
    aged.clock.by(60 * DAY)
    node.wait_event("clock.step", timeout=20)
    node.restart()  # it believes that two months are over, and has not seen the clock run
    looked = retention(node)
    assert looked["steady"] is False and looked["gone"] == 0
    assert [state_of(node, d) for d in documents] == ["delivered"] * 3
    assert "steady" in node.cli("retention", "show").stdout
    aged.clock.by(0)
    node.restart()
    assert [state_of(node, d) for d in documents] == ["delivered"] * 3
    assert retention(node)["gone"] == 0


def look(node, *options):
    """Ask it to look now, and wait until it did."""
    before = retention(node)["lastLook"]
    assert node.cli("retention", "run", *options).returncode == 0
    wait_for(node, lambda: retention(node)["lastLook"] != before and retention(node)["state"] == "rests")


@pytest.mark.proves("RE7")
def test_only_a_person_takes_back_a_day_that_was_believed(make_node, tmp_path):
    aged = Aged(make_node, tmp_path, days=0, environment={"WAYBILL_TEST_RETAIN_APART_MS": "0"})
    node = aged.node

    def believed():
        with contextlib.closing(sqlite3.connect(f"file:{node.data / 'waybill.db'}?mode=ro", uri=True)) as database:
            return database.execute("SELECT value FROM mark WHERE name = 'retain_today'").fetchone()[0]

    aged.clock.by(5 * DAY)
    node.restart()
    look(node)
    ahead = believed()
    assert ahead >= time.time() // DAY + 4
    aged.clock.by(0)
    node.restart()
    look(node)
    assert believed() == ahead
    look(node, "--all")
    assert believed() <= time.time() // DAY


@BOTH
@pytest.mark.proves("RE2", "RE9")
def test_what_goes_is_in_the_archive_first(make_node, tmp_path):
    folder = tmp_path / "archive"
    aged = Aged(make_node, tmp_path, retention=f"default: 45d, archive: {json.dumps(str(folder))}",
                environment={"WAYBILL_TEST_ARCHIVE_AT_ONCE": "1"})
    node = aged.node
    bodies = {aged.send(body): body for body in ("one", "two\nlines", "L" * (2 << 20))}
    folder.write_text("not a folder")
    aged.today()
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: retention(node)["trouble"])
    assert "archive" in retention(node)["trouble"] and retention(node)["gone"] == 0
    assert [state_of(node, d) for d in bodies] == ["delivered"] * 3
    assert node.wait_event("retention.fail")
    folder.unlink()
    run(node, 3)
    assert [state_of(node, d) for d in bodies] == [None] * 3
    for document, body in bodies.items():
        assert node.get(f"/documents/{document}/payload").body == body.encode()
        got = node.cli("docs", "payload", document)
        assert got.returncode == 0 and got.stdout == body
        assert node.get(f"/documents/{document}/payload", token="nobody").status == 401
    made = retention(node)["archives"]
    assert len(made) == 1 and made[0]["documents"] == 3
    manifest = (folder / f"{made[0]['name']}.manifest").read_bytes()
    assert hashlib.sha256(manifest).hexdigest() == made[0]["sha256"]
    told = json.loads(manifest)
    for part in ("docs", "index"):
        data = (folder / told[part]["name"]).read_bytes()
        assert len(data) == told[part]["bytes"] and hashlib.sha256(data).hexdigest() == told[part]["sha256"]
    first = json.loads((folder / told["docs"]["name"]).read_bytes().split(b"\n", 1)[0])
    assert first["id"] in bodies and first["sender"] == "acme" and first["timeline"]
    # A payload in it that is not what it was is not given out.
    docs = folder / told["docs"]["name"]
    data = bytearray(docs.read_bytes())
    data[data.rindex(b"two\nlines")] ^= 1
    docs.write_bytes(data)
    victim = next(d for d, body in bodies.items() if body.startswith("two"))
    assert node.get(f"/documents/{victim}/payload").status != 200
    doctor(node)


@BOTH
@pytest.mark.proves("RE9")
def test_nothing_goes_by_an_archive_that_is_not_whole(make_node, tmp_path):
    """The archive is damaged between its writing and its verification."""
    folder = tmp_path / "archive"
    aged = Aged(make_node, tmp_path, retention=f"default: 45d, archive: {json.dumps(str(folder))}",
                environment={"WAYBILL_TEST_ARCHIVE_AT_ONCE": "1", "WAYBILL_FAULT": "archive.written:delay_ms:3000"})
    node = aged.node
    documents = [aged.send(body) for body in ("one", "two")]
    aged.today()
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: written(folder))
    for file in written(folder):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    node.wait_event("retention.fail", timeout=30)
    assert retention(node)["gone"] == 0 and retention(node)["archives"] == []
    assert [state_of(node, d) for d in documents] == ["delivered"] * 2
    node.environment["WAYBILL_FAULT"] = ""
    node.restart()
    run(node, 2)
    assert retention(node)["archives"][0]["documents"] == 2


@BOTH
@pytest.mark.proves("QC7")
def test_an_archive_folder_that_hangs_stops_nothing_else(make_node, tmp_path):
    """It is told; the purger does its other work and can be asked; a stop is quick; then it goes on."""
    aged = Aged(make_node, tmp_path, retention=f"default: 45d, archive: {json.dumps(str(tmp_path / 'archive'))}",
                environment={"WAYBILL_TEST_ARCHIVE_AT_ONCE": "1", "WAYBILL_TEST_ARCHIVE_SILENT_MS": "300",
                             "WAYBILL_FAULT": "archive.written:delay_ms:3600000"})
    node = aged.node
    documents = [aged.send(body) for body in ("one", "two")]
    aged.today()

    def looked():
        return node.graphql("{ retention { lastLook trouble } }")["retention"]
    for _ in range(2):
        before = looked()["lastLook"]
        assert node.cli("retention", "run").returncode == 0
        wait_for(node, lambda: looked()["lastLook"] != before)     # a whole round, to its end
        assert "has not answered" in looked()["trouble"], looked()
    assert node.wait_event("retention.fail") and retention(node)["gone"] == 0
    assert node.stop(timeout=120) == 0                             # the delay of an hour still runs
    for name in ("WAYBILL_FAULT", "WAYBILL_TEST_ARCHIVE_SILENT_MS"):  # a slow folder does not hang
        node.environment.pop(name)
    node.start()
    run(node, 2)
    assert [state_of(node, d) for d in documents] == [None] * 2
    doctor(node)


def written(folder):
    """The files of an archive without its manifest, when all of their bytes are there."""
    files = list(folder.rglob("*")) if folder.is_dir() else []
    files = [f for f in files if f.is_file() and f.suffix != ".manifest"]
    return files if len(files) >= 2 and all(f.stat().st_size for f in files) else []


@pytest.mark.proves("DL4")
def test_dead_letters_go_only_by_a_rule_of_their_own(make_node, tmp_path):
    aged = Aged(make_node, tmp_path, retention="default: 1d, dead: 49d")
    node = aged.node
    dead = aged.send("dead", to="nobody", state="dead")
    kept = aged.send("kept", to="nobody", state="dead")
    assert node.cli("docs", "keep", kept, "--reason", "case 8").returncode == 0
    aged.clock.by(-3 * DAY)
    node.restart()
    later = aged.send("later", to="nobody", state="dead")
    assert node.cli("retention", "run").returncode == 0
    told = node.wait_event("retention.dead_soon", timeout=20)
    assert told["count"] == 2 and retention(node)["deadDiscarded"] == 0
    aged.today()
    assert node.cli("retention", "run").returncode == 0
    assert node.wait_event("retention.dead", timeout=20)["count"] == 1
    assert [state_of(node, d) for d in (dead, kept, later)] == ["cancelled", "dead", "dead"]
    lines = node.graphql("query($id: ID!) { document(id: $id) { timeline { what message } } }", id=dead)
    assert any("retention" in (line["what"] or "") for line in lines["document"]["timeline"])
    doctor(node)


@pytest.mark.proves("DL4")
def test_dead_letters_of_which_nobody_was_told_stay_for_a_day(make_node, tmp_path):
    """They are past their time when they are seen for the first time: the rule is new, or the node was down."""
    aged = Aged(make_node, tmp_path, retention="default: 1d, dead: 10d")
    node = aged.node
    dead = aged.send("dead", to="nobody", state="dead")
    aged.today()
    assert node.cli("retention", "run").returncode == 0
    assert node.wait_event("retention.dead_soon", timeout=20)["count"] == 1
    looked = retention(node)["lastLook"]
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: retention(node)["lastLook"] not in (None, looked) and retention(node)["state"] == "rests")
    assert state_of(node, dead) == "dead" and retention(node)["deadDiscarded"] == 0
    assert node.stop() == 0
    aged.clock.by(DAY)
    node.start()
    assert node.cli("retention", "run").returncode == 0
    assert node.wait_event("retention.dead", timeout=20)["count"] == 1
    assert state_of(node, dead) == "cancelled"


@pytest.mark.proves("RE3")
def test_killed_while_it_lets_go_it_goes_on(make_node, tmp_path):
    aged = Aged(make_node, tmp_path)
    node = aged.node
    old = [aged.send(f"old {i}") for i in range(3)] + [aged.send("L" * (2 << 20))]
    deed = aged.send("deed", kind="deed")
    assert node.stop() == 0
    aged.clock.by(0)
    for point in ("retain.slice:kill:1", "retain.noted:kill:1"):
        node.environment["WAYBILL_FAULT"] = point
        node.start()
        node.cli("retention", "run")
        assert node.ended() != 0
    node.environment["WAYBILL_FAULT"] = "retain.unlinked:kill:1"
    node.launch()  # starting is recovering
    assert node.ended() != 0
    del node.environment["WAYBILL_FAULT"]
    node.start()
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: retention(node)["lastLook"] and retention(node)["waiting"] <= 1)
    assert [state_of(node, d) for d in old] == [None] * 4 and state_of(node, deed) == "delivered"
    assert list((node.data / "large").iterdir()) == []
    doctor(node)


def test_the_database_of_a_stopped_node_shrinks(make_node, tmp_path):
    aged = Aged(make_node, tmp_path)
    node = aged.node
    for i in range(300):
        assert node.post("in", f"{i}" * 100, {"X-To": "shop", "X-Type": "order"}).status == 202
    wait_for(node, lambda: len(list(aged.out.iterdir())) >= 300)
    deed = aged.send("deed", kind="deed")
    aged.today()
    run(node, 300)
    refused = node.cli("compact", "--data", node.data)
    assert refused.returncode != 0 and refused.stderr
    assert node.stop() == 0
    file = pathlib.Path(node.data / "waybill.db")
    before = file.stat().st_size
    done = node.cli("compact", "--data", node.data, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"before": before, "after": file.stat().st_size}
    assert file.stat().st_size < before
    node.start()
    assert state_of(node, deed) == "delivered"
    doctor(node)
    assert node.cli("compact", "--data", tmp_path / "nothing").returncode != 0


@BOTH
@pytest.mark.proves("XC2")
def test_with_a_full_disk_senders_are_refused_and_deliveries_go_on(make_node, tmp_path):
    aged = Aged(make_node, tmp_path, days=0)
    node = aged.node
    assert node.cli("hold", "add", "slow", "--until", "open", "--owner", "me", "--reason", "wait").returncode == 0
    waiting = [aged.send(f"{i}", to="slow", state="held") for i in range(5)]
    assert node.stop() == 0
    node.options = "limits: { disk_reserve: 1000000 GiB }"
    node.write_config(aged.config)
    node.start()
    refused = node.post("in", "more", {"X-To": "shop", "X-Type": "order"})
    assert refused.status == 507, refused.body
    hold = node.graphql("{ holds { id } }")["holds"][0]["id"]
    assert node.cli("hold", "end", hold).returncode == 0
    wait_for(node, lambda: [state_of(node, d) for d in waiting] == ["delivered"] * 5)
    assert node.post("in", "more", {"X-To": "shop", "X-Type": "order"}).status == 507
    assert node.stop() == 0
    node.options = ""
    node.write_config(aged.config)
    node.start()
    aged.send("room again")


@BOTH
@pytest.mark.proves("XC2")
def test_short_of_room_it_hurries(make_node, tmp_path):
    aged = Aged(make_node, tmp_path)
    node = aged.node
    aged.send("goes")
    node.options = "limits: { disk_reserve: 0 }"
    node.write_config(aged.config)
    aged.today()
    run(node, gone=1)
    assert node.cli("retention", "run").returncode == 0     # by now no day is due
    wait_for(node, lambda: node.metrics()["waybill_retention_hurries"] == 0)
    assert node.stop() == 0
    node.options = "limits: { disk_reserve: 1000000 GiB }"
    node.write_config(aged.config)
    node.start()
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: node.metrics()["waybill_retention_hurries"] == 1)
