"""Steps in processes of their own: what the process costs, what is left of the rate, and who else feels it.

The road is that of e2e.py with one step more.  C is the CPU that the step costs on the road, of the node and of
all processes of its cages, over that of the same step called in a loop in one process (bench_steps).  R is the
rate over that of the same road without the step.
"""

import http.client
import json
import re
import threading
import time

from bench.measure import median, say
from bench.road import EXTRACT, Product, Receiver, carry, product
from rig.node import GATEWAY
from rig.process import RigError, children_of, cpu_seconds, run

SHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/><xsl:template match="/order">{"seq":"<xsl:value-of select="@seq"/>","lane":"<xsl:value-of
 select="@lane"/>","sent":"<xsl:value-of select="@sent"/>","lines":[<xsl:for-each select="lines/line">{"sku":"<xsl:value-of
 select="@sku"/>","sum":<xsl:value-of select="@quantity * @price"/>},</xsl:for-each>null],"note":"<xsl:value-of
 select="note"/>"}</xsl:template></xsl:stylesheet>"""
EXTRACT_XML = {name: f'"xml:/order/@{key}"' for name, key in (("sender", "from"), ("receiver", "to"), ("type", "kind"))}
# step: its options, the script that sends, most C, least R
STEPS = {
    "lua": ({"script": "return (doc.bytes:gsub('EUR', 'USD'))"}, "orders", 2.0, 0.3),
    "jq": ({"filter": ".checked = true"}, "orders", 1.5, 0.3),
    "xslt": ({"text": SHEET}, "orders_xml", 1.5, 0.3),
    "replace": ({"find": "EUR", "with": "USD"}, "orders", None, 0.5),
}
BURDEN_PER_SECOND, BURDEN_SHARE_LEAST = 20, 0.7
BEFORE_MOST = 1.05      # CPU of a document against the program before
LOOP = "while true do end"


def cage_cpu(node):
    """Seconds of the keeper of cages and of all processes below it, those that have ended included."""
    return sum(cpu_below(child) for child in children_of(node.process.pid))


def cpu_below(process):
    try:
        return cpu_seconds(process, with_reaped=True) + sum(cpu_below(child) for child in children_of(process))
    except OSError:
        return 0


def routes(step=None):
    steps = [f"{{ {step}: {json.dumps(STEPS[step][0])} }}"] if step else []
    return [f"  - {{ name: all, when: {{ receiver: s0 }}, do: [ {', '.join([*steps, '{ deliver: [to-s0] }'])} ] }}"]


def on_the_road(bench, store, receiver, seconds, script, step=None):
    """(documents a second, CPU us of a document with cages)."""
    extract = EXTRACT if script == "orders" else EXTRACT_XML
    pipe = Product(bench, store, receiver.ports, extract=extract, routes=routes(step))
    try:
        carry(pipe, receiver, 1, script=script)
        before = cage_cpu(pipe.node)
        carried = carry(pipe, receiver, seconds, script=script)
        return carried.per_second, carried.cpu_us + (cage_cpu(pipe.node) - before) * 1e6 / carried.documents
    finally:
        pipe.close()


def sample(script):
    """A body as wrk sends it."""
    if script == "orders":
        start = ('{"seq":"0000000001","lane":"01","sent":"0000000000000000001","from":"s1","to":"s0","kind":"t1","order":'
                 '{"currency":"EUR","lines":[{"sku":"A-1001","quantity":12,"price":"19.90"},'
                 '{"sku":"B-2040","quantity":3,"price":"249.00"}]},"note":"')
        end = '"}'
    else:
        start = ('<order seq="0000000001" lane="01" sent="0000000000000000001" from="s1" to="s0" kind="t1"><lines '
                 'currency="EUR"><line sku="A-1001" quantity="12" price="19.90"/><line sku="B-2040" quantity="3" '
                 'price="249.00"/></lines><note>')
        end = "</note></order>"
    return start + "x" * (1024 - len(start) - len(end)) + end


def plain_loop(bench, step, script):
    """CPU us of a document when the library is called in a loop."""
    file = bench.folder / f"sample.{script}"
    file.write_text(sample(script))
    said = run([bench.tool("bench_steps"), step, json.dumps(STEPS[step][0]), file,
                2000 if bench.quick else 20000], timeout=120)
    found = re.search(r": ([\d.]+) us/doc", said)
    if not found:
        raise RigError(f"bench_steps said {said[:200]!r}")
    return float(found[1])


def cage(bench, store):
    rounds, seconds = (1, 2) if bench.quick else (3, 5)
    receiver = Receiver(bench)
    try:
        for step, (_, script, cost_most, share_least) in STEPS.items():
            found = []
            for _ in range(rounds):
                rate, cpu = on_the_road(bench, store, receiver, seconds, script)
                with_rate, with_cpu = on_the_road(bench, store, receiver, seconds, script, step)
                loop = plain_loop(bench, step, script)
                found.append((with_rate, with_rate / rate, (with_cpu - cpu) / loop))
                say(f"{step}: without {rate:.0f}/s {cpu:.1f} us, with {with_rate:.0f}/s {with_cpu:.1f} us, "
                    f"plain {loop:.1f} us")
            report(bench, f"{step} {store}", found, cost_most, share_least)
    finally:
        receiver.close()


def report(bench, name, found, cost_most, share_least):
    rate, share, cost = (median(one[i] for one in found) for i in range(3))
    print(f"bench cage {name}: {rate:.0f} docs/s, {share:.2f} of e2e, {cost:.2f} of a plain loop", flush=True)
    bars = {"share": (share >= share_least, f"{share:.2f} of e2e, bar {share_least}")}
    if cost_most:
        bars["cost"] = (cost <= cost_most, f"{cost:.2f} of a plain loop, bar {cost_most}")
    bench.verdict(f"cage {name}", "", **bars)


# ---- beside others -----------------------------------------------------------------------------

class Burdened(Product):
    """The road, and beside it a route whose script loops until it is killed."""

    looped = 0

    def __init__(self, bench, store, ports):
        more = [f"  - {{ name: loop, when: {{ receiver: s9 }}, do: [ {{ lua: {json.dumps(LOOP)} }}, {{ drop: {{}} }} ] }}"]
        super().__init__(bench, store, ports, routes=[*routes(), *more])

    def drain(self, receiver, meter, least):
        super().drain(receiver, lambda: self._without(meter()), least)

    def _without(self, read):
        return {**read, "accepted": read["accepted"] - self.looped}


class Loops:
    """Documents for the route that loops, so many a second."""

    def __init__(self, pipe):
        self.pipe, self.ended = pipe, False
        self.thread = threading.Thread(target=self._send)
        self.thread.start()

    def _send(self):
        body = json.dumps({"from": "s0", "to": "s9", "kind": "t0"})
        connection = http.client.HTTPConnection("127.0.0.1", self.pipe.port, timeout=30)
        due = time.monotonic()
        while not self.ended:
            connection.request("POST", f"/in/{GATEWAY}", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            self.pipe.looped += answer.status == 202
            due += 1 / BURDEN_PER_SECOND
            time.sleep(max(0, due - time.monotonic()))
        connection.close()

    def close(self):
        self.ended = True
        self.thread.join()


def one_turn(bench, store, receiver, seconds, burdened):
    pipe = Burdened(bench, store, receiver.ports)
    loops = None
    try:
        carry(pipe, receiver, 1)
        loops = Loops(pipe) if burdened else None
        time.sleep(1)
        rate = carry_beside(pipe, receiver, seconds, loops)
    finally:
        if loops is not None:
            loops.close()
        pipe.close()
    return rate


def carry_beside(pipe, receiver, seconds, loops):
    """The loops are counted from here on, like the meter does."""
    pipe.looped = 0
    rate = carry(pipe, receiver, seconds).per_second
    if loops is not None and pipe.looped < seconds * BURDEN_PER_SECOND / 2:
        raise RigError(f"only {pipe.looped} documents that loop were taken in")
    return rate


def burden(bench, store):
    pairs, seconds = (1, 3) if bench.quick else (3, 6)
    receiver = Receiver(bench)
    ratios = []
    try:
        for _ in range(pairs):
            calm = one_turn(bench, store, receiver, seconds, False)
            busy = one_turn(bench, store, receiver, seconds, True)
            ratios.append(busy / calm)
            say(f"calm {calm:.0f}, burdened {busy:.0f}: {ratios[-1]:.2f}")
        share = median(ratios)
        bench.verdict(f"cage-burden {store}", f"{BURDEN_PER_SECOND} documents a second that loop: {share:.2f} of the rate",
                      share=(share >= BURDEN_SHARE_LEAST, f"under {BURDEN_SHARE_LEAST}"))
        if bench.before is not None:
            against_before(bench, store, receiver, 1 if bench.quick else 5, seconds)
    finally:
        receiver.close()


def against_before(bench, store, receiver, rounds, seconds):
    """The road without steps, with the program before and with this one, in turn."""
    now, ratios = bench.binary, []
    for _ in range(rounds):
        cost = {}
        for name, binary in (("before", bench.before), ("now", now)):
            bench.binary = binary
            pipe = product(bench, store, receiver.ports)
            try:
                carry(pipe, receiver, 1)
                cost[name] = carry(pipe, receiver, seconds).cpu_us
            finally:
                pipe.close()
                bench.binary = now
        ratios.append(cost["now"] / cost["before"])
        say(f"e2e before {cost['before']:.1f} us/doc, now {cost['now']:.1f}: {ratios[-1]:.3f}")
    bench.verdict(f"cage-burden before {store}", f"e2e without steps costs {median(ratios):.3f} of what it did",
                  cost=(median(ratios) <= BEFORE_MOST, f"over {BEFORE_MOST}"))
