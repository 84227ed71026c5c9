"""The check of the queues of jobs: what should move and does not is told once, and mended where it can be."""
import contextlib
import datetime
import sqlite3
import time
import urllib.parse

import pytest

from moved_clock import MovedClock
from test_76_jobs_run import Service, call, notes, start
from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
POSTGRES = pytest.mark.stores("postgres")
SECONDS = 60
QUICK = {"WAYBILL_TEST_JOB_CHECK_MS": "200", "WAYBILL_TEST_JOB_SLACK_MS": "500", "WAYBILL_TEST_JOB_LATE_MS": "3000"}


def alerts(node, code):
    return [a["object"] for a in node.graphql("{ alerts { code object } }")["alerts"] if a["code"] == code]


def await_alerts(node, code, want):
    wait_until(lambda: sorted(alerts(node, code)) == sorted(want), SECONDS, f"{code} of {want}: {alerts(node, code)}")


def late(node, job=None):
    return [e for e in list(node.events) if e.get("event") == "job.overdue" and job in (None, e["job"])]


def state(node, name):
    return node.graphql("query($n: String!) { job(name: $n) { state } }", n=name)["job"]["state"]


def log_of(node, name):
    return node.graphql("query($n: String!) { jobRuns(job: $n) { items { run outcome nominal message } } }", n=name)["jobRuns"]["items"]


def mishaps(node, code):
    return {m["object"].removeprefix("job "): m["count"] for m in node.graphql("{ mishaps { code object count } }")["mishaps"] if m["code"] == code}


# ---- claims that last ------------------------------------------------------------------------------------


@BOTH
@pytest.mark.smoke
@pytest.mark.proves("QC2")
def test_a_claim_that_nobody_ends_is_released_and_the_third_time_suspends(make_node):
    """The ends of the runs never come to the store; the node lives."""
    node = start(make_node, "jobs:\n  bad: { kind: note, every: 1h, timeout: 100ms }\n",
                 environment={**QUICK, "WAYBILL_FAULT": "job.end:error:0"})
    event = node.wait_event("job.suspend", 2 * SECONDS, job="bad")
    assert "its node lives" in event["why"]
    released = [e for e in node.events if e["event"] == "job.release"]
    assert len(released) == 3 and len({e["claim"] for e in released}) == 3
    seen = notes(node, "bad")
    assert len(seen) == 3 and len({e["nominal"] for e in seen}) == 1 and {e["count"] for e in seen} == {1}
    wait_until(lambda: len(log_of(node, "bad")) >= 3, SECONDS)
    lines = log_of(node, "bad")
    assert {r["run"] for r in lines} == {e["claim"] for e in released} and len(lines) == 3
    assert {r["outcome"] for r in lines} == {"failed"} and len({r["nominal"] for r in lines}) == 1
    assert all("its node lives" in r["message"] for r in lines)
    await_alerts(node, "job_suspended", ["bad"])
    wait_until(lambda: mishaps(node, "job_suspended") == {"bad": 1} and mishaps(node, "job_late") == {"bad": 3}, SECONDS)
    node.stop()
    node.environment = QUICK
    node.start()
    assert state(node, "bad") == "suspended" and len(notes(node, "bad")) == 3
    assert node.cli("jobs", "resume", "bad").returncode == 0
    wait_until(lambda: len(notes(node, "bad")) == 4, SECONDS)
    await_alerts(node, "job_suspended", [])
    assert notes(node, "bad")[-1]["count"] == 1  # the state of the runs that were released was not kept
    assert node.cli("doctor").returncode == 0


def checks(node, count):
    """So many rounds of the check begin and end."""
    def last():
        return node.graphql("{ health { queueCheck } }")["health"]["queueCheck"]

    for _ in range(count + 1):  # the first one may have begun already
        before = last()
        wait_until(lambda was=before: last() not in (None, was), SECONDS)


def apply(node, text):
    path = node.folder / "next.yaml"
    path.write_text(text)
    applied = node.cli("apply", "--yes", path)
    assert applied.returncode == 0, applied


def shown(node, name="work"):
    return node.graphql("query($n: String!) { job(name: $n) { state open { run until } } }", n=name)["job"]


@BOTH
@pytest.mark.proves("QC2", "SC2")
def test_a_run_has_the_time_of_the_version_that_it_began_by(make_node):
    with Service(lambda seen, n: (None, None)) as service:
        node = start(make_node, call(service, "every: 1h\ntimeout: 1h"), environment=QUICK)
        service.wait_for(1)
        apply(node, call(service, "every: 1h\ntimeout: 100ms"))
        assert node.wait_event("job.follow", SECONDS, version=2)["changed"] == 1
        over = time.monotonic() + 7  # beyond the new time-out, the grace of a run and the slack of the check
        while time.monotonic() < over:
            checks(node, 3)
        assert shown(node)["state"] == "running" and len(service.requests) == 1
        assert not [e for e in node.events if e["event"] in ("job.release", "job.fail", "job.suspend")]
        assert node.cli("jobs", "cancel", "work").returncode == 0 and node.cli("doctor").returncode == 0


# ---- jumps of the clock ----------------------------------------------------------------------------------


JUMPS = """
location: { url: "http://here.example/" }
jobs:
  left: { kind: call, url: "URL", body: '{ "left": true }', ack: later, every: 1h, timeout: 30m, retry: { for: 0s } }
  works: { kind: call, url: "URL", body: '{ "left": false }', every: 200ms, parallel: 2, timeout: 30m, retry: { for: 0s } }
  tick: { kind: note, every: 1h }
"""


@pytest.mark.proves("QC6")
def test_a_jump_of_the_clock_ends_no_run_and_no_pause_until_it_is_steady(make_node, tmp_path):
    clock = MovedClock(tmp_path)

    with Service(lambda seen, n: (202, {}) if seen["body"]["left"] else (None, None)) as service:
        node = start(make_node, JUMPS.replace("URL", service.url), environment={**QUICK, **clock.environment})
        requests = service.wait_for(3)
        left, = (r["headers"] for r in requests if r["body"]["left"])
        until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        wait_until(lambda: state(node, "tick") == "scheduled", SECONDS)
        assert node.cli("jobs", "pause", "tick", "--until", until).returncode == 0
        assert len(shown(node, "left")["open"]) == 1 and len(shown(node, "works")["open"]) == 2
        seen = len(node.events)

        def ended():
            return [e for e in list(node.events)[seen:] if e["event"] in ("job.fail", "job.release", "job.resume", "job.suspend")]

        for hours in (1, -1):
            since = len(node.events)
            clock.by(3600 * hours)  # and back: nothing happened
            node.wait_event("clock.step", SECONDS, since=since)
            checks(node, 3)
            clock.by(0)
            node.wait_event("clock.steady", SECONDS, since=since)
            checks(node, 3)
        assert ended() == [] and len(service.requests) == 3
        assert state(node, "tick") == "paused" and state(node, "works") == "running"
        assert len(shown(node, "left")["open"]) == 1 and len(shown(node, "works")["open"]) == 2
        where = urllib.parse.urlsplit(left["Waybill-Ack"])
        answer = node.request("POST", f"{where.path}?{where.query}", "{}", {"Waybill-Ack-Token": left["Waybill-Ack-Token"]})
        assert answer.status == 200, answer
        clock.by(3600)  # and it stays: then it is the time
        node.wait_event("job.resume", SECONDS, since=seen, job="tick")
        assert [e for e in list(node.events)[seen:] if e["event"] == "clock.steady"]
        assert "timeout" in node.wait_event("job.fail", SECONDS, since=seen, job="works")["why"]


@POSTGRES
@pytest.mark.proves("SC20", "QC6")
def test_a_node_whose_clock_is_ahead_ends_nothing(make_node, tmp_path):
    clock = MovedClock(tmp_path)
    clock.by(3 * 3600)
    with Service(lambda seen, n: (202, {}) if seen["body"]["left"] else (None, None)) as service:
        node = start(make_node, JUMPS.replace("URL", service.url), environment=QUICK)
        service.wait_for(3)
        until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        wait_until(lambda: state(node, "tick") == "scheduled", SECONDS)
        assert node.cli("jobs", "pause", "tick", "--until", until).returncode == 0
        ahead = make_node(config="", environment={**QUICK, **clock.environment})
        ahead.start()
        for one in (ahead, node):
            checks(one, 3)
            assert not [e for e in one.events if e["event"] in ("job.fail", "job.release", "job.resume", "job.suspend", "job.overdue")]
        assert state(ahead, "tick") == "paused" and state(ahead, "works") == "running"
        assert len(shown(ahead, "left")["open"]) == 1 and len(shown(ahead, "works")["open"]) == 2
        assert len(service.requests) == 3


# ---- without the time zone -------------------------------------------------------------------------------


@POSTGRES
@pytest.mark.proves("SC8", "SC17")
def test_a_node_that_does_not_know_the_time_zone_leaves_a_job_to_others(make_node):
    config = "jobs:\n  tick: { kind: note, every: 200ms, zone: Europe/Berlin }\n"
    lame = {**QUICK, "WAYBILL_TEST_JOB_NO_ZONES": "1"}
    node, other = start(make_node, config, environment=QUICK), make_node(config="", environment=lame)
    other.start()
    assert "Europe/Berlin" in other.wait_event("job.trouble", SECONDS, job="tick")["why"]
    seen = len(notes(node))
    wait_until(lambda: len(notes(node)) >= seen + 10, 2 * SECONDS)
    assert not notes(other)
    broken = "{ job(name: \"tick\") { broken } health { troubles } }"
    assert "Europe/Berlin" in other.graphql(broken)["job"]["broken"] and not node.graphql(broken)["job"]["broken"]
    # Orders may be given there.
    assert other.cli("jobs", "pause", "tick").returncode == 0
    assert other.cli("jobs", "resume", "tick").returncode == 0
    seen = len(notes(node))
    wait_until(lambda: len(notes(node)) >= seen + 3, 2 * SECONDS)
    refused = other.cli("jobs", "backfill", "tick", "--from", "2026-01-01", "--to", "2026-01-02")
    assert refused.returncode != 0 and "Europe/Berlin" in refused.stdout + refused.stderr
    # Nobody is left who knows it: it waits, which is told, and nothing fails.
    node.stop()
    await_alerts(other, "job_late", ["tick"])
    assert "time zone" in other.wait_event("job.overdue", SECONDS, job="tick")["why"]
    checks(other, 5)
    assert not notes(other) and not [e for e in other.events if e["event"] in ("job.fail", "job.suspend")]
    node.start()
    seen = len(notes(node))
    wait_until(lambda: len(notes(node)) > seen, 2 * SECONDS)
    await_alerts(other, "job_late", [])
    assert other.cli("doctor").returncode == 0


# ---- nobody takes it -------------------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("SC7")
def test_a_job_for_an_area_that_nobody_serves_is_told_once(make_node):
    node = start(make_node, "jobs:\n  far: { kind: note, every: 1s, area: dmz }\n  near: { kind: note, every: 100ms }\n",
                 environment=QUICK)
    event = node.wait_event("job.overdue", SECONDS, job="far")
    assert "area" in event["why"] and "dmz" in event["why"]
    wait_until(lambda: "far" in alerts(node, "job_late"), SECONDS)
    seen = len(notes(node, "near"))
    wait_until(lambda: len(notes(node, "near")) >= seen + 10, SECONDS)  # a second of checks
    assert len(late(node, "far")) == 1
    wait_until(lambda: mishaps(node, "job_late").get("far") == 1, SECONDS)
    if node.store is None:
        return
    other = make_node(config="", options="area: dmz")
    other.start()
    wait_until(lambda: notes(other, "far"), SECONDS)
    await_alerts(node, "job_late", [])
    other.stop()
    wait_until(lambda: len(late(node, "far")) >= 2, 2 * SECONDS)  # it comes back: told again


@BOTH
@pytest.mark.proves("SC8")
def test_what_no_node_is_there_for_is_told_when_it_is_saved(make_node):
    """The claim goes by the area, so a job is not run where its address means nothing: it waits, and that is said."""
    node = start(make_node, "jobs:\n  near: { kind: note, every: 1s }\n")
    text = ("systems: { hub: {} }\n"
            "gateways:\n  in: { kind: http, auth: none, area: internal }\n"
            "endpoints:\n  out: { kind: http, system: hub, url: \"http://127.0.0.1:1/\", area: external }\n"
            "routes: [ { name: all, do: [ { deliver: out } ] } ]\n"
            "jobs:\n  far: { kind: note, every: 100ms, area: dmz }\n  near: { kind: note, every: 100ms, area: internal }\n")
    query = "query($t: String!) { configCheck(text: $t) { problems { line } warnings { line message hint } } }"
    checked = node.graphql(query, t=text)["configCheck"]
    assert checked["problems"] == []
    assert [(w["line"], w["message"].split(":")[0]) for w in checked["warnings"]] == [(5, "endpoint `out`"), (8, "job `far`")]
    assert all("there is none" in w["message"] and "area" in w["hint"] for w in checked["warnings"])
    path = node.folder / "far.yaml"
    path.write_text(text)
    applied = node.cli("apply", path, "--yes")
    assert applied.returncode == 0 and "only nodes of area dmz run it" in applied.stdout + applied.stderr, applied
    seen = len(notes(node, "near"))
    wait_until(lambda: len(notes(node, "near")) >= seen + 10, SECONDS)
    assert not notes(node, "far")
    if node.store is None:
        return
    other = make_node(config="", options="area: dmz")
    other.start()
    wait_until(lambda: notes(other, "far"), SECONDS)
    assert not notes(node, "far")
    assert [w["line"] for w in node.graphql(query, t=text)["configCheck"]["warnings"]] == [5]


@BOTH
@pytest.mark.proves("SC14")
def test_a_job_that_finds_no_slot_is_told(make_node):
    with Service(lambda seen, n: (None, None)) as service:
        config = call(service, "every: 1h\ntimeout: 1h") + "  tick: { kind: note, every: 500ms }\n"
        node = start(make_node, config, options="jobs: { slots: 1 }", environment=QUICK)
        service.wait_for(1)
        assert "slots" in node.wait_event("job.overdue", SECONDS, job="tick")["why"]
        await_alerts(node, "job_late", ["tick"])
        waits = node.graphql("{ job(name: \"tick\") { state lag } }")["job"]
        assert waits["state"] == "due" and waits["lag"] >= 3_000_000, waits
        wait_until(lambda: node.graphql("{ job(name: \"tick\") { lag } }")["job"]["lag"] > waits["lag"], SECONDS)
        assert node.cli("jobs", "cancel", "work").returncode == 0
        wait_until(lambda: notes(node), SECONDS)
        await_alerts(node, "job_late", [])
        assert node.metrics()["waybill_job_claim_lag_seconds_sum"] >= waits["lag"] / 1e6


# ---- the runs of a node -----------------------------------------------------------------------------------


@POSTGRES
@pytest.mark.proves("SC14")
@pytest.mark.parametrize("keys", ["", "\nparallel: 2"], ids=["alone", "beside"])
def test_a_cancel_on_another_node_stops_the_run(make_node, keys):
    """Its slot is free again, long before its timeout."""
    with Service(lambda seen, n: (None, None)) as service:
        config = call(service, f"every: 1h\ntimeout: 1h{keys}") + "  tick: { kind: note, every: 100ms, area: dmz }\n"
        runs = make_node(config=config, options="area: dmz\njobs: { slots: 1 }")
        other = make_node(config=config, options="jobs: { slots: 0 }")
        other.start()
        runs.start()
        service.wait_for(1)
        seen = len(notes(runs))
        assert other.cli("jobs", "cancel", "work").returncode == 0
        wait_until(lambda: len(notes(runs)) > seen + 10, 2 * SECONDS)
        assert len(service.requests) == 1 and other.cli("doctor").returncode == 0


# ---- runs beside others ----------------------------------------------------------------------------------


@POSTGRES
@pytest.mark.proves("QC1", "SC4")
def test_runs_beside_others_end_with_their_node(make_node):
    hang = True

    with Service(lambda seen, n: (None, None) if hang else (200, {})) as service:
        config = call(service, "every: 200ms\nparallel: 3\ntimeout: 1h")
        dead, heir = (make_node(config=config, environment=QUICK) for _ in range(2))
        dead.start()
        service.wait_for(3)
        hang = False
        heir.start()
        dead.kill()
        # Two of the three have rows of their own; the third one held the token, and is run again.
        wait_until(lambda: len([e for e in heir.events if e["event"] == "job.fail" and "died" in e["why"]]) == 2, 2 * SECONDS)
        seen = len(service.requests)
        service.wait_for(seen + 5)
        shown = heir.graphql('{ job(name: "work") { open { node } } }')["job"]
        assert len(shown["open"]) <= 3
        assert heir.cli("doctor").returncode == 0


def suspension(node):
    """Why it is, as it was told: the event, the alert and the mishap."""
    why = node.wait_event("job.suspend", 2 * SECONDS, job="work")["why"]
    await_alerts(node, "job_suspended", ["work"])
    message, = [a["message"] for a in node.graphql("{ alerts { code message } }")["alerts"] if a["code"] == "job_suspended"]
    assert message == why
    wait_until(lambda: mishaps(node, "job_suspended") == {"work": 1}, SECONDS)
    assert node.graphql('{ job(name: "work") { stop { reason } } }')["job"]["stop"]["reason"] == why
    return why


@BOTH
@pytest.mark.proves("SC5")
def test_failures_beside_each_other_suspend_with_their_reason(make_node):
    with Service(lambda seen, n: (500, {})) as service:
        node = start(make_node, call(service, "every: 50ms\nparallel: 9\nsuspend: 3"), environment=QUICK)
        assert suspension(node).startswith("3 runs in a row failed: ")
        assert not any(e["again"] for e in node.events if e["event"] == "job.fail")


@pytest.mark.proves("SC5")
def test_runs_of_a_dead_node_suspend_with_their_reason(make_node):
    with Service(lambda seen, n: (None, None)) as service:
        node = start(make_node, call(service, "every: 50ms\nparallel: 3\ntimeout: 1h\nsuspend: 2"), environment=QUICK)
        service.wait_for(3)
        wait_until(lambda: len(node.graphql('{ job(name: "work") { open { run } } }')["job"]["open"]) == 3, SECONDS)
        node.kill()
        node.start()
        assert suspension(node) == "2 runs in a row failed: its node died"


def test_runs_that_no_node_can_end_are_in_nobodys_way(make_node):
    """More of them than the check looks at in one page; behind them is what a dead node has left."""
    hang = True

    with Service(lambda seen, n: (None, None) if hang else (200, {})) as service:
        node = start(make_node, call(service, "every: 200ms\nparallel: 3\ntimeout: 1h"), environment=QUICK)
        service.wait_for(3)
        node.kill()
        hang = False
        with sqlite3.connect(node.data / "waybill.db") as db:
            db.executemany("INSERT INTO job_run VALUES (?, 1, 1, 1, 1, 1, 0, 0, 0, x'')", [(10**9 + i,) for i in range(250)])
        node.start()
        wait_until(lambda: len([e for e in node.events if e["event"] == "job.fail" and "died" in e["why"]]) == 2, 2 * SECONDS)
        service.wait_for(len(service.requests) + 5)


def outside(service, keys):
    return "location: { url: \"http://here.example/\" }\n" + call(service, f"ack: later\n{keys}")


@BOTH
@pytest.mark.proves("SC4", "SC6")
@pytest.mark.parametrize("leaves", [False, True], ids=["paused", "gone"])
def test_a_run_outside_ends_in_its_time_although_its_job_does_not_go(make_node, leaves):
    with Service(lambda seen, n: (202, {})) as service:
        node = start(make_node, outside(service, "every: 1h\ntimeout: 3s\nretry: { first: 1h, most: 1h, for: 2h }"), environment=QUICK)
        seen, = service.wait_for(1)
        if leaves:
            (node.folder / "none.yaml").write_text("jobs: {}\n")
            assert node.cli("apply", "--yes", node.folder / "none.yaml").returncode == 0
        else:
            assert node.cli("jobs", "pause", "work").returncode == 0
        want = "gone" if leaves else "paused"
        wait_until(lambda: state(node, "work") == want, SECONDS)
        assert node.wait_event("job.fail", SECONDS, job="work")["why"].startswith("timeout: nobody acknowledged it")
        where = urllib.parse.urlsplit(seen["headers"]["Waybill-Ack"])
        late = node.request("POST", f"{where.path}?{where.query}", "{}", {"Waybill-Ack-Token": seen["headers"]["Waybill-Ack-Token"]})
        assert late.status == 410
        assert node.graphql('{ job(name: "work") { open { run } } }')["job"]["open"] == []
        assert len(service.requests) == 1 and node.cli("doctor").returncode == 0


@POSTGRES
@pytest.mark.proves("SC4", "SC7")
def test_a_run_outside_ends_in_its_time_although_nobody_serves_its_area(make_node):
    """Whoever is there ends it; its next run waits for a node of the area."""
    with Service(lambda seen, n: (202, {})) as service:
        config = outside(service, "every: 1h\ntimeout: 8s\narea: dmz\nretry: { first: 1h, most: 1h, for: 2h }")
        far, here = make_node(config=config, options="area: dmz", environment=QUICK), make_node(config=config, environment=QUICK)
        here.start()
        far.start()
        service.wait_for(1)
        far.kill()
        why = here.wait_event("job.fail", 2 * SECONDS, job="work")["why"]
        assert why.startswith("timeout: nobody acknowledged it"), why
        assert here.graphql('{ job(name: "work") { state open { run } } }')["job"] == {"state": "scheduled", "open": []}


# ---- pauses ----------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("SC6")
def test_a_pause_with_an_end_ends(make_node):
    node = start(make_node, "jobs:\n  tick: { kind: note, every: 100ms }\n", environment=QUICK)
    wait_until(lambda: notes(node), SECONDS)
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=15)
    text = until.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert node.cli("jobs", "pause", "tick", "--reason", "lunch", "--until", text).returncode == 0
    wait_until(lambda: state(node, "tick") == "paused", SECONDS)  # a run that goes on comes to its end
    node.wait_event("job.resume", SECONDS, job="tick")
    assert time.time() >= until.timestamp() - 1
    seen = len(notes(node))
    wait_until(lambda: len(notes(node)) > seen, SECONDS)
    assert node.cli("jobs", "pause", "tick").returncode == 0  # without an end it stays
    node.restart()
    assert state(node, "tick") == "paused"


# ---- without a token -------------------------------------------------------------------------------------


@pytest.mark.proves("QC5")
def test_a_job_without_a_token_is_told_and_given_one(make_node):
    node = start(make_node, "jobs:\n  lost: { kind: note, every: 1h }\n  tick: { kind: note, every: 1s }\n", environment=QUICK)
    wait_until(lambda: notes(node, "lost") and state(node, "lost") == "scheduled", SECONDS)
    node.stop()
    with sqlite3.connect(node.data / "waybill.db") as db:
        gone = db.execute("DELETE FROM task_later WHERE id = (SELECT num FROM job WHERE name = 'lost')").rowcount
    assert gone == 1
    node.start()
    node.wait_event("job.overdue", 2 * SECONDS, job="lost")
    await_alerts(node, "job_late", ["lost"])
    found = node.cli("doctor")
    assert found.returncode == 1 and "jobs" in found.stdout
    assert node.cli("jobs", "pause", "lost").returncode == 0 and node.cli("jobs", "resume", "lost").returncode == 0
    assert node.cli("doctor").returncode == 0
    await_alerts(node, "job_late", [])


# ---- gone ------------------------------------------------------------------------------------------------


def test_a_job_that_left_long_ago_is_forgotten(make_node):
    """By the check, without a new version."""
    stays = "jobs:\n  tick: { kind: note, every: 1s }\n"
    node = start(make_node, stays + "  old: { kind: note, every: 1h }\n  young: { kind: note, every: 1h }\n", environment=QUICK)
    path = node.folder / "next.yaml"
    path.write_text(stays)
    assert node.cli("apply", path, "--yes").returncode == 0
    wait_until(lambda: state(node, "old") == state(node, "young") == "gone", SECONDS)
    node.stop()
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db")) as db:
        assert db.execute("UPDATE job SET gone_us = 5 WHERE name = 'old'").rowcount == 1
        db.commit()
    node.start()
    assert node.wait_event("job.forget", SECONDS)["count"] == 1
    assert node.graphql('{ job(name: "old") { name } }')["job"] is None
    assert state(node, "young") == "gone"
    assert node.cli("doctor").returncode == 0


# ---- floods ----------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("SC16")
def test_a_flood_of_failing_runs_is_counted_by_job(make_node):
    """Many runs fail: one row for each code and job, a few lines of the log, and no run is missing."""
    with Service(lambda *_: (500, {"error": "no paper in the printer", "retry": False})) as printer:
        keys = f'kind: call, url: "{printer.url}", body: "{{}}", every: 5ms, retry: {{ for: 0s }}, suspend: never'
        node = start(make_node, f"jobs:\n  first: {{ {keys} }}\n  second: {{ {keys} }}\n  fine: {{ kind: note, every: 1s }}\n")
        began = time.monotonic()
        printer.wait_for(200)
        for name in ("first", "second"):
            assert node.cli("jobs", "pause", name, "--reason", "it is enough").returncode == 0
            wait_until(lambda: state(node, name) == "paused", SECONDS)  # pylint: disable=cell-var-from-loop
        ran = node.graphql("{ jobs { items { name runs } } }")["jobs"]["items"]
        failed = {j["name"]: j["runs"] for j in ran if j["name"] != "fine"}
        assert min(failed.values()) > 0 and sum(failed.values()) >= 200
        wait_until(lambda: mishaps(node, "job_failed") == failed, SECONDS, f"{failed}: {mishaps(node, 'job_failed')}")
        rows = [m for m in node.graphql("{ mishaps { code object message } }")["mishaps"] if m["code"] == "job_failed"]
        assert sorted(r["object"] for r in rows) == ["job first", "job second"]
        assert all("no paper in the printer" in r["message"] for r in rows)
        lines = [e for e in list(node.events) if e["event"] == "job.fail"]
        assert len(lines) <= 2 * (5 + 1 + (time.monotonic() - began) / 60), lines
        assert {e["job"] for e in lines} == {"first", "second"}


# ---- the check itself ------------------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("QC3")
def test_the_health_page_shows_when_the_check_ran(make_node):
    node = start(make_node, "jobs:\n  tick: { kind: note, every: 1s }\n", environment=QUICK)

    def checked():
        return node.graphql("{ health { queueCheck } }")["health"]["queueCheck"]

    wait_until(checked, SECONDS)
    first = checked()
    wait_until(lambda: checked() > first, SECONDS)
