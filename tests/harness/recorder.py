"""Stands before a node, and notes how large the messages of its peers are."""
import http.client
import http.server
import sys
import threading
import time

ANSWER_SECONDS = 120


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that was killed is none of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Recorder:
    """
        recorder.sizes      bytes of every body, there and back
        recorder.cut        true: nothing comes through
        recorder.lose       asked for each answer to a question: true ends the connection instead
        recorder.waits      how long an answer is kept back
    """

    def __init__(self, url):
        recorder, self.sizes, self.lose, self.waits, self.target = self, [], lambda: False, 0, url
        self.cut = False

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

            def do_POST(self):  # pylint: disable=invalid-name
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if recorder.cut or len(body) < length:      # whoever asks was killed
                    self.close_connection = True
                    return
                to = http.client.HTTPConnection(recorder.target.split("//")[1], timeout=ANSWER_SECONDS)
                try:
                    to.request("POST", self.path, body, dict(self.headers))
                    answer = to.getresponse()
                    text = answer.read()
                except (OSError, http.client.HTTPException):     # it ends, or was killed
                    self.close_connection = True
                    return
                finally:
                    to.close()
                recorder.sizes += [len(body), len(text)]
                time.sleep(recorder.waits)
                if recorder.lose():
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("date", "connection", "content-length"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
