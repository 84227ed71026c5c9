"""One data folder from its first start to its last check: a node, its senders, their journal."""

import os
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from crash.disk import Disk
from harness.postgres import PostgresError
from rig.checker import Checker, Findings
from rig.journal import Journal
from rig.load import Load
from rig.node import Node
from rig.process import RigError, threads_stopped, wait_for


@dataclass
class Tally:
    """What a whole run has seen on one database."""
    kills: int = 0
    cuts: int = 0
    acked: int = 0
    lost: int = 0
    doubled: int = 0
    failures: list = field(default_factory=list)

    def add(self, other):
        for name in ("kills", "cuts", "acked", "lost", "doubled"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures += other.failures

    def line(self, database=""):
        name = f"crash {database}" if database else "crash"
        return (f"{name}: kills={self.kills} cuts={self.cuts} acked={self.acked} "
                f"lost={self.lost} doubled={self.doubled}")


class Broken(Exception):
    """This field showed a failure; its folder is kept and the scene goes on with a new one."""


class Field:
    """A fresh folder with a loaded node.  Use as a context; leaving it checks everything."""

    def __init__(self, rig, scene, binary, chance, on_disk=False, store=None, environment=None,
                 rate=2500, load_options=(), wants_loss=False):
        self.rig, self.chance, self.wants_loss = rig, chance, wants_loss
        self.scene = scene
        self.tally = rig.tally(scene)
        self.folder = rig.new_folder(scene)
        self.disk = Disk(rig.disks(), self.folder.name) if on_disk else None
        data = self.disk.mount_point / "data" if self.disk else None
        self.store = store
        self.node = Node(binary, self.folder, data, store, environment=environment)
        self.journal = Journal(self.folder / "journal")
        self.checker = Checker(self.node, self.journal, chance)
        self.rate, self.load_options = rate, load_options
        self.load = None
        self.failed = False
        self.start_seconds = 0.0    # how long the last start took

    def begin(self, environment=None):
        """First start, a key, and the senders."""
        self.start(environment)
        self.node.key_add()
        self.begin_load()
        return self

    def begin_load(self):
        seed = self.chance.randrange(1, 1 << 31)
        self.load = Load(self.rig.tool("load"), self.node, self.journal.path, seed, self.rate,
                         more=self.load_options)

    def start(self, environment=None):
        """A node that does not start counts as everything lost."""
        try:
            self.start_seconds = self.node.start(environment)
        except RigError as problem:
            self._fail(self.checker.all_lost(f"the node does not start: {problem}"))

    def kill(self):
        self.node.kill()
        self.tally.kills += 1

    def cut(self):
        """Power cut.  Only acks that arrived before the node was stopped count."""
        first = len(self.journal.read().acks)
        stopped_ns = time.monotonic_ns()
        os.kill(self.node.process.pid, signal.SIGSTOP)
        wait_for("the stop of all threads", lambda: threads_stopped(self.node.process.pid), 5,
                 every=0.001)
        self.disk.cut()
        self.node.kill()
        self.journal.read()
        self.journal.drop_acks_after(stopped_ns, first)
        self.disk.restore()
        self.tally.cuts += 1

    def check(self, everything=False, resume=True):
        """Senders rest while the checker looks."""
        try:
            self.load.pause()
            findings = self.checker.check(everything)
        except (RigError, OSError) as problem:
            self.fail(f"check: {problem}")
        if not findings.clean():
            self._fail(findings)
        if resume:
            self.load.resume()
        return findings

    def finish(self):
        """The last check, an orderly stop, and the doctor on the stopped folder."""
        findings = self.check(everything=True, resume=False)
        self.load.close()
        try:
            self.node.stop()
        except RigError as problem:
            self.fail(str(problem))
        if self.node.on_sqlite and self.rig.doctor_stopped:
            self.checker.doctor_stopped(findings)
        if not findings.clean():
            self._fail(findings)

    def fail(self, why):
        """Something went wrong that is not a loss."""
        self._fail(Findings(problems=[why]))

    def _fail(self, findings):
        self.failed = True
        self.tally.lost += findings.lost
        self.tally.doubled += findings.doubled
        if not self.wants_loss:
            for problem in findings.problems[:8]:
                print(f"  {self.scene}: {problem}", flush=True)
        self.tally.failures.append(f"{self.scene}: {findings.problems[0]} (kept: {self.folder})")
        raise Broken(findings.problems[0])

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, trace):
        ours = kind is not None and issubclass(kind, (Broken, RigError, PostgresError, OSError))
        try:
            if kind is None:
                self.finish()
            elif ours and kind is not Broken:
                self.fail(str(problem))
        except Broken:
            pass
        finally:
            self._release(keep=self.failed and not self.wants_loss)
        return ours

    def _release(self, keep):
        if self.load is not None:
            self.load.close()
        self.node.kill()
        self.journal.read()
        self.tally.acked += len({ack.key for ack in self.journal.acks})
        if self.disk is not None:
            if keep and self.node.data.is_dir():
                shutil.copytree(self.node.data, Path(self.folder) / "data", dirs_exist_ok=True,
                                ignore_dangling_symlinks=True)
            self.disk.close()
        if keep and self.store is not None:
            self.rig.dump_database(self.store, self.folder / "database.dump")
        if keep:
            print(f"  kept: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
