"""What a service has seen of jobs, compared with their records in the store.

Claims of a job have numbers that go up, so what a service saw has an order, however late a request came.  In that
order a time is asked for until it is recorded, with the same number each time; then comes a later time, with the next
number.

    lost        a minute without its run; a number that no request has brought
    twice       a time that is asked for again after it was recorded; one that was counted twice; two tokens
    state_back  a number that went back, stood still although its time is over, or was told to be done and is not
    stranded    a job without a next time, or without a token
"""

import collections
import datetime
from dataclasses import dataclass

MINUTE = datetime.timedelta(minutes=1)
COUNTS = ("lost", "twice", "state_back", "stranded")


@dataclass(frozen=True)
class Record:
    """A job as the store has it at the end, all nodes stopped."""
    state: int
    served: int         # times of its schedule
    stop: int           # 0: it goes
    due: bool           # it has a next time
    tokens: int
    said: str = ""


def time_of(nominal):
    return datetime.datetime.fromisoformat(nominal.replace("Z", "+00:00"))


class Judge:
    """Counts what is wrong, and says the first of each."""

    def __init__(self):
        self.counts = collections.Counter({name: 0 for name in COUNTS})
        self.said = []

    def clean(self):
        return not any(self.counts.values())

    def line(self):
        return " ".join(f"{name}={self.counts[name]}" for name in COUNTS)

    def count(self, name, what, times=1):
        self.counts[name] += times
        if self.counts[name] <= 3 * times:
            self.said.append(f"{name}: {what}")

    def job(self, name, seen, told, record, each_minute):
        """Of one job: all requests, the highest number that was told to be done, and its record."""
        before = None
        for one in sorted(seen, key=lambda s: s.claim):
            if before is not None:
                self._step(name, before, one, each_minute)
            before = one
        self._end(name, before, told, record)

    def _step(self, name, before, one, each_minute):
        here = f"{name}: {before} then {one}"
        passed = time_of(one.nominal) - time_of(before.nominal)
        if one.state < before.state:
            self.count("state_back", here)
        elif passed < datetime.timedelta(0) or (not passed and one.state > before.state):
            self.count("twice", here)
        elif passed and one.state == before.state:
            self.count("state_back", f"{here}: the first was over")
        elif one.state > before.state + 1:
            self.count("lost", here, one.state - before.state - 1)
        if each_minute and passed > MINUTE:
            self.count("lost", here, passed // MINUTE - 1)

    def _end(self, name, last, told, record):
        if record is None:
            self.count("stranded", f"{name}: it has no record")
            return
        here = f"{name}: {last}, told {told}, {record}"
        if record.stop or not record.due or record.tokens == 0:
            self.count("stranded", here)
        if record.tokens > 1:
            self.count("twice", here)
        if last is not None and record.state < max(last.state, told):
            self.count("state_back", here)
        elif last is not None and record.state > last.state + 1:
            self.count("lost", here)
        if record.served > record.state:
            self.count("twice", here, record.served - record.state)
        elif record.served < record.state:
            self.count("lost", here, record.state - record.served)

    def numbers(self, before, after):
        """Two looks at the numbers of states: none goes back."""
        for name, number in before.items():
            if after.get(name, -1) < number:
                self.count("state_back", f"{name}: state {number} was in the store, then {after.get(name)}")

    def log(self, doubled):
        """(job, time, how often) that the log of runs has more than once as done."""
        for name, nominal, times in doubled:
            self.count("twice", f"{name}: {nominal} is {times} times in the log")
