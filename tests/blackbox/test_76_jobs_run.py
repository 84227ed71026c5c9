"""Jobs run: by their schedules, with their state, once for each nominal time, on whichever node is first."""
import contextlib
import http.server
import json
import sqlite3
import threading
import time

import pytest

from moved_clock import MovedClock
from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
SECONDS = 60


class Service:
    """Does the work of jobs: remembers each request, and answers what `answers` says of it."""

    def __init__(self, answers):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                seen = {"key": self.headers["Idempotency-Key"], "body": json.loads(body), "headers": dict(self.headers)}
                with service.lock:
                    service.requests.append(seen)
                    status, answer = answers(seen, len(service.requests))
                if status is None:  # never
                    service.closing.wait()
                    return
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.requests, self.lock, self.closing = [], threading.Lock(), threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def wait_for(self, count):
        wait_until(lambda: len(self.requests) >= count, SECONDS, f"{count} requests of {self.requests}")
        return list(self.requests)


def call(service, keys, body='{"state": "${state}", "nominal": "${nominal}", "job": "${job}", "run": "${run}"}'):
    return f"jobs:\n  work:\n    kind: call\n    url: {service.url}\n    body: '{body}'\n" + "".join(
        f"    {line}\n" for line in keys.splitlines())


def notes(node, job="tick"):
    """The runs of a note, in the order of the log."""
    return [e for e in list(node.events) if e.get("event") == "job.note" and e["job"] == job]


def await_notes(node, count, job="tick", since=0):
    wait_until(lambda: len(notes(node, job)) >= since + count, SECONDS, f"{count} notes of {job}\n{node.tail()}")
    return notes(node, job)


def start(make_node, config, **settings):
    node = make_node(config=config, **settings)
    node.start()
    return node


# ---- schedules, state ------------------------------------------------------------------------------------


@BOTH
@pytest.mark.smoke
def test_a_job_runs_again_and_again(make_node):
    node = start(make_node, "jobs: { tick: { kind: note, every: 1s, text: hello } }\n")
    seen = await_notes(node, 4)
    assert [e["count"] for e in seen] == list(range(1, len(seen) + 1))  # its state
    assert all(e["text"] == "hello" for e in seen)
    nominal = [e["nominal"] for e in seen]
    assert nominal == sorted(set(nominal)), nominal
    done = 'waybill_job_runs_total{kind="note",outcome="done"}'
    wait_until(lambda: node.metrics()[done] >= 4, SECONDS)
    metrics = node.metrics()
    assert metrics['waybill_job_last_success_seconds{job="tick"}'] > time.time() - 600
    assert metrics["waybill_job_claim_lag_seconds_count"] >= 4 and metrics["waybill_job_lost_total"] == 0
    got = node.cli("doctor")
    assert got.returncode == 0, got.stdout + got.stderr


@BOTH
def test_the_last_success_is_known_after_a_restart(make_node):
    """One that never succeeded has no line: 0 would be read as so long ago."""
    node = start(make_node, "jobs:\n  first: { kind: note, every: 1h }\n  yearly: { kind: note, at: \"30 2 24 12 *\" }\n")
    line = 'waybill_job_last_success_seconds{{job="{}"}}'.format
    wait_until(lambda: line("first") in node.metrics(), SECONDS)
    seen = node.metrics()[line("first")]
    assert seen > time.time() - 600
    node.stop()
    node.start()
    wait_until(lambda: line("first") in node.metrics(), SECONDS)
    assert node.metrics()[line("first")] == seen and line("yearly") not in node.metrics()


@pytest.mark.proves("SC11")
@BOTH
def test_a_service_gets_back_what_it_answered(make_node):
    def answers(seen, _):
        n = int(seen["body"]["state"] or 0) + 1
        return 200, {"state": str(n), "more": n < 6, "moved": True}

    # While its batches are full the next follows at once; with an hour between them there is no other way to six.
    with Service(answers) as service:
        node = start(make_node, call(service, "every: 1h"))
        seen = service.wait_for(6)
        assert [r["body"]["state"] for r in seen[:6]] == ["", "1", "2", "3", "4", "5"]
        assert len({r["key"] for r in seen}) == len(seen) == 6
        assert {r["body"]["job"] for r in seen} == {"work"} and len({r["body"]["run"] for r in seen}) == 6
        assert all(r["key"] == f"work {r['body']['nominal']}" for r in seen)
        wait_until(lambda: node.metrics()['waybill_job_runs_total{kind="call",outcome="done"}'] == 6, SECONDS)
        node.restart()
        time.sleep(1.5)  # nothing is due for an hour
        assert len(service.requests) == 6


@pytest.mark.proves("SC5")
@BOTH
def test_a_failed_run_is_repeated_for_its_time_and_then_the_job_is_suspended(make_node):
    with Service(lambda seen, n: (500, {"error": f"no luck {n}"})) as service:
        node = start(make_node, call(service, "every: 100ms\nretry: { first: 10ms, most: 50ms, for: 3s }\nsuspend: 2"))
        event = node.wait_event("job.suspend", SECONDS, job="work")
        assert "2 runs in a row failed: no luck" in event["why"]
        times = [r["body"]["nominal"] for r in service.requests]
        assert len(set(times)) == 2 and len(times) > 2, times
        assert len({r["key"] for r in service.requests}) == 2
        asked = len(service.requests)
        time.sleep(1)  # ten of its intervals
        assert len(service.requests) == asked
        node.restart()
        time.sleep(1)
        assert len(service.requests) == asked


@BOTH
def test_what_the_service_says_is_final_is_not_repeated(make_node):
    with Service(lambda seen, n: (200, {"error": "never", "retry": False})) as service:
        node = start(make_node, call(service, "every: 100ms\nretry: { first: 1h, most: 1h, for: 9h }\nsuspend: 3"))
        node.wait_event("job.suspend", SECONDS, job="work")
        assert len({r["key"] for r in service.requests}) == len(service.requests) == 3


@pytest.mark.proves("SC18")
@BOTH
def test_a_refused_credential_suspends_at_once(make_node):
    with Service(lambda seen, n: (401, {})) as service:
        node = start(make_node, call(service, "every: 100ms"))
        assert "401" in node.wait_event("job.suspend", SECONDS, job="work")["why"]
        assert len(service.requests) == 1


@pytest.mark.proves("SC9")
@BOTH
def test_an_answer_that_is_no_json_fails_and_keeps_the_state(make_node):
    answers = [(200, {"state": {"at": 5}}), (200, b"{ not json"), (200, {})]

    with Service(lambda seen, n: answers[min(n, 3) - 1]) as service:
        node = start(make_node, call(service, "every: 100ms\nretry: { first: 10ms, most: 10ms }", '{"state": [ ${state} ]}'))
        assert "not JSON" in node.wait_event("job.fail", SECONDS, job="work")["why"]
        seen = service.wait_for(4)
        assert [r["body"]["state"] for r in seen[:4]] == [[], [{"at": 5}], [{"at": 5}], [{"at": 5}]]
        assert seen[1]["key"] == seen[2]["key"] != seen[3]["key"]


# ---- time-outs, stops, crashes ---------------------------------------------------------------------------


@BOTH
def test_a_run_that_takes_too_long_has_failed(make_node):
    with Service(lambda seen, n: (None, None)) as service:
        node = start(make_node, call(service, "every: 1h\ntimeout: 300ms\nretry: { for: 0s }"))
        why = node.wait_event("job.fail", SECONDS, job="work")["why"]
        assert "timeout" in why or "no whole answer" in why, why


@BOTH
def test_a_node_that_stops_gives_back_what_runs(make_node):
    hang = True

    with Service(lambda seen, n: (None, None) if hang else (200, {"state": "done"})) as service:
        node = start(make_node, call(service, "every: 1h\ntimeout: 1h"))
        first, = service.wait_for(1)
        assert node.stop() == 0
        assert node.wait_event("node.stopped")["hanging"] == 0
        hang = False
        node.start()
        again = service.wait_for(2)[1]
        assert again["key"] == first["key"]  # the same nominal time
        wait_until(lambda: node.metrics()['waybill_job_runs_total{kind="call",outcome="done"}'] == 1, SECONDS)
        assert not [e for e in node.events if e["event"] in ("job.fail", "job.lose")]


@BOTH
def test_a_node_that_stops_fails_no_run_beside_others(make_node):
    """The schedule has moved on, so they are not run again; and they suspend nothing."""
    hang = True

    with Service(lambda seen, n: (None, None) if hang else (200, {})) as service:
        node = start(make_node, call(service, "every: 50ms\nparallel: 4\ntimeout: 1h\nsuspend: 1\nlog: all"))
        service.wait_for(4)
        assert node.stop() == 0
        hang = False
        node.start()
        service.wait_for(8)
        assert node.graphql('{ job(name: "work") { state failures } }')["job"]["failures"] == 0
        wait_until(lambda: node.cli("jobs", "log", "work", "--limit", 10000).stdout.count("its node stopped") == 3, SECONDS)
        assert not [e for e in node.events if e["event"] in ("job.fail", "job.lose", "job.suspend")]


@BOTH
def test_a_claim_that_the_store_does_not_take_back_is_given_back_later(make_node):
    """The job is changed before its run is left to the service, so the run does not begin."""
    with Service(lambda seen, n: (202, {})) as service:
        config = "location: { url: \"http://here.example/\" }\n" + call(service, "every: 1h\ntimeout: 1h\nparallel: 2\nack: later")
        node = start(make_node, config, environment={"WAYBILL_FAULT": "job.run:delay_ms:8000,job.back:error:1"})
        node.wait_event("job.follow", SECONDS)
        wait_until(lambda: node.graphql('{ job(name: "work") { state } }')["job"]["state"] == "running", SECONDS)
        node.graphql('mutation { jobPause(name: "work") { state } jobResume(name: "work") { state } }')
        service.wait_for(1)
        assert node.wait_event("job.trouble", SECONDS, what="give a claim back")["job"] == "work"


@pytest.mark.proves("SC4", "SC10")
@BOTH
def test_a_run_that_was_killed_runs_again_for_its_time(make_node):
    hang = True

    with Service(lambda seen, n: (None, None) if hang else (200, {})) as service:
        node = start(make_node, call(service, "every: 1h\ntimeout: 1h"))
        first, = service.wait_for(1)
        node.kill()
        hang = False
        node.start()
        again = service.wait_for(2)[1]
        assert again["key"] == first["key"] and again["body"]["run"] != first["body"]["run"]
        wait_until(lambda: node.metrics()['waybill_job_runs_total{kind="call",outcome="done"}'] == 1, SECONDS)


@pytest.mark.proves("QC4")
@BOTH
def test_a_job_that_brings_the_process_down_is_suspended(make_node):
    config = ("jobs:\n  bomb: { kind: note, every: 10ms }\n  tick: { kind: note, every: 200ms }\n")
    node = make_node(config=config, environment={"WAYBILL_FAULT": "job.run:abort_on:bomb"})
    crashes = 0
    for _ in range(8):
        node.launch()
        try:
            node.await_ready(since=len(node.events))
        except AssertionError:
            pass
        seen = len(notes(node))
        try:
            wait_until(lambda: node.process.poll() is not None or len(notes(node)) >= seen + 5, SECONDS)
        except AssertionError:
            pass
        if node.process.poll() is None:
            break
        node.ended()
        crashes += 1
    else:
        raise AssertionError(f"it does not live on\n{node.tail()}")
    assert not notes(node, "bomb")
    nominal = [e["nominal"] for e in notes(node)]
    assert len(nominal) - len(set(nominal)) <= crashes  # a note may be written, and its end not committed


@pytest.mark.proves("SC2")
@BOTH
def test_a_run_that_takes_longer_than_the_interval_is_not_overtaken(make_node):
    with Service(lambda seen, n: (None, None) if n == 1 else (200, {})) as service:
        node = start(make_node, call(service, "every: 50ms\ntimeout: 1500ms\nretry: { for: 0s }\nlog: all"))
        service.wait_for(4)

        def log():
            return [json.loads(line) for line in node.cli("jobs", "log", "work", "--json", "--limit", 10000).stdout.splitlines()]
        wait_until(lambda: len(log()) >= 4, SECONDS)
        seen = sorted(log(), key=lambda r: r["claimed"])
        assert seen[0]["outcome"] == "failed" and seen[0]["duration"] > 1_000_000  # twenty of its intervals
        assert all(a["ended"] <= b["claimed"] for a, b in zip(seen, seen[1:]))


@pytest.mark.proves("SC15")
def test_a_log_that_cannot_be_written_ends_no_work(make_node):
    """Where its lines belong is a table that takes none (SQLite)."""
    node = start(make_node, "jobs: { tick: { kind: note, every: 50ms, log: all } }\n", options="jobs: { slots: 0 }")
    node.stop()
    base, = node.data.glob("*.db")
    with contextlib.closing(sqlite3.connect(base)) as c:
        for day in range(int(time.time()) // 86400, int(time.time()) // 86400 + 2):
            c.execute(f"CREATE TABLE job_log_{day} (other INTEGER)")
        c.commit()
    node.options = ""
    node.write_config("jobs: { tick: { kind: note, every: 50ms, log: all } }\n")
    node.start()
    node.wait_event("job.trouble", SECONDS, what="write the log of runs")
    await_notes(node, 10, since=len(notes(node)))
    assert node.stop() == 0


# ---- outages ---------------------------------------------------------------------------------------------


@pytest.mark.proves("SC17")
@pytest.mark.parametrize("catch_up, runs", [("skip", 0), ("once", 1), ("all", 6)])
def test_times_that_were_missed(make_node, tmp_path, catch_up, runs):
    """Six full ten minutes pass while no node is there; the clock is that of the node (SQLite)."""
    clock = MovedClock(tmp_path)
    config = f"jobs: {{ tick: {{ kind: note, at: \"*/10 * * * *\", catch_up: {catch_up} }}, now: {{ kind: note, every: 1s }} }}\n"
    node = make_node(config=config, environment=clock.environment)
    now = time.time()
    clock.by(300 - now % 600)  # in the middle of ten minutes, so that none begins while the test looks
    node.start()
    await_notes(node, 1, "now")
    node.stop()
    clock.by(3600 + 300 - now % 600)
    node.start()
    await_notes(node, 3, "now", since=len(notes(node, "now")))
    seen = await_notes(node, runs)
    assert len(seen) == runs
    assert [e["count"] for e in seen] == list(range(1, runs + 1))
    times = [e["nominal"] for e in seen]
    assert times == sorted(set(times)) and all(t[14:16] in ("00", "10", "20", "30", "40", "50") for t in times), times
    if catch_up == "once":
        left = node.wait_event("job.skip", SECONDS, job="tick")
        assert left["reason"] == "missed" and left["count"] == 5


# ---- several nodes ---------------------------------------------------------------------------------------


@pytest.mark.proves("SC3")
@POSTGRES
def test_nodes_race_and_each_time_has_one_run(make_node):
    config = "jobs:\n" + "".join(f"  j{i}: {{ kind: note, every: 100ms }}\n" for i in range(10))
    nodes = [make_node(config=config) for _ in range(2)]
    for node in nodes:
        node.start()

    def runs(job):
        return [(e["nominal"], e["count"]) for node in nodes for e in notes(node, job)]

    jobs = [f"j{i}" for i in range(10)]
    wait_until(lambda: all(len(runs(j)) >= 20 for j in jobs) and
               all(any(notes(n, j) for j in jobs) for n in nodes), SECONDS, "all run, and on both nodes")
    for node in nodes:
        node.stop()
    for job in jobs:
        seen = sorted(runs(job))
        assert len({nominal for nominal, _ in seen}) == len(seen), seen
        assert [count for _, count in seen] == list(range(1, len(seen) + 1)), seen


@pytest.mark.proves("FO13", "SC4")
@POSTGRES
def test_the_jobs_of_a_node_that_died_are_taken_over(make_node):
    hang = True

    with Service(lambda seen, n: (None, None) if hang else (200, {})) as service:
        config = call(service, "every: 1h\ntimeout: 1h")
        dead, heir = make_node(config=config), make_node(config=config)
        dead.start()
        first, = service.wait_for(1)
        heir.start()
        hang = False
        dead.kill()
        again = service.wait_for(2)[1]
        assert again["key"] == first["key"]
        wait_until(lambda: heir.metrics()['waybill_job_runs_total{kind="call",outcome="done"}'] == 1, SECONDS)


@POSTGRES
def test_only_nodes_of_its_area_run_it(make_node):
    config = "jobs:\n  inner: { kind: note, every: 100ms, area: internal }\n  outer: { kind: note, every: 100ms, area: dmz }\n"
    inner, outer = make_node(config=config), make_node(config=config, options="area: dmz")
    inner.start()
    outer.start()
    await_notes(inner, 5, "inner")
    await_notes(outer, 5, "outer")
    assert not notes(inner, "outer") and not notes(outer, "inner")


@pytest.mark.proves("SC13")
@BOTH
def test_runs_beside_each_other(make_node):
    """With `parallel: 3` three runs hang at the same time, and no fourth begins."""
    with Service(lambda seen, n: (None, None)) as service:
        start(make_node, call(service, "every: 50ms\nparallel: 3\ntimeout: 1h"))
        seen = service.wait_for(3)
        time.sleep(1)
        assert len(service.requests) == 3 and len({r["key"] for r in seen}) == 3


def open_runs(node):
    """Those without the token."""
    return [r for r in node.graphql('{ job(name: "work") { open { run nominal } } }')["job"]["open"] if r["run"] is not None]


@BOTH
def test_no_run_begins_beside_more_than_may_be(make_node):
    """A version allows one run where three are: none begins before these are over, not for a person either."""
    ended = set()

    def answers(seen, n):
        while n <= 3 and seen["key"] not in ended and not service.closing.wait(0.05):
            pass
        return 200, {}

    with Service(answers) as service:
        # Answers take their time, and must not keep others waiting.
        service.lock = threading.Semaphore(100)
        node = start(make_node, call(service, "every: 50ms\nparallel: 3\ntimeout: 1h"))
        keys = [r["key"] for r in service.wait_for(3)]
        wait_until(lambda: len(open_runs(node)) == 2, SECONDS)
        (node.folder / "one.yaml").write_text(call(service, "every: 50ms\nparallel: 1\ntimeout: 1h"))
        assert node.cli("apply", "--yes", node.folder / "one.yaml").returncode == 0
        node.wait_event("job.follow", SECONDS, changed=1)
        rows = {r["nominal"] for r in open_runs(node)}
        held = next(k for k in keys if k.split(" ")[1] not in rows)  # the third one has the token
        ended.add(held)
        done = 'waybill_job_runs_total{kind="call",outcome="done"}'
        wait_until(lambda: node.metrics().get(done) == 1, SECONDS)
        # It may be claimed for a moment, only to be given back.
        wait_until(lambda: node.cli("jobs", "run", "work").returncode == 0, SECONDS)
        time.sleep(2)
        assert len(service.requests) == 3 and len(open_runs(node)) == 2
        ended.update(keys)
        service.wait_for(6)
        wait_until(lambda: not open_runs(node), SECONDS)
        assert node.cli("doctor").returncode == 0


@BOTH
def test_a_run_of_which_nobody_knows_whether_it_is_open_begins(make_node):
    """It is open, and the store could not say so: nobody else would ever run it."""
    with Service(lambda seen, n: (None, None)) as service:
        node = start(make_node, call(service, "every: 50ms\nparallel: 3\ntimeout: 1h"),
                     environment={"WAYBILL_FAULT": "job.opened:error:1"})
        seen = service.wait_for(3)
        assert len({r["key"] for r in seen}) == 3
        assert "test" in node.wait_event("job.trouble", SECONDS, job="work")["why"]
        wait_until(lambda: len(open_runs(node)) == 2, SECONDS)
        assert {r["nominal"] for r in open_runs(node)} < {r["key"].split(" ")[1] for r in seen}


# ---- what people and versions change ---------------------------------------------------------------------


@BOTH
def test_jobs_follow_the_configuration(make_node, tmp_path):
    node = start(make_node, "jobs:\n  tick: { kind: note, every: 100ms, text: old }\n  other: { kind: note, every: 100ms }\n")
    await_notes(node, 3, "other")

    def apply(text):
        (tmp_path / "w.yaml").write_text(text)
        got = node.cli("apply", "--yes", tmp_path / "w.yaml")
        assert got.returncode == 0, got.stderr + got.stdout

    since = len(node.events)
    apply("jobs:\n  tick: { kind: note, every: 100ms, text: new }\n  third: { kind: note, every: 100ms }\n")
    event = node.wait_event("job.follow", SECONDS, since=since)
    assert (event["came"], event["changed"], event["left"]) == (1, 1, 1)
    await_notes(node, 3, "third")
    wait_until(lambda: notes(node)[-1]["text"] == "new", SECONDS)
    counts = [e["count"] for e in notes(node)]
    assert counts == list(range(1, len(counts) + 1))  # it has kept its state
    left = len(notes(node, "other"))
    await_notes(node, 5, "third", since=len(notes(node, "third")))
    assert len(notes(node, "other")) <= left + 1  # a run that had begun
    apply("jobs:\n  other: { kind: note, every: 100ms }\n")
    back = await_notes(node, 3, "other", since=left + 1)
    counts = [e["count"] for e in back]
    assert counts == list(range(1, len(counts) + 1))  # it goes on where it was


def test_times_of_new_settings_that_are_over_are_told(make_node):
    node = start(make_node, "jobs:\n  tick: { kind: note, at: \"0 0 1 1 *\" }\n")
    node.wait_event("job.follow", SECONDS, came=1)
    node.stop()
    with sqlite3.connect(node.data / "waybill.db") as db:  # it came an hour ago
        db.execute("UPDATE job SET settled_us = settled_us - 3600000000")
    (node.folder / "w.yaml").write_text("jobs:\n  tick: { kind: note, at: \"*/10 * * * *\" }\n")
    node.start()
    since = len(node.events)
    assert node.cli("apply", "--yes", node.folder / "w.yaml").returncode == 0
    event = node.wait_event("job.skip", SECONDS, since=since, job="tick")
    left = node.graphql('{ job(name: "tick") { leftOut } }')["job"]["leftOut"]
    assert event["reason"] == "changed" and event["count"] == left and 5 <= left <= 7


@BOTH
def test_a_node_whose_jobs_are_paused_begins_none(make_node):
    node = start(make_node, "jobs: { tick: { kind: note, every: 100ms } }\n")
    await_notes(node, 3)
    assert node.cli("node", "pause", "--jobs").returncode == 0
    node.wait_event("node.pause", SECONDS, what="jobs")
    seen = len(notes(node))
    time.sleep(2)
    assert len(notes(node)) <= seen + 1  # a run that had begun
    assert node.cli("node", "resume", "--jobs").returncode == 0
    await_notes(node, 3, since=len(notes(node)))


@BOTH
def test_a_node_without_slots_runs_none(make_node):
    node = start(make_node, "jobs: { tick: { kind: note, every: 100ms } }\n", options="jobs: { slots: 0 }")
    node.wait_event("job.follow", SECONDS)
    time.sleep(1)
    assert not notes(node)


@BOTH
def test_kinds_that_a_node_does_not_run_wait(make_node):
    config = "jobs:\n  tick: { kind: note, every: 100ms }\n  work: { kind: call, url: \"http://127.0.0.1:9/\", every: 100ms }\n"
    node = start(make_node, config, options="jobs: { kinds: [ note ] }")
    await_notes(node, 5)
    assert not [e for e in node.events if e["event"] == "job.fail"]


@POSTGRES
def test_each_node_runs_its_kinds(make_node):
    with Service(lambda seen, n: (200, {})) as service:
        config = call(service, "every: 100ms") + "  tick: { kind: note, every: 100ms }\n"
        writes = make_node(config=config, options="jobs: { kinds: [ note ] }")
        calls = make_node(config=config, options="jobs: { kinds: [ call ] }")
        writes.start()
        await_notes(writes, 3)
        assert not service.requests
        calls.start()
        service.wait_for(5)
        await_notes(writes, 5, since=len(notes(writes)))
        assert not notes(calls)


def test_mistakes(program, tmp_path):
    cases = [("jobs: { a: { kind: not, every: 1s } }", "did you mean `note`?"),
             ("jobs: { a: { kind: note, every: 1s, at: '2:00' } }", "both `at` and `every`"),
             ("jobs: { a: { kind: note, every: 1s, parallel: 101 } }", "100"),
             ("jobs: { a: { kind: note, every: 1s, log: some } }", "off, errors, all"),
             ("jobs: { a: { kind: call, every: 1s, url: \"http://x/\", body: \"${receiver}\" } }", "job, run, nominal, state")]
    for text, says in cases:
        (tmp_path / "w.yaml").write_text(text + "\n")
        got = program("check", tmp_path / "w.yaml")
        assert got.returncode == 1 and says in got.stdout + got.stderr, (text, got.stdout + got.stderr)
