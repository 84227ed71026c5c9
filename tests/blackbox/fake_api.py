"""An admin API that answers what it is told to: for what a real node will not do."""
import http.server
import json
import threading


class Request:
    """What the program sent."""

    def __init__(self, handler, body):
        self.method = handler.command
        self.path = handler.path
        self.headers = handler.headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def variables(self):
        return self.json.get("variables", {})


class Reply:
    """One answer; `cut` ends the connection after so many bytes of the body."""

    def __init__(self, body=b"", status=200, headers=None, cut=None):
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status
        self.headers = dict(headers or {})
        self.cut = cut


def data(**fields):
    """A GraphQL answer."""
    return Reply({"data": fields})


class FakeApi:
    """`replies` are used up in turn, the last one for ever; a callable gets the request."""

    def __init__(self):
        self.requests = []
        self.replies = [Reply({"data": {}})]
        self.keep_bodies = True
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_any(self):
                fake.handle(self)

            do_GET = do_POST = handle_any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def answer(self, *replies):
        self.replies = list(replies)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def handle(self, handler):
        request = Request(handler, self.read_body(handler))
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if callable(reply):
            reply = reply(request)
        if reply is None:  # hang up without a word
            handler.close_connection = True
            return
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body[:reply.cut])
        if reply.cut is not None:
            handler.close_connection = True

    def read_body(self, handler):
        """The body; only its length as text when bodies are not kept."""
        if handler.headers.get("Transfer-Encoding") == "chunked":
            pieces = iter(lambda: self.read_chunk(handler.rfile), b"")
        else:
            pieces = self.read_sized(handler.rfile, int(handler.headers.get("Content-Length", 0)))
        if self.keep_bodies:
            return b"".join(pieces)
        return str(sum(map(len, pieces))).encode()

    @staticmethod
    def read_chunk(stream):
        size = int(stream.readline().split(b";")[0], 16)
        piece = stream.read(size)
        stream.readline()
        return piece

    @staticmethod
    def read_sized(stream, left):
        while left > 0:
            piece = stream.read(min(left, 1 << 20))
            if not piece:
                return
            left -= len(piece)
            yield piece
