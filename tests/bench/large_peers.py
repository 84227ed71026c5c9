"""A document of 1 GiB to each kind of server, while small ones keep flowing; then again to servers that take 20 MB/s.

What arrives has the digest of what was sent, the delivery has one attempt, and the memory of the node does not follow
the size.  The slow ones take longer than `timeout`: it counts silence.  Small documents go to a folder meanwhile; the
longest time in which none arrived is told.
"""

import hashlib
import http.server
import os
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

# The harness is a folder of modules, not a package.
import ftp_peer  # noqa: E402  pylint: disable=wrong-import-position
import proxy  # noqa: E402  pylint: disable=wrong-import-position
import sshd  # noqa: E402  pylint: disable=wrong-import-position
from swift import Swift  # noqa: E402  pylint: disable=wrong-import-position

from bench.large import MIB, upload  # noqa: E402
from bench.measure import say  # noqa: E402
from rig.node import GATEWAY, Api  # noqa: E402
from rig.process import RigError, memory_bytes, memory_peak_reset, wait_for  # noqa: E402

KINDS = ("sftp", "ftp", "s3", "http")
BUCKET = "large"
SLOW_RATE = 20_000_000
GROWTH_MOST, GAP_MOST_S = 32 * MIB, 2
SECONDS = 900
EVERY_S = 0.02
CONFIG = """\
systems: {{ near: {{}}, far: {{}} }}
types: {{ "*": {{}} }}
endpoints:
  near: {{ kind: file, system: near, path: "{near}" }}
{endpoints}
routes:
  - {{ name: near, when: {{ type: near }}, do: [ {{ deliver: near }} ] }}
{routes}
"""
EXTRACT = {"sender": '"value:near"', "receiver": '"value:far"', "type": '"header:X-To"'}


def large_peers(bench):
    mebibytes, timeout = (128, 3) if bench.quick else (1024, 30)
    if why := sshd.missing():
        raise RigError(why)
    with ExitStack() as stack:
        field = Field(bench, stack, timeout)
        for name in field.endpoints:    # what is set up once is not counted
            field.deliver(name, 2)
        found = {name: field.deliver(name, mebibytes) for name in field.endpoints}
        field.node.stop()
    for name, one in found.items():
        say(f"{name}: {mebibytes} MiB in {one['seconds']:.1f} s, RSS +{one['grown'] / MIB:.1f} MiB, "
            f"longest gap between small ones {one['gap'] * 1000:.0f} ms")
    slow = min(one["seconds"] for name, one in found.items() if name.endswith("-slow"))
    grown, gap = (max(one[field] for one in found.values()) for field in ("grown", "gap"))
    bench.verdict(
        "large-peers", f"{mebibytes} MiB to {' '.join(KINDS)}, and slowly: RSS at most +{grown / MIB:.1f} MiB, "
        f"the slow ones took at least {slow:.0f} s of `timeout: {timeout}s`, longest gap {gap * 1000:.0f} ms",
        whole=(all(one["right"] for one in found.values()), "a wrong digest"),
        once=(all(one["attempts"] == 1 for one in found.values()), "more than one attempt"),
        slow=(slow > timeout, "the slow ones were not slow enough to show anything"),
        memory=(grown <= GROWTH_MOST, f"RSS grew by more than {GROWTH_MOST // MIB} MiB"),
        flow=(gap <= GAP_MOST_S, f"small documents stood still for more than {GAP_MOST_S} s"))


class Web:
    """Takes documents over HTTP and keeps their digests, in order."""

    def __init__(self):
        self.digests = []
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One document."""
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # pylint: disable=invalid-name
                digest, left = hashlib.sha256(), int(self.headers["Content-Length"])
                while left > 0 and (piece := self.rfile.read(min(left, MIB))):
                    digest.update(piece)
                    left -= len(piece)
                if left == 0:
                    web.digests.append(digest.hexdigest())
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Small:
    """Small documents without end, and when they arrived in their folder."""

    def __init__(self, field):
        self.field, self.ended = field, threading.Event()
        self.began = time.time()
        self.failure = None
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self):
        api = Api(self.field.node)
        try:
            while not self.ended.wait(EVERY_S):
                answer = api.request("POST", f"/in/{GATEWAY}", b"small", {"X-To": "near"})
                answer.read()
                if answer.status != 202:
                    raise OSError(f"a small document was answered with {answer.status}")
        except OSError as problem:
            self.failure = problem
        finally:
            api.close()

    def end(self):
        """The longest time in which none arrived."""
        ended = time.time()
        self.ended.set()
        self.thread.join()
        if self.failure:
            raise RigError(str(self.failure))
        times = [(self.field.near / name).stat().st_ctime for name in os.listdir(self.field.near)
                 if not name.startswith(".")]
        edges = [self.began, *sorted(t for t in times if self.began <= t <= ended), ended]
        return max(b - a for a, b in zip(edges, edges[1:]))


class Field:
    """A node with two endpoints of each kind: the server itself, and one that takes 20 MB/s."""

    def __init__(self, bench, stack, timeout):
        place = bench.folder / "large-peers"
        place.mkdir()
        self.near = place / "near"
        self.sftp, self.web = sshd.Sshd(at=place), Web()
        for server in (self.sftp, self.web):
            stack.callback(server.close)
        self.ftp = {"ftp": ftp_peer.Peer(place / "ftp"), "ftp-slow": ftp_peer.Peer(place / "ftp-slow", rate=SLOW_RATE)}
        for server in self.ftp.values():
            stack.callback(server.close)
        self.s3 = stack.enter_context(Swift(place / "s3"))
        self.s3.client().make_bucket(BUCKET)
        self.endpoints = dict(self._endpoints(stack, timeout))
        self.node = bench.node(gateway={"extract": EXTRACT, "limits": {"size": "2 GiB"}}, more=CONFIG.format(
            near=self.near,
            endpoints="\n".join(f"  {name}: {{ {text}, system: far }}" for name, text in self.endpoints.items()),
            routes="\n".join(f"  - {{ name: {name}, when: {{ type: {name} }}, do: [ {{ deliver: {name} }} ] }}"
                             for name in self.endpoints)))
        stack.callback(bench.discard, self.node)
        self.node.start()
        self.node.key_add()
        self.count = 0

    def _endpoints(self, stack, timeout):
        for slow in ("", "-slow"):
            ports = {"sftp": self.sftp.port, "s3": self.s3.port, "http": self.web.port}
            if slow:
                for kind, port in ports.items():
                    way = stack.enter_context(proxy.Proxy(port))
                    way.rate = SLOW_RATE
                    ports[kind] = way.port
            more = f', name: "${{name}}", timeout: {timeout}s'
            yield "sftp" + slow, (f'kind: sftp, url: "{self.sftp.url(port=ports["sftp"])}", '
                                  f'password: "{self.sftp.password}", host_key: "{self.sftp.print()}"' + more)
            yield "ftp" + slow, (f'kind: ftp, url: "ftp://127.0.0.1:{self.ftp["ftp" + slow].port}/in", '
                                 "user: waybill, password: right" + more)
            yield "s3" + slow, (f'kind: s3, url: "http://127.0.0.1:{ports["s3"]}", bucket: {BUCKET}, '
                                f'access_key: "{self.s3.access_key}", secret_key: "{self.s3.secret_key}"' + more)
            yield "http" + slow, f'kind: http, url: "http://127.0.0.1:{ports["http"]}/", timeout: {timeout}s'

    def deliver(self, name, mebibytes):
        """One document: whether it is right there, how often it was tried, and what it cost."""
        self.count += 1
        title, pid = f"{name}-{self.count}", self.node.process.pid
        memory_peak_reset(pid)
        before = memory_bytes(pid)
        small = Small(self)
        document, sent = upload(self.node, mebibytes, f"X-To: {name}\r\nWaybill-Name: {title}\r\n")
        began = time.monotonic()
        api = Api(self.node, admin=True)
        shown = wait_for(f"{title} to be delivered", lambda: self._ended(api, document), SECONDS, 0.1)
        seconds = time.monotonic() - began
        api.close()
        grown = memory_bytes(pid, "VmHWM") - before
        return {"right": self._take(name, title) == sent, "attempts": shown["attempts"], "grown": grown,
                "seconds": seconds, "gap": small.end()}

    @staticmethod
    def _ended(api, document):
        found = api.graphql("query($id: ID!) { document(id: $id) { state deliveries { attempts message } } }",
                            {"id": document})["document"]
        if found["state"] in ("dead", "in_doubt"):
            raise RigError(f"{document} is {found}")
        return found["deliveries"][0] if found["state"] == "delivered" else None

    def _take(self, name, title):
        """The digest of what arrived; it is removed, for there is more to come."""
        kind = name.partition("-")[0]
        if kind == "http":
            return self.web.digests[-1]
        if kind == "s3":
            client = self.s3.client()
            body = client.get(BUCKET, title)
            client.delete(BUCKET, title)
            return hashlib.sha256(body).hexdigest()
        path = (self.sftp.folder if kind == "sftp" else self.ftp[name].inbox) / title
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        path.unlink()
        return found
