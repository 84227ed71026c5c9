#!/usr/bin/python3
"""The same road through Node-RED, which keeps nothing, and through Waybill, which loses nothing.

  peers.py [--quick] [--binary FILE]

The flow is http in -> json -> switch -> http request -> http response.  Load, receiver and counting
rule are those of the e2e benchmark; the two take turns.  Node-RED is installed by npm into
build/peers at the first run.  Exit code 1 when the factor is missed.
"""

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from bench.measure import Bench, median, say  # noqa: E402
from bench.road import TYPES, Pipe, Receiver, carry, product  # noqa: E402
from rig.node import GATEWAY  # noqa: E402
from rig.process import RigError, end, free_port, on_terminate, run, spawn, wait_for  # noqa: E402

NODE_RED = "node-red@4"     # the last that runs on Debian 12's nodejs
FOLDER = ROOT / "build/peers"
FACTOR_LEAST = 20
INSTALL_SECONDS, START_SECONDS = 600, 60


def install():
    program = FOLDER / "node_modules/.bin/node-red"
    if not program.exists():
        say(f"installing {NODE_RED} into {FOLDER.relative_to(ROOT)}")
        FOLDER.mkdir(parents=True, exist_ok=True)
        run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", FOLDER,
             NODE_RED], timeout=INSTALL_SECONDS)
    return program


def flow(port):
    """One node after the other; the switch compares the type with ten values."""
    def node(name, kind, *wires, **settings):   # without a place it would be a setting, not a node
        return {"id": f"the-{name}", "type": kind, "z": "tab", "x": 0, "y": 0,
                "wires": [[f"the-{w}"] for w in wires], **settings}
    rules = [{"t": "eq", "v": kind, "vt": "str"} for kind in TYPES]
    return [
        {"id": "tab", "type": "tab", "label": "road"},
        node("in", "http in", "json", url=f"/in/{GATEWAY}", method="post", upload=False),
        node("json", "json", "switch", property="payload", action="obj", pretty=False),
        node("switch", "switch", *["out"] * len(rules), property="payload.kind",
             propertyType="msg", rules=rules, checkall="false", repair=False, outputs=len(rules)),
        node("out", "http request", "answer", method="POST", ret="txt", paytoqs="ignore",
             url=f"http://127.0.0.1:{port}/in", persist=True, senderr=False, headers=[]),
        node("answer", "http response", statusCode="202", headers={}),
    ]


class NodeRed(Pipe):
    """Node-RED in the place of a pipe."""

    def __init__(self, bench, program, ports):
        self.port = free_port()
        self.folder = bench.folder / "node-red"
        self.folder.mkdir(exist_ok=True)
        (self.folder / "flows.json").write_text(json.dumps(flow(ports[0])))
        (self.folder / "settings.js").write_text(
            f"module.exports = {{ uiPort: {self.port}, uiHost: '127.0.0.1', "
            "flowFile: 'flows.json', httpAdminRoot: false, "
            "logging: { console: { level: 'info' } } };\n")
        self.log = self.folder / "log"
        with open(self.log, "wb") as log:
            self.process = spawn([program, "--userDir", self.folder], stdout=log,
                                 stderr=subprocess.STDOUT)
        wait_for("Node-RED", lambda: b"Started flows" in self.log.read_bytes(), START_SECONDS)

    def close(self):
        end(self.process, signal.SIGKILL)


def compare(bench, program):
    seconds, turns = (2, 1) if bench.quick else (6, 3)
    rates = {"waybill": [], "node-red": []}
    receiver = Receiver(bench)
    try:
        for _ in range(turns):
            for name, found in rates.items():
                pipe = (NodeRed(bench, program, receiver.ports) if name == "node-red"
                        else product(bench, "sqlite", receiver.ports))
                try:
                    carry(pipe, receiver, 1)
                    found.append(carry(pipe, receiver, seconds).per_second)
                finally:
                    pipe.close()
                say(f"{name} {found[-1]:.0f}/s")
    finally:
        receiver.close()
    ours, theirs = median(rates["waybill"]), median(rates["node-red"])
    bench.verdict("peers", f"waybill {ours:.0f} docs/s, Node-RED {theirs:.0f} docs/s, "
                  f"{ours / theirs:.1f} times",
                  factor=(ours >= FACTOR_LEAST * theirs, f"under {FACTOR_LEAST} times"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/waybill")
    parser.add_argument("--instead", type=Path)
    options = parser.parse_args()
    on_terminate()
    bench = Bench(ROOT, options.binary, options.quick, options.instead)
    try:
        compare(bench, install())
    except (RigError, OSError, subprocess.TimeoutExpired) as problem:
        bench.verdict("peers", "", ran=(False, f"did not run: {problem}"))
    except KeyboardInterrupt:
        bench.failures.append("interrupted")
    finally:
        bench.close()
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
