"""A document of 1 GiB to each kind of server and from it, while small ones keep flowing; then again at 20 MB/s.

A case is KIND-out or KIND-in, and ...-slow: the same through a proxy that lets 20 MB/s through (of FTP, whose data has
connections of its own, the server itself is held to that).  What arrives has the digest of what was sent, it was sent or
fetched once, and the memory of the node does not follow the size.  The slow ones take longer than `timeout`: it counts
silence.  Small documents go to a folder meanwhile; their rate is told, what it is without the large one, and the longest
time in which none arrived.
"""

import hashlib
import http.server
import json
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

from bench.large import MIB, blocks, upload  # noqa: E402
from bench.measure import say  # noqa: E402
from rig.node import GATEWAY, Api  # noqa: E402
from rig.process import RigError, memory_bytes, memory_peak_reset, wait_for  # noqa: E402

KINDS = ("sftp", "ftp", "s3", "http")
CASES = [f"{kind}-{way}{slow}" for way in ("out", "in") for slow in ("", "-slow") for kind in KINDS]
BUCKET = "large"
FETCH = "fetch"         # the folder that gateways look into; endpoints have another one
GROWTH_MOST, GAP_MOST_S, FLOW_LEAST = 32 * MIB, 2, 0.5
SECONDS = 900
EVERY_S, ALONE_S = 0.02, 5
EXTRACT = {"sender": '"value:near"', "receiver": '"value:far"', "type": '"header:X-To"'}
FETCHED = 'extract: { sender: "value:near", receiver: "value:far", type: "value:kept" }, limits: { size: 2 GiB }'
CONFIG = """\
systems: {{ near: {{}}, far: {{}} }}
types: {{ "*": {{}} }}
endpoints:
  near: {{ kind: file, system: near, path: "{near}" }}
{endpoints}
routes:
  - {{ name: near, when: {{ type: near }}, do: [ {{ deliver: near }} ] }}
  - {{ name: kept, when: {{ type: kept }}, do: [ {{ drop: {{}} }} ] }}
{routes}
"""


class Measure:
    """Sizes and times: a smaller document goes slower, so that it takes longer than `timeout`, too."""

    def __init__(self, bench):
        self.mebibytes = bench.mebibytes or (128 if bench.quick else 1024)
        self.timeout = 30 if self.mebibytes >= 1024 else 5
        self.rate = min(20_000_000, self.mebibytes * MIB / (1.6 * self.timeout))


def large_peers(bench):
    if why := sshd.missing():
        raise RigError(why)
    measure = Measure(bench)
    with ExitStack() as stack:
        field = Field(bench, stack, measure)
        for case in bench.cases:        # what is set up once is not counted
            field.carry(case, 2)
        with Small(field) as small:
            time.sleep(ALONE_S)
        say(f"{small.rate:.0f} small documents per second, alone")
        for case in bench.cases:
            try:
                judge(bench, case, field.carry(case, measure.mebibytes), measure, small.rate)
            except (RigError, OSError) as problem:
                bench.verdict(f"large-peers {case}", "", ran=(False, f"did not end: {problem}"))
        doubled = [f"{case} {name}" for case, name in field.fetched if len(field.taken(case, name)) != 1]
        bench.verdict("large-peers", f"{len(field.fetched)} were fetched", doubled=(
            not doubled, f"not once: {', '.join(doubled)}"))
        field.node.stop()


def judge(bench, case, found, measure, alone):
    slow = case.endswith("-slow")
    bars = {"slow": (found["seconds"] > measure.timeout, "not slow enough to show anything")} if slow else {}
    bench.verdict(
        f"large-peers {case}", f"{measure.mebibytes} MiB in {found['seconds']:.1f} s"
        f"{f' at {measure.rate / 1e6:.0f} MB/s with `timeout: {measure.timeout}s`' if slow else ''}, "
        f"RSS +{found['grown'] / MIB:.1f} MiB, small ones {found['rate']:.0f}/s beside it and {alone:.0f}/s without, "
        f"longest gap {found['gap'] * 1000:.0f} ms",
        whole=(found["right"], "a wrong digest"),
        once=(found["tries"] == 1, f"{found['tries']} tries"),
        memory=(found["grown"] <= GROWTH_MOST, f"RSS grew by more than {GROWTH_MOST // MIB} MiB"),
        flow=(found["gap"] <= GAP_MOST_S, f"small documents stood still for more than {GAP_MOST_S} s"),
        rate=(found["rate"] >= FLOW_LEAST * alone, f"of the small ones under {FLOW_LEAST:.0%} of their rate"), **bars)


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
    """Small documents without end; at its end, how many arrived in a second and the longest time in which none did."""

    def __init__(self, field):
        self.field, self.ended, self.failure = field, threading.Event(), None
        self.began = self.rate = self.gap = 0
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        for name in os.listdir(self.field.near) if self.field.near.exists() else ():
            (self.field.near / name).unlink(missing_ok=True)
        self.began = time.time()
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        ended = time.time()
        self.ended.set()
        self.thread.join()
        if kind is None and self.failure:
            raise RigError(str(self.failure))
        times = [(self.field.near / name).stat().st_ctime for name in os.listdir(self.field.near)
                 if not name.startswith(".")]
        edges = [self.began, *sorted(t for t in times if self.began <= t <= ended), ended]
        self.gap = max(b - a for a, b in zip(edges, edges[1:]))
        self.rate = (len(edges) - 2) / (ended - self.began)

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


class Field:
    """The servers, a node with endpoints and gateways for each, and the ways between them that are slow."""

    def __init__(self, bench, stack, measure):
        self.place = bench.folder / "large-peers"
        self.place.mkdir()
        self.near = self.place / "near"
        self.cases, self.fetched, self.count = bench.cases, [], 0
        self.sftp, self.web = sshd.Sshd(at=self.place), Web()
        self.ftp = {"": ftp_peer.Peer(self.place / "ftp"),
                    "-slow": ftp_peer.Peer(self.place / "ftp-slow", rate=int(measure.rate))}
        for server in (self.sftp, self.web, *self.ftp.values()):
            stack.callback(server.close)
        self.s3 = stack.enter_context(Swift(self.place / "s3"))
        self.s3.client().make_bucket(BUCKET)
        for folder in (self.folder(kind, slow) for kind in ("sftp", "ftp") for slow in ("", "-slow")):
            folder.mkdir()
            os.chown(folder, sshd.UID, sshd.UID)
        ports = {"sftp": self.sftp.port, "s3": self.s3.port, "http": self.web.port}
        self.ports = {"": ports, "-slow": {kind: self._slowly(stack, port, measure) for kind, port in ports.items()}}
        self.node = bench.node(gateway={"extract": EXTRACT, "limits": {"size": "2 GiB"}},
                               more_gateways=self._gateways(measure), more=self._rest(measure))
        stack.callback(bench.discard, self.node)
        self.node.start()
        self.node.key_add()
        self.ways_in = {"": self.node.port, "-slow": self._slowly(stack, self.node.port, measure)}

    @staticmethod
    def _slowly(stack, port, measure):
        way = stack.enter_context(proxy.Proxy(port))
        way.rate = measure.rate
        return way.port

    def folder(self, kind, slow):
        """Where a gateway finds files, as this machine sees it."""
        return (self.sftp.home if kind == "sftp" else self.ftp[slow].folder / "root") / (FETCH + slow)

    def _server(self, kind, slow, fetch=""):
        """What endpoint and gateway of a server have in common."""
        port = self.ports[slow].get(kind)
        return {
            "sftp": lambda: f'url: "{self.sftp.url(self.folder(kind, slow) if fetch else None, port)}", '
                            f'password: "{self.sftp.password}", host_key: "{self.sftp.print()}"',
            "ftp": lambda: f'url: "ftp://127.0.0.1:{self.ftp[slow].port}/{FETCH + slow if fetch else "in"}", '
                           "user: waybill, password: right",
            "s3": lambda: f'url: "http://127.0.0.1:{port}", bucket: {BUCKET}, access_key: "{self.s3.access_key}", '
                          f'secret_key: "{self.s3.secret_key}"' + (f', prefix: "{FETCH + slow}/"' if fetch else ""),
            "http": lambda: f'url: "http://127.0.0.1:{port}/"'}[kind]()

    def _named(self, way):
        """(case, kind, slow) of the cases of one direction."""
        for case in self.cases:
            kind, one, *slow = case.split("-")
            if one == way:
                yield case, kind, "-slow" if slow else ""

    def _gateways(self, measure):
        return "".join(f"  {case}: {{ kind: {kind}, {self._server(kind, slow, FETCH)}, every: 1s, min_age: 0s, after: delete, "
                       f"timeout: {measure.timeout}s, {FETCHED} }}\n"
                       for case, kind, slow in self._named("in") if kind != "http")

    def _rest(self, measure):
        out = list(self._named("out"))
        named = {kind: "" if kind == "http" else ', name: "${name}"' for kind in KINDS}
        return CONFIG.format(
            near=self.near,
            endpoints="\n".join(f"  {case}: {{ kind: {kind}, system: far, {self._server(kind, slow)}, "
                                f"timeout: {measure.timeout}s{named[kind]} }}" for case, kind, slow in out),
            routes="\n".join(f"  - {{ name: {case}, when: {{ type: {case} }}, do: [ {{ deliver: {case} }} ] }}"
                             for case, _, _ in out))

    def carry(self, case, mebibytes):
        """One document: whether it is right there, how often it was tried, and what it cost."""
        self.count += 1
        title, pid = f"{case}-{self.count}", self.node.process.pid
        kind, way, *slow = case.split("-")
        slow = "-slow" if slow else ""
        seed = self._seed(title, mebibytes) if way == "in" and kind != "http" else None
        memory_peak_reset(pid)
        before = memory_bytes(pid)
        with Small(self) as small:
            if way == "out":
                found = self._send(case, kind, slow, title, mebibytes)
            elif kind == "http":
                found = self._post(slow, mebibytes)
            else:
                found = self._fetch(case, kind, slow, title, seed)
            found["grown"] = memory_bytes(pid, "VmHWM") - before
        if "document" in found:
            found["right"] = self._stored(found["document"], found["sent"])
        return {**found, "rate": small.rate, "gap": small.gap}

    def _stored(self, document, sent):
        """What the node gives back, and what it says of it, is what was sent."""
        api, digest = Api(self.node, admin=True), hashlib.sha256()
        status, size = api.payload_digest(document, digest)
        said = api.document(document)
        api.close()
        if status != 200 or not digest.hexdigest() == said["sha256"] == sent:
            say(f"{document}: {sent} was sent; it answers {status}, {size} bytes, {digest.hexdigest()}, and says {said}")
            return False
        return True

    # ---- out

    def _send(self, case, kind, slow, title, mebibytes):
        document, sent = upload(self.node, mebibytes, f"X-To: {case}\r\nWaybill-Name: {title}\r\n")
        began = time.monotonic()
        api = Api(self.node, admin=True)
        shown = wait_for(f"{title} to be delivered", lambda: self._ended(api, document), SECONDS, 0.1)
        seconds = time.monotonic() - began
        api.close()
        return {"right": self._arrived(kind, slow, title) == sent, "tries": shown["attempts"], "seconds": seconds}

    @staticmethod
    def _ended(api, document):
        found = api.graphql("query($id: ID!) { document(id: $id) { state deliveries { attempts message } } }",
                            {"id": document})["document"]
        if found["state"] in ("dead", "in_doubt"):
            raise RigError(f"{document} is {found}")
        return found["deliveries"][0] if found["state"] == "delivered" else None

    def _arrived(self, kind, slow, title):
        """The digest of what arrived; it is removed, for there is more to come."""
        if kind == "http":
            return self.web.digests[-1]
        if kind == "s3":
            client = self.s3.client()
            body = client.get(BUCKET, title)
            client.delete(BUCKET, title)
            return hashlib.sha256(body).hexdigest()
        path = (self.sftp.folder if kind == "sftp" else self.ftp[slow].inbox) / title
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        path.unlink()
        return found

    # ---- in

    def _seed(self, title, mebibytes):
        """A file to be fetched, and its digest."""
        path, digest = self.place / title, hashlib.sha256()
        with open(path, "wb") as file:
            for block in blocks(mebibytes, digest):
                file.write(block)
        os.chown(path, sshd.UID, sshd.UID)
        return path, digest.hexdigest()

    def _post(self, slow, mebibytes):
        began = time.monotonic()
        document, sent = upload(self.node, mebibytes, "X-To: kept\r\n", self.ways_in[slow])
        return {"document": document, "sent": sent, "tries": 1, "seconds": time.monotonic() - began}

    def _fetch(self, case, kind, slow, title, seed):
        path, sent = seed
        failed = self._failures(case)
        if kind == "s3":
            self.s3.client().put_file(BUCKET, f"{FETCH}{slow}/{title}", path, sent)
            path.unlink()
        else:
            path.rename(self.folder(kind, slow) / title)
        began = time.monotonic()
        self.fetched.append((case, title))
        documents = wait_for(f"{title} to come", lambda: self.taken(case, title), SECONDS, 0.1)
        if len(documents) > 1:
            raise RigError(f"{title} came {len(documents)} times")
        wait_for(f"{title} to be removed", lambda: not self._waiting(kind, slow), SECONDS, 0.1)
        return {"document": documents[0], "sent": sent, "tries": 1 + self._failures(case) - failed,
                "seconds": time.monotonic() - began}

    def taken(self, case, title):
        """The documents that a gateway made of a file."""
        api = Api(self.node, admin=True)
        found = api.graphql("query($f: DocumentFilter) { documents(filter: $f) { items { id } } }",
                            {"f": {"gateway": case, "name": title}})["documents"]["items"]
        api.close()
        return [one["id"] for one in found]

    def _waiting(self, kind, slow):
        """What a server still has for us."""
        if kind == "s3":
            return [key for key in self.s3.client().keys(BUCKET) if key.startswith(f"{FETCH}{slow}/")]
        return [name for _, _, names in os.walk(self.folder(kind, slow)) for name in names]

    def _failures(self, case):
        """Looks of a gateway that failed or hung."""
        with open(self.node.log, encoding="utf-8") as log:
            events = [json.loads(line) for line in log if '"gateway.' in line and line.endswith("}\n")]
        return sum(one.get("gateway") == case and one.get("event") in ("gateway.fail", "gateway.hang", "gateway.refuse")
                   for one in events)
