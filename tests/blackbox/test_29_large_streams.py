"""A large document through steps that stream: its bytes are right at the end, and the memory of no process follows its
size.  `WAYBILL_STREAM_MIB=256` is the size that is promised; the ordinary run takes less time."""
import gzip
import hashlib
import os
import pathlib
import random
import string
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from gpg import Gpg  # noqa: E402
from rig.process import children_of, memory_bytes  # noqa: E402
from running_node import BINARY  # noqa: E402

MIB = 1 << 20
SIZE_MIB = int(os.environ.get("WAYBILL_STREAM_MIB", "96"))
GROWTH_MOST = 64 * MIB
SECONDS = 600
CONFIG = """\
systems: { hub: {} }
gateways:
  in: { kind: http, auth: none, limits: { size: 2 GiB }, extract: { receiver: "value:hub", type: "value:large" } }
endpoints:
  shelf: { kind: file, path: ./shelf, name: "${id}" }
types: { "*": {} }
routes:
  - name: large
    do: [ STEPS { deliver: shelf } ]
"""
STEPS = ("{ decrypt: { key: secret:ours, limits: { concurrency: 1 } } }, { decompress: { most: 4 GiB } },"
         " { charset: ISO-8859-1 }, ")


def make_block():
    """A MiB of Latin-1 that does not pack well."""
    chance = random.Random(1)
    letters = string.ascii_letters + string.digits + "äöüß é\n"
    return "".join(chance.choices(letters, k=MIB)).encode("latin-1")


def packed(path, block, size):
    """gzip members, one behind the other, up to this size; how many."""
    member, count = gzip.compress(block, 1), 0
    with open(path, "wb") as to:
        while to.tell() < size:
            to.write(member)
            count += 1
    return count


def look(node, doc):
    return node.show(doc, "state error { code message }")


def send(node, body):
    size = os.fstat(body.fileno()).st_size
    answer = node.request("POST", "/in/in", body, {"Content-Length": str(size)}, timeout=SECONDS)
    assert answer.status == 202, answer.body
    shown = node.await_state(answer.json["document"], "delivered", "dead", look=look, seconds=SECONDS)
    assert shown["state"] == "delivered", shown
    return node.folder / "shelf" / answer.json["document"]


def processes(node):
    """The node and what it has started, each with its name."""
    found = {node.process.pid}
    for pid in list(found):
        found |= {child for one in children_of(pid) for child in [one, *children_of(one)]}
    return {pid: pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in found}


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.fixture(name="gpg")
def gpg_fixture():
    with Gpg() as gpg:
        gpg.make("ours", "rsa")
        yield gpg


@pytest.mark.timeout(1800)
@pytest.mark.stores("sqlite", "postgres")
def test_memory_does_not_follow_a_large_document(make_node, gpg, tmp_path):
    """Decrypted, decompressed and converted on its way to a file."""
    node = make_node(config=CONFIG.replace("STEPS", ""))
    (node.folder / "shelf").mkdir()
    node.start()
    assert node.cli("secret", "add", "ours", stdin=gpg.private("ours").decode()).returncode == 0
    node.write_config(CONFIG.replace("STEPS", STEPS))
    applied = node.cli("apply", node.config_file)
    assert applied.returncode == 0, applied.stdout + applied.stderr

    block = make_block()
    text = block.decode("latin-1").encode()
    sealed = {}
    for name, size in (("small", 3 * MIB), ("large", SIZE_MIB * MIB)):
        count = packed(tmp_path / name, block, size)
        want = hashlib.sha256()
        for _ in range(count):
            want.update(text)
        message = tmp_path / f"{name}.gpg"
        gpg.run("--compress-algo", "none", "-r", "ours@test", "-o", message, "--encrypt", tmp_path / name)
        sealed[name] = (message, want.hexdigest())
        (tmp_path / name).unlink()

    with open(sealed["small"][0], "rb") as body:  # every step has run once
        assert digest_of(send(node, body)) == sealed["small"][1]
    before = {}  # of each name, as a process that was slow may be replaced by another
    for pid, name in processes(node).items():
        before[name] = min(memory_bytes(pid), before.get(name, 1 << 60))
    assert "cage decrypt" in processes(node).values(), processes(node)
    with open(sealed["large"][0], "rb") as body:
        assert digest_of(send(node, body)) == sealed["large"][1]
    grown = {f"{name} {pid}": memory_bytes(pid, "VmHWM") - before[name] for pid, name in processes(node).items()}
    if BINARY.parent.name != "asan":  # which keeps what is freed for a while
        assert all(bytes_ < GROWTH_MOST for bytes_ in grown.values()), grown
    print({name: f"{bytes_ / MIB:.1f} MiB" for name, bytes_ in grown.items()})
