"""HTTP by hand: exact bytes to a node, and exactly what comes back."""
import concurrent.futures
import http.client
import io
import json
import socket
import ssl
import threading
import time
import urllib.parse


class Closed(Exception):
    """The other side ended the connection before a whole answer came."""


class Wire:
    """One connection."""

    def __init__(self, node, timeout=10, tls=None, source=None):
        """`source` is an address to send from, such as 127.0.0.2."""
        where = urllib.parse.urlsplit(node.url)
        self.socket = socket.create_connection((where.hostname, where.port), timeout,
                                               source_address=(source, 0) if source else None)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.bytes = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece if isinstance(piece, bytes) else piece.encode())
        return self

    def read(self):
        """Wait for more bytes; False when the other side closed."""
        try:
            got = self.socket.recv(1 << 16)
        except (ConnectionError, ssl.SSLEOFError):
            got = b""
        self.bytes += got
        return bool(got)

    def is_closed(self):
        """Wait for the end of the connection; False when bytes come instead."""
        return not self.bytes and not self.read()

    def is_silent(self, seconds):
        """True when nothing comes for so long."""
        before = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        try:
            if not self.bytes:
                self.read()
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(before)

    def answer(self, method="POST"):
        """The next answer, with `status`, `headers` and `body`."""
        while b"\r\n\r\n" not in self.bytes:
            if not self.read():
                raise Closed(self.bytes)
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        got = Reply(head)
        if got.status < 200 or method == "HEAD":
            return got
        length = int(got.headers["Content-Length"])
        while len(self.bytes) < length:
            if not self.read():
                raise Closed(head)
        got.body, self.bytes = self.bytes[:length], self.bytes[length:]
        return got


class Reply:
    """A status line and its fields."""

    def __init__(self, head):
        line, _, fields = head.partition(b"\r\n")
        self.status = int(line.split()[1])
        self.headers = http.client.parse_headers(io.BytesIO(fields + b"\r\n\r\n"))
        self.body = b""

    @property
    def code(self):
        """The `code` of an error."""
        return json.loads(self.body)["error"]["code"]


def head(path, *fields, method="POST", version="HTTP/1.1"):
    """A request's head; Host is added."""
    lines = [f"{method} {path} {version}", "Host: x", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def at_once(count, work):
    """`work(0)` to `work(count - 1)` on as many threads, begun together; their results."""
    gate = threading.Barrier(count)

    def run(number):
        gate.wait()
        return work(number)

    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def wait_until(true, seconds=30, what="it"):
    """Poll until true() holds."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.02)
