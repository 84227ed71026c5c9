"""Jobs one way: runs that are left to a service, which acknowledges later, and jobs that one node hands over to others."""
import contextlib
import datetime
import http.server
import json
import re
import socket
import sqlite3
import subprocess
import threading
import time
import urllib.parse

import pytest

from peers import free_port
from proxy import Proxy
from running_node import ROOT, clean_environment
from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
SECONDS = 60
HERE = "location: { url: \"http://farm.example:8480/\" }\n"


class Service:
    """Takes work and answers 202, or what `answers` says of the n-th request: (status, JSON), or None for no answer."""

    def __init__(self, answers=lambda seen, n: (202, None)):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                seen = {"key": self.headers["Idempotency-Key"], "ack": self.headers["Waybill-Ack"],
                        "token": self.headers["Waybill-Ack-Token"], "state": json.loads(body)["state"] if body else None}
                with service.lock:
                    service.requests.append(seen)
                    number = len(service.requests)
                answer = answers(seen, number)
                if answer is None:
                    self.close_connection = True
                    return
                status, said = answer
                data = json.dumps(said).encode() if said is not None else b""
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.requests, self.lock = [], threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def wait_for(self, count):
        wait_until(lambda: len(self.requests) >= count, SECONDS, f"{count} requests of {self.requests}")
        return list(self.requests)


def later(service, keys="every: 1h", name="work"):
    return HERE + f"jobs:\n  {name}:\n    kind: call\n    url: {service.url}\n    ack: later\n" \
        "    body: '{\"state\": \"${state}\"}'\n" + "".join(f"    {line}\n" for line in keys.splitlines())


def ack(node, seen, said, token=None, raw=None, run=None):
    """What the service says of what it was asked, to whichever node."""
    where = urllib.parse.urlsplit(seen["ack"])
    query = where.query if run is None else f"run={run}"
    headers = {"Waybill-Ack-Token": seen["token"] if token is None else token}
    until = time.monotonic() + SECONDS
    while True:
        got = node.request("POST", f"{where.path}?{query}", raw if raw is not None else json.dumps(said), headers)
        if got.status != 503 or time.monotonic() > until:
            return got
        time.sleep(0.05)  # a node that has just begun does not know the jobs yet; workers try again, too


def start(make_node, config, **settings):
    node = make_node(config=config, **settings)
    node.start()
    return node


def runs(node, outcome="done", kind="call"):
    return node.metrics()[f'waybill_job_runs_total{{kind="{kind}",outcome="{outcome}"}}']


def troubles(node, count):
    """Ends of runs that the store did not take."""
    def told():
        return [e for e in list(node.events) if e["event"] == "job.trouble" and e["what"] == "write the end of a run"]

    wait_until(lambda: len(told()) >= count, SECONDS, f"{count} troubles")
    return told()


# ---- acknowledged later --------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.smoke
def test_a_service_acknowledges_later(make_node):
    with Service() as service:
        node = start(make_node, later(service, "every: 1h\nlog: all"))
        first, = service.wait_for(1)
        where = urllib.parse.urlsplit(first["ack"])
        assert (where.scheme, where.netloc, where.path) == ("http", "farm.example:8480", "/work/ack")
        assert len(first["token"]) == 64
        time.sleep(0.5)
        assert runs(node) == 0  # nobody has said anything yet

        # A full batch that moved on: the next one follows at once, with the state.
        got = ack(node, first, {"state": "17", "more": True, "moved": True, "message": "half"})
        assert (got.status, got.json) == (200, {"outcome": "done"})
        second = service.wait_for(2)[1]
        assert second["state"] == "17" and second["token"] != first["token"] and second["ack"] != first["ack"]
        assert second["key"] != first["key"]

        # The same again gets the same answer; another one is too late.
        assert ack(node, first, {"state": "17", "more": True, "moved": True, "message": "half"}).json == {"outcome": "done"}
        other = ack(node, first, {"state": "18"})
        assert other.status == 410 and other.json["error"]["code"] == "gone"
        assert ack(node, second, {}).status == 200
        wait_until(lambda: runs(node) == 2, SECONDS)
        assert len(service.requests) == 2
        assert node.cli("doctor").returncode == 0


@BOTH
def test_the_schedule_of_what_is_acknowledged_later_is_told(make_node):
    with Service() as service:
        node = start(make_node, later(service, "every: 1h\nruns: 1"))
        first, = service.wait_for(1)
        assert ack(node, first, {}).status == 200
        assert "runs" in node.wait_event("job.over", SECONDS, job="work")["why"]


@pytest.mark.stores("sqlite")
def test_an_acknowledgement_that_is_repeated_ends_the_run_once(make_node):
    """The store is read and takes nothing: each time it waits for the same end."""
    with Service() as service:
        node = start(make_node, later(service, "every: 1h\nlog: all"))
        first, = service.wait_for(1)
        answers = []
        said = [threading.Thread(target=lambda: answers.append(ack(node, first, {"state": "1"}).status)) for _ in range(3)]
        with contextlib.closing(sqlite3.connect(next(node.data.glob("*.db")))) as store:
            store.execute("BEGIN IMMEDIATE")
            for one in said:
                one.start()
            for one in said:
                one.join()
            assert answers == [503] * 3
            troubles(node, 1)
            store.rollback()
        wait_until(lambda: ack(node, first, {"state": "1"}).status == 200, SECONDS)
        assert len(troubles(node, 1)) == 1 and runs(node) == 1


@BOTH
def test_what_was_acknowledged_as_failed_is_repeated_or_not(make_node):
    with Service() as service:
        node = start(make_node, later(service, "every: 1h\nretry: { first: 10ms, most: 10ms, for: 1h }\nsuspend: 1"))
        first, = service.wait_for(1)
        assert ack(node, first, {"error": "no luck"}).json == {"outcome": "failed"}
        assert node.wait_event("job.fail", SECONDS, job="work")["why"] == "no luck"
        again = service.wait_for(2)[1]
        assert again["key"] == first["key"] and again["token"] != first["token"]  # the same nominal time
        assert ack(node, first, {"error": "no luck"}).json == {"outcome": "failed"}  # twice
        assert ack(node, again, {"error": "never", "retry": False}).json == {"outcome": "failed"}
        assert "never" in node.wait_event("job.suspend", SECONDS, job="work")["why"]
        assert len(service.requests) == 2


@BOTH
@pytest.mark.proves("SC18")
def test_who_may_acknowledge(make_node):
    with Service() as service:
        config = later(service) + later(service, "every: 1h", "other").split("jobs:\n")[1]
        node = start(make_node, config)
        one, two = service.wait_for(2)
        assert ack(node, one, {}, token="").status == 401
        assert ack(node, one, {}, token="x" * 64).status == 401  # no such token can be
        assert ack(node, one, {}, token=node.token).status in (401, 403)
        for token in ("0" * 64, two["token"]):  # a wrong one, and that of another job
            got = ack(node, one, {}, token=token)
            assert got.status == 403 and got.json["error"]["code"] == "forbidden"
        assert ack(node, one, {}, run="17").status == 404
        assert ack(node, one, {}, run="99999-1").status == 410
        assert node.request("GET", "/work/ack").status == 405
        assert node.request("POST", "/work/other", "{}").status == 404
        assert ack(node, one, {}).status == ack(node, two, {}).status == 200
        # Who has not the token is not told how it ended.
        assert ack(node, one, {}, token=two["token"]).status == 403
        wait_until(lambda: "credentialRefused" in node.cli("audit", "ls", "--json").stdout, SECONDS)


@BOTH
@pytest.mark.proves("SC12")
def test_what_cannot_be_taken_leaves_the_run_open(make_node):
    with Service() as service:
        node = start(make_node, later(service))
        seen, = service.wait_for(1)
        for raw in ("", "[]", "{ no", "{} {}"):
            assert ack(node, seen, None, raw=raw).status == 400, raw
        got = ack(node, seen, {"state": "x" * (64 * 1024 + 1)})
        assert got.status == 400 and "65537" in got.json["error"]["message"]
        long = json.dumps({"state": "x", "filler": "y" * 80000})
        assert ack(node, seen, None, raw=long).status == 413
        piece = iter([long.encode()])
        where = urllib.parse.urlsplit(seen["ack"])
        chunked = node.request("POST", f"{where.path}?{where.query}", piece, {"Waybill-Ack-Token": seen["token"]})
        assert chunked.status == 413
        assert runs(node) == 0
        assert ack(node, seen, {"state": "x" * (64 * 1024)}).status == 200
        wait_until(lambda: runs(node) == 1, SECONDS)


@BOTH
def test_a_longer_message_may_be_allowed(make_node):
    with Service() as service:
        node = start(make_node, later(service), options="limits: { message_limit: 200000 }")
        seen, = service.wait_for(1)
        assert ack(node, seen, {"state": "x", "filler": "y" * 100000}).status == 200
        assert ack(node, seen, {"filler": "y" * 200000}).status == 413


@BOTH
@pytest.mark.proves("SC4")
def test_what_nobody_acknowledges_has_failed(make_node):
    with Service() as service:
        node = start(make_node, later(service, "every: 1h\ntimeout: 5s\nretry: { first: 10ms, most: 10ms, for: 1h }"))
        first, = service.wait_for(1)
        why = node.wait_event("job.fail", SECONDS, job="work")["why"]
        assert why.startswith("timeout: nobody acknowledged it"), why
        again = service.wait_for(2)[1]
        assert again["key"] == first["key"] and again["token"] != first["token"]
        late = ack(node, first, {"state": "late"})
        assert late.status == 410
        last = service.wait_for(3)[-1]
        assert last["state"] == ""
        wait_until(lambda: ack(node, service.requests[-1], {"state": "good"}).status == 200, SECONDS)


@BOTH
def test_a_beat_buys_time(make_node):
    with Service() as service:
        node = start(make_node, later(service, "every: 1h\ntimeout: 10s"))
        seen, = service.wait_for(1)
        until = time.monotonic() + 13
        while time.monotonic() < until:
            got = ack(node, seen, {"beat": True})
            assert got.status == 200 and "until" in got.json, got.json
            time.sleep(0.2)
        assert ack(node, seen, {}).json == {"outcome": "done"}
        assert ack(node, seen, {"beat": True}).status == 410
        assert len(service.requests) == 1 and runs(node, "failed") == 0


@BOTH
def test_the_acknowledgement_may_come_before_the_answer(make_node):
    """The service says what became of it, and only then answers 202."""
    made = []

    def answers(seen, n):
        if n < 4:
            wait_until(lambda: made and made[0].url, SECONDS)
            assert ack(made[0], seen, {"state": str(n), "more": True, "moved": True}).json == {"outcome": "done"}
        return 202, None

    with Service(answers) as service:
        made.append(make_node(config=later(service)))
        made[0].start()
        seen = service.wait_for(4)
        assert [r["state"] for r in seen] == ["", "1", "2", "3"]
        assert not [e for e in made[0].events if e["event"] in ("job.fail", "job.lose")]


@BOTH
def test_an_answer_that_is_no_202(make_node):
    """Done at once, refused at once; where the answer was lost the service may be at work: nothing is repeated."""
    answers = {1: (500, {"error": "not now"}), 2: (200, {"state": "at once", "more": True, "moved": True}), 3: None}
    with Service(lambda seen, n: answers.get(n, (202, None))) as service:
        node = start(make_node, later(service, "every: 1h\nretry: { first: 10ms, most: 10ms }"))
        seen = service.wait_for(3)
        assert seen[0]["key"] == seen[1]["key"] != seen[2]["key"] and seen[2]["state"] == "at once"
        assert ack(node, seen[1], {}).status == 410
        assert ack(node, seen[2], {"state": "after all", "more": True, "moved": True}).status == 200
        assert service.wait_for(4)[3]["state"] == "after all"
        assert ack(node, service.requests[3], {}).status == 200
        assert len(service.requests) == 4


@BOTH
def test_of_runs_beside_each_other_some_are_outside(make_node):
    with Service() as service:
        node = start(make_node, later(service, "every: 50ms\nparallel: 3"))
        seen = sorted(service.wait_for(3), key=lambda r: r["key"])  # they may arrive in another order
        time.sleep(1)
        assert len(service.requests) == 3 and len({r["key"] for r in seen}) == 3
        assert ack(node, seen[1], {"state": "second"}).json == {"outcome": "done"}
        assert ack(node, seen[0], {"state": "first"}).json == {"outcome": "done", "stale": True}
        assert ack(node, seen[0], {"state": "first"}).json == {"outcome": "done", "stale": True}
        assert len(service.requests) == 3  # the token waits for the third
        assert ack(node, seen[2], {"state": "third"}).json == {"outcome": "done", "stale": True}
        assert [r["state"] for r in service.wait_for(6)[3:6]] == ["second"] * 3


@BOTH
def test_a_job_that_left_the_configuration_gets_its_result(make_node):
    with Service() as service:
        node = start(make_node, later(service))
        seen, = service.wait_for(1)
        (node.folder / "w.yaml").write_text("jobs: {}\n")
        assert node.cli("apply", "--yes", node.folder / "w.yaml").returncode == 0
        node.wait_event("job.follow", SECONDS, left=1)
        # A job that left the configuration while it ran gets its result, and does not go on.
        until = ack(node, seen, {"beat": True}).json["until"]  # an hour, as long as its `timeout`
        assert datetime.datetime.fromisoformat(until).timestamp() > time.time() + 1800
        assert ack(node, seen, {"state": "kept"}).json == {"outcome": "done"}
        (node.folder / "w.yaml").write_text(later(service))
        assert node.cli("apply", "--yes", node.folder / "w.yaml").returncode == 0
        assert service.wait_for(2)[1]["state"] == "kept"


@BOTH
@pytest.mark.proves("SC4")
def test_the_node_may_die_and_be_replaced(make_node, store):
    """Killed between the 202 and the acknowledgement: the work is not done twice, and whoever is there takes what is said."""
    with Service() as service:
        node = start(make_node, later(service, "every: 1h\ntimeout: 1h"))
        first, = service.wait_for(1)
        node.wait_event("node.ready")
        time.sleep(0.3)  # for the 202
        node.kill()
        if store:
            node = start(make_node, later(service, "every: 1h\ntimeout: 1h"))
        else:
            node.start()
        assert ack(node, first, {"beat": True}).status == 200
        got = ack(node, first, {"state": "5", "more": True, "moved": True})
        assert got.json == {"outcome": "done"}
        assert service.wait_for(2)[1]["state"] == "5"
        assert ack(node, first, {"state": "5", "more": True, "moved": True}).json == {"outcome": "done"}
        assert len(service.requests) == 2


@BOTH
@pytest.mark.proves("SC4")
def test_a_node_that_stops_leaves_the_run_outside(make_node):
    answered = threading.Event()
    with Service(lambda seen, n: (202, None) if answered.wait(SECONDS) else None) as service:
        node = start(make_node, later(service, "every: 1h\ntimeout: 1h"))
        first, = service.wait_for(1)
        assert node.stop() == 0
        answered.set()
        node.start()
        assert ack(node, first, {"state": "5"}).json == {"outcome": "done"}
        assert len(service.requests) == 1 and not [e for e in node.events if e["event"] in ("job.fail", "job.lose")]


# ---- the workers of docs/jobs-workers.md ----------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "jobs-workers.md").read_text()


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.S).group(1)


class Inetd:
    """Runs the program for each connection, which is its standard input and output."""

    def __init__(self, program):
        self.program = program
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.children = []
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.children.append(subprocess.Popen([str(self.program)], stdin=connection, stdout=connection,
                                                      stderr=subprocess.DEVNULL, env=clean_environment()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for child in self.children:
            child.wait(SECONDS)


class Script:
    """A program that listens on a port of its own."""

    def __init__(self, text, folder):
        self.port = free_port()
        file = folder / "worker.py"
        file.write_text(text.replace("8090", str(self.port)))
        self.process = subprocess.Popen(["/usr/bin/python3", str(file)], stderr=subprocess.DEVNULL)

    def __enter__(self):
        def listens():
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return True
            except OSError:
                return False
        wait_until(listens, SECONDS)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def worker(language, folder):
    if language == "python":
        return Script(block("python"), folder)
    file = folder / "worker.sh"
    file.write_text(block("sh"))
    file.chmod(0o755)
    return Inetd(file)


@pytest.mark.parametrize("language", ["sh", "python"])
def test_the_workers_of_the_docs(make_node, tmp_path, language):
    """As they are written there, but for addresses and the interval."""
    front = Proxy(1)
    with front, worker(language, tmp_path) as far:
        config = block("yaml").replace("https://here.example:8480", f"http://127.0.0.1:{front.port}")
        config = config.replace("https://worker.example", f"http://127.0.0.1:{far.port}").replace("10m", "100ms")
        node = make_node(config=config.replace("ack: later", "log: all, ack: later"))
        node.start()
        front.targets = [urllib.parse.urlsplit(node.url).port]
        wait_until(lambda: runs(node) >= 4, SECONDS, node.tail())
        assert runs(node, "failed") == 0
        assert node.cli("jobs", "pause", "import").returncode == 0  # no worker is left that tells nobody
        wait_until(lambda: node.graphql('{ job(name: "import") { open { node } } }')["job"]["open"] == [], SECONDS)
        node.stop()
    with contextlib.closing(sqlite3.connect(next(node.data.glob("*.db")))) as store:
        state, message, count = store.execute("SELECT state, message, runs FROM job").fetchone()
    assert message == "counted" and int(state) == count >= 4
    assert len(block(language).splitlines()) <= 25


# ---- handed over ---------------------------------------------------------------------------------------------------


def notes(*nodes, job=None):
    return [e for node in nodes for e in list(node.events) if e.get("event") == "job.note" and job in (None, e["job"])]


def tell(node, name):
    return [e for e in list(node.events) if e.get("event") == name]


class Farm:
    """Workers behind a proxy, and a node that only schedules: it alone claims jobs of the area dmz."""

    def __init__(self, make_node, jobs, workers=2, worker="", role="worker", slots=100, expires="1d"):
        config = "jobs:\n" + "".join(f"  {name}: {{ area: dmz, {keys} }}\n" for name, keys in jobs.items())
        self.workers = [make_node(config=config, options=worker) for _ in range(workers)]
        for node in self.workers:
            node.start()
        made = self.workers[0].cli("key", "add", "--admin", "--title", "farm", "--role", role, "--expires", expires, "--json")
        assert made.returncode == 0, made.stderr
        self.key = json.loads(made.stdout)["key"]
        for node in self.workers:  # the others learn of it within a second
            wait_until(lambda node=node: node.request("POST", "/work/run", "{}", {"Authorization": f"Bearer {self.key}"}).status
                       in (400, 403), SECONDS)
        self.proxy = Proxy(self.port(self.workers[0]))
        self.proxy.targets = [self.port(node) for node in self.workers]
        self.scheduler = make_node(config=config, options=f"area: dmz\nlog: debug\njobs: {{ hand_over: \"http://127.0.0.1:{self.proxy.port}/\", "
                                                          f"key: \"{self.key}\", slots: {slots}, batch: 100 }}")

    @staticmethod
    def port(node):
        return urllib.parse.urlsplit(node.url).port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proxy.close()

    def nodes(self):
        """To be stopped in this order: the scheduler does not hand over to nodes that are stopped."""
        return [self.scheduler, *self.workers]


def once_each(jobs):
    return {f"j{i}": "kind: note, every: 1h" for i in range(jobs)}


@POSTGRES
@pytest.mark.smoke
def test_jobs_are_handed_over(make_node):
    with Farm(make_node, {f"j{i}": "kind: note, every: 100ms" for i in range(6)}) as farm:
        time.sleep(1.5)
        assert not notes(*farm.workers)  # nobody else claims them
        farm.scheduler.start()
        wait_until(lambda: all(len(notes(*farm.workers, job=f"j{i}")) >= 10 for i in range(6)) and
                   all(notes(w) for w in farm.workers), SECONDS)
        for node in farm.nodes():
            node.stop()
        assert not notes(farm.scheduler)
        for i in range(6):
            seen = sorted((e["nominal"], e["count"]) for e in notes(*farm.workers, job=f"j{i}"))
            assert len({nominal for nominal, _ in seen}) == len(seen)
            assert [count for _, count in seen] == list(range(1, len(seen) + 1)), seen
        assert not [e for node in farm.nodes() for e in node.events if e["event"] in ("job.keep", "job.lose", "job.late")]


@POSTGRES
def test_all_are_handed_over_at_once(make_node):
    """While no answer goes on, one after the other there would never be more than one run."""
    with Farm(make_node, once_each(20)) as farm:
        gate = threading.Event()
        farm.proxy.lose = lambda: not gate.wait(SECONDS)
        farm.scheduler.start()
        try:
            wait_until(lambda: len(notes(*farm.workers)) >= len(tell(farm.scheduler, "job.hand_over")) + 5, SECONDS)
        finally:
            gate.set()
        wait_until(lambda: len(notes(*farm.workers)) == 20, SECONDS)
        assert len({e["job"] for e in notes(*farm.workers)}) == 20
        assert farm.proxy.connections > 5, "no request waits for the answer of another one"


@POSTGRES
@pytest.mark.proves("SC3", "SC4")
def test_lost_answers_lose_no_job_and_double_none(make_node):
    """The other node has it, although nobody was told so."""
    with Farm(make_node, {f"j{i}": "kind: note, every: 1s" for i in range(5)}) as farm:
        farm.proxy.lose = lambda: True
        farm.scheduler.start()
        wait_until(lambda: all(len(notes(*farm.workers, job=f"j{i}")) >= 3 for i in range(5)), SECONDS)
        wait_until(lambda: any(e.get("unseen") for e in tell(farm.scheduler, "job.hand_over")), SECONDS)
        assert not tell(farm.scheduler, "job.keep")
        for node in farm.nodes():
            node.stop()
        for i in range(5):
            counts = sorted(e["count"] for e in notes(*farm.workers, job=f"j{i}"))
            assert counts == list(range(1, len(counts) + 1))
        assert not notes(farm.scheduler)


@POSTGRES
@pytest.mark.proves("SC3", "SC4")
def test_who_takes_it_too_late_does_nothing(make_node):
    """The first five requests arrive after the scheduler has given its claims back."""
    with Farm(make_node, once_each(5)) as farm:
        first = iter(range(5))

        def hold():
            if next(first, None) is not None:
                wait_until(lambda: len(notes(*farm.workers)) == 5, SECONDS)
            return 0
        farm.proxy.hold = hold
        farm.scheduler.start()
        wait_until(lambda: len(notes(*farm.workers)) == 5, SECONDS)
        assert len(tell(farm.scheduler, "job.keep")) > 0
        wait_until(lambda: sum(len(tell(w, "job.late")) for w in farm.workers) == 5, SECONDS)
        time.sleep(1)
        assert sorted(e["job"] for e in notes(*farm.workers)) == [f"j{i}" for i in range(5)]
        assert all(e["count"] == 1 for e in notes(*farm.workers)) and not notes(farm.scheduler)


@POSTGRES
@pytest.mark.proves("SC4")
def test_what_was_taken_goes_on_when_its_node_dies(make_node):
    with Service(lambda seen, n: (200, {}) if n > 1 else time.sleep(SECONDS)) as service:
        keys = f"kind: call, url: \"{service.url}\", every: 1h, timeout: 1h, body: \"{{\\\"state\\\": 1}}\""
        with Farm(make_node, {"work": keys}) as farm:
            farm.scheduler.start()
            first, = service.wait_for(1)
            wait_until(lambda: tell(farm.scheduler, "job.hand_over"), SECONDS)
            dead = next(w for w in farm.workers if w.metrics()["waybill_job_claim_lag_seconds_count"] > 0)
            heir = next(w for w in farm.workers if w is not dead)
            farm.proxy.targets = [farm.port(heir)]
            dead.kill()
            again = service.wait_for(2)[1]
            assert again["key"] == first["key"]
            wait_until(lambda: runs(heir) == 1, SECONDS)


@POSTGRES
def test_a_farm_that_is_full_or_away(make_node):
    with Farm(make_node, once_each(3), workers=1, worker="jobs: { slots: 0 }") as farm:
        farm.scheduler.start()
        wait_until(lambda: any("503" in e["why"] for e in tell(farm.scheduler, "job.keep")), SECONDS)
        worker, = farm.workers
        worker.stop()
        since = len(farm.scheduler.events)
        wait_until(lambda: any("503" not in e["why"] for e in tell(farm.scheduler, "job.keep")), SECONDS * 2)
        worker.options = ""
        worker.write_config(worker.config_file.read_text().split("jobs:\n", 1)[1].join(["jobs:\n", ""]))
        worker.start()
        farm.proxy.targets = [farm.port(worker)]
        wait_until(lambda: len(notes(worker)) == 3, SECONDS)
        assert since > 0 and not notes(farm.scheduler)


@POSTGRES
def test_a_farm_that_does_not_run_the_kind(make_node):
    """It refuses: nothing is taken and given back in silence."""
    with Farm(make_node, once_each(1), workers=1, worker="jobs: { kinds: [ call ] }") as farm:
        farm.scheduler.start()
        assert "503" in farm.scheduler.wait_event("job.keep", SECONDS)["why"]
        worker, = farm.workers
        worker.stop()
        worker.options = ""
        text = worker.config_file.read_text()
        worker.write_config(text[text.index("jobs:\n"):])
        worker.start()
        farm.proxy.targets = [farm.port(worker)]
        wait_until(lambda: len(notes(worker)) == 1, SECONDS)


@POSTGRES
@pytest.mark.proves("SC18")
def test_a_key_that_is_refused(make_node):
    """With a key that has not the right nothing runs; the one that is put in its place is used without a restart."""
    with Farm(make_node, once_each(2), workers=1, role="viewer") as farm:
        scheduler, worker = farm.scheduler, farm.workers[0]
        scheduler.options = scheduler.options.replace(f"\"{farm.key}\"", "secret:farm")
        scheduler.write_config("jobs:\n" + "".join(f"  j{i}: {{ area: dmz, kind: note, every: 1h }}\n" for i in range(2)))
        scheduler.start()
        wait_until(lambda: any("farm" in e["why"] for e in tell(scheduler, "job.keep")), SECONDS)  # there is no such secret yet
        assert scheduler.cli("secret", "add", "farm", stdin=farm.key).returncode == 0
        wait_until(lambda: any("403" in e["why"] for e in tell(scheduler, "job.keep")), SECONDS * 2)
        made = worker.cli("key", "add", "--admin", "--title", "other", "--role", "worker", "--json")
        assert scheduler.cli("secret", "add", "farm", stdin=json.loads(made.stdout)["key"]).returncode == 0
        wait_until(lambda: len(notes(worker)) == 2, SECONDS)
        assert not notes(scheduler)


@BOTH
@pytest.mark.proves("SC12")
def test_who_may_hand_over_and_what(make_node):
    node = start(make_node, "jobs: { tick: { kind: note, every: 1h } }\n")
    job = {"job": 1, "claim": 4711}

    def hand(body, key, **headers):
        return node.request("POST", "/work/run", body if isinstance(body, str) else json.dumps(body),
                            {"Authorization": f"Bearer {key}", **headers} if key else headers)

    def key(title, role):
        made = node.cli("key", "add", "--admin", "--title", title, "--role", role, "--json")
        return json.loads(made.stdout)["key"]

    worker, viewer = key("farm", "worker"), key("eye", "viewer")
    assert hand(job, None).status == hand(job, "wrong").status == 401
    refused = hand(job, viewer)
    assert refused.status == 403 and "work" in refused.json["error"]["message"]
    late = hand(job, worker)
    assert late.status == 409 and late.json["error"]["code"] == "conflict"
    assert node.wait_event("job.late", SECONDS)["claim"] == 4711
    for wrong in ("", "[]", "{}", '{"job": 1}', '{"job": "x", "claim": 1}', '{"job": -1, "claim": 1}', "{ no"):
        assert hand(wrong, worker).status == 400, wrong
    assert hand(" " * 80001, worker).status == 413
    assert node.request("GET", "/work/run").status == 405
    # It hands over, and nothing else.
    asked = node.request("POST", "/graphql", json.dumps({"query": "{ roles { name } }"}),
                         {"Authorization": f"Bearer {worker}", "Content-Type": "application/json"})
    assert "forbidden" in asked.body.decode()
    ids = {k["title"]: k["id"] for k in map(json.loads, node.cli("key", "ls", "--admin", "--json").stdout.splitlines())}
    assert node.cli("key", "rm", "--admin", ids["farm"]).returncode == 0
    wait_until(lambda: hand(job, worker).status == 401, SECONDS)


@pytest.mark.parametrize("config, place, why", [
    ("jobs:\n  work: { kind: call, url: \"http://x.example/\", every: 1h, ack: later }\n", ":7:60", "`ack: later` needs `location.url`"),
    ("location: { url: \"ftp://x.example\" }\n", "", "url"),
    ("node: { jobs: { hand_over: \"http://x.example/\", key: secret:farm } }\n", ":1:17", "cannot be used with SQLite"),
    ("node: { store: \"postgres://x/y\", jobs: { hand_over: \"http://x.example/\" } }\n", ":1:", "`hand_over` needs `key`"),
    ("node: { jobs: { key: secret:farm } }\n", ":1:", "only used with `hand_over`"),
    ("jobs:\n  work: { kind: call, url: \"http://x.example/\", every: 1h, ack: never }\n", "", "never"),
])
def test_mistakes(program, tmp_path, config, place, why):
    file = tmp_path / "waybill.yaml"
    file.write_text("node:\n  data: ./data\n\n\n\n" + config if "node:" not in config else config)
    got = program("check", file)
    assert got.returncode != 0 and why in got.stdout + got.stderr and place in got.stdout + got.stderr, got.stdout + got.stderr
