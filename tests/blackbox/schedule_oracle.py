"""When a job runs, worked out again minute by minute, with Python's zoneinfo and no code of the product.

A zone is a row of minutes in UTC, from START to END.  A set of minutes is one large integer: bit n is
minute n.  What a schedule names is found by asking of each minute what the local clock shows.
"""
import bisect
import datetime
import functools
import zoneinfo

MINUTE = datetime.timedelta(minutes=1)
UTC = datetime.timezone.utc
START = datetime.datetime(2024, 9, 1, tzinfo=UTC)
FIRST = datetime.datetime(2025, 1, 1, tzinfo=UTC)  # the three years that are compared
END = datetime.datetime(2028, 1, 1, tzinfo=UTC)
BEYOND = datetime.datetime(2028, 3, 1, tzinfo=UTC)
SIZE = (BEYOND - START) // MINUTE
DAY = 1440
EPOCH = START.toordinal()
LATE = 1  # minutes
REASONS = ("missed", "catch_up_most", "holiday", "window")


def minute(when):
    return (when - START) // MINUTE


def bits(text):
    """The set of the minutes at which a text of zeros and ones has a one."""
    return int(text[::-1], 2)


def members(number):
    """The minutes of a set, in order."""
    text, found, at = bin(number)[:1:-1], [], -1
    while (at := text.find("1", at + 1)) >= 0:
        found.append(at)
    return found


class Zone:
    def __init__(self, name):
        self.name = name
        self.info = zoneinfo.ZoneInfo(name)
        self.parts = []  # [first minute, end, minutes ahead of UTC]
        for day in range(0, SIZE, DAY):  # the minutes of a day are asked one by one if its ends differ
            same = self.asked(day) == self.asked(day + DAY)
            for at in (day,) if same else range(day, day + DAY):
                ahead = self.asked(at)
                if not self.parts or self.parts[-1][2] != ahead:
                    self.parts.append([at, SIZE, ahead])
        for part, following in zip(self.parts, self.parts[1:]):
            part[1] = following[0]
        self.gaps, self.twice, self.before = [], 0, 0
        for (_, change, old), (_, _, new) in zip(self.parts, self.parts[1:]):
            if new > old:
                self.gaps.append((change, change + old, change + new))  # and the local minutes that are skipped
            else:
                self.twice |= ((1 << old - new) - 1) << change  # seen for the second time
                self.before |= ((1 << old - new) - 1) << change - (old - new)
        self.twice_data, self.before_data = packed(self.twice), packed(self.before)

    def asked(self, at):
        return (START + at * MINUTE).astimezone(self.info).utcoffset() // MINUTE

    def ahead(self, at):
        return next(ahead for first, end, ahead in self.parts if first <= at < end)

    @functools.lru_cache(maxsize=None)
    def named(self, field, values):
        """The minutes at which a field of the local clock has one of these values."""
        days = "".join(("1" if value in values else "0") * DAY for value in days_of(field)) if field in DAYS else ""
        text = []
        for first, end, ahead in self.parts:
            low, count = first + ahead + 2 * DAY, end - first  # the first day of `days` is two before START
            if field in DAYS:
                text.append(days[low:low + count])
            else:
                period = 60 if field == "minute" else DAY
                pattern = "".join("1" if (m if period == 60 else m // 60) in values else "0" for m in range(period))
                low %= period
                text.append((pattern * ((low + count) // period + 1))[low:low + count])
        return bits("".join(text))

    def instant(self, local):
        """The first minute at which the clock shows this local minute or a later one."""
        for first, end, ahead in self.parts:
            if local - ahead < end:
                return max(first, local - ahead)
        return SIZE

    def show(self, at, ahead):
        local = START.replace(tzinfo=None) + (at + ahead) * MINUTE
        sign, off = ("-", -ahead) if ahead < 0 else ("+", ahead)
        return f"{local:%Y-%m-%dT%H:%M:00}{sign}{off // 60:02}:{off % 60:02}"


DAYS = {"day": lambda d: d.day, "month": lambda d: d.month, "weekday": lambda d: d.isoweekday() % 7,
        "date": lambda d: (d.month, d.day), "full": lambda d: (d.year, d.month, d.day)}


@functools.lru_cache(maxsize=None)
def days_of(field):
    return [DAYS[field](datetime.date.fromordinal(EPOCH - 2 + n)) for n in range(SIZE // DAY + 5)]


# -- schedules

LEAST_MOST = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def values_of(text, least, most):
    found = set()
    for item in text.split(","):
        range_, _, step = item.partition("/")
        low, _, high = range_.partition("-")
        if low == "*":
            low, high = least, most
        else:
            high = high or (most if step else low)
        found.update(range(int(low), int(high) + 1, int(step or 1)))
    return frozenset(v % 7 if most == 7 else v for v in found)


class Cron:
    def __init__(self, text):
        if ":" in text:
            text = f"{int(text[3:])} {int(text[:2])} * * *"
        fields = text.split()
        self.any_day, self.any_weekday = fields[2][0] == "*", fields[4][0] == "*"
        self.minute, self.hour, self.day, self.month, self.weekday = (
            values_of(f, *bounds) for f, bounds in zip(fields, LEAST_MOST))

    def fits(self, local):
        """A local minute, which may not exist."""
        when = START.replace(tzinfo=None) + local * MINUTE
        day, weekday = when.day in self.day, when.isoweekday() % 7 in self.weekday
        either = not self.any_day and not self.any_weekday
        return when.minute in self.minute and when.hour in self.hour and when.month in self.month \
            and (day or weekday if either else day and weekday)

    def times(self, zone):
        either = not self.any_day and not self.any_weekday
        day, weekday = zone.named("day", self.day), zone.named("weekday", self.weekday)
        found = zone.named("minute", self.minute) & zone.named("hour", self.hour) & zone.named("month", self.month) \
            & (day | weekday if either else day & weekday)
        if len(self.hour) == 24:
            return found  # it follows the local clock
        found &= ~zone.twice
        for change, low, high in zone.gaps:
            if any(self.fits(local) for local in range(low, high)):
                found |= 1 << change
        return found


@functools.lru_cache(maxsize=None)
def zone_of(name):
    return Zone(name)


@functools.lru_cache(maxsize=None)
def holidays(zone, dates):
    every = frozenset((int(d[:2]), int(d[3:])) for d in dates if len(d) == 5)
    exact = frozenset((int(d[:4]), int(d[5:7]), int(d[8:])) for d in dates if len(d) == 10)
    return zone_of(zone).named("date", every) | zone_of(zone).named("full", exact)


@functools.lru_cache(maxsize=None)
def window(zone, days, opens, closes):
    """The minutes at which a window is open; days as 0 for Sunday."""
    zone, found = zone_of(zone), bytearray(b"0" * SIZE)
    low, high = (int(t[:2]) * 60 + int(t[3:]) for t in (opens, closes))
    high += DAY if high <= low else 0
    for n, weekday in enumerate(days_of("weekday")):
        first, end = (zone.instant((n - 2) * DAY + t) for t in (low, high))
        if weekday in days and max(first, 0) < end:
            found[max(first, 0):end] = b"1" * (end - max(first, 0))
    return bits(bytes(found[:SIZE]))


@functools.lru_cache(maxsize=None)
def excluded(zone, dates, windows):
    """The minutes on holidays and those in closed windows; and the open ones, and holidays, as bytes."""
    off = holidays(zone, dates) if dates else 0
    shut = EVERYTHING & ~functools.reduce(int.__or__, [window(*w) for w in windows], 0) if windows else 0
    return EVERYTHING & ~(off | shut), packed(EVERYTHING & ~(off | shut)), packed(off)


EVERYTHING = (1 << SIZE) - 1
CHUNK = 64 * DAY


def packed(number):
    return number.to_bytes(SIZE // 8 + 1, "little")


def has(data, at):
    return data[at >> 3] >> (at & 7) & 1


class Schedule:
    """`job` has at or once (minute in UTC), zone, holidays (dates), windows, catch_up, most, runs, until (minute)."""

    def __init__(self, job):
        self.job, self.zone = job, zone_of(job["zone"])
        crons = [Cron(text) for text in job.get("at", ())]
        self.all = functools.reduce(int.__or__, [cron.times(self.zone) for cron in crons], 0)
        self.open, self.open_data, self.off = excluded(job["zone"], job["holidays"], job["windows"])
        self.chunks = {}
        self.skipped = {change for change, _, _ in self.zone.gaps
                        if not any(c.fits(change + self.zone.ahead(change)) for c in crons)}

    def times(self, n):
        """Those of a chunk of minutes: all, and those that count."""
        if n not in self.chunks:
            low, until = n * CHUNK, self.job.get("until")
            some = (self.all >> low) & ((1 << CHUNK) - 1)
            found = [low + t for t in members(some) if until is None or low + t <= until]
            self.chunks[n] = found, [t for t in found if has(self.open_data, t)]
        return self.chunks[n]

    def cut(self, which, after, to):
        """Those of (after, to]."""
        found = []
        for n in range((after + 1) // CHUNK, to // CHUNK + 1):
            times = self.times(n)[which]
            found += times[bisect.bisect_right(times, after):bisect.bisect_right(times, to)]
        return found

    def following(self, after):
        for n in range((after + 1) // CHUNK, SIZE // CHUNK + 1):
            times = self.times(n)[1]
            at = bisect.bisect_right(times, after)
            if at < len(times):
                return times[at]
        return None

    def clock(self, at):
        if at in self.skipped:
            return "skipped"
        return "second" if has(self.zone.twice_data, at) else "first" if has(self.zone.before_data, at) else None

    def opening(self, at):
        if has(self.open_data, at):
            return at
        rest = self.open >> at
        return at + (rest & -rest).bit_length() - 1 if rest else None

    def choose(self, last, now):
        if "once" in self.job:
            at = self.job["once"]
            return at if at > last and not (self.job["catch_up"] == "skip" and self.is_late(at, now)) else None
        missed = self.cut(1, last, now)
        if missed and self.job["catch_up"] == "all":
            return missed[-self.job["most"]:][0]
        if missed and (self.job["catch_up"] == "once" or not self.is_late(missed[-1], now)):
            return missed[-1]
        return self.following(max(last, now))

    def is_late(self, at, now):
        return now > self.opening(at) + LATE

    def left(self, last, to):
        """What is left out of (last, to], and the last of it."""
        late = "catch_up_most" if self.job["catch_up"] == "all" else "missed"
        found = {}
        for at in self.between(last, to):
            why = "holiday" if has(self.off, at) else late if has(self.open_data, at) else "window"
            found.setdefault(late if "once" in self.job else why, []).append(at)
        lines = [("left", reason, len(found[reason]), found[reason][0], found[reason][-1])
                 for reason in REASONS if reason in found]
        return lines, max((times[-1] for times in found.values()), default=last)

    def between(self, last, to):
        if "once" in self.job:
            return [self.job["once"]] if last < self.job["once"] <= to else []
        return self.cut(0, last, to)

    def walk(self, last, now, count):
        """What `jobs next` says, up to END: ("run", nominal, due, late, clock), ("left", ...), ("end", why)."""
        runs = 0
        while count > 0:
            at = None if self.job.get("runs") == runs else self.choose(last, now)
            if self.job.get("runs") == runs:
                yield "end", "runs"
                return
            lines, last = self.left(last, at - 1 if at is not None and at <= now else now)
            yield from lines
            if at is None:
                if "once" in self.job:
                    yield "end", "once"
                elif self.job.get("until") is not None:
                    yield "end", "until"
                return  # else: what comes is after END
            due = at if at > now or has(self.open_data, now) else now
            due = self.opening(due)
            if due is None or due >= minute(END):
                return
            if due > now:
                now = due
                continue
            yield "run", at, now, self.is_late(at, now), self.clock(at)
            last, runs, count = at, runs + 1, count - 1
