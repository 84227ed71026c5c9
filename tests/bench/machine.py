"""What the machine does by itself: how long its disk takes, and whether others have the processor.

Figures in milliseconds mean something only on a machine that is there.  A shared one has spells in which its
disk takes ten times as long and half of its processor is gone, for minutes; what is measured in one says
nothing about the product.  So a bench waits for calm before it measures, within a limit, and says so.
"""

import mmap
import multiprocessing
import os
import random
import time

from bench.measure import say

BLOCK, BLOCKS, READS, WRITES = 4096, 16384, 32, 4   # of 64 MiB
PROBES = 50
WAIT_MOST_S = 2400      # in all; then it is measured what there is
CALM_S, SAY_S = 0.5, 60
BEAT_S = 0.005
SLOW_TIMES = 3          # a probe over so many usual ones is a spell ...
STOLEN_MOST = 0.2       # ... and so is a processor that others had for so much of the time


class Machine:
    """Asked by bare reads and writes in a file of its own, past the cache."""

    def __init__(self, folder):
        self.path = folder / "machine"
        with open(self.path, "wb") as file:
            for _ in range(BLOCKS // 256):
                file.write(os.urandom(256 * BLOCK))
            file.flush()
            os.fsync(file.fileno())
        self.fd = os.open(self.path, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
        self.block = mmap.mmap(-1, BLOCK)    # aligned, as O_DIRECT wants it
        self.usual_ms = sorted(self.probe() for _ in range(PROBES))[PROBES // 5]
        self.waited_s = 0.0

    def probe(self):
        """Milliseconds for some reads from anywhere, and some writes."""
        began = time.monotonic()
        for call in [os.preadv] * READS + [os.pwritev] * WRITES:
            call(self.fd, [self.block], random.randrange(BLOCKS) * BLOCK)
        return (time.monotonic() - began) * 1000

    def watch(self, measured):
        """Runs it; gives what it gave, and whether the machine was in a spell right before, meanwhile or
        right after.  Not independent of what is run: time is stolen only from who wants to run, and what it leaves
        behind on the disk is met by the probe after it."""
        before, stolen, total = self.probe(), *processor()
        result = measured()
        stolen, total = (now - then for now, then in zip(processor(), (stolen, total)))
        slow = max(before, self.probe()) > SLOW_TIMES * self.usual_ms
        return result, slow or stolen > STOLEN_MOST * max(total, 1)

    def wait(self):
        """Until nobody is in the way."""
        began, said = time.monotonic() - self.waited_s, self.waited_s
        while self.waited_s < WAIT_MOST_S and self.watch(lambda: time.sleep(CALM_S))[1]:
            self.waited_s = time.monotonic() - began
            if self.waited_s - said >= SAY_S:
                said = self.waited_s
                say(f"waiting for a calm machine, {said:.0f} s of {WAIT_MOST_S}")

    def close(self):
        os.close(self.fd)
        self.path.unlink()


class Pulse:
    """A process that only sleeps, for so short that it wakes often: by how much it comes late nobody can be blamed
    for, and no commit can be sooner than the machine runs anything."""

    def __init__(self, late_s):
        self.late, self.longest = multiprocessing.Value("q", 0), multiprocessing.Value("d", 0.0)
        self.process = multiprocessing.Process(target=self._beat, args=(late_s,), daemon=True)
        self.process.start()

    def _beat(self, late_s):
        while True:
            began = time.monotonic()
            time.sleep(BEAT_S)
            over = time.monotonic() - began - BEAT_S
            self.late.value += over > late_s
            self.longest.value = max(self.longest.value, over)

    def end(self):
        """How often it was late, and the longest time in milliseconds."""
        self.process.kill()
        self.process.join()
        return self.late.value, self.longest.value * 1000


def processor():
    """Ticks that were stolen from this machine, and all of them."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(n) for n in file.readline().split()[1:9]]
    return ticks[7], sum(ticks)
