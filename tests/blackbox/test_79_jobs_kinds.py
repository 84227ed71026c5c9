"""What the kinds of jobs do: send a document, retry dead letters, take backups, purge, check the store."""
import datetime
import json
import os
import re
import shutil
import time

import pytest

from aged import Aged, retention, run, state_of
from running_node import run_program
from test_76_jobs_run import Service
from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
SECONDS = 60
LOOKED_AT = 150  # after a slow look at dead letters the node rests for a minute

BASE = """\
systems: {{ acme: {{}}, hub: {{}} }}
types: {{ order: {{}}, note: {{}} }}
gateways:
  in: {{ kind: http, auth: none, limits: {{ size: 64 KiB }}, extract: {{ sender: "value:acme", receiver: "value:hub", type: "json:/type" }} }}
endpoints:
  api: {{ kind: http, system: hub, url: "{url}", retry: {{ first: 100ms, most: 100ms, for: 1h }}, breaker: {{ failures: 10000, rejections: 10000 }} }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ {{ deliver: api }} ] }}
"""


def start(make_node, text, **settings):
    node = make_node(config=text, **settings)
    node.start()
    return node


def config(receiver, jobs):
    return BASE.format(url=receiver.url("/in")) + "jobs:\n" + "".join(f"  {line}\n" for line in jobs.splitlines())


def done(node, kind):
    return node.metrics().get(f'waybill_job_runs_total{{kind="{kind}",outcome="done"}}', 0)


def failed(node, kind):
    return node.metrics().get(f'waybill_job_runs_total{{kind="{kind}",outcome="failed"}}', 0)


def await_true(node, true, what, seconds=SECONDS):
    try:
        wait_until(true, seconds, what)
    except AssertionError as e:
        raise AssertionError(f"{e}\n{node.tail()}") from e


def await_done(node, kind, count=1):
    await_true(node, lambda: done(node, kind) >= count, f"{count} runs of kind {kind} that are done")


def apply(node, tmp_path, text):
    (tmp_path / "next.yaml").write_text(text)
    got = node.cli("apply", "--yes", tmp_path / "next.yaml")
    assert got.returncode == 0, got.stdout + got.stderr


# ---- send ------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.smoke
def test_a_job_sends_documents_through_a_gateway(make_node, receiver):
    node = start(make_node, config(receiver, """\
ask: { kind: send, gateway: in, every: 500ms, name: "ask ${nominal}.json", content_type: application/json,
  text: '{"type": "order", "job": "${job}", "nominal": "${nominal}", "run": "${run}"}' }
"""))
    await_true(node, lambda: len(receiver.requests("/in")) >= 3, "three documents")
    bodies = [json.loads(r["body"]) for r in receiver.requests("/in")]
    assert {b["job"] for b in bodies} == {"ask"} and len({b["nominal"] for b in bodies}) == len(bodies)
    document = node.show(node.documents()[-1], "gateway name contentType sender state")
    assert (document["gateway"], document["contentType"]) == ("in", "application/json"), document
    assert re.fullmatch(r"ask 20\S+Z\.json", document["name"]), document


@BOTH
def test_a_run_that_is_repeated_sends_no_second_document(make_node, receiver):
    """The process dies when the document is stored, and the run has not ended."""
    text = config(receiver, "ask: { kind: send, gateway: in, every: 1h, text: '{\"type\": \"order\"}' }\n")
    node = make_node(config=text, environment={"WAYBILL_FAULT": "job.ran:kill"})
    node.launch()
    node.ended()
    node.environment = {}
    node.start()
    await_done(node, "send")
    ids = node.documents()
    assert len(ids) == 1
    node.await_state(ids[0], "delivered", look=lambda n, d: n.show(d, "state"))  # perhaps twice: the kill came during its delivery


@BOTH
def test_a_run_that_is_repeated_is_done_although_its_text_is_another_one(make_node, receiver):
    """Each run has another ${run}; the document of the one that died was sent."""
    text = config(receiver, "ask: { kind: send, gateway: in, every: 1h, text: '{\"type\": \"order\", \"run\": \"${run}\"}' }\n")
    node = make_node(config=text, environment={"WAYBILL_FAULT": "job.ran:kill"})
    node.launch()
    node.ended()
    node.environment = {}
    node.start()
    await_done(node, "send")
    assert len(node.documents()) == 1 and failed(node, "send") == 0
    assert "with other bytes" in result(node, "ask")["last"]["message"]


@BOTH
def test_what_a_gateway_does_not_take_fails(make_node, receiver):
    node = start(make_node, config(receiver, f"""\
big: {{ kind: send, gateway: in, every: 1h, text: "{'x' * 65537}" }}
"""))
    assert "larger than limits.size" in node.wait_event("job.fail", SECONDS, job="big")["why"]
    assert node.documents() == []


def test_a_file_of_the_version_is_sent_as_it_is(make_node, receiver, tmp_path):
    node = start(make_node, config(receiver, ""))
    (tmp_path / "hello.json").write_bytes(b'{"type": "order", "x": "${job}"}')
    apply(node, tmp_path, config(receiver, "ask: { kind: send, gateway: in, every: 1h, file: hello.json }"))
    wait_until(lambda: len(receiver.requests("/in")) == 1, SECONDS)
    assert receiver.requests("/in")[0]["body"] == '{"type": "order", "x": "${job}"}'


# ---- call: the answer as a document --------------------------------------------------------------------------


def asks(receiver, service, keys="every: 1h"):
    return config(receiver, f"poll: {{ kind: call, url: \"{service.url}\", body: '{{}}', answer: {{ gateway: in, name: \"got-${{job}}\" }}, {keys} }}\n")


@BOTH
def test_the_answer_of_a_call_becomes_a_document(make_node, receiver):
    with Service(lambda seen, n: (200, {"type": "order", "n": n} if n < 3 else b"")) as service:
        node = start(make_node, asks(receiver, service, "every: 200ms"))
        service.wait_for(4)
        await_true(node, lambda: len(receiver.requests("/in")) == 2, "two documents")
        assert sorted(json.loads(r["body"])["n"] for r in receiver.requests("/in")) == [1, 2]
        shown = node.show(node.documents()[-1], "gateway name contentType")
        assert (shown["gateway"], shown["name"], shown["contentType"]) == ("in", "got-poll", "application/json"), shown
        assert len(node.documents()) == 2  # none of the answers without bytes


@BOTH
@pytest.mark.parametrize("same", [True, False])
def test_a_call_that_is_repeated_makes_a_second_document_of_another_answer_only(make_node, receiver, same):
    """The process dies when the document is stored, and the run has not ended: the service is called again."""
    with Service(lambda seen, n: (200, {"type": "order", "n": 1 if same else n})) as service:
        node = make_node(config=asks(receiver, service), environment={"WAYBILL_FAULT": "job.ran:kill"})
        node.launch()
        node.ended()
        node.environment = {}
        node.start()
        await_done(node, "call")
        assert len({r["key"] for r in service.requests}) == 1 and len(service.requests) == 2
        ids = node.documents()
        assert len(ids) == (1 if same else 2)
        for one in ids:
            node.await_state(one, "delivered", look=lambda n, d: n.show(d, "state"))
        assert {json.loads(r["body"])["n"] for r in receiver.requests("/in")} == ({1} if same else {1, 2})


def given_once(said):
    """A service that gives its document to whoever asks first."""
    def answers(_, n):
        if n == 1:
            said()
        return 200, {"type": "order"} if n == 1 else b""
    return answers


RETRIED = "every: 1h, retry: { first: 200ms, most: 200ms, for: 1h }"


@BOTH
def test_nothing_is_asked_for_while_the_intake_would_refuse_it(make_node, receiver, tmp_path):
    with Service(given_once(lambda: None)) as service:
        node = start(make_node, config(receiver, ""))
        assert node.cli("node", "pause", "--intake").returncode == 0
        apply(node, tmp_path, asks(receiver, service, RETRIED))
        assert "intake is paused" in node.wait_event("job.fail", SECONDS, job="poll")["why"]
        await_true(node, lambda: failed(node, "call") >= 2, "it is repeated")
        assert service.requests == []
        assert node.cli("node", "resume", "--intake").returncode == 0
        await_done(node, "call")
        assert len(node.documents()) == 1 and len(service.requests) == 1


@BOTH
def test_an_answer_that_is_here_is_taken_although_the_intake_was_paused(make_node, receiver, tmp_path):
    def pause():
        paused.append(node.cli("node", "pause", "--intake").returncode)

    paused = []
    with Service(given_once(pause)) as service:
        node = start(make_node, config(receiver, ""))
        apply(node, tmp_path, asks(receiver, service, RETRIED))
        await_done(node, "call")
        assert paused == [0] and len(node.documents()) == 1 and len(service.requests) == 1


@BOTH
def test_an_answer_that_comes_behind_a_cancel_is_taken(make_node, receiver, tmp_path):
    def cancel():
        assert node.graphql('mutation { jobCancel(name: "poll", reason: "enough") { name } }')
        time.sleep(0.5)  # a run that would not wait for the answer has ended

    with Service(given_once(cancel)) as service:
        node = start(make_node, config(receiver, ""))
        apply(node, tmp_path, asks(receiver, service))
        await_true(node, lambda: len(node.documents()) == 1, "the document")
        assert len(service.requests) == 1


def test_an_answer_that_no_document_can_be_is_told(make_node, receiver):
    """Larger than the gateway takes, and larger than an answer may be."""
    for size, says in ((65537, "larger than limits.size"), ((4 << 20) + 1, "4194304")):
        with Service(lambda seen, n, size=size: (200, b"x" * size)) as service:
            node = start(make_node, asks(receiver, service))
            assert says in node.wait_event("job.fail", SECONDS, job="poll")["why"], size
            assert node.documents() == []
            node.stop()


def test_mistakes_in_what_becomes_of_an_answer(tmp_path, receiver):
    for keys, says in (("answer: { gateway: nope }", "there is no gateway `nope`"), ("answer: {}", "gateway"),
                       ("answer: { gateway: in, name: \"${state}\" }", "state"), ("answer: { gateway: in }, ack: later", "remove one of them")):
        (tmp_path / "w.yaml").write_text("location: { url: \"http://127.0.0.1:1\" }\n" + config(
            receiver, f"poll: {{ kind: call, url: \"http://127.0.0.1:1/\", every: 1h, {keys} }}\n"))
        got = run_program("check", tmp_path / "w.yaml")
        assert got.returncode == 1 and says in got.stdout + got.stderr, (keys, got.stdout + got.stderr)


# ---- redrive ---------------------------------------------------------------------------------------------


def make_dead(node, count):
    ids = [node.accept("in", json.dumps({"type": "order", "n": n}).encode()) for n in range(count)]
    await_true(node, lambda: int(node.metrics()["waybill_dead_letters"]) == count, f"{count} dead letters", LOOKED_AT)
    return ids


@BOTH
def test_dead_letters_are_retried_in_batches(make_node, receiver, tmp_path):
    receiver.behave("/in", "status", 400)
    node = start(make_node, config(receiver, ""))
    ids = make_dead(node, 12)
    other = node.accept("in", b'{"type": "note"}')  # no route takes it
    node.await_state(other, "dead", look=lambda n, d: n.show(d, "state"))
    receiver.behave("/in", "ok")
    apply(node, tmp_path, config(receiver, """\
again: { kind: redrive, error: rejected, receiver: hub, every: 1h, older: 0s, batch: 5, log: all }
"""))
    await_done(node, "redrive", 3)  # 5, 5 and 2: the next follows at once, though it is to rest for an hour
    for document in ids:
        node.await_state(document, "delivered", look=lambda n, d: n.show(d, "state"))
    assert node.show(other, "state")["state"] == "dead"
    timeline = node.show(ids[0], "timeline { stage what message }")["timeline"]
    assert any("job again" in json.dumps(line) for line in timeline), timeline


@BOTH
def test_a_letter_that_dies_again_is_for_the_next_pass(make_node, receiver, tmp_path):
    receiver.behave("/in", "status", 400)
    node = start(make_node, config(receiver, ""))
    make_dead(node, 6)
    seen = len(receiver.requests("/in"))
    apply(node, tmp_path, config(receiver, "again: { kind: redrive, every: 1h, older: 0s, batch: 2 }\n"))
    await_done(node, "redrive", 3)
    wait_until(lambda: len(receiver.requests("/in")) >= seen + 6, SECONDS)
    wait_until(lambda: int(node.metrics()["waybill_dead_letters"]) == 6, LOOKED_AT)
    time.sleep(1)
    assert len(receiver.requests("/in")) == seen + 6 and done(node, "redrive") <= 4


def test_a_rate_spreads_what_is_retried(make_node, receiver, tmp_path):
    receiver.behave("/in", "status", 400)
    node = start(make_node, config(receiver, ""))
    make_dead(node, 20)
    receiver.behave("/in", "ok")
    began = time.monotonic()
    apply(node, tmp_path, config(receiver, "again: { kind: redrive, every: 1h, older: 0s, batch: 5, rate: 10/s }\n"))
    await_done(node, "redrive", 4)
    assert time.monotonic() - began >= 1.9
    wait_until(lambda: int(node.metrics()["waybill_dead_letters"]) == 0, LOOKED_AT)


@BOTH
def test_a_rate_may_be_slower_than_a_run_may_take(make_node, receiver, tmp_path):
    """One letter an hour: the runs that come meanwhile find that nothing may go on yet, and none fails."""
    receiver.behave("/in", "status", 400)
    node = start(make_node, config(receiver, ""))
    make_dead(node, 3)
    receiver.behave("/in", "ok")
    again = "again: { kind: redrive, every: 1h, older: 0s, log: all, timeout: 500ms, rate: "

    def dead():
        return int(node.metrics()["waybill_dead_letters"])

    apply(node, tmp_path, config(receiver, again + "1/h }\n"))
    await_done(node, "redrive", 5)
    await_true(node, lambda: dead() == 2, "one letter that starts again")
    assert failed(node, "redrive") == 0
    assert "as `rate` says" in node.cli("jobs", "log", "again").stdout
    node.stop()
    node.start()  # its state says how long nothing may go on
    await_done(node, "redrive", 2)
    assert dead() == 2 and failed(node, "redrive") == 0
    apply(node, tmp_path, config(receiver, again + "100/s }\n"))  # another rate counts at once
    await_true(node, lambda: dead() == 0, "the others start again")


# ---- doctor ----------------------------------------------------------------------------------------------


@BOTH
def test_a_job_checks_the_store(make_node, receiver):
    node = start(make_node, config(receiver, "sound: { kind: doctor, every: 1h, deep: true }\n"))
    await_done(node, "doctor")
    assert failed(node, "doctor") == 0


# ---- script ----------------------------------------------------------------------------------------------


def result(node, name):
    return node.graphql("query($n: String!) { job(name: $n) { state last { outcome message } states { text } } }", n=name)["job"] or {"states": [], "last": None}


@BOTH
def test_a_program_computes_the_next_state(make_node):
    node = start(make_node, """\
jobs:
  count:
    kind: script
    every: 1h
    log: all
    script: |
      local n = (tonumber(job.state) or 0) + 1
      log("step", n)
      return { state = n, more = n < 5, moved = true, message = job.name .. " " .. job.nominal }
  silent: { kind: script, every: 1h, script: "local x = 1" }
""")
    await_true(node, lambda: [s["text"] for s in (result(node, "count") or {"states": []})["states"]][:1] == ["5"], "five runs")
    assert [s["text"] for s in result(node, "count")["states"]] == ["5", "4", "3", "2", "1"]
    assert re.fullmatch(r"count 20\S+Z", result(node, "count")["last"]["message"])
    await_true(node, lambda: (result(node, "silent") or {"last": None})["last"], "it runs")
    assert result(node, "silent")["last"]["outcome"] == "done" and result(node, "silent")["states"] == []
    def steps():
        return [r["steps"] for r in node.graphql('{ jobRuns(job: "count") { items { steps } } }')["jobRuns"]["items"]]
    await_true(node, lambda: any("step" in s for s in steps()), "the log of its runs")


def test_a_program_that_fails_is_told(make_node):
    node = start(make_node, """\
jobs:
  broken: { kind: script, every: 1h, script: "this is no Lua" }
  raises: { kind: script, every: 1h, script: "error('no luck')" }
  says:   { kind: script, every: 1h, script: "return { error = 'not today', retry = false }" }
  odd:    { kind: script, every: 1h, script: "return 'text'" }
  slow:   { kind: script, every: 1h, script: "while true do end", limits: { time: 100ms } }
""")
    for name, says in (("broken", "line 1"), ("raises", "no luck"), ("says", "not today"), ("odd", "no table"), ("slow", "longer than 100 ms")):
        failed_so = node.wait_event("job.fail", SECONDS, job=name)
        assert says in failed_so["why"], failed_so
        if name in ("raises", "slow"):
            assert failed_so["again"] == (name == "slow"), failed_so  # a busy machine is slow, too


@BOTH
def test_a_program_is_stopped_with_its_run(make_node):
    """Its limits would let it go on for ten minutes."""
    node = start(make_node, """\
jobs:
  long: { kind: script, every: 1h, timeout: 1s, script: "while true do end", limits: { time: 60s } }
  none: { kind: script, every: 1h, timeout: 1h, script: "while true do end", limits: { time: 60s } }
""")
    assert "it was stopped" in node.wait_event("job.fail", SECONDS, job="long")["why"]
    await_true(node, lambda: node.metrics().get("waybill_cage_processes", 0) == 1, "one of them is left")
    assert node.cli("jobs", "cancel", "none").returncode == 0
    await_true(node, lambda: node.metrics().get("waybill_cage_processes", 0) == 0, "none is left")
    assert not [e for e in node.events if e.get("event") == "job.hang"]


# ---- backup ----------------------------------------------------------------------------------------------


def backups(folder, job="nightly"):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith(job)) if folder.exists() else []


@BOTH
def test_a_job_takes_backups_and_keeps_the_last_ones(make_node, receiver, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    strangers = [folder / "nightly", folder / "nightly-20200101T000000Z", folder / "other-20200101T000000Z"]
    for one in strangers:
        one.mkdir()
        (one / "mine").write_text("hands off")
    left = folder / "nightly-20210101T000000Z"  # of a backup that was not finished
    (left / "payload").mkdir(parents=True)
    (left / "waybill.db").write_text("half")
    node = start(make_node, config(receiver, f"nightly: {{ kind: backup, every: 1100ms, keep: 2, folder: {folder} }}\n"))
    document = node.accept("in", b'{"type": "order"}')
    await_done(node, "backup", 5)
    node.stop()
    names = [n for n in backups(folder) if (folder / n / "manifest").exists()]
    assert len(names) in (2, 3), names  # the last one may have been taken while the node stopped
    assert all(re.fullmatch(r"nightly-20\d{6}T\d{6}Z", n) for n in names)
    assert not left.exists()
    assert all((one / "mine").read_text() == "hands off" for one in strangers)
    checked = run_program("restore", folder / names[-1], "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert document


@BOTH
def test_a_backup_folder_in_the_wrong_place_is_refused(make_node, receiver, tmp_path):
    node = start(make_node, config(receiver, ""))
    for folder, says in ((node.data, "is the data folder"), (node.data / "x", "lies in the data folder"),
                         (node.folder, "contains the data folder"), ("/var", "outside of node.folders")):
        (tmp_path / "next.yaml").write_text(config(receiver, f"nightly: {{ kind: backup, every: 1h, folder: {folder} }}"))
        got = node.cli("apply", "--yes", tmp_path / "next.yaml")
        assert got.returncode == 1 and says in got.stdout + got.stderr, got.stdout + got.stderr
        assert "job nightly" in got.stdout + got.stderr
    assert not (node.data / "x").exists()


def test_a_backup_that_was_cut_short_is_taken_again(make_node, receiver, tmp_path):
    folder = tmp_path / "backups"
    text = config(receiver, f"nightly: {{ kind: backup, every: 1h, folder: {folder} }}\n")
    node = make_node(config=text, environment={"WAYBILL_FAULT": "backup.listed:kill"})
    node.launch()
    node.ended()
    assert len(backups(folder)) == 1 and not (folder / backups(folder)[0] / "manifest").exists()
    node.environment = {}
    node.start()
    await_done(node, "backup")
    assert len(backups(folder)) == 1 and (folder / backups(folder)[0] / "manifest").exists()
    shutil.rmtree(folder)


# ---- mistakes --------------------------------------------------------------------------------------------


def test_mistakes_in_jobs_are_told_with_their_place(program, tmp_path):
    cases = [("ask: { kind: send, gateway: nope, every: 1s, text: x }", "there is no gateway `nope`"),
             ("ask: { kind: send, gateway: in, every: 1s }", "`text` or from `file`"),
             ("ask: { kind: send, gateway: in, every: 1s, text: x, file: y }", "`text` or from `file`"),
             ("ask: { kind: send, gateway: in, every: 1s, text: '${state}' }", "does not have the word `state`"),
             ("again: { kind: redrive, error: nope, every: 1s }", "nope"),
             ("again: { kind: redrive, every: 1s, parallel: 2 }", "run one at a time"),
             ("nightly: { kind: backup, every: 1s }", "folder"),
             ("count: { kind: script, every: 1s }", "`script` or from `file`"),
             ("nightly: { kind: backup, every: 1s, folder: /x, keep: 0 }", "keep"),
             ("clean: { kind: check, every: 1s, database: nope, checks: [ { duplicates: t, columns: a } ] }", "there is no database `nope`"),
             ("clean: { kind: check, every: 1s, database: nope, checks: [ { older: t, column: a } ] }", "such as than: 2h")]
    base = BASE.format(url="http://127.0.0.1:1/")
    for text, says in cases:
        (tmp_path / "w.yaml").write_text(base + "jobs:\n  " + text + "\n")
        got = program("check", tmp_path / "w.yaml")
        assert got.returncode == 1 and says in got.stdout + got.stderr, (text, got.stdout + got.stderr)
        assert re.search(r"w\.yaml:\d+", got.stdout + got.stderr), got.stdout + got.stderr


# ---- retain ----------------------------------------------------------------------------------------------


@BOTH
def test_with_a_job_retention_works_in_its_runs_only(make_node, tmp_path):
    old = Aged(make_node, tmp_path, environment={"WAYBILL_TEST_RETAIN_APART_MS": "0"})
    node = old.node
    gone = [old.send(f"old {n}") for n in range(5)]
    node.write_config(old.config)
    apply(node, tmp_path, old.config + "jobs: { purge: { kind: retain, once: 2099-01-01T00:00, log: all } }\n")
    old.today()
    young = old.send("young")
    # It counts what is due, and lets nothing go, which it would have done at its first look.
    wait_until(lambda: retention(node)["dueDays"] >= 1, SECONDS)
    assert [state_of(node, d) for d in gone] == ["delivered"] * 5
    apply(node, tmp_path, old.config + "jobs: { purge: { kind: retain, every: 1h, log: all } }\n")
    await_done(node, "retain")
    assert [state_of(node, d) for d in gone] == [None] * 5 and state_of(node, young) == "delivered"
    assert retention(node)["gone"] == 5


def test_a_clock_that_is_not_steady_purges_nothing(make_node, tmp_path):
    old = Aged(make_node, tmp_path)
    document = old.send("old")
    apply(old.node, tmp_path, old.config + "jobs: { purge: { kind: retain, every: 1h } }\n")
    assert "steady" in old.node.wait_event("job.fail", SECONDS, job="purge")["why"]
    since = len(old.node.events)
    old.today()
    assert "steady" in old.node.wait_event("job.fail", SECONDS, since=since, job="purge")["why"]
    assert state_of(old.node, document) == "delivered"
    run(old.node, 1)  # a person may ask for it all the same


# ---- past times ------------------------------------------------------------------------------------------


def notes(node, job):
    return [e for e in list(node.events) if e.get("event") == "job.note" and e["job"] == job]


@BOTH
@pytest.mark.proves("SC17")
def test_past_times_are_served_in_order_beside_the_schedule(make_node):
    m = (datetime.datetime.now(datetime.timezone.utc).minute + 30) % 60  # none of its own times comes meanwhile
    node = start(make_node, f"jobs:\n  tick: {{ kind: note, at: \"{m} * * * *\", log: all }}\n  now: {{ kind: note, every: 1h }}\n",
                 environment={"WAYBILL_FAULT": "job.run:delay_ms:300"})
    await_true(node, lambda: notes(node, "now"), "it runs")
    before = node.graphql('{ job(name: "tick") { next runs } }')["job"]
    got = node.cli("jobs", "backfill", "tick", "--from", "2026-03-01T00:00Z", "--to", "2026-03-02T00:59Z")
    assert got.returncode == 0, got.stderr
    again = node.cli("jobs", "backfill", "tick", "--from", "2026-03-01T00:00Z", "--to", "2026-03-02T00:59Z")
    assert again.returncode == 1 and "has a backfill" in again.stderr, again.stderr
    assert node.graphql('{ job(name: "tick") { backfill { left next last } } }')["job"]["backfill"]["left"] <= 25
    await_true(node, lambda: len(notes(node, "tick")) >= 25, "25 past times")
    seen = [e for e in notes(node, "tick") if e["nominal"].startswith("2026-03")]
    assert [e["nominal"][:16] for e in seen] == [f"2026-03-01T{h:02}:{m:02}" for h in range(24)] + [f"2026-03-02T00:{m:02}"]
    assert [e["count"] for e in seen] == list(range(seen[0]["count"], seen[0]["count"] + 25))  # its state goes on
    await_true(node, lambda: node.graphql('{ job(name: "tick") { backfill { left } } }')["job"]["backfill"] is None, "it is over")
    after = node.graphql('{ job(name: "tick") { next runs leftOut } }')["job"]
    assert after["next"] >= before["next"] and after["leftOut"] == 0
    assert node.cli("doctor").returncode == 0


@BOTH
def test_a_backfill_survives_a_crash_and_is_cancelled(make_node):
    config = "jobs:\n  tick: { kind: note, at: \"0 * * * *\" }\n"
    node = make_node(config=config, environment={"WAYBILL_FAULT": "job.run:delay_ms:100"})
    node.start()
    await_true(node, lambda: (node.graphql('{ job(name: "tick") { state } }')["job"] or {}).get("state") == "scheduled", "it is there")
    assert node.cli("jobs", "backfill", "tick", "--from", "2026-01-01", "--to", "2026-02-01").returncode == 0
    await_true(node, lambda: len(notes(node, "tick")) >= 5, "some of it")
    node.kill()
    died = len(notes(node, "tick"))
    node.start()
    await_true(node, lambda: len(notes(node, "tick")) >= died + 5, "it goes on")
    seen = [e["nominal"] for e in notes(node, "tick") if e["nominal"] < "2026-03"]
    assert seen == sorted(seen) and len(seen) - len(set(seen)) <= 1  # the run that was killed is repeated
    shown = node.cli("jobs", "show", "tick")
    assert "backfill" in shown.stdout, shown.stdout
    assert node.cli("jobs", "cancel", "tick").returncode == 0
    assert node.graphql('{ job(name: "tick") { backfill { left } } }')["job"]["backfill"] is None
    assert node.cli("doctor").returncode == 0


def backfill(node, job, moment):
    """Serves one past time, to its end."""
    got = node.cli("jobs", "backfill", job, "--from", moment, "--to", moment)
    assert got.returncode == 0, got.stderr
    await_true(node, lambda: backfill_of(node, job) is None, "it is over")


def backfill_of(node, job):
    return node.graphql("query($n: String!) { job(name: $n) { backfill { left } } }", n=job)["job"]["backfill"]


@BOTH
def test_a_backfill_whose_run_would_fail_again_ends_at_once(make_node):
    """Five repetitions would take hours."""
    with Service(lambda seen, n: (400, {})) as service:
        node = start(make_node, f"jobs:\n  work: {{ kind: call, url: \"{service.url}\", at: \"0 0 * * *\", body: '{{}}', retry: {{ first: 1h }} }}\n")
        got = node.cli("jobs", "backfill", "work", "--from", "2026-03-01", "--to", "2026-03-04")
        assert got.returncode == 0, got.stderr
        assert "failed and is not repeated" in node.wait_event("job.backfill_end", SECONDS, job="work")["why"]
        await_true(node, lambda: backfill_of(node, "work") is None, "it is over")
        assert len(service.requests) == 1


def test_a_text_that_is_too_large_is_not_tried_again(make_node, receiver):
    node = start(make_node, config(receiver, "big: { kind: send, gateway: in, every: 1h, text: \"" + "${nominal}" * 60000 + "\" }\n"))
    failed_once = node.wait_event("job.fail", SECONDS, job="big")
    assert "text is larger" in failed_once["why"] and not failed_once["again"], failed_once


@BOTH
def test_a_time_that_was_served_before_is_served_again(make_node, receiver, tmp_path):
    """The document is sent once more, and a service gets another key, although both know the time."""
    moment = "2026-03-01T00:00Z"

    def text(word):
        return config(receiver, f"""\
ask: {{ kind: send, gateway: in, at: "0 0 * * *", text: '{{"type": "order", "word": "{word}"}}' }}
work: {{ kind: call, url: "{service.url}", at: "0 0 * * *", body: '{{}}' }}
""")

    with Service(lambda seen, n: (200, {})) as service:
        node = start(make_node, text("old"))
        for word in ("old", "old", "new"):
            apply(node, tmp_path, text(word))
            backfill(node, "ask", moment)
            backfill(node, "work", moment)
        assert failed(node, "send") == 0 and failed(node, "call") == 0
        await_true(node, lambda: len(receiver.requests("/in")) >= 3, "three documents")
        assert sorted(json.loads(r["body"])["word"] for r in receiver.requests("/in")) == ["new", "old", "old"]
        keys = [r["key"] for r in service.requests]
        assert len(set(keys)) == 3 and all(re.fullmatch(r"work 2026-03-01T00:00:00\S*Z backfill \d+", k) for k in keys), keys


@BOTH
def test_a_backfill_that_is_repeated_sends_no_second_document(make_node, receiver):
    """The process dies when the document is stored, and the run has not ended."""
    text = config(receiver, "ask: { kind: send, gateway: in, at: \"0 0 1 1 *\", text: '{\"type\": \"order\"}' }\n")
    node = make_node(config=text, environment={"WAYBILL_FAULT": "job.ran:kill"})
    node.start()
    node.cli("jobs", "backfill", "ask", "--from", "2026-01-01T00:00Z", "--to", "2026-01-01T00:00Z")
    node.ended()
    node.environment = {}
    node.start()
    await_done(node, "send")
    assert len(node.documents()) == 1


@BOTH
def test_a_backfill_waits_for_the_version_that_is_coming_into_force(make_node, tmp_path):
    """So many jobs come with it that the node is still at it when the backfill is asked for."""
    def text(at, others):
        return "jobs:\n" + f"  tick: {{ kind: note, at: \"{at}\" }}\n" + "".join(
            f"  far{n}: {{ kind: note, at: \"0 0 1 1 *\", title: \"{at}\" }}\n" for n in range(others))

    def asked():
        got = node.request("POST", "/graphql", json.dumps({"query": 'mutation { jobBackfill(name: "tick", '
                           'from: "2026-03-01T00:30:00Z", to: "2026-03-02T00:30:00Z") { name } }'}),
                           {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"}).json
        assert not got.get("errors") or "try again" in got["errors"][0]["message"], got
        return not got.get("errors")

    def ask(count):
        since = len(node.events)
        await_true(node, asked, "it waits for some seconds only")
        assert node.wait_event("job.backfill", SECONDS, since=since, job="tick")["count"] == count
        await_true(node, lambda: backfill_of(node, "tick") is None, "it is over")

    node = start(make_node, "jobs: {}\n")
    apply(node, tmp_path, text("0 * * * *", 3000))
    ask(24)
    apply(node, tmp_path, text("0 6 * * *", 3000))
    ask(1)
    await_true(node, lambda: sum(e["nominal"].startswith("2026-03-0") for e in notes(node, "tick")) == 25, "25 notes")


def test_a_backfill_that_makes_no_sense_is_refused(make_node):
    node = start(make_node, "jobs:\n  tick: { kind: note, at: \"0 * * * *\" }\n  other: { kind: note, every: 1h }\n"
                            "  fast: { kind: note, at: \"* * * * *\" }\n")
    ago = ("--from", "2026-01-01", "--to", "2026-01-02")
    for words, says in ((("nope", *ago), "there is no job nope"), (("other", *ago), "only a job with `at`"),
                        (("tick", "--from", "2026-01-02", "--to", "2026-01-01"), "before `from`"),
                        (("tick", "--from", "2026-01-01", "--to", "2999-01-01"), "in the future"),
                        (("tick", "--from", "2026-01-01T00:01Z", "--to", "2026-01-01T00:59Z"), "no time of the schedule"),
                        (("fast", "--from", "2026-01-01", "--to", "2026-02-01"), "more than 10000"),
                        (("tick", "--from", "2026-01-01"), "--to")):
        got = node.cli("jobs", "backfill", *words)
        assert got.returncode in (1, 2) and says in got.stderr, (words, got.stderr)


# ---- what the node does by itself ------------------------------------------------------------------------


@BOTH
def test_duties_are_listed_beside_the_jobs(make_node, receiver, tmp_path):
    (tmp_path / "drop").mkdir()
    text = config(receiver, "ask: { kind: note, every: 1h }\n").replace(
        "endpoints:", f"  drop: {{ kind: file, path: {tmp_path / 'drop'}, every: 1s, extract: {{ type: \"value:order\" }} }}\nendpoints:")
    text = text.replace("routes:", "batches: { day: { at: \"0 3 * * *\", join: text, do: [ { deliver: api } ] } }\nroutes:")
    node = start(make_node, text)

    def duties():
        return {(d["kind"], d["name"]): d for d in node.graphql(
            "{ duties { kind name every last took runs failures error next } }")["duties"]}

    await_true(node, lambda: all(duties().get(k, {}).get("runs", 0) > 0 for k in (
        ("keeper", "heartbeat"), ("keeper", "alerts"), ("poll", "drop"))), f"{duties()}")
    assert ("retention", "retention") in duties() and duties()["batch", "day"]["next"] is not None
    day = duties()["batch", "day"]  # its times are in the store, and nobody counts it
    assert day["last"] is not None and (day["took"], day["runs"], day["failures"]) == (None, None, None)
    poll = duties()["poll", "drop"]
    assert poll["every"] == 1000000 and poll["failures"] == 0 and poll["error"] is None
    shutil.rmtree(tmp_path / "drop")
    await_true(node, lambda: duties()["poll", "drop"]["failures"] > 0, "a failure is counted")
    assert duties()["poll", "drop"]["error"]
    shown = node.cli("jobs", "ls", "--all").stdout
    assert "heartbeat" in shown and "drop" in shown and "ask" in shown, shown
    assert "heartbeat" not in node.cli("jobs", "ls").stdout
    lines = [json.loads(line) for line in node.cli("jobs", "ls", "--all", "--json").stdout.splitlines()]
    assert {"ask", "heartbeat"} <= {line["name"] for line in lines}


# ---- backup, restore, move -------------------------------------------------------------------------------


JOBS = "jobs:\n  tick: { kind: note, every: 300ms, log: all }\n  past: { kind: note, at: \"0 0 1 1 *\" }\n"


@pytest.mark.proves("FO14")
def test_jobs_in_a_backup_run_when_the_store_is_released(make_node, tmp_path):
    node = start(make_node, JOBS)
    await_true(node, lambda: len(notes(node, "tick")) >= 4, "it runs")
    await_true(node, lambda: len(node.graphql('{ jobRuns(job: "tick") { items { run } } }')["jobRuns"]["items"]) >= 2, "its log")
    assert node.cli("backup", tmp_path / "copy").returncode == 0
    node.stop()
    state = notes(node, "tick")[-1]["count"]
    (tmp_path / "data2").mkdir()
    got = run_program("restore", tmp_path / "copy", "--data", tmp_path / "data2")
    assert got.returncode == 0, got.stdout + got.stderr
    other = make_node(config=JOBS, data=tmp_path / "data2")
    other.start()
    time.sleep(2)  # several of its intervals
    assert not notes(other, "tick")
    assert other.cli("doctor").returncode == 0
    assert other.cli("node", "release", "--in-flight", "resend").returncode == 0
    await_true(other, lambda: notes(other, "tick"), "it runs again")
    assert 1 < notes(other, "tick")[0]["count"] <= state + 1  # its state was in the backup
    runs = other.graphql('{ jobRuns(job: "tick", first: 50) { items { run } } }')["jobRuns"]["items"]
    assert len(runs) > 1  # and so was its log


def test_jobs_move_to_postgresql(make_node, postgres):
    node = start(make_node, JOBS)
    assert node.cli("jobs", "pause", "past", "--reason", "for the move").returncode == 0
    await_true(node, lambda: len(notes(node, "tick")) >= 4, "it runs")
    node.stop()
    state = notes(node, "tick")[-1]["count"]
    name = f"moved_jobs_{os.urandom(6).hex()}"
    postgres.create_database(name)
    try:
        got = run_program("migrate", "--data", node.data, "--store", postgres.url(name))
        assert got.returncode == 0, got.stdout + got.stderr
        node.store = postgres.url(name)
        node.write_config(JOBS)
        since = len(notes(node, "tick"))
        node.start()
        await_true(node, lambda: len(notes(node, "tick")) >= since + 2, "it runs again")
        assert notes(node, "tick")[since]["count"] == state + 1
        stopped = node.graphql('{ job(name: "past") { state stop { reason } } }')["job"]
        assert stopped == {"state": "paused", "stop": {"reason": "for the move"}}
        assert node.cli("doctor").returncode == 0
        node.stop()
    finally:
        postgres.drop_database(name)
