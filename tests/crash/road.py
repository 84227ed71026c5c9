"""Where documents go in the crash tests: the configuration, the receivers, the folders.

They come in over HTTP and, some, as files in a folder.

    order     replaced, to `shop` (HTTP) and `files` (a folder)
    note      replaced, to `moody` (HTTP, fails now and then)
    line      as it came, added to a file of `book`
    plain     as it came, to `shop`
    once      as it came, to `strict` (HTTP, fails now and then; in_doubt: hold)
    asked     as it came, to `exact` (the same, but knows the keys it took; in_doubt: probe)
    refused   replaced, to `files` and to `never` (HTTP, always 422): a dead letter
    unknown   no route: a dead letter
"""

import hashlib
import os
import select
import signal
import subprocess
from collections import Counter, namedtuple
from pathlib import Path

from rig.process import RigError, end, free_port, spawn

HTTP = ("shop", "moody", "never", "strict", "exact")
ROADS = {
    "order": ("shop", "files"),
    "note": ("moody",),
    "line": ("book",),
    "plain": ("shop",),
    "once": ("strict",),
    "asked": ("exact",),
    "refused": ("files", "never"),
    "unknown": (),
}
DEAD = {"refused": "rejected", "unknown": "no_route"}   # and nothing else
DOUBT = ("once", "asked")       # may end in doubt
LATER = 503                     # the one answer that says: I do not have it
EXTRACT = {"sender": '"json:/from"', "receiver": '"json:/to"', "type": '"json:/kind"'}
GATEWAY = {"extract": EXTRACT}
RETRY = "retry: { first: 100ms, most: 1s }, breaker: { failures: 5, wait: 400ms }"
# A document is found again by its name: its id.
FILE_NAME = "${type}/${id}.json"
BOOK = "lines.txt"
# Rejections are its ordinary business: each is to become a dead letter.
NEVER = RETRY.replace("wait:", "rejections: 0, wait:")


def inbox_gateway(inbox):
    """The second gateway, as YAML."""
    extract = ", ".join(f"{name}: {where}" for name, where in EXTRACT.items())
    return (f"  drop: {{ kind: file, path: {inbox}, match: \"*.json\", every: 100ms, min_age: 0s, "
            f"after: delete, extract: {{ {extract} }} }}\n")


def configuration(ports, files, book):
    """All but the node and its gateways, as YAML."""
    lines = ["systems:", "  acme: {}", "  shop: { limits: { concurrency: 32 } }",
             "  moody: { limits: { concurrency: 16, rate: 2000/s } }", "  folder: { limits: { concurrency: 8 } }",
             "  strict: { in_doubt: hold, limits: { concurrency: 8 } }",
             "  exact: { in_doubt: probe, limits: { concurrency: 8 } }",
             "types:", *(f"  {kind}: {{}}" for kind in ROADS), "endpoints:"]
    for name in HTTP:
        rules = NEVER if name == "never" else RETRY
        probe = f", probe: {{ url: \"http://127.0.0.1:{ports[name]}/has\" }}" if name == "exact" else ""
        lines.append(f"  {name}: {{ kind: http, system: {'shop' if name == 'never' else name}, "
                     f"url: \"http://127.0.0.1:{ports[name]}/in\", timeout: 10s, {rules}{probe} }}")
    lines += [f"  files: {{ kind: file, system: folder, path: {files}, name: \"{FILE_NAME}\", "
              f"{RETRY} }}",
              f"  book: {{ kind: file, system: folder, path: {book}, name: {BOOK}, append: true, "
              f"{RETRY} }}",
              "routes:"]
    for kind, endpoints in ROADS.items():
        if endpoints:
            lines += [f"  - name: {kind}", f"    when: {{ type: {kind} }}", "    do:"]
            if kind in ("order", "note", "refused"):
                lines.append('      - replace: { find: "~", with: "(tilde)" }')
            lines.append(f"      - deliver: [{', '.join(endpoints)}]")
    return "\n".join(lines) + "\n"


class Log:
    """A text that a child writes, read as it grows."""

    def __init__(self, path, take):
        self.path, self.offset, self.take = path, 0, take

    def read(self):
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self.offset += whole
        for line in text[:whole].decode().splitlines():
            self.take(line.split(" "))


class Child:
    """A program that answers lines."""

    def __init__(self, command):
        self.command = [str(word) for word in command]
        self.process = spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer("ready", 60)

    def _answer(self, wanted, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise RigError(f"{self.command[0]} does not answer")
        said = self.process.stdout.readline().strip()
        if said != wanted:
            raise RigError(f"{self.command[0]} said {said!r}, not {wanted!r}")

    def ask(self, word, seconds=60):
        try:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as problem:
            raise RigError(f"{self.command[0]} ended with {self.process.wait()}") from problem
        self._answer("ok", seconds)

    def close(self):
        end(self.process, signal.SIGKILL)
        self.process.stdin.close()
        self.process.stdout.close()


Arrival = namedtuple("Arrival", "endpoint document delivery sha256 status")


class Receivers:
    """catcher.c: what arrived over HTTP, and what was answered.  Never killed."""

    def __init__(self, program, log, seed):
        self.ports = {}
        while len(self.ports) < len(HTTP):
            port = free_port()
            if port not in self.ports.values():
                self.ports[HTTP[len(self.ports)]] = port
        moods = {"moody": "shaky", "never": "never", "strict": "shaky", "exact": "exact"}
        self.child = Child([program, "--log", log, "--seed", seed,
                            *(f"{name}={port}={moods.get(name, 'well')}"
                              for name, port in self.ports.items())])
        self.arrivals = []
        self.taken = set()      # (endpoint, document) that was answered with 2xx
        self.reached = Counter()    # the same -> how often it came and LATER was not the answer
        self.booked = Counter()     # ... and came whole
        self.log = Log(log, self._take)

    def _take(self, words):
        event, endpoint, document, delivery, sha256, _, status, _ = words
        if event == "Q":
            return
        sha256 = None if sha256 == "-" else sha256  # it did not come to its end
        self.arrivals.append(Arrival(endpoint, document, delivery, sha256, int(status)))
        if status[0] == "2":
            self.taken.add((endpoint, document))
        if int(status) != LATER:
            self.reached[endpoint, document] += 1
            self.booked[endpoint, document] += sha256 is not None

    def read(self):
        self.log.read()
        return self.arrivals

    def shake(self):
        self.child.ask("shake")

    def heal(self):
        self.child.ask("heal")

    def close(self):
        self.child.close()


Sight = namedtuple("Sight", "path key sha256")


class Folder:
    """watcher.c: every file that could be seen in the folder, at any time."""

    def __init__(self, program, folder, log):
        self.program, self.folder, self.path = program, Path(folder), log
        self.sights = []
        self.touched = []       # files that were written to while they could be seen
        self.present = {}       # path -> Sight, as far as it is known
        self.log = Log(log, self._take)
        self.child = None

    def begin(self):
        """When the folder is there: after the node's start or the return of the disk."""
        self.folder.mkdir(exist_ok=True)
        self.child = Child([self.program, "--log", self.path, self.folder])

    def _take(self, words):
        event, path, key, sha256, _, _ = words
        if event == "F":
            self.present[path] = Sight(path, key, sha256)
            self.sights.append(self.present[path])
        elif event == "M":
            self.touched.append(path)
        elif event == "D":
            self.present.pop(path, None)
        elif event == "B":
            self.present.clear()

    def read(self):
        self.log.read()
        return self.sights

    def scan(self):
        """From here on `present` is what is there, read once more."""
        self.child.ask("scan")
        self.read()

    def end(self):
        if self.child is not None:
            self.child.close()
            self.child = None
            self.read()

    def left_overs(self):
        return [path for path in self.folder.rglob(".*.part")]


def keys_in_inbox(folder):
    """Keys of the files that lie there or in a work folder below.

    The gateway moves files while this looks: work folders vanish (os.walk passes over them), and
    a file that goes back from one can be missed on both sides, but not twice.
    """
    return {name.removesuffix(".json") for _ in range(2)
            for _, _, names in os.walk(folder) for name in names if name.endswith(".json")}


def lines_of_book(path):
    """Digests of the lines, and what stands behind the last one."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return [], b""
    lines = text.split(b"\n")
    return [hashlib.sha256(line + b"\n").hexdigest() for line in lines[:-1]], lines[-1]
