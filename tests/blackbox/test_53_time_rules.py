"""Zones, windows and schedules against another implementation: Python's zoneinfo.

The questions go to `test_window table`, thousands at a time.  The answers here are worked out
in the plainest way: every span, every minute.
"""
import bisect
import collections
import datetime
import functools
import os
import pathlib
import random
import subprocess
import zoneinfo

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WAYBILL_BUILD", ROOT / "build" / "debug"))
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo",
         "Pacific/Apia", "America/St_Johns", "Africa/Casablanca", "Asia/Tehran", "Asia/Kolkata"]
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
DAY, HOUR, MINUTE = 86400, 3600, 60
WEEKDAYS = "mon tue wed thu fri sat sun".split()

Change = collections.namedtuple("Change", "zone at before after")


def seconds(year, month=1, day=1, hour=0, minute=0):
    return int((datetime.datetime(year, month, day, hour, minute) - EPOCH).total_seconds())


def ask(questions):
    """One answer per question, each a list of words."""
    text = "".join("\t".join(str(part) for part in q) + "\n" for q in questions)
    got = subprocess.run([BUILD / "test_window", "table"], input=text, capture_output=True,
                         text=True, timeout=120, check=True)
    answers = [line.split() for line in got.stdout.splitlines()]
    assert len(answers) == len(questions), got.stderr
    return answers


def compare(cases):
    """Pairs of a question and the words of its answer, all asked at once."""
    cases = list(cases)
    for (question, want), got in zip(cases, ask([question for question, _ in cases])):
        assert got == [str(word) for word in want], question
    return len(cases)


# ---- the plain way ---------------------------------------------------------------------------


def offset(zone, utc):
    """Seconds ahead of UTC at an instant."""
    at = datetime.datetime.fromtimestamp(utc, UTC).astimezone(zoneinfo.ZoneInfo(zone))
    return int(at.utcoffset().total_seconds())


def first_with(low, high, ok):
    """The first instant in (low, high] for which ok holds; it holds for high, not for low."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ok(middle) else (middle, high)
    return high


@functools.lru_cache(maxsize=None)
def instant(zone, local):
    """The instant of a local time: zoneinfo's own for what is there (fold 0: the first of
    two), the moment of the change for what is left out."""
    naive = EPOCH + datetime.timedelta(seconds=local)
    both = [int(naive.replace(tzinfo=zoneinfo.ZoneInfo(zone), fold=f).timestamp()) for f in (0, 1)]
    if both[0] + offset(zone, both[0]) == local:
        return both[0]
    before, after = both[1], both[0]  # in a gap zoneinfo answers from the other side
    return first_with(before, after, lambda t: offset(zone, t) == offset(zone, after))


@functools.lru_cache(maxsize=None)
def changes(zone, first=1975, last=2060):
    """Every change of the offset, found by looking each 12 hours."""
    found = []
    for t in range(seconds(first), seconds(last), DAY // 2):
        before, after = offset(zone, t), offset(zone, t + DAY // 2)
        if before != after:
            at = first_with(t, t + DAY // 2, lambda x, a=after: offset(zone, x) == a)
            found.append(Change(zone, at, before, after))
    return found


def some_changes(each):
    """A fixed choice, the same number of every zone that has so many."""
    chance = random.Random(53)
    for zone in ZONES:
        all_of_it = changes(zone)
        yield from sorted(chance.sample(all_of_it, min(each, len(all_of_it))))


# ---- zones -----------------------------------------------------------------------------------


@pytest.mark.proves("WI5")
def test_offsets_and_changes():
    """The offset before and after each change, and when it ends."""
    cases = []
    for zone in ZONES:
        all_of_it = changes(zone)
        for c, following in zip(all_of_it, all_of_it[1:]):
            cases += [(("offset", zone, c.at - 1), (c.before, c.at)),
                      (("offset", zone, c.at), (c.after, following.at))]
    assert compare(cases) > 800


@pytest.mark.proves("WI5")
def test_local_times_around_every_change():
    """Before, in and after each gap and overlap."""
    cases, kinds = [], collections.Counter()
    for zone in ZONES:
        for c in changes(zone):
            kinds["gap" if c.after > c.before else "overlap"] += 1
            low, high = sorted((c.at + c.before, c.at + c.after))
            for local in (low - 900, low - 1, low, low + 1, (low + high) // 2, high - 1, high,
                          high + 1, high + 900):
                cases.append((("utc", zone, local), [instant(zone, local)]))
    assert kinds["gap"] > 200 and kinds["overlap"] > 200
    compare(cases)


def test_local_times_anywhere():
    chance = random.Random(1)
    times = [(zone, chance.randrange(seconds(1900), seconds(2400)))
             for zone in ZONES for _ in range(300)]
    compare((("utc", zone, local), [instant(zone, local)]) for zone, local in times)


# ---- windows ---------------------------------------------------------------------------------

Window = collections.namedtuple("Window", "days open close zone holidays", defaults=[()])


def clock(minute):
    return f"{minute // 60:02}:{minute % 60:02}"


def yaml_of(windows):
    """The set in one line; the holidays of the n-th window are the calendar `cN`."""
    calendars = [f"c{n}: {{ dates: [ {', '.join(w.holidays)} ] }}"
                 for n, w in enumerate(windows) if w.holidays]
    items = []
    for n, w in enumerate(windows):
        days = ", ".join(WEEKDAYS[d] for d in w.days)
        more = f", holidays: c{n}" if w.holidays else ""
        items.append(f'{{ days: [ {days} ], open: "{clock(w.open)}", close: "{clock(w.close)}", '
                     f"zone: {w.zone}{more} }}")
    return f"{{ window: [ {', '.join(items)} ], calendars: {{ {', '.join(calendars)} }} }}"


def spans(windows, first, last):
    """From when to when they are open between two instants, joined where they meet."""
    found = []
    for w in windows:
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=first // DAY - 4)
        while (midnight := seconds(day.year, day.month, day.day)) < last + 3 * DAY:
            if (day.weekday() in w.days and day.isoformat() not in w.holidays
                    and day.strftime("%m-%d") not in w.holidays):
                close = w.close if w.close > w.open else w.close + 24 * 60
                span = (instant(w.zone, midnight + w.open * MINUTE),
                        instant(w.zone, midnight + close * MINUTE))
                if span[0] < span[1]:
                    found.append(span)
            day += datetime.timedelta(days=1)
    joined = []
    for begin, end in sorted(found):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([begin, end])
    return joined


def looks(windows, moments):
    """What is asked at each moment, and the answer; all of them lie near each other."""
    first, last = min(moments), max(moments)
    edges = [edge for span in spans(windows, first - 12 * DAY, last + 30 * DAY) for edge in span]
    text = yaml_of(windows)
    for moment in moments:
        n = bisect.bisect_right(edges, moment)
        yield ("open", moment * 10 ** 6 + 7, text), ("open" if n % 2 else "closed",
                                                     edges[n] * 10 ** 6)


@pytest.mark.proves("WI5")
def test_windows_around_changes():
    """Windows that begin, end or lie in a gap or an overlap, or go over it or over midnight."""
    cases, windows = [], 0
    for c in some_changes(25):
        low, high = sorted((c.at + c.before, c.at + c.after))
        low, middle, high = (t % DAY // 60 for t in (low, (low + high) // 2, high))
        chance = random.Random(c.at)
        for open_, close in ((middle, (middle + 150) % 1440), ((middle - 150) % 1440, middle),
                             (low, high), (22 * 60, 4 * 60), (0, 1440),
                             (chance.randrange(1440), chance.randrange(1, 1441))):
            if (close - open_) % 1440 == 0 and (open_, close) != (0, 1440):
                continue
            days = sorted(chance.sample(range(7), chance.choice((1, 3, 5, 6))))
            moments = [c.at + d for d in range(-DAY, DAY, 2 * HOUR + 7 * MINUTE)]
            moments += [c.at - 1, c.at, c.at + 1]
            cases += looks([Window(days, open_, close, c.zone)], moments)
            windows += 1
    compare(cases)
    assert windows > 200


@pytest.mark.proves("WI5")
def test_sets_of_windows_with_holidays():
    """Several windows in several zones, on days of one year and of each."""
    chance = random.Random(7)
    cases = []
    for _ in range(60):
        start = seconds(chance.randrange(2000, 2050), chance.randrange(1, 13))
        windows = []
        for _ in range(chance.randrange(1, 5)):
            days = sorted(chance.sample(range(7), chance.randrange(2, 7)))
            dates = [datetime.date(1970, 1, 1) + datetime.timedelta(days=start // DAY + n)
                     for n in chance.sample(range(20), 3)]
            holidays = tuple(chance.choice((d.isoformat(), d.strftime("%m-%d"))) for d in dates)
            open_ = chance.randrange(1441)
            close = chance.choice([m for m in (0, 240, 360, 1080, 1439, 1440)
                                   if (m - open_) % 1440])
            windows.append(Window(days, open_, close, chance.choice(ZONES),
                                  chance.choice((holidays, ()))))
        cases += looks(windows, [start + n * 5 * HOUR + 13 for n in range(100)])
    compare(cases)


# ---- schedules -------------------------------------------------------------------------------

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
SUNDAY_FIRST = WEEKDAYS[-1:] + WEEKDAYS[:-1]
FIELDS = [(0, 59, []), (0, 23, []), (1, 31, []), (1, 12, MONTHS), (0, 7, SUNDAY_FIRST)]


def values(text, least, most, names):
    def number(word):
        return names.index(word) + least if word in names else int(word)

    found = set()
    for item in text.split(","):
        item, _, step = item.partition("/")
        if item == "*":
            low, high = least, most
        elif "-" in item:
            low, high = (number(w) for w in item.split("-"))
        else:
            low = number(item)
            high = most if step else low
        found |= set(range(low, high + 1, int(step or 1)))
    return found


class Schedule:
    """Five fields as sets."""

    def __init__(self, text):
        words = text.split()
        self.minutes, self.hours, self.days, self.months, weekdays = (
            values(w, *f) for w, f in zip(words, FIELDS))
        self.weekdays = {(d - 1) % 7 for d in weekdays}  # from Monday
        self.either = words[2][0] != "*" and words[4][0] != "*"
        self.every_hour = len(self.hours) == 24

    def has_day(self, day):
        if day.month not in self.months:
            return False
        by = (day.day in self.days, day.weekday() in self.weekdays)
        return any(by) if self.either else all(by)

    def runs(self, zone, first, last):
        """Every instant in (first, last], in order."""
        if self.every_hour:
            return [t for t in range(first - first % 60 + 60, last + 1, 60)
                    if self.reads(t + offset(zone, t))]
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=first // DAY - 3)
        found = set()
        while (midnight := seconds(day.year, day.month, day.day)) < last + 3 * DAY:
            if self.has_day(day):
                found |= {instant(zone, midnight + h * HOUR + m * MINUTE)
                          for h in self.hours for m in self.minutes}
            day += datetime.timedelta(days=1)
        return sorted(t for t in found if first < t <= last)

    def reads(self, local):
        at = EPOCH + datetime.timedelta(seconds=local)
        return (at.minute in self.minutes and at.hour in self.hours and at.second == 0
                and self.has_day(at))


NAMED = ["30 2 * * *", "0 0 * * *", "15 1,2,3 * * *", "*/20 2 * * *", "0 */2 * * *", "59 23 * * *",
         "0 1-3 * * sun", "45 0-4/2 * * sat,sun", "10 2 1-7 * *", "0 3 * mar,4,oct,nov *",
         "5/25 2 * * 0", "0 2 8-14 * sun", "30 1 */2 * *", "0,30 0,1,23 * * fri-6"]
HOURLY = ["0 * * * *", "*/15 * * * *", "30 * * * sun", "7,37 0-23 1-15 * *"]


def runs_of(text, zone, first, last):
    """All runs in a stretch of time, each asked for from the one before it."""
    expected = Schedule(text).runs(zone, first, last)
    for after, run in zip([first] + expected, expected):
        yield ("cron", zone, after * 10 ** 6, text), [run * 10 ** 6]


@pytest.mark.proves("WI5")
def test_schedules_over_changes():
    cases = [case for text in NAMED for c in some_changes(6)
             for case in runs_of(text, c.zone, c.at - 3 * DAY, c.at + 3 * DAY)]
    assert compare(cases) > 5000


@pytest.mark.proves("WI5")
def test_schedules_that_follow_the_clock():
    cases = [case for text in HOURLY for c in some_changes(3)
             for case in runs_of(text, c.zone, c.at - DAY, c.at + DAY)]
    assert compare(cases) > 5000


def test_schedules_from_any_time():
    """Also from within a gap or an overlap, and between two seconds."""
    chance = random.Random(3)
    cases = []
    for c in some_changes(8):
        text = chance.choice(NAMED[:8])
        runs = Schedule(text).runs(c.zone, c.at - 2 * DAY, c.at + 12 * DAY)
        for _ in range(8):
            after = (c.at + chance.randrange(-4 * HOUR, 4 * HOUR)) * 10 ** 6 + \
                chance.choice((0, 1, 999999))
            cases.append((("cron", c.zone, after, text),
                          [next(t * 10 ** 6 for t in runs if t * 10 ** 6 > after)]))
    compare(cases)


def test_schedules_far_apart():
    far = {"0 0 29 2 *": (2096, 3, 2104, 2, 29), "0 0 29 2 */7": (2060, 3, 2088, 2, 29),
           "0 0 31 12 *": (2026, 1, 2026, 12, 31), "0 12 30 4 *": (2026, 5, 2027, 4, 30, 12)}
    compare((("cron", "UTC", seconds(year, month) * 10 ** 6, text), [seconds(*want) * 10 ** 6])
            for text, (year, month, *want) in far.items())
    never = ask([("cron", "UTC", 0, "0 0 31 2 *"), ("cron", "UTC", 0, "0 0 30 2 *")])
    assert [n[0] for n in never] == ["?", "?"]
