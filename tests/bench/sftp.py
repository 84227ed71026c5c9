"""Small files over SFTP, measured against libssh alone with the same calls (raw_sftp.c).

A real sshd; its folder and the node's data are in memory (/dev/shm), so that no disk is measured.  Raw, product, raw;
each begins with an empty folder.

Out: documents of 4 KiB gather behind a hold, which is then ended: four connections.  The rate of both is what the
folder says, from the first file that got its name to the last.  In: files lie in the folder before the look begins:
one connection; from the first file that leaves the folder until none is left.  Cost is the processor time of the
node, or of raw, per file; that of sshd is in neither.
"""

import http.client
import json
import os
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measure import ROUNDS_MOST, median, steady_rounds
from bench.road import RoadMeter
from harness import sshd
from rig.node import GATEWAY, Node
from rig.process import RigError, run, wait_for

MEMORY = Path("/dev/shm")
MEMORY_LEAST = 512 << 20
FILES, SIZE = 5000, 4096
OUT_CONNECTIONS, IN_CONNECTIONS = 4, 1      # raw has as many as the product
SENDERS = 8
SECONDS = 300
SHARE_LEAST, CPU_TIMES_MOST = 0.6, 2.5

CONFIG = """\
systems: {{ far: {{}} }}
types: {{ file: {{}} }}
endpoints:
  far: {{ kind: sftp, system: far, url: "{url}", password: "{password}", host_key: "{print}", name: "${{name}}",
         connections: {connections} }}
routes: [ {{ name: far, when: {{ receiver: far }}, do: [ {{ deliver: far }} ] }} ]
"""
POLLED = """\
  polled: {{ kind: sftp, url: "{url}", password: "{password}", host_key: "{print}", every: 1s, after: delete }}
"""


@dataclass
class Moved:
    """Files that went one way."""
    files: int
    seconds: float
    cpu_us: float       # of a file
    raw: float = 0

    @property
    def per_second(self):
        return self.files / self.seconds


def sftp(bench):
    for why in (sshd.missing(), memory_missing()):
        if why:
            raise RigError(why)
    compare(bench, "out", raw_out, product_out)
    if "planned:" in run([bench.binary, "help", "gateway", "sftp"]):
        print("bench sftp in: left out, this build has no gateway of kind sftp", flush=True)
    else:
        compare(bench, "in", raw_in, product_in)


def memory_missing():
    """Why no data can be kept in memory, or None."""
    if not os.path.ismount(MEMORY):
        return f"{MEMORY} is no file system in memory"
    free = shutil.disk_usage(MEMORY).free
    return None if free >= MEMORY_LEAST else f"{MEMORY} has {free >> 20} MiB left, {MEMORY_LEAST >> 20} are needed"


def compare(bench, way, raw, product):
    """Three good rounds; prints the line of the median and the verdict."""
    rounds_wanted, files = (1, 500) if bench.quick else (3, FILES)
    raws = []   # one before and one after each run of the product

    def raw_once():
        with server() as far:
            raws.append(raw(bench, far, files))
        return raws[-1].per_second

    def product_once():
        with server() as far:
            found = product(bench, far, files)
        found.raw_cpu_us = lambda at=len(raws): (raws[at - 1].cpu_us + raws[at].cpu_us) / 2
        return found

    good = steady_rounds(rounds_wanted, raw_once, product_once)
    if not good:
        bench.verdict(f"sftp {way}", f"fewer than {rounds_wanted} good rounds of {ROUNDS_MOST}",
                      rounds=(False, "the machine never was steady"))
        return
    share = median(g.per_second / g.raw for g in good)
    times = median(g.cpu_us / g.raw_cpu_us() for g in good)
    bench.verdict(
        f"sftp {way}", f"{files} files of {SIZE >> 10} KiB, {median(g.per_second for g in good):.0f} files/s, "
        f"{share:.2f} of raw, {median(g.cpu_us for g in good):.0f} us/file, {times:.2f} times raw's",
        share=(share >= SHARE_LEAST, f"{share:.3f} of raw, bar {SHARE_LEAST}"),
        cpu=(times <= CPU_TIMES_MOST, f"{times:.2f} times raw's us/file, bar {CPU_TIMES_MOST}"))


@contextmanager
def server():
    """A server with an empty folder, and a place for a node beside it."""
    place = Path(tempfile.mkdtemp(prefix="waybill-bench-", dir=MEMORY))
    place.chmod(0o755)      # its user must get there
    far = sshd.Sshd(at=place)
    far.place = place
    try:
        yield far
    finally:
        far.close()
        shutil.rmtree(place, ignore_errors=True)


def run_raw(bench, far, way, files, connections):
    said = json.loads(run([bench.tool("raw_sftp"), way, far.port, far.user, far.folder, files, connections],
                          timeout=SECONDS, env={**os.environ, "SFTP_PASSWORD": far.password}))
    return Moved(files, said["seconds"], said["cpu_seconds"] * 1e6 / files)


def settings(far):
    return {"url": far.url(), "password": far.password, "print": far.print()}


@contextmanager
def running(bench, far, more_gateways=""):
    node = Node(bench.binary, far.place / "node", more_gateways=more_gateways,
                gateway={"auth": "none", "extract": {"sender": '"value:far"', "receiver": '"value:far"',
                                                     "type": '"value:file"'}},
                more=CONFIG.format(connections=OUT_CONNECTIONS, **settings(far)))
    try:
        node.start()
        yield node
        node.stop()
    finally:
        node.kill()


# ---- out

def raw_out(bench, far, files):
    moved = run_raw(bench, far, "out", files, OUT_CONNECTIONS)
    moved.seconds = named_seconds(far.folder, files)
    return moved


def product_out(bench, far, files):
    with running(bench, far) as node:
        hold = json.loads(node.cli("hold", "add", "far", "--until", "2h", "--reason", "a benchmark",
                                   "--json").splitlines()[0])["id"]
        meter = RoadMeter(bench, node)
        fill(node, files)
        wait_for("all to wait", lambda: meter.read()["outcomes"] >= files, SECONDS, 0.05)
        meter = RoadMeter(bench, node)
        node.cli("hold", "end", hold)
        wait_for("all to be delivered", lambda: meter.read()["outcomes"] >= files, SECONDS, 0.1)
        cpu = meter.read()["cpu"]
    if far.logins() > OUT_CONNECTIONS:
        raise RigError(f"{far.logins()} connections were made, {OUT_CONNECTIONS} are allowed")
    return Moved(files, named_seconds(far.folder, files), cpu * 1e6 / files)


def fill(node, files):
    """So many documents, over some connections at once."""
    failures = []

    def send(first):
        wire = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
        for number in range(first, files, SENDERS):
            wire.request("POST", f"/in/{GATEWAY}", b"x" * SIZE, {"Waybill-Name": f"{number}.dat"})
            answer = wire.getresponse()
            if answer.status != 202:
                failures.append(f"{answer.status} {answer.read()[:200]!r}")
                return
            answer.read()
        wire.close()

    threads = [threading.Thread(target=send, args=(n,)) for n in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RigError(f"a document was not accepted: {failures[0]}")


def named_seconds(folder, files):
    """From the first file that got its name to the last: a rename is a change of the file."""
    found = [entry.stat() for entry in os.scandir(folder) if not entry.name.startswith(".")]
    if len(found) != files or any(one.st_size != SIZE for one in found):
        raise RigError(f"{len(found)} of {files} files arrived whole")
    times = [one.st_ctime_ns for one in found]
    return (max(times) - min(times)) / 1e9


# ---- in

def lay_out(far, files):
    """Files in the folder, which appear at once and are some time old."""
    ready = far.home / "ready"
    ready.mkdir()
    for number in range(files):
        path = ready / f"{number}.dat"
        path.write_bytes(b"x" * SIZE)
        os.utime(path, (time.time() - 3600,) * 2)
        os.chown(path, sshd.UID, sshd.UID)
    os.chown(ready, sshd.UID, sshd.UID)
    for path in list(ready.iterdir()):
        path.rename(far.folder / path.name)


def left(far):
    return sum(len(names) for _, _, names in os.walk(far.folder))


def raw_in(bench, far, files):
    lay_out(far, files)
    moved = run_raw(bench, far, "in", files, IN_CONNECTIONS)
    if left(far) > 0:
        raise RigError(f"{left(far)} of {files} files were left")
    return moved


def product_in(bench, far, files):
    with running(bench, far, POLLED.format(**settings(far))) as node:
        meter = RoadMeter(bench, node)
        lay_out(far, files)
        laid = time.time()
        full = os.stat(far.folder).st_mtime_ns
        began = wait_for("the first to be taken",
                         lambda: os.stat(far.folder).st_mtime_ns != full and time.time(), SECONDS, 0.001)
        ended = wait_for("all to be taken", lambda: left(far) == 0 and time.time(), SECONDS, 0.02)
        used = wait_for("all to be stored", lambda: (now := meter.read())["accepted"] >= files and now, SECONDS, 0.1)
    return Moved(files, ended - max(began, laid), used["cpu"] * 1e6 / files)
