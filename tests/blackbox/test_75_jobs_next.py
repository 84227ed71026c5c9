"""`waybill jobs next`: when jobs run, told without a node; and the same worked out by another program."""
import datetime
import json
import os
import random

import pytest

import schedule_oracle as oracle
from running_node import clean_environment, run_program
from schedule_oracle import DAY, END, FIRST, START, minute

DONE, NO, USAGE, IO = 0, 1, 2, 74


@pytest.fixture
def following(tmp_path):
    def run(*args, **options):
        return run_program("jobs", "next", *args, cwd=tmp_path, env=clean_environment(TZ="UTC"), **options)
    return run


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


# -- what people see

@pytest.mark.smoke
@pytest.mark.proves("SC17")
def test_times_over_both_changes_of_the_clock(following):
    args = ("--at", "30 2 * * *", "--zone", "Europe/Berlin", "-n", 3)
    got = following(*args, "--from", "2026-03-28T00:00Z")
    assert got.returncode == DONE and got.stderr == ""
    assert got.stdout.splitlines() == [
        "Europe/Berlin                        UTC",
        "Sat 2026-03-28 02:30:00 +01:00       2026-03-28T01:30:00Z",
        "Sun 2026-03-29 03:00:00 +02:00       2026-03-29T01:00:00Z  "
        "its local time is skipped: at the change of the clock instead  the clock went forward by 60 min",
        "Mon 2026-03-30 02:30:00 +02:00       2026-03-30T00:30:00Z"]
    got = objects(following(*args, "--from", "2026-10-24T12:00Z", "--json").stdout)
    assert [(o["nominal"], o["local"], o["clock"]) for o in got[:2]] == [
        ("2026-10-25T00:30:00.000000Z", "2026-10-25T02:30:00+02:00", "first"),
        ("2026-10-26T01:30:00.000000Z", "2026-10-26T02:30:00+01:00", None)]
    hourly = objects(following("--at", "@hourly", "--zone", "Europe/Berlin", "-n", 3, "--json",
                               "--from", "2026-10-24T23:30Z").stdout)
    assert [o["clock"] for o in hourly] == ["first", "second", None]


def test_what_is_left_out_stands_with_its_reason(following):
    got = following("--at", "06:00", "--at", "18:00", "--holidays", "12-25", "--holidays", "2026-12-28", "--window",
                    "mon-fri 05:00-20:00", "--from", "2026-12-24T12:00Z", "-n", 2)
    assert got.stdout.splitlines() == [
        "UTC                                  UTC",
        "Thu 2026-12-24 18:00:00 +00:00       2026-12-24T18:00:00Z",
        "  left out: 4 times from Fri 2026-12-25 06:00:00 +00:00 to Mon 2026-12-28 18:00:00 +00:00 (holiday)",
        "  left out: 4 times from Sat 2026-12-26 06:00:00 +00:00 to Sun 2026-12-27 18:00:00 +00:00 (window closed)",
        "Tue 2026-12-29 06:00:00 +00:00       2026-12-29T06:00:00Z"]


@pytest.mark.proves("SC17")
@pytest.mark.parametrize("how, want", [
    ("skip", [("missed", 4), "13:00"]),
    ("once", [("missed", 3), "12:00 late", "13:00"]),
    ("all", ["09:00 late", "10:00 late", "11:00 late", "12:00 late", "13:00"]),
])
def test_what_catching_up_would_do(following, how, want):
    got = objects(following("--at", "@hourly", "--last", "2026-01-01T08:00Z", "--from", "2026-01-01T12:30Z", "--catch-up",
                            how, "-n", 5, "--json").stdout)[:len(want)]
    assert [(o["leftOut"], o["count"]) if "leftOut" in o else o["nominal"][11:16] + (" late" if o["late"] else "")
            for o in got] == want
    assert {o["due"] for o in got if o.get("late")} <= {"2026-01-01T12:30:00.000000Z"}
    text = following("--at", "@hourly", "--last", "2026-01-01T08:00Z", "--from", "2026-01-01T12:30Z", "--catch-up", how)
    assert text.stdout.count("missed, caught up with") == sum("late" in w for w in want)


def test_every_and_once_and_the_end(following):
    got = objects(following("--every", "10m", "--runs", 3, "--from", "2026-01-01T00:00Z", "--json").stdout)
    assert [o.get("nominal", o.get("end"))[11:16] or o["end"] for o in got[:3]] == ["00:00", "00:10", "00:20"]
    assert got[3:] == [{"job": None, "end": "runs"}]
    got = following("--once", "2026-12-24T22:00", "--zone", "Asia/Tokyo", "--jitter", "5m", "--from", "2026-01-01T00:00Z")
    assert got.stdout.splitlines() == ["Asia/Tokyo                           UTC; due later at random, at most by 5m",
                                       "Thu 2026-12-24 22:00:00 +09:00       2026-12-24T13:00:00Z",
                                       "  it ends: `once` is over"]
    got = following("--at", "@daily", "--until", "2026-01-03T00:00", "--from", "2026-01-01T00:00Z")
    assert got.stdout.splitlines()[-1] == "  it ends: `until` is over" and len(got.stdout.splitlines()) == 4


CONFIG = """\
calendars: { feasts: { dates: [ "12-25" ] } }
jobs:
  nightly-call: { kind: call, url: "https://erp.example/close", at: "0 2 * * *", zone: Europe/Berlin, holidays: feasts }
  sweep: { kind: note, every: 1h }
"""


def test_the_jobs_of_a_file(following, tmp_path):
    (tmp_path / "waybill.yaml").write_text(CONFIG)
    args = ("--config", "waybill.yaml", "--from", "2026-12-23T12:00Z", "-n", 2)
    got = objects(following(*args, "--json").stdout)
    assert [(o["job"], o.get("nominal", o.get("leftOut"))[:16]) for o in got] == [
        ("nightly-call", "2026-12-24T01:00"), ("nightly-call", "holiday"), ("nightly-call", "2026-12-26T01:00"),
        ("sweep", "2026-12-23T12:00"), ("sweep", "2026-12-23T13:00")]
    assert {o["job"] for o in objects(following(*args, "sweep", "--json").stdout)} == {"sweep"}
    assert following(*args, "sweep").stdout.startswith("sweep\nUTC ")
    wrong = following(*args, "swep")
    assert wrong.returncode == NO and wrong.stdout == "" and "did you mean sweep?" in wrong.stderr
    assert following("--config", "no.yaml").returncode == IO
    (tmp_path / "waybill.yaml").write_text(CONFIG.replace("every: 1h", 'every: 1h, at: "@daily"'))
    wrong = following(*args)
    assert wrong.returncode == NO and "waybill.yaml:4:" in wrong.stdout + wrong.stderr
    assert "has both `at` and `every`" in wrong.stdout + wrong.stderr
    (tmp_path / "waybill.yaml").write_text("systems: {}\n")
    assert "has no jobs" in following(*args).stderr


@pytest.mark.parametrize("args, says", [
    (("--zone", "UTC"), "say when it runs"),
    (("--at", "0 2 * * *", "--every", "1h"), "has both `at` and `every`"),
    (("--at", "0 0 31 2 *"), "no month of it has such a day"),
    (("--at", "24:00"), "00:00"),
    (("--at", "@daily", "--zone", "Europe/Berlim"), "did you mean `Europe/Berlin`?"),
    (("--at", "0 0 25 12 *", "--holidays", "12-25"), "this time never comes"),
    (("--at", "@daily", "--holidays", "xmas"), "`dates` cannot be `xmas`"),
    (("--at", "@daily", "--window", "mon-fri 8-18"), "`open` cannot be `8`"),
    (("--at", "@daily", "--catch-up", "some"), "skip, once, all"),
    (("--every", "1h", "--catch-up", "all"), "`every` misses nothing"),
    (("--at", "@daily", "--last", "1h", "--from", "2h"), "--last is after --from"),
    (("--at", "@daily", "--config", "f"), "--at is said by the jobs of --config"),
    (("nightly", "--at", "@daily"), "leave nightly out"),
    (("nightly", "--from", "1h"), "--config FILE"),
    (("--at", "@daily", "-n", "0"), "a number from 1"),
])
def test_bad_input_is_told(following, args, says):
    got = following(*args)
    assert got.returncode == USAGE and got.stdout == "" and says in got.stderr, got.stderr


# -- against the oracle

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Africa/Casablanca", "America/St_Johns")
WHOLE = os.environ.get("WAYBILL_SCHEDULES") == "all"  # make schedules: 300 in each zone; else a sample of them
COUNT = 300 if WHOLE else 12
RUNS = 200_000 if WHOLE else 4000  # of a schedule that is compared over three years
DENSE = 250  # ... and of one with more, from each of some days on
AT_ONCE = 20  # schedules whose times are in memory at the same time
FEASTS = ("12-24", "12-25", "12-26", "01-01", "05-01", "2025-03-30", "2026-03-29", "2026-10-25", "2027-04-04", "2025-11-02",
          "2026-03-08", "2027-10-31", "2025-04-06", "2026-10-04")
BRIEF = ("2026-07-14", "07-04", "2025-10-25")
WEEKDAYS = {"mon-fri": frozenset(range(1, 6)), "daily": frozenset(range(7)), "sat,sun": frozenset((0, 6)),
            "mon-thu": frozenset(range(1, 5)), "fri-mon": frozenset((5, 6, 0, 1)), "tue-sun": frozenset((2, 3, 4, 5, 6, 0))}


def clock_time(dice):
    """A time of day, often one that a change of the clock skips or repeats."""
    hour = dice.choice((0, 0, 1, 1, 2, 2, 2, 3, 23, dice.randrange(24)))
    return f"{hour:02}:{dice.choice((0, 0, 30, 1, 59, 45, dice.randrange(60))):02}"


def cron(dice):
    minutes = dice.choice(("0", "30", "*/15", "*/20", "5,35", "10-50/20", str(dice.randrange(60)), "59", "*/7"))
    hours = dice.choice(("*", "0", "1", "2", "2", "3", "1-3", "*/2", "*/6", "0,12", "8-17", "22-23", "0-23"))
    days, weekdays = dice.choice((("*", "*"), ("*", "*"), ("*", "1-5"), ("1", "*"), ("31", "*"), ("*/2", "1"), ("13", "5"),
                                  ("1,15", "0"), ("*", "0,6"), ("29-31", "*"), ("*", "7"), ("*/10", "*")))
    months = dice.choice(("*", "*", "*", "*", "3,10", "4,11", "1-6", "*/5", "2"))
    return " ".join((minutes, hours, days, months, weekdays))


def make(dice, zone):
    job = {"zone": zone, "catch_up": dice.choice(("skip", "once", "all")), "most": dice.choice((100, 100, 1, 7)),
           "holidays": dice.choice(((), (), FEASTS, BRIEF, FEASTS + BRIEF)), "windows": ()}
    form = dice.randrange(10)
    if form < 1:
        job["once"] = dice.randrange(minute(FIRST), minute(END) - 40 * DAY)
    elif form < 5:
        job["at"] = tuple(sorted({clock_time(dice) for _ in range(dice.choice((1, 1, 2, 4)))}))
    elif form < 9:
        job["at"] = (cron(dice),)
    else:
        job["at"] = (cron(dice), clock_time(dice), clock_time(dice))
    if dice.randrange(3) == 0:
        where = dice.choice((zone, zone, "UTC", "Asia/Kolkata"))
        hours = dice.choice((("00:00", "24:00"), ("06:00", "20:30"), ("22:00", "04:00"), ("02:00", "03:00"), ("01:30", "02:30")))
        job["windows"] = ((where, dice.choice(sorted(WEEKDAYS)), *hours),)
        if dice.randrange(3) == 0:
            job["windows"] += ((zone, "daily", "12:00", "13:00"),)
    if "at" in job and dice.randrange(6) == 0:
        job["runs"] = dice.choice((1, 5, 60))
    if "at" in job and dice.randrange(6) == 0:
        job["until"] = dice.randrange(minute(FIRST), minute(END))
    return job


def utc_text(at):
    return f"{START + at * oracle.MINUTE:%Y-%m-%dT%H:%MZ}"


def line_of(name, job):
    """The job as it stands in a configuration."""
    keys = {"kind": "note", "zone": job["zone"], "catch_up": job["catch_up"]}
    if job["catch_up"] == "all":
        keys["catch_up_most"] = job["most"]
    if "at" in job:
        keys["at"] = list(job["at"]) if len(job["at"]) > 1 else job["at"][0]
    for key in ("once", "until"):
        if key in job:
            keys[key] = utc_text(job[key])
    if "runs" in job:
        keys["runs"] = job["runs"]
    if job["holidays"]:
        keys["holidays"] = [n for n, dates in (("feasts", FEASTS), ("brief", BRIEF)) if set(dates) <= set(job["holidays"])]
    if job["windows"]:
        keys["window"] = [{"zone": z, "days": d, "open": o, "close": c} for z, d, o, c in job["windows"]]
    return f"  {name}: {json.dumps(keys)}"


def schedules(zone):
    """name -> the job and what the oracle makes of it."""
    dice, found = random.Random(f"21 {zone}"), {}
    while len(found) < COUNT:
        job = make(dice, zone)
        schedule = oracle.Schedule(dict(job, windows=tuple((z, WEEKDAYS[d], o, c) for z, d, o, c in job["windows"])))
        each = [oracle.Cron(text).times(schedule.zone) for text in job.get("at", ())]
        if "once" in job or (all(each) and schedule.all & schedule.open):  # else it is refused: it never comes
            found[f"j{len(found)}"] = (job, schedule)
    return found


def ask(tmp_path, jobs, begin, count, last):
    """What the program says of each job, as the oracle says it."""
    text = ["calendars:", f"  feasts: {{ dates: {json.dumps(FEASTS)} }}", f"  brief: {{ dates: {json.dumps(BRIEF)} }}", "jobs:"]
    file = tmp_path / "jobs.yaml"
    file.write_text("\n".join(text + [line_of(name, job) for name, (job, _) in jobs.items()]) + "\n")
    args = ["--config", file, "--json", "--from", utc_text(begin), "-n", count]
    got = run_program("jobs", "next", *args, *(("--last", utc_text(last)) if last is not None else ()), timeout=600)
    assert got.returncode == DONE, got.stdout[:2000] + got.stderr[:2000]
    said = {name: [] for name in jobs}
    for line in got.stdout.splitlines():
        o = json.loads(line)
        said[o["job"]].append(o)
    return said


KNOWN = {}


def at_minute(text):
    """A time of the API; all of them are whole minutes."""
    day = KNOWN.get(text[:10])
    if day is None:
        day = KNOWN[text[:10]] = minute(datetime.datetime.fromisoformat(text[:10]).replace(tzinfo=datetime.timezone.utc))
    assert text.endswith(":00.000000Z")
    return day + int(text[11:13]) * 60 + int(text[14:16])


def as_tuple(o, zone):
    if "end" in o:
        return "end", o["end"]
    if "leftOut" in o:
        assert o["more"] is False
        return "left", o["leftOut"], o["count"], at_minute(o["first"]), at_minute(o["last"])
    nominal = at_minute(o["nominal"])
    assert o["local"] == zone.show(nominal, zone.ahead(nominal)), o
    return "run", nominal, at_minute(o["due"]), o["late"], o["clock"]


def times_of(schedule):
    """How many it has, beyond the three years too."""
    return (schedule.all & schedule.open).bit_count()


def compare(tmp_path, jobs, begin, count, last=None):
    """Program and oracle agree up to the end of the three years; returns how many lines were compared."""
    names, compared = sorted(jobs, key=lambda name: times_of(jobs[name][1])), 0
    for n in range(0, len(names), AT_ONCE):
        some = {name: jobs[name] for name in names[n:n + AT_ONCE]}
        enough = times_of(some[names[n:n + AT_ONCE][-1]][1]) + 10  # more would be centuries of the rare ones
        compared += compare_some(tmp_path, some, begin, min(count, enough), last)
    return compared


def compare_some(tmp_path, jobs, begin, count, last):
    said, compared = ask(tmp_path, jobs, begin, count, last), 0
    for name, (job, schedule) in jobs.items():
        want = list(schedule.walk(begin if last is None else last, begin, count))
        got = [as_tuple(o, schedule.zone) for o in said[name][:len(want)]]
        assert got == want, (name, line_of(name, job), [pair for pair in zip(got, want) if pair[0] != pair[1]][:3],
                             len(got), len(want))
        runs = sum(w[0] == "run" for w in want)
        for o in said[name][len(want):]:  # what follows is later; what is left out before the next run is told with it
            assert runs < count and (o.get("leftOut") in ("holiday", "window") or "end" in o
                                     or at_minute(o["due"]) >= minute(END)), (name, line_of(name, job), o)
        compared += len(want)
    return compared


def is_dense(schedule):
    return times_of(schedule) > RUNS


@pytest.mark.proves("SC17")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("zone", ZONES)
def test_times_are_those_of_the_oracle(zone, tmp_path):
    """Three years from their beginning; of a sample the times that are close together only from before changes of the
    clock on; and outages, with each way to catch up."""
    world = schedules(zone)
    dense = {name: j for name, j in world.items() if is_dense(j[1])}
    sparse = {name: j for name, j in world.items() if name not in dense}
    begin = minute(FIRST)
    assert compare(tmp_path, sparse, begin, RUNS) > COUNT * 50
    changes = [first for first, _, _ in oracle.zone_of(zone).parts[1:] if begin + DAY < first < minute(END) - 30 * DAY]
    assert len(changes) >= 5
    for change in changes if WHOLE else changes[:2]:
        compare(tmp_path, dense, change - 600, DENSE)
    dice = random.Random(f"22 {zone}")
    for _ in range(24 if WHOLE else 2):
        now = dice.choice((dice.randrange(begin, minute(END) - 40 * DAY), dice.choice(changes) + dice.randrange(300)))
        last = now - dice.choice((30, 60, 90, 600, DAY, 3 * DAY, 20 * DAY))
        compare(tmp_path, world, now, 130, last)
