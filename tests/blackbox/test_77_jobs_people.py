"""What people see of jobs, and what they do to them: GraphQL, the command line, live events, rights."""
import json

import pytest

from test_76_jobs_run import Service, await_notes, start
from test_87_rights import make_role, somebody
from test_94_events import Listener
from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO, USAGE, DENIED = 0, 1, 2, 77
SECONDS = 60

CONFIG = """\
jobs:
  tick:   {{ kind: note, every: 1s, log: all, title: A tick }}
  yearly: {{ kind: note, at: "30 2 24 12 *", zone: Europe/Berlin }}
  slow:   {{ kind: call, url: "{url}", body: "{{}}", every: 1h, timeout: 1h }}
"""


@pytest.fixture
def slow():
    """Never answers."""
    with Service(lambda *_: (None, None)) as service:
        yield service


@pytest.fixture
def node(make_node, slow):  # pylint: disable=function-redefined
    one = start(make_node, CONFIG.format(url=slow.url))
    await_notes(one, 1)
    return one


def objects(got):
    assert got.returncode == DONE, got.stderr
    return [json.loads(line) for line in got.stdout.splitlines()]


def job(node, name, fields="name state"):
    return node.graphql(f"query($n: String!) {{ job(name: $n) {{ {fields} }} }}", n=name)["job"]


def await_job(node, name, so, fields="name state"):
    wait_until(lambda: so(job(node, name, fields)), SECONDS, f"{name}: {job(node, name, fields)}")
    return job(node, name, fields)


def change(node, words, **variables):
    """The answer to a mutation, with its errors."""
    return node.request("POST", "/graphql", json.dumps({"query": f"mutation {{ {words} }}", "variables": variables}),
                        {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"}).json


def refused(node, words):
    got = change(node, words)
    assert got.get("errors"), got
    return got["errors"][0]["message"]


def log_of(node, name):
    return objects(node.cli("jobs", "log", name, "--json"))


# ---- looking ---------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.smoke
def test_jobs_are_listed_and_shown(node):
    listed = {j["name"]: j for j in objects(node.cli("jobs", "ls", "--json"))}
    assert set(listed) == {"tick", "yearly", "slow"}
    assert listed["yearly"]["state"] == "scheduled" and listed["yearly"]["kind"] == "note"
    assert listed["yearly"]["zone"] == "Europe/Berlin" and listed["yearly"]["schedule"] == "30 2 24 12 *"
    assert listed["yearly"]["last"] is None and listed["yearly"]["lag"] is None
    assert listed["tick"]["title"] == "A tick" and listed["tick"]["log"] == "all"
    assert listed["yearly"]["log"] == "errors" and listed["yearly"]["next"] == listed["yearly"]["nominal"]

    ended = await_job(node, "tick", lambda j: j["runs"] >= 3, "runs stateNumber lastSuccess failures last { outcome node ended }")
    assert ended["last"]["outcome"] == "done" and ended["last"]["node"] and ended["lastSuccess"]
    assert ended["failures"] == 0 and ended["stateNumber"] >= 3
    (shown,) = objects(node.cli("jobs", "show", "tick", "--json"))
    numbers = [s["number"] for s in shown["states"]]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] >= shown["stateNumber"]  # it may run between the two looks
    assert all(s["text"] == str(s["number"]) for s in shown["states"])  # a note counts
    assert node.cli("jobs", "show", "tick", "--state", numbers[0]).stdout == str(numbers[0])
    text = node.cli("jobs", "show", "yearly").stdout
    assert "Europe/Berlin" in text and "30 2 24 12 *" in text and "next times" in text
    assert "NAME" in node.cli("jobs", "ls").stdout

    await_job(node, "slow", lambda j: j["state"] == "running")
    (open_run,) = job(node, "slow", "open { node nominal outside }")["open"]
    assert open_run["node"] and open_run["nominal"] and not open_run["outside"]
    assert [j["name"] for j in objects(node.cli("jobs", "ls", "--state", "running", "--json")) if j["name"] != "tick"] == ["slow"]
    wrong = node.cli("jobs", "ls", "--state", "rnning")
    assert wrong.returncode == USAGE and "--state takes scheduled, due, running" in wrong.stderr

    wrong = node.cli("jobs", "show", "nothing")
    assert wrong.returncode == NO and "there is no job nothing" in wrong.stderr
    wrong = node.cli("jobs", "run", "yearli")
    assert wrong.returncode == NO and "did you mean yearly?" in wrong.stderr


def test_pages_of_jobs(make_node):
    names = [f"j{i:03}" for i in range(230)]
    node = start(make_node, "jobs:\n" + "".join(f'  {n}: {{ kind: note, at: "0 3 1 1 *" }}\n' for n in names))
    wait_until(lambda: len(objects(node.cli("jobs", "ls", "--json"))) == len(names), SECONDS, "all jobs")
    assert sorted(j["name"] for j in objects(node.cli("jobs", "ls", "--json"))) == names
    node.graphql('mutation { jobPause(name: "j229") { state } }')
    page = node.graphql("{ jobs(states: [paused], first: 1) { items { name } next } }")["jobs"]
    assert page == {"items": [{"name": "j229"}], "next": None}
    seen, after = [], None
    while True:
        page = node.graphql("query($a: String) { jobs(first: 7, after: $a) { items { name } next } }", a=after)["jobs"]
        seen += [j["name"] for j in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert sorted(seen) == names


def test_when_a_job_comes_next(node):
    got = objects(node.cli("jobs", "next", "yearly", "-n", 3, "--json"))
    assert [o["job"] for o in got] == ["yearly"] * 3
    assert all(o["local"][4:] == "-12-24T02:30:00+01:00" and o["nominal"][4:] == "-12-24T01:30:00.000000Z" for o in got)
    years = [int(o["nominal"][:4]) for o in got]
    assert years == list(range(years[0], years[0] + 3))
    people = node.cli("jobs", "next", "yearly", "-n", 1).stdout
    assert people.startswith("yearly\nEurope/Berlin ") and "02:30:00 +01:00" in people and "T01:30:00Z" in people
    rows = objects(node.cli("jobs", "next", "--json"))
    assert {"yearly"} <= {r["name"] for r in rows} and [r["next"] for r in rows] == sorted(r["next"] for r in rows)
    assert node.cli("jobs", "next", "nothing").returncode == NO
    wrong = node.cli("jobs", "next", "yearly", "--from", "1h")
    assert wrong.returncode == USAGE and "--config FILE" in wrong.stderr


MARKED = """\
jobs:
  clock: { kind: note, at: "30 2 * 3,10 *", zone: Europe/Berlin }
  feast: { kind: note, at: "0 12 24-26 12 *", zone: Europe/Berlin, holidays: feasts, window: { open: "08:00", close: "18:00" } }
  ends:  { kind: note, at: "0 12 24 12 *", runs: 2 }
calendars:
  feasts: { dates: [ "12-25" ] }
"""


@BOTH
def test_a_node_tells_the_same_of_what_comes_as_a_file(make_node):
    node = start(make_node, MARKED)
    path = node.folder / "marked.yaml"
    path.write_text(MARKED)
    for name, count, words in (("clock", 62, ("is skipped", "comes twice", "the clock went")), ("feast", 4, ("(holiday)",)),
                               ("ends", 5, ("it ends: `runs`",))):
        shown = node.cli("jobs", "next", name, "-n", count).stdout
        assert all(word in shown for word in words), shown
        assert shown == node.cli("jobs", "next", name, "-n", count, "--config", path).stdout
        told = objects(node.cli("jobs", "next", name, "-n", count, "--json"))
        assert told == objects(node.cli("jobs", "next", name, "-n", count, "--config", path, "--json"))
    assert len(node.graphql('{ job(name: "ends") { nextTimes } }')["job"]["nextTimes"]) == 2


# ---- changing --------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.proves("SC5")
def test_a_job_is_paused_run_and_resumed(node):
    (paused,) = objects(node.cli("jobs", "pause", "yearly", "--reason", "their release", "--until", "2h", "--json"))
    assert paused["state"] == "paused" and paused["next"] is None
    assert paused["stop"]["what"] == "paused" and paused["stop"]["reason"] == "their release"
    assert paused["stop"]["by"] == "admin" and paused["stop"]["until"] > paused["stop"]["since"]
    listed = node.cli("jobs", "ls").stdout
    assert "their release" in listed

    assert node.cli("jobs", "run", "yearly").returncode == DONE
    ran = await_job(node, "yearly", lambda j: j["runs"] == 1 and j["state"] == "paused", "state runs nominal last { outcome }")
    assert ran["last"]["outcome"] == "done"
    await_notes(node, 1, "yearly")

    assert node.cli("jobs", "resume", "yearly").stdout.startswith("job yearly is scheduled")
    wrong = node.cli("jobs", "resume", "yearly")
    assert wrong.returncode == NO and "neither paused nor suspended" in wrong.stderr
    assert "until is in the past" in refused(node, 'jobPause(name: "yearly", until: "2020-01-01T00:00:00Z") { name }')
    assert job(node, "yearly", "runs")["runs"] == 1

    lines = node.graphql("{ audit { items { action object actor reason after } } }")["audit"]["items"]
    mine = [line for line in lines if line["action"].startswith("job")]
    assert [line["action"] for line in mine] == ["jobResume", "jobRun", "jobPause"]  # what was refused is none
    assert {line["object"] for line in mine} == {"yearly"} and mine[2]["reason"] == "their release"


@BOTH
@pytest.mark.proves("SC6")
def test_a_run_is_cancelled(node, slow):
    slow.wait_for(1)
    await_job(node, "slow", lambda j: j["state"] == "running")
    wrong = node.cli("jobs", "run", "slow")
    assert wrong.returncode == NO and "runs already" in wrong.stderr and "cancel" in wrong.stderr
    (got,) = objects(node.cli("jobs", "cancel", "slow", "--reason", "it hangs", "--json"))
    assert got["last"]["outcome"] == "cancelled" and "it hangs" in got["last"]["message"]
    wait_until(lambda: log_of(node, "slow"), SECONDS, "its line")
    (line,) = log_of(node, "slow")
    assert line["outcome"] == "cancelled" and "it hangs" in line["message"] and line["node"]
    assert line["due"] <= line["claimed"] <= line["ended"] and line["nominal"] <= line["claimed"]
    assert node.metrics()['waybill_job_runs_total{kind="call",outcome="cancelled"}'] == 1
    await_job(node, "slow", lambda j: j["state"] in ("scheduled", "due", "running"))
    (line, *_) = node.graphql("{ audit { items { action object reason } } }")["audit"]["items"]
    assert line == {"action": "jobCancel", "object": "slow", "reason": "it hangs"}
    wrong = node.cli("jobs", "cancel", "yearly")
    assert wrong.returncode == NO and "does not run" in wrong.stderr
    assert slow.requests


@BOTH
def test_each_run_that_is_cancelled_has_one_line(make_node, slow):
    """Two beside the token, and the third one with it."""
    node = start(make_node, "jobs:\n  wide: { kind: call, url: \"" + slow.url + "\", body: \"{}\", every: 100ms, parallel: 3, "
                 "timeout: 1h, log: all }\n")
    wait_until(lambda: len(slow.requests) == 3, SECONDS, "three runs")
    assert node.cli("jobs", "pause", "wide").returncode == node.cli("jobs", "cancel", "wide").returncode == DONE
    wait_until(lambda: len(log_of(node, "wide")) >= 3, SECONDS, "three lines")
    node.stop()  # what the runs still do has come to its end
    node.start()
    lines = log_of(node, "wide")
    assert [r["outcome"] for r in lines] == ["cancelled"] * 3 and all(r["due"] <= r["claimed"] <= r["ended"] for r in lines)
    assert len({r["run"] for r in lines}) == len({r["nominal"] for r in lines}) == 3


@BOTH
@pytest.mark.proves("SC9")
def test_an_earlier_state_is_restored(node):
    await_job(node, "tick", lambda j: j["stateNumber"] >= 4, "stateNumber")
    node.graphql('mutation { jobPause(name: "tick") { state } }')
    before = await_job(node, "tick", lambda j: j["state"] == "paused", "state stateNumber")["stateNumber"]
    (got,) = objects(node.cli("jobs", "reset", "tick", "--to", 2, "--json"))
    assert got["stateNumber"] == before + 1
    (line, *_) = node.graphql("{ audit { items { action object after } } }")["audit"]["items"]
    assert (line["action"], line["object"]) == ("jobReset", "tick") and '"to":2' in line["after"]
    newest = job(node, "tick", "states { number text }")["states"][0]
    assert newest == {"number": before + 1, "text": "2"}
    node.graphql('mutation { jobResume(name: "tick") { state } }')
    after = await_job(node, "tick", lambda j: j["stateNumber"] >= before + 2, "stateNumber states { number text }")
    assert {"number": before + 2, "text": "3"} in after["states"]
    wrong = node.cli("jobs", "reset", "tick", "--to", 999999)
    assert wrong.returncode == NO and "does not keep a state" in wrong.stderr
    assert node.cli("jobs", "reset", "tick").returncode == USAGE


@BOTH
def test_a_change_with_a_client_id_is_made_once(node):
    words = 'jobRun(name: "yearly", client: "one") { name }'
    first, second = change(node, words), change(node, words)
    assert first == second == {"data": {"jobRun": {"name": "yearly"}}}
    await_job(node, "yearly", lambda j: j["runs"] == 1 and j["state"] == "scheduled", "runs state")
    assert change(node, words) == first
    assert len(node.graphql('{ audit(filter: { action: "jobRun" }) { items { seq } } }')["audit"]["items"]) == 1
    assert job(node, "yearly", "runs state") == {"runs": 1, "state": "scheduled"}


@BOTH
def test_a_job_that_has_left_the_configuration(node, slow):
    text = CONFIG.format(url=slow.url)
    text = "".join(line + "\n" for line in text.splitlines() if "yearly" not in line)
    node.write_config(text)
    assert node.cli("apply", node.config_file, "--yes").returncode == DONE
    await_job(node, "yearly", lambda j: j["state"] == "gone")
    names = [j["name"] for j in objects(node.cli("jobs", "ls", "--json"))]
    assert "yearly" not in names and "tick" in names
    (left,) = [j for j in objects(node.cli("jobs", "ls", "--all", "--json")) if j["name"] == "yearly"]
    assert left["state"] == "gone" and left["gone"] and left["schedule"] is None and left["next"] is None
    wrong = node.cli("jobs", "run", "yearly")
    assert wrong.returncode == NO and "has left the configuration" in wrong.stderr


# ---- the log ---------------------------------------------------------------------------------------------


@BOTH
def test_the_log_of_runs(make_node):
    with Service(lambda *_: (500, {"error": "no paper in the printer", "retry": False})) as service:
        node = start(make_node, "jobs:\n  tick: { kind: note, every: 1s, log: all }\n"
                     f'  print: {{ kind: call, url: "{service.url}", body: "{{}}", every: 1h, retry: {{ first: 1h, most: 1h, for: 2h }} }}\n')
        wait_until(lambda: len(objects(node.cli("jobs", "log", "tick", "--json"))) >= 4, SECONDS, "four lines")
        wait_until(lambda: objects(node.cli("jobs", "log", "print", "--json")), SECONDS, "a line of a failure")
        runs = objects(node.cli("jobs", "log", "tick", "--json"))
        assert {r["job"] for r in runs} == {"tick"} and {r["outcome"] for r in runs} == {"done"}
        assert [r["ended"] for r in runs] == sorted((r["ended"] for r in runs), reverse=True)
        for r in runs:
            assert r["due"] <= r["claimed"] <= r["ended"] and r["lag"] >= 0 and r["duration"] >= 0 and r["node"]
        (failed, *_) = objects(node.cli("jobs", "log", "print", "--json"))
        assert failed["outcome"] == "failed" and "no paper in the printer" in failed["message"]
        shown = node.cli("jobs", "log", "print", "--steps").stdout
        assert "failed" in shown and "no paper in the printer" in shown

        page = node.graphql('{ jobRuns(job: "tick", first: 2) { items { run } next } }')["jobRuns"]
        rest = node.graphql('query($a: String) { jobRuns(job: "tick", first: 2, after: $a) { items { run } } }',
                            a=page["next"])["jobRuns"]["items"]
        assert len(page["items"]) == len(rest) == 2 and not {r["run"] for r in page["items"]} & {r["run"] for r in rest}
        assert {r["job"] for r in objects(node.cli("jobs", "log", "--limit", 200, "--json"))} == {"tick", "print"}
        assert node.cli("jobs", "log", "tick", "--limit", 1).stdout.count("tick") == 1
        wrong = node.cli("jobs", "log", "tik")
        assert wrong.returncode == NO and "did you mean tick?" in wrong.stderr
        got = node.request("POST", "/graphql", json.dumps({"query": '{ jobRuns(after: "1-2-x") { next } }'}),
                           {"Content-Type": "application/json", "Authorization": f"Bearer {node.token}"}).json
        assert "`next` of a page" in got["errors"][0]["message"]


# ---- who -------------------------------------------------------------------------------------------------


def test_who_sees_jobs_and_who_changes_them(make_node):
    node = start(make_node, 'systems: { hub: {} }\njobs: { yearly: { kind: note, at: "30 2 24 12 *" } }\n')
    await_job(node, "yearly", lambda j: j is not None and j["state"] == "scheduled")
    make_role(node, "looks", ["see"])
    make_role(node, "of-hub", ["see"], ["hub"])
    make_role(node, "operates", ["see", "operate"])
    looks, of_hub, operates = (somebody(node, role) for role in ("looks", "of-hub", "operates"))
    query = '{ jobs { items { name } } job(name: "yearly") { name } jobRuns { items { job } } }'
    assert looks.data(query) == {"jobs": {"items": [{"name": "yearly"}]}, "job": {"name": "yearly"}, "jobRuns": {"items": []}}
    assert of_hub.data(query) == {"jobs": {"items": []}, "job": None, "jobRuns": {"items": []}}
    assert of_hub.data("{ duties { name } }") == {"duties": []} and looks.data("{ duties { name } }")["duties"]
    for words in ('jobRun(name: "yearly")', 'jobPause(name: "yearly")', 'jobResume(name: "yearly")',
                  'jobCancel(name: "yearly")', 'jobReset(name: "yearly", to: 1)',
                  'jobBackfill(name: "yearly", from: "2020-01-01T00:00:00Z", to: "2024-01-01T00:00:00Z")'):
        for one in (looks, of_hub):
            (error,) = one.ask(f"mutation {{ {words} {{ name }} }}")["errors"]
            assert error["extensions"]["code"] == "forbidden", words
    assert node.cli("jobs", "run", "yearly", "--token", looks.key).returncode == DENIED
    assert job(node, "yearly", "runs state") == {"runs": 0, "state": "scheduled"}
    assert operates.data('mutation { jobPause(name: "yearly", reason: "x") { state stop { by } } }')["jobPause"]["state"] == "paused"


def test_an_event_says_that_jobs_have_changed(make_node):
    node = start(make_node, 'systems: { hub: {} }\njobs: { yearly: { kind: note, at: "30 2 24 12 *" } }\n')
    await_job(node, "yearly", lambda j: j is not None and j["state"] == "scheduled")
    make_role(node, "of-hub", ["see"], ["hub"])
    all_, some = Listener(node), Listener(node, token=somebody(node, "of-hub").key)
    try:
        wait_until(lambda: len(all_.of("tick")) >= 2, SECONDS, "what was before is known")
        assert all_.of("job") == []
        node.graphql('mutation { jobPause(name: "yearly") { state } }')
        all_.wait("job")
        node.graphql('mutation { holdAdd(system: "hub", reason: "x", owner: "y") { hold { id } } }')
        some.wait("hold")
        assert all_.of("job")[0] == {} and some.of("job") == []
    finally:
        all_.close()
        some.close()
