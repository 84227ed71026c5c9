"""Nodes that race for jobs, the service that does their work, and what their store says in the end."""

import collections
import datetime
import os
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

from crash.disk import Disk
from crash.jobs_checks import Judge, Record, time_of
from crash.jobs_service import BODY, Service
from rig.node import Api, Node
from rig.process import RigError, threads_stopped, wait_for

DECLARED_DEAD = 75      # the exit code of a node that finds out that the others have declared it dead
UNAVAILABLE = 69        # that of a node whose database cannot be reached when it begins
SETTLE_SECONDS = 180
READY_SECONDS = 120     # a start after a power cut, on a busy machine
OPTIONS = "log: all, retry: { first: 200ms, most: 1s }"
FORMS = {"every": "every: 1s", "minute": 'at: "* * * * *", catch_up: all'}
ACKS = {"now": "", "later": "ack: later, timeout: 20s, "}
KIND = 3                # of the task that is the token of a job
TOKENS = " + ".join(f"(SELECT count(*) FROM task_{place} t WHERE t.kind = {KIND} AND t.id = job.num)"
                    for place in ("later", "ready", "lease"))
RECORDS = f"SELECT name, state, served, stop, next_us, {TOKENS}, stop_why FROM job"
NUMBERS = "SELECT name, state_number FROM job"
TAKE = f"""WITH few AS (SELECT id FROM task_lease WHERE kind = {KIND} LIMIT 50 FOR UPDATE SKIP LOCKED),
    gone AS (DELETE FROM task_lease l USING few WHERE l.id = few.id RETURNING l.*)
    INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes)
    SELECT queue, prio, rank, id, kind, attempts, rescues, crashes FROM gone RETURNING id"""
DROP = "; ".join(f"DELETE FROM task_{place} WHERE kind = {KIND} AND id = (SELECT num FROM job WHERE name = '{{0}}')"
                 for place in ("later", "ready", "lease"))  # its minute may have come when the nodes stopped


def names(count):
    """So many jobs of all kinds in turn."""
    kinds = [f"{ack}-{form}" for form in FORMS for ack in ACKS]
    return [f"{kinds[n % len(kinds)]}-{n // len(kinds)}" for n in range(count)]


def configuration(jobs, url, port):
    """The address for acknowledgements has to be there; the service asks any node."""
    text = f'location: {{ url: "http://127.0.0.1:{port}" }}\njobs:\n'
    for job in jobs:
        ack, form, _ = job.split("-")
        text += f"  {job}: {{ kind: call, url: \"{url}\", body: '{BODY}', {ACKS[ack]}{FORMS[form]}, {OPTIONS} }}\n"
    return text


class Jobs:
    """Nodes on one store.  Use as a context; a failure of the rig is one of the scene.

    `cluster`: a PostgreSQL server, or SQLite; `on_disk`: its power can be cut.
    """

    def __init__(self, rig, scene, binaries, jobs, cluster=None, on_disk=False, environment=None,
                 settle_seconds=SETTLE_SECONDS):
        self.rig, self.scene, self.jobs, self.cluster = rig, scene, jobs, cluster
        self.chance, self.settle_seconds = rig.chance(scene), settle_seconds
        self.folder = rig.new_folder(scene)
        self.database = f"jobs{self.folder.name[:3]}"
        self.disk = Disk(rig.disks(), self.folder.name) if on_disk else None
        if cluster is not None:
            cluster.create_database(self.database)
        self.nodes = []
        self.service = Service(lambda: [n.port for n in self.nodes], self.chance.random())
        for number, binary in enumerate(binaries):
            data = (self.disk.mount_point if self.disk else self.folder / str(number)) / "data"
            self.nodes.append(Node(binary, self.folder / str(number), data, environment=environment,
                                   store=cluster.url(self.database) if cluster is not None else None))
        for node in self.nodes:
            with open(node.config, "a", encoding="utf-8") as config:
                config.write(configuration(jobs, self.service.url, self.nodes[0].port))
        self.judge = Judge()
        self.numbers = {}
        self.failures = []
        self.done = collections.Counter({"kills": 0, "freezes": 0, "cuts": 0})
        self.runs = 0
        self.came = None

    def say(self, problem):
        self.failures.append(f"{self.scene}: {problem}")

    def begin(self):
        if self.disk is not None:
            self.disk.sync()
        for node in self.nodes:
            node.start(seconds=READY_SECONDS)
        wait_for("a request of each job that runs every second", lambda: all(
            self.service.of(job) for job in self.jobs if "-every-" in job), SETTLE_SECONDS, 0.2)
        self.came = now()       # by then all jobs are there: the next minute is one of theirs

    def bury(self, node, codes):
        """Notes a node that has ended in another way than it should."""
        code = node.process.returncode
        if code not in codes:
            self.say(f"a node ended with {code}: {node.last_words()}")

    # ---- the store, past the nodes

    def sql(self, query):
        """Rows as lists of text; of SQLite a copy is read, with all nodes down."""
        if self.cluster is not None:
            return [line.split("\t") for line in self.cluster.sql(query, self.database).splitlines()]
        with tempfile.TemporaryDirectory() as folder:
            for file in self.nodes[0].data.glob("waybill.db*"):
                shutil.copy(file, folder)
            with sqlite3.connect(Path(folder) / "waybill.db") as copy:
                return [["" if v is None else str(v) for v in row] for row in copy.execute(query)]

    def look(self):
        """The numbers of states only grow."""
        now = {name: int(number) for name, number in self.sql(NUMBERS)}
        self.judge.numbers(self.numbers, now)
        self.numbers = now

    def records(self):
        found = {}
        for name, state, served, stop, due, tokens, *why in self.sql(RECORDS):
            found[name] = Record(int(state or 0), int(served), int(stop), due != "0", int(tokens), "".join(why))
        return found

    def doubled(self):
        """Times that the log of runs has more than once as done."""
        tables = self.sql("SELECT slot FROM part WHERE family = 6")
        union = " UNION ALL ".join(f"SELECT job, nominal_us FROM job_log_{day} WHERE outcome = 1" for day, in tables)
        return self.sql("SELECT (SELECT name FROM job WHERE num = l.job), nominal_us, count(*) "
                        f"FROM ({union}) AS l GROUP BY job, nominal_us HAVING count(*) > 1") if union else []

    # ---- the end

    def settle(self):
        """Everything is up, and every job has run since then: one of each minute for the present one."""
        minute = now().replace(second=0, microsecond=0)
        before = {job: len(self.service.of(job)) for job in self.jobs}

        def rest():
            for node in self.nodes:     # one may have come to its point after the last kill
                if not node.alive():
                    node.begin()
            return [job for job in self.jobs if not self._has_run(job, before[job], minute)]

        try:
            wait_for("a run of every job", lambda: not rest(), self.settle_seconds, 0.5)
        except RigError:
            left = rest()
            self.judge.count("stranded", f"no run of {left[:3]} in {self.settle_seconds} s", len(left))
        for node in self.nodes:
            node.wait_ready(READY_SECONDS)

    def _has_run(self, job, before, minute):
        seen = self.service.of(job)
        if "-minute-" in job:
            return self.came > minute or any(time_of(one.nominal) >= minute for one in seen[-3:])
        return len(seen) > before + 1

    def finish(self):
        """Stops all and compares."""
        self.settle()
        self.doctor()
        for node in self.nodes:
            node.stop(60)
        self.service.close()
        self.failures += [f"{self.scene}: {problem}" for problem in self.service.refused[:3]]
        self.look()
        records = self.records()
        for job in self.jobs:
            self.judge.job(job, self.service.of(job), self.service.told.get(job, 0), records.get(job), "-minute-" in job)
        self.judge.log(self.doubled())
        self.runs = sum(record.state for record in records.values())
        if not self.failures and self.judge.clean():
            self.lose_a_token()

    def doctor(self):
        """What an administrator asks: nothing is wrong."""
        if wrong := self._ask_doctor():
            self.say(f"doctor: {wrong}")

    def _ask_doctor(self):
        api = Api(self.nodes[0], admin=True)
        doctor = api.graphql("{ doctor { ok checks { name ok message } } }", {})["doctor"]
        api.close()
        return [check for check in doctor["checks"] if not check["ok"]]

    def lose_a_token(self):
        """The doctor is not blind: it finds a job whose token somebody has deleted."""
        job = next(job for job in self.jobs if "-minute-" in job)
        node = self.nodes[0]
        if self.cluster is not None:
            self.cluster.sql(DROP.format(job), self.database)
        else:
            with sqlite3.connect(node.data / "waybill.db") as database:
                database.executescript(DROP.format(job))
        node.start(seconds=READY_SECONDS)
        wrong = self._ask_doctor()
        if not any(check["name"] == "jobs" for check in wrong):
            self.say(f"the doctor does not find that the token of {job} is gone: {wrong}")
        node.stop(60)

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, trace):
        ours = kind is not None and issubclass(kind, (RigError, OSError))
        if ours:
            self.say(f"{problem}; see {self.folder}")
        for node in self.nodes:
            node.kill()
        if not self.service.ended:
            self.service.close()
        keep = bool(self.failures or not self.judge.clean() or kind is not None)
        if self.cluster is not None:
            if keep:
                self.rig.dump_database(self.cluster.url(self.database), self.folder / "database.dump")
            self.cluster.drop_database(self.database)
        if self.disk is not None:
            if keep and self.nodes[0].data.is_dir():
                shutil.copytree(self.nodes[0].data, self.folder / "data", dirs_exist_ok=True)
            self.disk.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        return ours


def freeze(node):
    """Returns when every thread of it stands still."""
    os.kill(node.process.pid, signal.SIGSTOP)
    wait_for("the stop of all threads", lambda: node.process.poll() is not None or threads_stopped(node.process.pid), 10, 0.002)


def thaw(node):
    if node.process.poll() is None:
        os.kill(node.process.pid, signal.SIGCONT)


def now():
    return datetime.datetime.now(datetime.timezone.utc)
