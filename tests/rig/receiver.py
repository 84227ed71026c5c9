#!/usr/bin/python3
"""A receiver with every bad habit: takes HTTP requests, remembers each, and answers as told.

In a test:

    with Receiver() as r:                        # a free port on 127.0.0.1
        r.url("/in")                             # http://127.0.0.1:PORT/in
        r.behave("/in", "status", 503, 2)        # until told otherwise; 2 is Retry-After
        r.behave("/in", "close", times=3)        # three times, then what was said before
        r.wait_for(5)                            # until 5 requests came; gives them
        r.requests("/in")                        # those that came, in order, as dicts (below)
        r.keys()                                 # {Idempotency-Key: how often it came}
        r.stop_listening(); r.listen()           # unreachable, and back on the same port
    Receiver(log=PATH)                           # also written to a file, one JSON object a line
    Receiver(tls="good", folder=DIR)             # https; see Certificates; r.ca is the authority

As a program, for shells and other rigs; prints "ready PORT" and runs until its stdin ends:

    receiver.py [--port N] [--log FILE] [--tls KIND --folder DIR]

Which behaviour: the last one given to behave() for the path; else, when the path is
/b/NAME/ARG/..., NAME with these arguments; else `ok`.  Over HTTP, on any receiver:
POST /_behave {"path": "/in", "name": "status", "args": [503, 2], "times": null};
GET /_requests; POST /_reset.  These are not counted.

A request, as it is remembered (before anything is answered: what was answered is there):
    n conn at_us     its number, that of its connection, wall time in microseconds
    method path      of the request line
    headers          {name in lower case: value}; the last one when it came twice
    size sha256      of the body; body: its first 4096 bytes as text (latin-1)
    whole            False: the body did not come to its end
    name args        the behaviour that was chosen

Behaviours (BEHAVIOURS below has all, with their arguments):
    answers     ok, status, typed, known, redirect, echo, shout, chunked, http10, no_length, gzip_bomb, huge, excess
    none        no_answer, close, reset, reset_after, garbage, only_100
    broken      cut_head, half, too_short, too_long, short_reset, chunked_cut, chunked_no_end,
                chunked_bad, two_lengths, bad_status, endless_head
    time        late, slow
    the body    early, continue_, never_continue, refuse_continue, half_body, steady, stall
    connection  close_after, close_silently, die_second

Certificates, made below `folder` with the openssl command: good (127.0.0.1 and localhost, signed
by r.ca), wrong_name, expired, self_signed (not by r.ca), client (good, and it asks for a
certificate signed by r.ca: r.client_cert, r.client_key).

Threads: one per connection.  Everything is bounded by the test that uses it: a connection that
is silent for 60 seconds is closed.
"""

import argparse
import collections
import contextlib
import functools
import hashlib
import json
import os
import pathlib
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib

HEAD_MOST = 256 << 10
BODY_KEPT = 4096
SILENT_S = 60
BOMB_MIB = 64
REASONS = {200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 302: "Found",
           400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           409: "Conflict", 413: "Content Too Large", 417: "Expectation Failed",
           429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


class Gone(Exception):
    """The other side left."""


# ---- one connection ---------------------------------------------------------------------------

class Talk:
    """One connection: reads requests, and says what behaviours want said."""

    def __init__(self, receiver, sock, number):
        self.receiver, self.sock, self.number = receiver, sock, number
        self.buffer = b""
        self.served = 0

    def read_more(self):
        try:
            more = self.sock.recv(65536)
        except OSError as e:
            raise Gone from e
        if not more:
            raise Gone
        self.buffer += more

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            if len(self.buffer) > HEAD_MOST:
                raise Gone
            self.read_more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return {"method": method, "path": path, "headers": headers}

    def read_body(self, request, most=None):
        """All of it, or `most` bytes; what came is noted in the request."""
        length = int(request["headers"].get("content-length", 0))
        want = length if most is None else min(most, length)
        digest, kept, size = hashlib.sha256(), b"", 0
        request["whole"] = False
        try:
            while size < want:
                if not self.buffer:
                    self.read_more()
                piece, self.buffer = self.buffer[:want - size], self.buffer[want - size:]
                digest.update(piece)
                kept += piece[:BODY_KEPT - len(kept)]
                size += len(piece)
            request["whole"] = size == length
        finally:
            request.update(size=size, sha256=digest.hexdigest(), body=kept.decode("latin-1"))

    def say(self, data):
        try:
            self.sock.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))
        except OSError as e:
            raise Gone from e

    def answer(self, status=200, body=b"ok", headers=(), length=None, version="1.1"):
        lines = [f"HTTP/{version} {status} {REASONS.get(status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if status != 204 and status != 304:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
        self.say("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def reset(self):
        """The next close is an RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def wait_for_end(self):
        """Reads and throws away until the other side leaves."""
        with contextlib.suppress(Gone):
            while True:
                self.buffer = b""
                self.read_more()


# ---- behaviours ---------------------------------------------------------------------------------
# Called when the body is there (`before_body`: before), with the talk, the request and the
# arguments.  True: the connection goes on.

BEHAVIOURS = {}
BEFORE_BODY = set()


def behaviour(f):
    BEHAVIOURS[f.__name__] = f
    return f


def before_body(f):
    BEFORE_BODY.add(f.__name__)
    return behaviour(f)


@behaviour
def ok(talk, request):
    talk.answer()
    return True


@behaviour
def status(talk, request, code=200, retry_after=None, body="status"):
    headers = [] if retry_after in (None, "", "-") else [("Retry-After", retry_after)]
    talk.answer(int(code), str(body).encode() if int(code) not in (204, 304) else b"", headers)
    return True


@behaviour
def typed(talk, request, code=200, ctype="text/plain", body="typed"):
    talk.answer(int(code), str(body).encode(), [("Content-Type", ctype)])
    return True


@behaviour
def known(talk, request, *_):
    """Asked by its key: 200 when a whole document came with it, else 404."""
    key = request["headers"].get("idempotency-key")
    has = any(r["method"] not in ("GET", "HEAD") and r.get("whole")
              and r["headers"].get("idempotency-key") == key for r in talk.receiver.requests())
    talk.answer(200 if has else 404, b"")
    return True


@behaviour
def redirect(talk, request, code=302, to="/elsewhere"):
    talk.answer(int(code), b"", [("Location", to)])
    return True


@behaviour
def echo(talk, request):
    talk.answer(200, request["body"].encode("latin-1"), [("Content-Type", "text/plain")])
    return True


@behaviour
def shout(talk, request, times=1):
    """The first bytes of the body in upper case, so many times over."""
    talk.answer(200, request["body"].upper().encode("latin-1") * int(times), [("Content-Type", "text/plain")])
    return True


@behaviour
def chunked(talk, request):
    talk.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
    return True


@behaviour
def http10(talk, request):
    """HTTP/1.0, no length: the end of the connection is the end of the answer."""
    talk.say("HTTP/1.0 200 OK\r\n\r\nok")
    return False


@behaviour
def no_length(talk, request):
    talk.say("HTTP/1.1 200 OK\r\n\r\nok")
    return False


@functools.lru_cache
def bomb(mib):
    pack = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join(pack.compress(b"\0" * (1 << 20)) for _ in range(mib)) + pack.flush()


@behaviour
def gzip_bomb(talk, request, mib=BOMB_MIB):
    talk.answer(200, bomb(int(mib)), [("Content-Encoding", "gzip")])
    return True


@behaviour
def huge(talk, request, mib=1024):
    talk.say(f"HTTP/1.1 200 OK\r\nContent-Length: {int(mib) << 20}\r\n\r\n")
    for _ in range(int(mib)):
        talk.say(b"x" * (1 << 20))
    return True


@behaviour
def excess(talk, request):
    """More bytes than its length, which look like the next answer."""
    talk.answer(200, b"okHTTP/1.1 500 Lie\r\nContent-Length: 0\r\n\r\n", length=2)
    return True


@behaviour
def no_answer(talk, request):
    talk.wait_for_end()
    return False


@behaviour
def close(talk, request):
    return False


@behaviour
def reset(talk, request):
    talk.reset()
    return False


@before_body
def reset_after(talk, request, k=100):
    """RST after k bytes of the body."""
    with contextlib.suppress(Gone):
        talk.read_body(request, int(k))
    talk.receiver.remember(request)
    talk.reset()
    return False


@behaviour
def garbage(talk, request):
    talk.say(b"\x16\x03\x01\x00\x05hello\x00\xff\r\n\r\n")
    return False


@behaviour
def only_100(talk, request):
    talk.say("HTTP/1.1 100 Continue\r\n\r\n")
    return False


@behaviour
def cut_head(talk, request):
    talk.say("HTTP/1.1 200 OK\r\nContent-Le")
    return False


@behaviour
def half(talk, request):
    """Half of a body, then an orderly end."""
    talk.answer(200, b"0123456789", length=20)
    return False


@behaviour
def too_short(talk, request):
    """A body shorter than its length, and the connection stays open."""
    talk.answer(200, b"ok", length=10)
    talk.wait_for_end()
    return False


@behaviour
def too_long(talk, request):
    talk.answer(200, b"ok and then some more", length=2)
    return False


@behaviour
def short_reset(talk, request):
    talk.answer(200, b"ok", length=10)
    time.sleep(0.05)
    talk.reset()
    return False


@behaviour
def chunked_cut(talk, request):
    talk.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf of it")
    return False


@behaviour
def chunked_no_end(talk, request):
    talk.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
    return False


@behaviour
def chunked_bad(talk, request):
    talk.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n")
    return False


@behaviour
def two_lengths(talk, request):
    talk.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nok")
    return False


@behaviour
def bad_status(talk, request):
    talk.say("HTTP/1.1 two hundred\r\nContent-Length: 0\r\n\r\n")
    return False


@behaviour
def endless_head(talk, request):
    talk.say("HTTP/1.1 200 OK\r\n")
    while True:
        talk.say("X-More: 0123456789012345678901234567890123456789\r\n" * 100)


@behaviour
def late(talk, request, seconds=5):
    """200, after our time-out: the document was taken all the same."""
    time.sleep(float(seconds))
    talk.answer()
    return True


@behaviour
def slow(talk, request, seconds=1):
    """A byte every so many seconds."""
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok":
        talk.say(bytes([byte]))
        time.sleep(float(seconds))
    return True


@before_body
def half_body(talk, request, code=200):
    """An answer when half of the body is there; the rest is read, too."""
    talk.read_body(request, int(request["headers"].get("content-length", 0)) // 2)
    talk.receiver.remember(request)
    talk.answer(int(code))
    talk.wait_for_end()
    return False


@before_body
def steady(talk, request, seconds=3):
    """Takes the body in pieces, evenly over so many seconds."""
    pieces = 12
    length = int(request["headers"].get("content-length", 0))
    for n in range(pieces):
        talk.read_body(request, length // pieces)
        time.sleep(float(seconds) / pieces)
    talk.read_body(request, length - length // pieces * pieces)
    request.update(size=length, whole=True)
    talk.receiver.remember(request)
    return ok(talk, request)


@before_body
def stall(talk, request, most=100_000):
    """Takes the beginning of the body and no more, and says nothing."""
    talk.read_body(request, int(most))
    talk.receiver.remember(request)
    ends = select.poll()
    ends.register(talk.sock, select.POLLRDHUP)
    ends.poll(SILENT_S * 1000)
    return False


@before_body
def early(talk, request, code=413):
    """An answer before the body is read, which is never read."""
    request.update(size=0, whole=False)
    talk.receiver.remember(request)
    talk.answer(int(code), b"early")
    talk.wait_for_end()
    return False


@before_body
def continue_(talk, request):
    talk.say("HTTP/1.1 100 Continue\r\n\r\n")
    talk.read_body(request)
    talk.receiver.remember(request)
    return ok(talk, request)


@behaviour
def never_continue(talk, request):
    """Never says 100 Continue; answers when the body comes all the same."""
    return ok(talk, request)


@before_body
def refuse_continue(talk, request):
    if "expect" in request["headers"]:
        request.update(size=0, whole=False)
        talk.receiver.remember(request)
        talk.answer(417, b"")
        return True
    talk.read_body(request)
    talk.receiver.remember(request)
    return ok(talk, request)


@behaviour
def close_after(talk, request):
    """Says that it closes, and does."""
    talk.answer(headers=[("Connection", "close")])
    return False


@behaviour
def close_silently(talk, request, seconds=0):
    """Closes an idle connection without a word."""
    talk.answer()
    time.sleep(float(seconds))
    return False


@behaviour
def die_second(talk, request):
    """The second request on a connection is taken, and gets no answer."""
    if talk.served > 1:
        return False
    return ok(talk, request)


# ---- certificates ---------------------------------------------------------------------------------

CA_CONFIG = """
[ca]
default_ca = own
[own]
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = empty
[empty]
"""


class Certificates:
    """An authority of our own and what it signed, below `folder`; made once."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / "done").exists():
            return
        (self.folder / "index.txt").write_text("")
        (self.folder / "serial").write_text("01\n")
        (self.folder / "ca.conf").write_text(CA_CONFIG.format(folder=self.folder))
        own, week = "IP:127.0.0.1,DNS:localhost", ("20200101000000Z", "20491231000000Z")
        self.self_signed("ca", "CA:TRUE")
        self.self_signed("self_signed", "CA:FALSE", own)
        self.signed("good", own, week)
        self.signed("wrong_name", "DNS:other.example", week)
        self.signed("expired", own, ("20200101000000Z", "20200201000000Z"))
        self.signed("client", "DNS:us.example", week)
        (self.folder / "done").write_text("")

    def path(self, name):
        return str(self.folder / name)

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, text=True)

    def self_signed(self, name, basic, alt=None):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-keyout", self.path(name + ".key"), "-out",
                     self.path(name + ".pem"), "-days", "3650", "-subj", "/CN=" + name,
                     "-addext", "basicConstraints=critical," + basic,
                     *(["-addext", "subjectAltName=" + alt] if alt else []))

    def signed(self, name, alt, term):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", self.path(name + ".key"), "-out", self.path(name + ".csr"),
                     "-subj", "/CN=" + name, "-addext", "subjectAltName=" + alt)
        self.openssl("ca", "-batch", "-notext", "-config", self.path("ca.conf"), "-cert",
                     self.path("ca.pem"), "-keyfile", self.path("ca.key"), "-in",
                     self.path(name + ".csr"), "-out", self.path(name + ".pem"),
                     "-startdate", term[0], "-enddate", term[1])

    def context(self, kind):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        name = "good" if kind == "client" else kind
        context.load_cert_chain(self.path(name + ".pem"), self.path(name + ".key"))
        if kind == "client":
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.pem"))
        return context


# ---- the receiver ------------------------------------------------------------------------------------

class Receiver:
    """See the head of this file."""

    def __init__(self, port=0, log=None, tls=None, folder=None):
        self.port, self.tls = port, tls
        self.context = self.ca = None
        if tls is not None:
            self.certificates = Certificates(folder)
            self.context = self.certificates.context(tls)
            self.ca = self.certificates.path("ca.pem")
            self.client_cert = self.certificates.path("client.pem")
            self.client_key = self.certificates.path("client.key")
        self.log = open(log, "ab", buffering=0) if log is not None else None
        self.came = []
        self.rules = collections.defaultdict(list)  # path: [[name, args, times left or None]]
        self.changed = threading.Condition()
        self.connections = 0
        self.open = set()
        self.listener = None

    def __enter__(self):
        self.listen()
        return self

    def __exit__(self, *_):
        self.stop_listening()
        if self.log is not None:
            self.log.close()

    def url(self, path="/"):
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.port}{path}"

    # -- what a test does with it

    def behave(self, path, name, *args, times=None):
        if name not in BEHAVIOURS:
            raise ValueError(f"no behaviour {name}; there are {' '.join(sorted(BEHAVIOURS))}")
        with self.changed:
            if times is None:
                self.rules[path].clear()
            self.rules[path].append([name, list(args), times])

    def show_certificate(self, kind):
        """To connections that come from now on."""
        self.context = self.certificates.context(kind)

    def requests(self, path=None):
        with self.changed:
            return [dict(r) for r in self.came if path is None or r["path"] == path]

    def keys(self):
        return collections.Counter(r["headers"].get("idempotency-key") for r in self.requests())

    def wait_for(self, count, seconds=30, path=None):
        until = time.monotonic() + seconds
        with self.changed:
            while True:
                found = [dict(r) for r in self.came if path is None or r["path"] == path]
                if len(found) >= count:
                    return found
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{len(found)} of {count} requests came")
                self.changed.wait(left)

    def wait_until_left(self, seconds=10):
        """Whoever sent has left, and what was still on its way has come."""
        until, quiet = time.monotonic() + seconds, 0
        while quiet < 10:
            with self.changed:
                quiet = 0 if self.open else quiet + 1
            if time.monotonic() > until:
                raise TimeoutError(f"{len(self.open)} connections are still open")
            time.sleep(0.02)

    def reset(self):
        with self.changed:
            self.came.clear()
            self.rules.clear()

    def listen(self):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(512)
        self.port = listener.getsockname()[1]
        self.listener = listener
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def stop_listening(self):
        """New connections are refused, and those that are open end."""
        if self.listener is not None:
            with contextlib.suppress(OSError):
                self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        with self.changed:
            for sock in self.open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    # -- its threads

    def accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with self.changed:
                self.connections += 1
                number = self.connections
                self.open.add(sock)
            threading.Thread(target=self.serve, args=(sock, number), daemon=True).start()

    def serve(self, sock, number):
        plain = sock
        try:
            sock.settimeout(SILENT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context is not None:
                sock = self.context.wrap_socket(sock, server_side=True)
            talk = Talk(self, sock, number)
            while self.serve_one(talk):
                pass
        except (Gone, OSError, ValueError):
            pass
        finally:
            with self.changed:
                self.open.discard(plain)
            sock.close()

    def choose(self, path):
        with self.changed:
            rules = self.rules.get(path, [])
            for rule in reversed(rules):
                if rule[2] is None:
                    return rule[0], rule[1]
                if rule[2] > 0:
                    rule[2] -= 1
                    return rule[0], rule[1]
        words = path.split("?")[0].split("/")
        if words[1:2] == ["b"] and len(words) > 2 and words[2] in BEHAVIOURS:
            return words[2], words[3:]
        return "ok", []

    def remember(self, request):
        with self.changed:
            request["n"] = len(self.came) + 1
            self.came.append(request)
            if self.log is not None:
                os.write(self.log.fileno(), json.dumps(request).encode() + b"\n")
            self.changed.notify_all()

    def serve_one(self, talk):
        request = talk.read_head()
        talk.served += 1
        if request["path"].startswith("/_"):
            return self.control(talk, request)
        name, args = self.choose(request["path"])
        request.update(conn=talk.number, at_us=time.time_ns() // 1000, name=name, args=args,
                       size=0, sha256="", body="", whole=False)
        if name not in BEFORE_BODY:
            try:
                talk.read_body(request)
            finally:
                self.remember(request)
        return BEHAVIOURS[name](talk, request, *args)

    def control(self, talk, request):
        talk.read_body(request)
        if request["path"] == "/_behave":
            told = json.loads(request["body"])
            self.behave(told["path"], told["name"], *told.get("args", []),
                        times=told.get("times"))
        elif request["path"] == "/_reset":
            self.reset()
        elif request["path"] != "/_requests":
            talk.answer(404, b"")
            return True
        body = json.dumps(self.requests()).encode() if request["path"] == "/_requests" else b"{}"
        talk.answer(200, body, [("Content-Type", "application/json")])
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log")
    parser.add_argument("--tls", choices=["good", "wrong_name", "expired", "self_signed", "client"])
    parser.add_argument("--folder", help="for certificates")
    given = parser.parse_args()
    with Receiver(given.port, given.log, given.tls, given.folder) as receiver:
        print("ready", receiver.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
