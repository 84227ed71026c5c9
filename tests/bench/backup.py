"""A backup under full load: whatever was acknowledged before its mark is in it, byte by byte.

wrk sends as fast as it can from the first to the last second of the backup; beside it, senders of our own
note what was acknowledged, and when.  The backup is restored elsewhere, the doctor looks at it, and every
document of theirs from before the mark is read back.  Then one bit of each kind of file is flipped: the
restore must name the file.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import threading
import time
from datetime import datetime, timezone

from bench.measure import say, wrk
from rig.node import Api, Node
from rig.process import RigError, run

DOCUMENTS, SENDERS = 200_000, 2
CONFIGURATION = """\
systems: { acme: {}, shop: {} }
types: { order: {} }
routes:
  - { name: all, do: [ { drop: enough } ] }
"""
EXTRACT = {"sender": '"value:acme"', "receiver": '"value:shop"', "type": '"value:order"'}


def body(number):
    """Its own bytes; some are too large for a segment."""
    size = 1_500_000 if number % 500 == 7 else 5000 if number % 3 == 0 else 200
    return (f"document {number} ".encode() + random.Random(number).randbytes(64)).ljust(size, b"-")


class Senders:
    """Note what was acknowledged, and when the answer was there."""

    def __init__(self, node):
        self.acked, self.wrong, self.over = {}, [], threading.Event()
        self.threads = [threading.Thread(target=self._send, args=(node, i)) for i in range(SENDERS)]
        for t in self.threads:
            t.start()

    def _send(self, node, which):
        api, number = Api(node), which * 10_000_000
        while not self.over.is_set():
            response = api.request("POST", "/in/orders", body(number))
            text = response.read()
            if response.status != 202:
                self.wrong.append(f"{response.status} {text[:200]!r}")
                return
            self.acked[json.loads(text)["document"]] = (number, time.time())
            number += 1

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join()
        if self.wrong:
            raise RigError(f"a document was refused: {self.wrong[0]}")


class Blast(threading.Thread):
    """wrk, second after second, until told otherwise."""

    def __init__(self, node):
        super().__init__()
        self.node, self.over, self.runs, self.problem = node, threading.Event(), [], None
        self.start()

    def run(self):
        try:
            while not self.over.is_set():
                self.runs.append(wrk("plain", self.node.port, 2, self.node.key))
        except RigError as problem:
            self.problem = problem

    def stop(self):
        self.over.set()
        self.join()
        if self.problem is not None:
            raise self.problem
        return max(r.p99_ms for r in self.runs), sum(r.requests for r in self.runs)


def backup(bench):
    documents = 5_000 if bench.quick else DOCUMENTS
    node = bench.node(more=CONFIGURATION, gateway={"extract": EXTRACT})
    elsewhere = bench.folder / "elsewhere"
    folder = bench.folder / "backup"
    try:
        node.start()
        node.key_add()
        took, made, acked, p99 = make_one(node, folder, documents)
        node.stop(120)
        other = Node(bench.binary, elsewhere, more=CONFIGURATION, gateway={"extract": EXTRACT})
        restore(bench, folder, other.data)
        missing, damaged, judged, kept = look(other, node.key, acked, made)
        named = flip_bits(bench, folder, bench.folder / "flipped")
    finally:
        bench.discard(node)
        for path in (elsewhere, folder, bench.folder / "flipped"):
            shutil.rmtree(path, ignore_errors=True)
    bench.verdict(
        "backup", f"{made['bytes'] / 1e6:.0f} MB in {made['files']} files in {took:.1f} s while {len(acked)} noted documents and "
        f"wrk's came in, accept p99 {p99[0]:.1f} ms before and {p99[1]:.1f} ms during; {kept} documents restored, doctor clean; "
        f"of {judged} noted before the mark {missing} missing, {damaged} with other bytes; {named} flipped bits refused by name",
        missing=(missing == 0, f"{missing} missing"), damaged=(damaged == 0, f"{damaged} damaged"),
        judged=(judged > 0, "nothing was acknowledged before the mark"))


def make_one(node, folder, documents):
    """Gives the seconds it took, what it says of itself, the documents that were noted, p99 before and during."""
    before = None
    while Api(node).metrics()["waybill_documents_accepted_total"] < documents:
        before = wrk("plain", node.port, 2, node.key)
    say(f"{Api(node).metrics()['waybill_documents_accepted_total']:.0f} documents; now the backup")
    senders, blast = Senders(node), Blast(node)
    time.sleep(3)       # something of all kinds is there, and the load stands
    began = time.monotonic()
    made = json.loads(node.cli("backup", folder, "--json", timeout=600).splitlines()[-1])
    took = time.monotonic() - began
    p99, _ = blast.stop()
    senders.stop()
    return took, made, senders.acked, (before.p99_ms, p99)


def restore(bench, folder, data):
    run([bench.binary, "restore", folder, "--data", data], timeout=600)


def look(node, key, acked, made):
    """Counts what is missing and what has other bytes, of those that were acknowledged before the mark."""
    mark = datetime.fromisoformat(made["taken"].replace("Z", "+00:00")).astimezone(timezone.utc).timestamp()
    node.start(seconds=300)
    node.key = key
    node.cli("doctor", timeout=600)
    api, missing, damaged, judged = Api(node, admin=True), 0, 0, 0
    for document, (number, when) in acked.items():
        if when >= mark:
            continue
        judged += 1
        digest = hashlib.sha256()
        status, _ = api.payload_digest(document, digest)
        missing += status == 404
        damaged += status != 404 and digest.digest() != hashlib.sha256(body(number)).digest()
    kept = json.loads(node.cli("retention", "show", "--json"))["documents"]
    node.stop(120)
    return missing, damaged, judged, kept


def flip_bits(bench, folder, copy):
    """One bit in one file of each kind of name; gives how many were refused."""
    kinds = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size > 0:
            kinds.setdefault((path.parent.relative_to(folder), path.suffix or path.stem[:3]), path.relative_to(folder))
    for name in kinds.values():
        subprocess.run(["cp", "-a", "--reflink=auto", str(folder), str(copy)], check=True)
        with open(copy / name, "r+b") as file:
            place = random.Random(str(name)).randrange(os.path.getsize(copy / name))
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 4]))
        done = subprocess.run([str(bench.binary), "restore", str(copy), "--data", str(copy / "out")],
                              capture_output=True, text=True, check=False)
        if done.returncode != 1 or str(name) not in done.stderr + done.stdout:
            raise RigError(f"a flipped bit in {name} was answered with {done.returncode}: {done.stderr[:300]}")
        shutil.rmtree(copy)
    return len(kinds)
