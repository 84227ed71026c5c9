"""A configuration with one changed route of a thousand, rehearsed over 10 000 past documents.

Exactly those that take the route must be told, nothing may be sent, within 60 s.
"""

import json
import os
import subprocess
import time

from bench.measure import say, wrk
from bench.road import SYSTEMS, Product, Receiver, configuration
from rig.process import RigError

DOCUMENTS = 10_000
SECONDS_MOST = 60
FILL_SECONDS_MOST = 120
SENDER, RECEIVER, TYPE, ELSEWHERE = "s3", "s4", "t5", "s9"


def rehearse(bench, store):
    documents = 2_000 if bench.quick else DOCUMENTS
    receiver = Receiver(bench)
    product = None
    try:
        product = Product(bench, store, receiver.ports)
        fill(product, receiver, documents)
        affected = taking_the_route(product.node)
        arrived = receiver.count()
        took, found, total = ask(product.node, proposal(receiver.ports))
        sent = receiver.count() - arrived
        same = ask(product.node, configuration(receiver.ports))[1]
    finally:
        if product is not None:
            product.close()
        receiver.close()
    bench.verdict(
        f"rehearse {store}", f"{total['looked']} documents in {took:.1f} s, {len(found)} would come "
        f"out differently",
        looked=(total["looked"] >= documents and total["left"] == 0, "not all were rehearsed"),
        exact=(found == affected and found != set(), "not exactly the affected ones"),
        same=(same == set(), "the same configuration makes a difference"),
        sent=(sent == 0, f"{sent} were sent"),
        time=(took < SECONDS_MOST, f"over {SECONDS_MOST} s"))


def fill(product, receiver, documents):
    until = time.monotonic() + FILL_SECONDS_MOST
    meter = product.meter()
    while (have := meter()["accepted"]) < documents:
        if time.monotonic() > until:
            raise RigError(f"only {have:.0f} documents after {FILL_SECONDS_MOST} s")
        wrk("orders", product.port, 1, "none", to=" ".join(SYSTEMS))
    product.drain(receiver, meter, documents)
    say(f"{meter()['accepted']:.0f} documents")


def taking_the_route(node):
    """The ids of the affected ones, as the node lists them."""
    lines = node.cli("docs", "ls", "--sender", SENDER, "--receiver", RECEIVER, "--type", TYPE,
                     "--limit", "1000000", "--json").splitlines()
    return {json.loads(line)["id"] for line in lines}


def proposal(ports):
    route = f"  - name: {SENDER}-{RECEIVER}-{TYPE}\n"
    before, name, after = configuration(ports).partition(route)
    return before + name + after.replace(f"deliver: [to-{RECEIVER}]", f"deliver: [to-{ELSEWHERE}]", 1)


def ask(node, more):
    """Seconds, the ids of those that differ, and the sum."""
    head = node.config.read_text().partition("systems:")[0]
    file = node.folder / "proposal.yaml"
    file.write_text(head + more)
    began = time.monotonic()
    done = subprocess.run([node.binary, "rehearse", file, "--since", "24h", "--json", "--url", node.url],
                          env={**os.environ, "WAYBILL_TOKEN": node.token()}, text=True, check=False,
                          capture_output=True, timeout=600)
    took = time.monotonic() - began
    if done.returncode not in (0, 1) or not done.stdout:
        raise RigError(f"rehearse: exit {done.returncode}: {(done.stderr or done.stdout)[-400:]}")
    *found, last = [json.loads(line) for line in done.stdout.splitlines()]
    if "sum" not in last:
        raise RigError(f"rehearse: {done.stdout[-400:]}")
    return took, {one["id"] for one in found}, last["sum"]
