"""Servers that stand still among others: those who are well must not feel them.

Ten systems get HL7 messages: s0 to s2 over SFTP, s3 to s5 as files, s6 and s7 over MLLP; s8 over SFTP from a
server of its own, s9 over MLLP from another: these two are stopped (SIGSTOP), and answer nothing from then on.
Ten gateways look into a folder of the stopped SFTP server, two into folders of this machine.  Runs with the two
stopped and with all at work take turns, each on a fresh node.

What counts for a system is what has arrived one second after the last request; for the file gateways, in how many
looks a file is gone.
"""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from bench.fair_blocking import CONCURRENCY, RATE, SHARE_LEAST, listed, offer
from bench.measure import median, say
from bench.road import SYSTEMS
from harness import sshd
from rig.process import RigError, end, spawn, wait_for

BY_SFTP, BY_FILE, BY_MLLP = SYSTEMS[:3], SYSTEMS[3:6], SYSTEMS[6:8]
HUNG_SFTP, HUNG_MLLP = SYSTEMS[8:]
HEALTHY = BY_SFTP + BY_FILE + BY_MLLP
QUICK_RATE = 100        # a busy machine and a debug build bear it
LOOKERS = 10            # gateways on the stopped server
EVERY_S, LOOKS_MOST = 1, 3
EXTRACT = {"sender": '"hl7:MSH-4"', "receiver": '"hl7:MSH-6"', "type": '"value:message"'}
SINK = Path(__file__).with_name("mllp_sink.py")


def fair_peers(bench, store):
    if why := sshd.missing():
        raise RigError(why)
    rate, seconds, turns = (QUICK_RATE, 3, 1) if bench.quick else (RATE, 10, 3)
    say(f"offering {rate}/s to {len(SYSTEMS)} systems")
    runs = {False: [], True: []}
    for _ in range(turns):
        for stopped in runs:
            with Run(bench, store) as one:
                one.measure(rate, seconds, stopped)
            runs[stopped].append(one)
            say(f"{'two servers stopped' if stopped else 'all well'}: the least has {min(one.arrived.values())}, "
                f"file gateways took within {one.looks:.1f} looks")
    share, worst = min((middle(runs[True], s) / max(middle(runs[False], s), 1), s) for s in HEALTHY)
    looks = max(one.looks for one in runs[True])
    bench.verdict(
        f"fair-peers {store}", f"{rate}/s to ten systems over sftp, file and mllp, two servers stopped: the other eight keep at "
        f"least {share:.1%} of their rate ({worst}); file gateways take within {looks:.1f} looks",
        share=(share >= SHARE_LEAST, f"under {SHARE_LEAST:.0%}"),
        looks=(looks <= LOOKS_MOST, f"over {LOOKS_MOST} looks"))


def middle(runs, system):
    return median(one.arrived[system] for one in runs)


class Sink:
    """An MLLP receiver in a process of its own."""

    def __init__(self, file):
        self.file = file
        self.process = spawn([SINK, file], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def count(self):
        return os.path.getsize(self.file)

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        end(self.process, signal.SIGKILL)
        self.process.stdout.close()


class Drops:
    """Puts a file into each of two folders, waits until both are gone, and again; the longest wait counts."""

    def __init__(self, folders):
        self.folders, self.longest, self.ended = folders, 0.0, False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        number = 0
        while not self.ended:
            number += 1
            for folder in self.folders:
                (folder / ".drop").write_text("a note")
                (folder / ".drop").rename(folder / f"{number}.txt")
            began = time.monotonic()
            while any(listed(f) for f in self.folders):
                self.longest = max(self.longest, time.monotonic() - began)
                time.sleep(0.01)
                if time.monotonic() - began > 60:
                    return

    def close(self):
        self.ended = True
        self.thread.join()


class Run:
    """One node and its servers."""

    def __init__(self, bench, store):
        self.bench, self.store = bench, store
        self.place = Path(bench.folder, f"peers{time.time_ns()}")
        self.arrived, self.looks = {}, 0
        self.servers, self.sinks, self.node = [], {}, None

    def __enter__(self):
        self.place.mkdir()
        self.servers = [sshd.Sshd(), sshd.Sshd()]
        self.sinks = {s: Sink(self.place / f"{s}.count") for s in [*BY_MLLP, HUNG_MLLP]}
        self.folders = {s: self.place / s for s in BY_FILE} | {s: self.inside(self.servers[0], s) for s in BY_SFTP}
        self.inside(self.servers[1], HUNG_SFTP)
        self.inside(self.servers[1], "poll")
        self.drops = [self.place / f"drop{i}" for i in range(2)]
        for folder in [*(self.place / s for s in BY_FILE), *self.drops]:
            folder.mkdir()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.close()
        for sink in self.sinks.values():
            sink.close()
        if self.node is not None:
            self.bench.discard(self.node)

    @staticmethod
    def inside(server, name):
        folder = server.folder / name
        folder.mkdir()
        os.chown(folder, sshd.UID, sshd.UID)
        return folder

    def configuration(self):
        one, two = ({"login": f'password: "{s.password}", host_key: "{s.print()}"', "server": s} for s in self.servers)

        def sftp(at, name):
            return f'url: "{at["server"].url(at["server"].folder / name)}", {at["login"]}'

        lines = ["systems:", *(f"  {s}: {{ limits: {{ concurrency: {CONCURRENCY} }} }}" for s in SYSTEMS),
                 "types: { message: {} }", "endpoints:"]
        lines += [f"  to-{s}: {{ kind: sftp, system: {s}, {sftp(one, s)} }}" for s in BY_SFTP]
        lines += [f'  to-{s}: {{ kind: file, system: {s}, path: "{self.folders[s]}" }}' for s in BY_FILE]
        lines += [f'  to-{s}: {{ kind: mllp, system: {s}, address: "127.0.0.1:{self.sinks[s].port}" }}'
                  for s in [*BY_MLLP, HUNG_MLLP]]
        lines += [f"  to-{HUNG_SFTP}: {{ kind: sftp, system: {HUNG_SFTP}, {sftp(two, HUNG_SFTP)} }}", "routes:"]
        lines += [f"  - {{ name: to-{s}, when: {{ receiver: {s} }}, do: [ {{ deliver: to-{s} }} ] }}" for s in SYSTEMS]
        lines += ["  - { name: rest, do: [ { drop: {} } ] }"]
        gateways = [f"  look{i}: {{ kind: sftp, {sftp(two, 'poll')}, every: {EVERY_S}s }}" for i in range(LOOKERS)]
        gateways += [f'  drop{i}: {{ kind: file, path: "{f}", every: {EVERY_S}s, min_age: 0s, after: delete }}'
                     for i, f in enumerate(self.drops)]
        return "\n".join(lines) + "\n", "\n".join(gateways) + "\n"

    def arrivals(self):
        return {s: listed(f) for s, f in self.folders.items()} | {s: self.sinks[s].count() for s in BY_MLLP}

    def measure(self, rate, seconds, stopped):
        more, gateways = self.configuration()
        self.node = self.bench.node(self.store, gateway={"auth": "none", "extract": EXTRACT}, more=more,
                                    more_gateways=gateways)
        self.node.start()
        offer(self.bench, self.node.port, 10, 2, "--messages")
        wait_for("the first to arrive", lambda: all(self.arrivals().values()), 60)
        before = self.arrivals()
        if stopped:
            self.servers[1].freeze()
            self.sinks[HUNG_MLLP].process.send_signal(signal.SIGSTOP)
        drops = Drops(self.drops)
        try:
            offer(self.bench, self.node.port, rate, seconds, "--messages")
            time.sleep(1)
            after = self.arrivals()
        finally:
            drops.close()
        self.arrived = {s: after[s] - before[s] for s in HEALTHY}
        self.looks = drops.longest / EVERY_S
