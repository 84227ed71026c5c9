"""A large document becomes many: parts per second, from the answer to its sender to the end of the last part.

The parts end by `drop`, so that what is measured is the cutting, the commits and a run for each of them.  The
reference is the store alone, in the same round: batches of 1000 that are accepted and settled (bench_store).
"""

import re
import time
from dataclasses import dataclass

from bench.large import send_pieces
from bench.measure import ROUNDS_MOST, median, say, steady_rounds
from rig.node import Api
from rig.process import RigError, cpu_seconds, memory_bytes, memory_peak_reset, run

KIB, MIB = 1 << 10, 1 << 20
PARTS = 100_000
SECONDS_MOST = 900
US_MOST = 80                # CPU of the node for a part, on SQLite
SHARE_LEAST = {"json": 0.35, "lines": 0.35, "xml": 0.25}    # of raw, on SQLite ...
SHARE_LEAST_POSTGRES = 0.2                                  # ... and there
LARGE_GROWTH_MOST, LARGE_FACTOR_MOST = 64 * MIB, 6
STEPS = {"json": "json: ''", "xml": "xml: /orders/order", "lines": "lines: 1"}


def item(kind, number, size):
    """One item of so many bytes or a little more."""
    if kind == "json":
        start, line, end = f'{{"id":{number},"open":true,"lines":[', '{"sku":"A-%d","price":17.50},', '{"sku":"last"}]}'
    elif kind == "xml":
        start, line, end = f'<order id="{number}">', '<line sku="A-%d"><price>17.50</price></line>', "</order>"
    else:
        start, line, end = f"{number}", ",a chair of wood %d,17.50", ",last"
    room = max(0, size - len(start) - len(end))
    return (start + "".join(line % k for k in range(room // (len(line) + 2) + 1)) + end).encode()


def document(kind, parts, size):
    """Its bytes, in pieces of about a megabyte; items differ in their number only, which is at their beginning."""
    first, between, last = {"json": (b"[", b",\n", b"]"), "xml": (b'<orders xmlns="urn:bench">\n', b"\n", b"</orders>\n"),
                            "lines": (b"", b"\n", b"\n")}[kind]
    whole = item(kind, 0, size)
    mark = {"json": b'"id":0', "xml": b'id="0"', "lines": b"0"}[kind]
    head, _, tail = whole.partition(mark)
    piece = bytearray(first)
    for number in range(parts):
        piece += between if number else b""
        piece += head + mark.replace(b"0", b"%d" % number) + tail
        if len(piece) > MIB:
            yield bytes(piece)
            piece.clear()
    piece += last
    yield bytes(piece)


def node_for(bench, store, kind):
    extract = {"receiver": '"value:hub"', "type": '"value:whole"'}
    return bench.node(store, gateway={"limits": {"size": "2 GiB"}, "extract": extract},
                      more="systems: { hub: {} }\ntypes: { '*': {} }\nroutes:\n"
                      f"  - {{ name: whole, when: {{ type: whole }}, do: [ {{ split: {{ {STEPS[kind]}, "
                      "type: 'value:part', most: 1000000 } } ] }\n"
                      "  - { name: part, when: { type: part }, do: [ { drop: {} } ] }\n")


@dataclass
class Split:
    """One document that was split."""
    per_second: float
    seconds: float
    cpu_us: float
    rss: int
    grown: int
    raw: float = 0


def split_once(node, pieces, parts):
    """From the 202 to the end of the last part."""
    pid = node.process.pid
    api = Api(node)
    memory_peak_reset(pid)
    resting = memory_bytes(pid)
    parent = send_pieces(node, pieces)
    began, cpu = time.monotonic(), cpu_seconds(pid)
    while (ended := api.metrics().get("waybill_documents_ended_total", 0)) < parts + 1:
        if time.monotonic() - began > SECONDS_MOST:
            raise RigError(f"{ended:.0f} of {parts + 1} documents have ended after {SECONDS_MOST} s")
        time.sleep(0.02)
    took, used = time.monotonic() - began, cpu_seconds(pid) - cpu
    made = Api(node, admin=True).graphql("query($p: ID!) { document(id: $p) { state parts { made total } } }",
                                         {"p": parent})["document"]
    if made != {"state": "done", "parts": {"made": parts, "total": parts}}:
        raise RigError(f"the document has become {made}")
    peak = memory_bytes(pid, "VmHWM")
    return Split(parts / took, took, used * 1e6 / parts, peak, peak - resting)


def raw_rate(bench, store, seconds):
    """Documents a second of the store alone."""
    node = bench.node(store)
    try:
        place = ("sqlite", node.data) if store == "sqlite" else ("postgres", node.store)
        node.data.mkdir(parents=True, exist_ok=True)
        said = run([bench.tool("bench_store"), "-d", *place, "1000", "0", seconds, "4", "1"], timeout=300, cwd=node.folder)
    finally:
        bench.discard(node)
    found = re.search(r": ([\d.]+) docs/s", said)
    if not found:
        raise RigError(f"bench_store said {said[:200]!r}")
    return float(found[1])


def split(bench, store):
    parts, rounds, seconds = (20_000, 1, 2) if bench.quick else (PARTS, 3, 4)
    for kind in STEPS:
        def once(kind=kind):
            node = node_for(bench, store, kind)
            try:
                node.start()
                node.key_add()
                return split_once(node, document(kind, parts, KIB), parts)
            finally:
                bench.discard(node)

        good = steady_rounds(rounds, lambda: raw_rate(bench, store, seconds), once)
        if good:
            report(bench, store, kind, good)
        else:
            bench.verdict(f"split {kind} {store}", f"fewer than {rounds} good rounds of {ROUNDS_MOST}",
                          rounds=(False, "the disk never was steady"))


def report(bench, store, kind, good):
    share, us = median(r.per_second / r.raw for r in good), median(r.cpu_us for r in good)
    least = SHARE_LEAST[kind] if store == "sqlite" else SHARE_LEAST_POSTGRES
    print(f"bench split {kind} {store}: {median(r.per_second for r in good):.0f} parts/s, {share:.2f} of raw, "
          f"{us:.1f} us/part, {max(r.rss for r in good) / 1e6:.0f} MB", flush=True)
    bars = {"share": (share >= least, f"{share:.3f} of raw, bar {least:.2f}")}
    if store == "sqlite":
        bars["us"] = (us <= US_MOST, f"{us:.1f} us/part, bar {US_MOST}")
    bench.verdict(f"split {kind} {store}", "", **bars)


def split_large(bench):
    """1 GiB of items of 64 KiB: memory does not follow, and time is that of a few passes over the bytes."""
    parts = 2048 if bench.quick else 16384
    for kind in STEPS:
        node = node_for(bench, "sqlite", kind)
        try:
            node.start()
            node.key_add()
            reference = there_and_back(bench, kind, parts)
            found = split_once(node, document(kind, parts, 64 * KIB), parts)
        finally:
            bench.discard(node)
        factor = found.seconds / reference
        bars = {"memory": (found.grown <= LARGE_GROWTH_MOST, "RSS grew by more than 64 MiB")}
        if kind == "json":
            bars["time"] = (factor <= LARGE_FACTOR_MOST, f"over {LARGE_FACTOR_MOST} times")
        bench.verdict(f"split-large {kind}", f"{parts} parts of 64 KiB in {found.seconds:.1f} s, {factor:.1f} times "
                      f"accepting and reading it back ({reference:.1f} s), RSS +{found.grown / MIB:.1f} MiB, "
                      f"{found.per_second * 64 / KIB:.0f} MiB/s", **bars)


def there_and_back(bench, kind, parts):
    """Seconds that the same file takes to come in and to be read back, without a step."""
    node = bench.node(gateway={"limits": {"size": "2 GiB"}})
    try:
        node.start()
        node.key_add()
        pieces = list(document(kind, parts, 64 * KIB))
        began = time.monotonic()
        whole = send_pieces(node, pieces)
        response = Api(node).request("GET", f"/documents/{whole}/payload")
        size = 0
        while chunk := response.read(MIB):
            size += len(chunk)
        took = time.monotonic() - began
        if size != sum(map(len, pieces)):
            raise RigError(f"{size} bytes came back")
        say(f"{kind}: {size / MIB:.0f} MiB there and back in {took:.1f} s")
        return took
    finally:
        bench.discard(node)
