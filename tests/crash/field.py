"""One data folder from its first start to its last check: a node, its senders and receivers."""

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from crash.disk import Disk
from crash.judge import RoadChecker
from crash.road import GATEWAY, Folder, Receivers, configuration, inbox_gateway
from harness.postgres import Cluster, PostgresError, children_of
from rig.checker import COUNTS, Findings
from rig.journal import Journal
from rig.load import Load
from rig.node import Node
from rig.process import RigError, stop_whole


@dataclass
class Tally:
    """What a whole run has seen on one database."""
    kills: int = 0
    cuts: int = 0
    acked: int = 0
    lost: int = 0
    unrecorded: int = 0
    torn: int = 0
    poison: int = 0
    doubled: int = 0
    hold_doubled: int = 0
    resend_missed: int = 0
    probe_not_once: int = 0
    in_doubt: int = 0       # documents that a person had to decide on
    failures: list = field(default_factory=list)

    def add(self, other):
        for name in ("kills", "cuts", "acked", "in_doubt", *COUNTS):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures += other.failures

    def clean(self):
        return not self.failures and not any(getattr(self, name) for name in COUNTS)

    def line(self, database=""):
        name = f"crash {database}" if database else "crash"
        return (f"{name}: kills={self.kills} cuts={self.cuts} acked={self.acked} "
                f"lost={self.lost} unrecorded={self.unrecorded} torn={self.torn} "
                f"poison={self.poison} doubled={self.doubled}")

    def doubt_line(self):
        return (f"crash doubt: hold_doubled={self.hold_doubled} resend_missed={self.resend_missed} "
                f"probe_not_once={self.probe_not_once} in_doubt={self.in_doubt}")


# Each is a way out of what cannot happen to a node that has its folder for itself.
NEVER = (b'"document.giveup"', b'"document.lost"', b'"task.orphan"')


class Broken(Exception):
    """This field showed a failure; its folder is kept and the scene goes on with a new one."""


class Field:
    """A fresh folder with a loaded node.  Use as a context; leaving it checks everything.

    With `on_disk` all that the node writes is on a disk of its own, whose power can be cut; with
    `own_cluster` a PostgreSQL server is on that disk, too.
    """

    def __init__(self, rig, scene, binary, chance, on_disk=False, own_cluster=False, store=None,
                 environment=None, rate=1000, load_options=(), wants_loss=False):
        self.rig, self.chance, self.wants_loss = rig, chance, wants_loss
        self.scene = scene
        self.tally = rig.tally(scene)
        self.folder = rig.new_folder(scene)
        self.disk = Disk(rig.disks(), self.folder.name) if on_disk else None
        place = self.disk.mount_point if self.disk else self.folder
        self.cluster = self._own_cluster(place / "postgres") if own_cluster else None
        self.store = self.cluster.url() if own_cluster else store
        self.receivers = Receivers(rig.tool("catcher"), self.folder / "arrivals",
                                   chance.randrange(1, 1 << 31))
        self.files = Folder(rig.tool("watcher"), place / "files", self.folder / "sights")
        self.node = Node(binary, self.folder, place / "data", self.store, gateway=GATEWAY,
                         environment=environment, more_gateways=inbox_gateway(place / "inbox"),
                         more=configuration(self.receivers.ports, place / "files", place / "book"))
        self.journal = Journal(self.folder / "journal")
        (place / "inbox").mkdir(exist_ok=True)
        self.checker = RoadChecker(self.node, self.journal, chance, self.receivers, self.files,
                                   place / "book", place / "inbox")
        self.rate, self.load_options = rate, load_options
        self.load = None
        self.failed = False
        self.start_seconds = 0.0    # how long the last start took

    def _own_cluster(self, folder):
        folder.mkdir()
        try:
            return Cluster(folder, settings={"max_wal_size": "64MB", "min_wal_size": "32MB"})
        except PostgresError:
            self.disk.close()
            raise

    def begin(self, environment=None):
        """First start, a key, and the senders; the receivers begin to fail."""
        self.files.begin()
        if self.disk is not None:
            self.disk.sync()    # what the rig made is no part of the test
        self.receivers.shake()
        self.start(environment)
        self.node.key_add()
        self.begin_load()
        return self

    def begin_load(self):
        seed = self.chance.randrange(1, 1 << 31)
        self.load = Load(self.rig.tool("load"), self.node, self.journal.path, seed, self.rate,
                         more=("--inbox", self.checker.inbox, *self.load_options))

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
        self._freeze(self.node.process.pid)
        if self.cluster is not None:
            self.cluster.freeze()
            self._freeze(*children_of(self.cluster.process.pid), self.cluster.process.pid)
        self.disk.cut()
        self.files.end()
        self.node.kill()
        if self.cluster is not None:
            self.cluster.kill_hard()
        self.journal.read()
        self.journal.drop_acks_after(stopped_ns, first)
        self.disk.restore()
        if self.cluster is not None:
            self.cluster.start()
        self.files.begin()
        self.tally.cuts += 1

    @staticmethod
    def _freeze(*processes):
        for process in processes:
            try:
                stop_whole(process, 5)
            except (ProcessLookupError, FileNotFoundError):
                continue    # a backend that ended in the meantime

    def check(self, everything=False, resume=True):
        """Senders rest while the checker looks; for everything, until all has arrived."""
        try:
            self.load.pause()
            if everything:
                self.receivers.heal()
                self.checker.settle()
            findings = self.checker.check(everything)
        except (RigError, OSError) as problem:
            ended = "" if self.node.alive() else self.node.last_words()
            self.fail(f"check: {problem}" + (f"; the node has ended: {ended}" if ended else ""))
        if not findings.clean():
            self._fail(findings)
        if resume:
            self.load.resume()
        return findings

    def finish(self):
        """The last check, an orderly stop, and the doctor on the stopped folder.

        What is in doubt by then is decided by what its receiver has, as a person would.
        """
        try:
            self.load.pause()
            self.receivers.heal()
            self.checker.settle()
            self.tally.in_doubt += self.checker.decide()
        except (RigError, OSError) as problem:
            self.fail(f"resolve: {problem}")
        findings = self.check(everything=True, resume=False)
        self.load.close()
        try:
            self.node.stop()
        except RigError as problem:
            self.fail(str(problem))
        if self.node.on_sqlite and self.rig.doctor_stopped:
            self.checker.doctor_stopped(findings)
        with open(self.node.log, "rb") as log:
            for line in log:
                if any(event in line for event in NEVER):
                    findings.say(f"in the log: {line.decode(errors='replace').strip()[:300]}")
        if not findings.clean():
            self._fail(findings)

    def fail(self, why):
        """Something went wrong that is not a loss."""
        self._fail(Findings(problems=[why]))

    def _fail(self, findings):
        self.failed = True
        for name in COUNTS:
            setattr(self.tally, name, getattr(self.tally, name) + getattr(findings, name))
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
        self.files.end()
        self.receivers.close()
        self.journal.read()
        self.tally.acked += len({ack.key for ack in self.journal.acks})
        if keep and self.store is not None:
            self.rig.dump_database(self.store, self.folder / "database.dump")
        if self.cluster is not None:
            self.cluster.close()
        if self.disk is not None:
            for kept in (self.node.data, self.files.folder, self.checker.book,
                         self.checker.inbox) if keep else ():
                if kept.is_dir():
                    shutil.copytree(kept, Path(self.folder) / kept.name, dirs_exist_ok=True,
                                    ignore_dangling_symlinks=True)
            self.disk.close()
        if keep:
            print(f"  kept: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
