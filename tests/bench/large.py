"""Large bodies and many connections: memory must not follow them."""

import hashlib
import json
import os
import random
import socket
import time

from rig.checker import Checker
from rig.journal import Journal
from rig.load import Load
from rig.node import GATEWAY, Api
from rig.process import RigError, memory_bytes, memory_peak_reset

MIB = 1 << 20
GROWTH_MOST = 16 * MIB
SMALL_RATE = 500
IDLE_COST_MOST = 150e6


def large(bench):
    """1 GiB up and down while small documents keep flowing."""
    mebibytes = 128 if bench.quick else 1024
    node = bench.node(gateway={"limits": {"size": "2 GiB"}})
    journal = Journal(bench.folder / "large.journal")
    load = None
    try:
        node.start()
        node.key_add()
        load = Load(bench.tool("load"), node, journal.path, 1, rate=SMALL_RATE,
                    more=("--large", "0", "--medium", "0"))
        time.sleep(2)       # the senders' own memory use settles
        pid = node.process.pid
        memory_peak_reset(pid)
        before = memory_bytes(pid)
        began = time.monotonic_ns()
        document, sent = upload(node, mebibytes)
        middle = time.monotonic_ns()
        digest = hashlib.sha256()
        status, size = Api(node).payload_digest(document, digest)
        ended = time.monotonic_ns()
        grown = memory_bytes(pid, "VmHWM") - before
        load.pause()
        rate, gap = flow(journal.read().acks, began, ended)
        found = Api(node).document(document)
        findings = Checker(node, journal, random.Random(1), strangers=[sent]).check()
        node.stop()
    finally:
        if load is not None:
            load.close()
        bench.discard(node)
    right = (status == 200 and size == mebibytes * MIB and digest.hexdigest() == sent
             and found["sha256"] == sent)
    bench.verdict(
        "large", f"{mebibytes} MiB up {(middle - began) / 1e9:.1f} s, "
        f"down {(ended - middle) / 1e9:.1f} s, RSS +{grown / MIB:.1f} MiB, "
        f"small documents {rate:.0f}/s beside it, longest gap {gap:.0f} ms",
        digest=(right, "wrong digest or size"),
        memory=(grown <= GROWTH_MOST, "RSS grew by more than 16 MiB"),
        flow=(rate >= SMALL_RATE * 0.8 and gap < 1000, "small documents did not keep flowing"),
        kept=(findings.clean(), "; ".join(findings.problems[:2])))


def blocks(mebibytes, digest):
    """Bytes made up as they go, which `digest` sees too."""
    block = bytearray(os.urandom(MIB))
    for number in range(mebibytes):
        block[:8] = number.to_bytes(8, "big")
        digest.update(block)
        yield block


def upload(node, mebibytes, headers="", port=None):
    """Gives the document's id and the digest sent; `port`: that of a way to the node."""
    digest = hashlib.sha256()
    return send_pieces(node, blocks(mebibytes, digest), headers, port), digest.hexdigest()


def send_pieces(node, pieces, headers="", port=None):
    """One chunked POST, with more headers as lines; gives the document's id."""
    with socket.create_connection(("127.0.0.1", port or node.port), timeout=120) as wire:
        wire.sendall((f"POST /in/{GATEWAY} HTTP/1.1\r\nHost: localhost\r\n"
                      f"Authorization: Bearer {node.key}\r\nTransfer-Encoding: chunked\r\n{headers}"
                      "Content-Type: application/octet-stream\r\n\r\n").encode())
        for piece in pieces:
            wire.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
        wire.sendall(b"0\r\n\r\n")
        answer = b""
        while b'"}' not in answer:
            more = wire.recv(4096)
            if not more:
                break
            answer += more
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 202 " not in head.partition(b"\r\n")[0]:
        raise RigError(f"the large body was answered with {answer[:200]!r}")
    return json.loads(body)["document"]


def flow(acks, began, ended):
    """Acks per second between two times, and the longest silence in ms."""
    times = [a.time_ns for a in acks if began <= a.time_ns <= ended]
    edges = [began, *times, ended]
    gap = max(b - a for a, b in zip(edges, edges[1:])) / 1e6
    return len(times) / ((ended - began) / 1e9), gap


def idle(bench):
    """10 000 connections that have asked once and now rest."""
    count = 1000 if bench.quick else 10_000
    node = bench.node(limits={"connections": 12000, "connections_per_address": 12000})
    clients = []
    try:
        node.start()
        node.key_add()
        before = memory_bytes(node.process.pid)
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", node.port), timeout=10)
            client.sendall(request)
            clients.append(client)
        answered = sum(c.recv(4096).startswith(b"HTTP/1.1 200") for c in clients)
        rss = memory_bytes(node.process.pid)
        again = clients[0], clients[-1]
        for client in again:
            client.sendall(request)
        alive = sum(c.recv(4096).startswith(b"HTTP/1.1 200") for c in again)
        took = Api(node).request("POST", f"/in/{GATEWAY}", b"still here").status
    finally:
        for client in clients:
            client.close()
        bench.discard(node)
    cost = rss - before
    bench.verdict("idle", f"{answered} connections cost {cost / 1e6:.0f} MB, RSS {rss / 1e6:.0f} MB",
                  cost=(cost <= IDLE_COST_MOST, "over 150 MB"),
                  all=(answered == count and alive == 2, "not all were served"),
                  accept=(took == 202, f"a document was answered with {took}"))

