"""The load program (tests/crash/load.c) as a child that can be paused."""

import select
import subprocess

from rig.node import GATEWAY
from rig.process import RigError, end, spawn


class Load:
    """Senders that go on through every fault until they are told to pause."""

    def __init__(self, program, node, journal, seed, rate=2500, connections=24, more=()):
        self.process = spawn(
            [program, "--port", node.port, "--path", f"/in/{GATEWAY}", "--journal", journal,
             "--seed", seed, "--rate", rate, "--connections", connections, *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"WAYBILL_KEY": node.key})

    def _ask(self, word, answer, seconds):
        try:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as problem:
            raise RigError(f"the load ended with {self.process.wait()}") from problem
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise RigError(f"senders still have open requests after {seconds} s")
        said = self.process.stdout.readline().strip()
        if said != answer:
            raise RigError(f"the load said {said!r}, not {answer!r}")

    def pause(self, seconds=40):
        """Returns when every request that was begun is answered."""
        self._ask("pause", "paused", seconds)

    def resume(self):
        self._ask("run", "running", 5)

    def close(self):
        end(self.process)
        self.process.stdin.close()
        self.process.stdout.close()
