"""Which folders a configuration may use: not the store, not each other's, none that the node does not allow."""
import json
import os
import subprocess

import pytest
from aged import Aged, retention, run, state_of, wait_for

from running_node import run_program
from wire import wait_until

pytestmark = pytest.mark.on_disk  # a folder is known by its inode, which counts for less in memory
BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO = 0, 1
TMPFS = 0x01021994

CONFIG = """\
systems: { acme: {}, hub: {} }
types: { "*": {} }
gateways:
  web:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "value:hub", type: "value:order", attributes: { as: "header:X-As" } }
  drop:
    kind: file
    path: INBOX
    every: 50ms
    min_age: 0s
    after: delete
    extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" }
endpoints:
  out: { kind: file, system: hub, path: OUTBOX, name: NAME, retry: { first: 20ms, most: 50ms }, breaker: { failures: 3, wait: 100ms } }
routes:
  - { name: all, do: [ { deliver: out } ] }
"""


def config(inbox="./inbox", outbox="./outbox", name='"${id}"'):
    return CONFIG.replace("INBOX", json.dumps(str(inbox))).replace("OUTBOX", json.dumps(str(outbox))).replace("NAME", name)


def check(folder, text, node="{}"):
    """What `waybill check` says of a file in the folder, with this node section."""
    file = folder / "waybill.yaml"
    file.write_text(f"node: {node}\n{text}")
    got = run_program("check", file)
    assert got.returncode == (DONE if "problem" not in got.stdout else NO), got.stdout + got.stderr
    return got.stdout


def store_files(node):
    """The files that make the store, with their sizes left out: they grow."""
    return {str(p.relative_to(node.data)) for p in node.data.rglob("*") if p.is_file() and p.suffix not in (".db-wal", ".db-shm")}


def look(node, doc):
    return node.show(doc, "state deliveries { state held attempts message }")


def await_state(node, doc, *states):
    return node.await_state(doc, *states, look=look)


def apply(node, text):
    file = node.folder.parent / "new.yaml"
    file.write_text(text)
    return node.cli("apply", file)


# ---- the data folder ---------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("S8")
def test_a_gateway_on_the_data_folder_is_refused_and_eats_nothing(make_node):
    """It took database, token and lock in as documents, and removed them."""
    node = make_node(config=config())
    node.start()
    doc = node.accept("web", b"kept")
    await_state(node, doc, "delivered")
    before = store_files(node)
    for path in ("./data", "data/", "./data/../data", str(node.data), "./inbox/../data", "."):
        got = apply(node, config(inbox=path))
        assert got.returncode == NO and "the data folder" in got.stdout, (path, got.stdout, got.stderr)
        assert "waybill.yaml" not in got.stdout and "new.yaml:10:" in got.stdout, got.stdout
    assert apply(node, config(outbox="./data/payload")).returncode == NO
    assert node.graphql("{ config { version } }")["config"]["version"] == 1
    assert before <= store_files(node) and "token" in before
    node.restart()
    assert state_of(node, doc) == "delivered"


def test_the_first_version_is_asked_as_well(make_node):
    node = make_node(config=config(inbox="./data"))
    code, said = node.refuse()
    assert code == NO and "the data folder" in said, said
    why = [e for e in node.events if e["event"] == "config.refuse"]
    assert len(why) == 1 and "gateway drop: `path`: folder" in why[0]["why"]
    assert (node.data / "token").exists()
    node.write_config(config())
    node.start()


@pytest.mark.smoke
def test_check_sees_through_every_spelling(tmp_path):
    (tmp_path / "data" / "payload").mkdir(parents=True)
    (tmp_path / "store").symlink_to("data")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "deep").symlink_to("../data/payload")
    assert "valid" in check(tmp_path, config())
    for path, how in (("data", "is"), ("store", "is"), ("store/payload", "lies in"), ("in/deep", "lies in"), ("in/deep/new", "lies in"),
                      (".", "contains"), (str(tmp_path), "contains"), ("in/../store/new/er", "lies in")):
        for text in (config(inbox=path), config(outbox=path), config() + f"retention: {{ archive: {path} }}\n"):
            said = check(tmp_path, text)
            assert f" {how} the data folder" in said, (path, said)
    said = check(tmp_path, config(inbox="new/../data"))
    assert "a `..` behind what does not exist" in said
    assert "contains the configuration file" in check(tmp_path, config(outbox="."), f"{{ data: {tmp_path.parent}/elsewhere }}")


# ---- what the node allows ----------------------------------------------------------------------


def test_the_line_to_add_is_named(tmp_path):
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    (home / "link").symlink_to(away)
    for path in (away, away / "new", home / "link", "../away"):
        said = check(home, config(outbox=path))
        assert "outside of node.folders" in said and "folders: [., /" in said, said
    line = said.split("add `")[1].split("`")[0]
    assert line == f"folders: [., {away}]"
    assert "valid" in check(home, config(outbox=away), f"{{ {line} }}")
    assert "valid" in check(home, config(outbox=home / "link"), f"{{ {line} }}")
    said = check(home, config(outbox=away), "{ folders: [., ./other] }")
    assert f"add {away} to `folders: [...]`" in said, said
    said = check(home, config(inbox="./in", outbox=away), f"{{ folders: [{away}] }}")  # the default is replaced
    assert "gateway drop: `path`: it is outside" in said and "endpoint out" not in said


def test_a_text_without_a_node_is_warned_about(tmp_path):
    """Which node will run it is not known: what that must allow is a warning."""
    file = tmp_path / "version.yaml"
    file.write_text(config(outbox="/srv/somewhere"))
    got = run_program("check", file)
    assert got.returncode == DONE and "warning: endpoint out: `path`: it is outside of node.folders" in got.stdout


@BOTH
def test_a_version_is_checked_against_the_node_that_runs_it(make_node, tmp_path):
    node = make_node(config=config(), options="folders: [., ../shared]")
    node.start()
    text = f"node: {{ folders: [/] }}\n{config(outbox=tmp_path / 'away')}"  # its own section counts for nothing
    got = apply(node, text)
    assert got.returncode == NO and "outside of node.folders" in got.stdout, got.stdout
    (tmp_path / "shared").mkdir()
    assert apply(node, config(outbox=tmp_path / "shared" / "out")).returncode == DONE
    doc = node.accept("web", b"x")
    await_state(node, doc, "delivered")
    assert (tmp_path / "shared" / "out" / doc).read_bytes() == b"x"


# ---- what belongs to others --------------------------------------------------------------------


def two(first, second, after="delete"):
    return (f"systems: {{ hub: {{}} }}\ngateways:\n  one: {{ kind: file, path: {first}, after: {after} }}\n"
            f"  two: {{ kind: file, path: {second}, after: delete }}\n")


def test_what_belongs_to_others_is_left_alone(tmp_path):
    move = "{ move: ./taken }"
    for text, want in (
            (two("./in", "./in"), "contains the work folder of gateway"),
            (two("./in", "./in/.waybill"), "is the work folder of gateway one"),
            (two("./in", "./in/.waybill/new"), "lies in the work folder of gateway one"),
            (two("./a/in", "./a"), "contains the work folder of gateway one"),
            (two("./in", "./taken", move), "is the move target of gateway one"),
            (two("./in", "./taken/new", move), "lies in the move target of gateway one"),
            (two("./in", "./deep", "{ move: ./deep/taken }"), "contains the move target of gateway one"),
            (config() + "retention: { archive: ./outbox }\n", "is the archive"),
            (config() + "retention: { archive: ./inbox/old }\n", "contains the archive of retention"),
            (config(outbox="./kept/new") + "retention: { archive: ./kept }\n", "lies in the archive"),
            (config(outbox="./inbox"), "contains the work folder of gateway drop"),
            (two("./in", "./other", move), None),
            (two("./in", "./in2", "{ move: ./in/taken }"), None),
            (two("./in", "./in/sub", "keep"), "contains the work folder of gateway two"),
            (two("./in", "./in", "keep").replace("after: delete", "after: keep"), None)):
        said = check(tmp_path, text)
        assert want in said if want else "valid" in said, (text, said)


# ---- exchanged later ---------------------------------------------------------------------------


def needs_inodes(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%t", folder], capture_output=True, text=True, check=True)
    if int(kind.stdout, 16) == TMPFS:
        pytest.skip("needs a file system on a disk: this one is in memory, test_check_sees_through_every_spelling has the rule")


@BOTH
@pytest.mark.proves("S8")
def test_a_folder_that_is_exchanged_later_is_refused(make_node, tmp_path):
    """Even when a person has said that what stands there now is right."""
    needs_inodes(tmp_path)
    node = make_node(config=config())
    node.start()
    await_state(node, node.accept("web", b"first"), "delivered")
    wait_until((node.folder / "inbox" / ".waybill").exists, 20)
    before = store_files(node)
    for name in ("inbox", "outbox"):
        (node.folder / name).rename(node.folder / f"{name}-away")
        (node.folder / name).symlink_to("data")
    assert node.cli("probe", "out", "--accept").returncode == DONE
    assert node.cli("probe", "drop", "--accept").returncode == DONE
    doc = node.accept("web", b"second")
    wait_until(lambda: any("data folder" in (d["message"] or "") for d in look(node, doc)["deliveries"]), 20)
    assert await_state(node, doc, "held")["deliveries"][0]["held"] == ["endpoint"]
    wait_until(lambda: "data folder" in (node.graphql("{ gateways { name broken } }")["gateways"][1]["broken"] or ""), 20)
    assert {str(p) for p in node.data.iterdir() if p.name in (".waybill", doc)} == set()
    assert before <= store_files(node)
    for name in ("inbox", "outbox"):
        (node.folder / name).unlink()
        (node.folder / f"{name}-away").rename(node.folder / name)
        assert node.cli("probe", "out" if name == "outbox" else "drop", "--accept").returncode == DONE
    await_state(node, doc, "delivered")


@BOTH
def test_a_version_from_before_stays_and_waits(make_node, tmp_path):
    """The node starts with a version that it would refuse today: nothing is taken or written, nothing is lost."""
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    node = make_node(config=config(inbox, outbox))
    node.start()
    await_state(node, node.accept("web", b"first"), "delivered")
    node.stop()
    node.options = "folders: [.]"
    node.write_config(config(inbox, outbox))
    seen = len(node.events)
    node.start()
    warned = [e["what"] for e in node.events[seen:] if e["event"] == "config.warn"]
    assert any("gateway drop: `path`: it is outside of node.folders" in w for w in warned), warned
    assert any("endpoint out: `path`: it is outside of node.folders" in w for w in warned), warned
    (inbox / "waits").write_bytes(b"second")
    doc = node.accept("web", b"third")
    held = await_state(node, doc, "held")
    assert held["deliveries"][0]["held"] == ["endpoint"] and "node.folders" in held["deliveries"][0]["message"]
    wait_until(lambda: "node.folders" in (node.graphql("{ gateways { name broken } }")["gateways"][1]["broken"] or ""), 20)
    assert (inbox / "waits").read_bytes() == b"second" and len(os.listdir(outbox)) == 1
    assert node.graphql("{ config { version } }")["config"]["version"] == 1
    node.stop()
    node.options = ""
    node.write_config(config(inbox, outbox))
    node.start()
    await_state(node, doc, "delivered")
    wait_until(lambda: not (inbox / "waits").exists() and len(os.listdir(outbox)) == 3, 20)


# ---- archive, backup, restore ------------------------------------------------------------------


def test_nothing_is_archived_into_the_store(make_node, tmp_path):
    """The archive's folder is exchanged: nothing is written, and nothing is purged."""
    folder = tmp_path / "archive"
    aged = Aged(make_node, tmp_path, retention=f"default: 45d, archive: {json.dumps(str(folder))}",
                environment={"WAYBILL_TEST_ARCHIVE_AT_ONCE": "1"})
    node, doc = aged.node, aged.send("old")
    folder.symlink_to(node.data)
    aged.today()
    assert node.cli("retention", "run").returncode == DONE
    wait_for(node, lambda: retention(node)["trouble"])
    assert "is the data folder" in retention(node)["trouble"] and retention(node)["gone"] == 0
    assert state_of(node, doc) == "delivered" and not list(node.data.glob("*.manifest"))
    folder.unlink()
    run(node, 1)
    assert len(list(folder.glob("*.manifest"))) == 1


@BOTH
def test_a_backup_goes_where_the_node_allows(make_node, tmp_path):
    node = make_node(options="folders: [., ../backups]")
    (tmp_path / "backups").mkdir()
    (tmp_path / "link").symlink_to(node.folder / "data")
    node.start()
    for folder, want in ((tmp_path / "away", "outside of node.folders"), (node.data / "copy", "lies in the data folder"),
                         (tmp_path / "link" / "copy", "lies in the data folder"), (tmp_path, "contains the data folder"),
                         ("/root/waybill-copy", "outside of node.folders")):
        got = node.cli("backup", folder)
        assert got.returncode == NO and want in got.stderr, (folder, got.stdout, got.stderr)
    assert not (tmp_path / "away").exists() and not (node.data / "copy").exists()
    assert node.graphql("{ backup { number } }")["backup"] is None
    assert node.cli("backup", tmp_path / "backups" / "one").returncode == DONE
    assert node.cli("backup", node.folder / "two").returncode == DONE


RIGHTS = ["see", "payload", "download", "retry", "edit", "hold", "operate", "configure", "users", "audit", "work",
          "peer"]


@BOTH
@pytest.mark.proves("S7")
def test_a_backup_with_its_key_takes_every_right(node, tmp_path):
    """It holds every document and every secret in the clear: `operate` alone got it."""
    def ask(name, rights, *words):
        node.graphql("mutation($n: String!, $r: [Right!]!) { roleAdd(name: $n, rights: $r) { name } }", n=name, r=rights)
        key = node.graphql("mutation($n: String!) { adminKeyAdd(title: $n, roles: [$n]) { key } }", n=name)["adminKeyAdd"]["key"]
        return node.cli("backup", tmp_path / name, "--token", key, *words)

    beside = {"see": RIGHTS[:6], "payload": ["payload", "download", "edit"]}  # what a role cannot have without it
    for lacks in RIGHTS:
        got = ask(f"without-{lacks}", [r for r in RIGHTS if r not in beside.get(lacks, [lacks])], "--with-key")
        assert got.returncode != DONE and f"`{lacks}`" in got.stderr, (lacks, got.stdout, got.stderr)
        assert not (tmp_path / f"without-{lacks}").exists()
    assert ask("operators", ["operate"]).returncode == DONE
    assert not (tmp_path / "operators" / "secret.key").exists()
    assert ask("all", RIGHTS, "--with-key").returncode == DONE


def test_a_restore_and_its_backup_are_apart(node, tmp_path):
    kept = tmp_path / "kept"
    assert node.cli("backup", kept).returncode == DONE
    before = sorted(os.listdir(kept))
    for data in (kept, kept / "data", tmp_path):
        got = run_program("restore", kept, "--data", data)
        assert got.returncode == NO and "the data folder" in got.stderr, (data, got.stderr)
    assert sorted(os.listdir(kept)) == before and not (tmp_path / "waybill.db").exists()
    assert run_program("restore", kept, "--data", tmp_path / "new").returncode == DONE


# ---- names of files ----------------------------------------------------------------------------


@pytest.mark.proves("S13")
@pytest.mark.config(config(name='"${as}/${id}"'))
def test_only_the_template_makes_folders(node):
    """A value of the document is one name: it neither makes folders nor hides."""
    good = node.accept("web", b"x", {"X-As": "acme"})
    await_state(node, good, "delivered")
    assert (node.folder / "outbox" / "acme" / good).read_bytes() == b"x"
    for value, why in (("a/b", "has a `/`"), (".ssh", "begins with a dot"), ("..", "begins with a dot"), ("/etc", "has a `/`"),
                       ("acme/", "has a `/`")):
        doc = node.accept("web", b"x", {"X-As": value})
        seen = await_state(node, doc, "dead")
        assert why in seen["deliveries"][0]["message"], seen
    assert sorted(os.listdir(node.folder / "outbox")) == ["acme"]
    assert os.listdir(node.folder / "outbox" / "acme") == [good]
