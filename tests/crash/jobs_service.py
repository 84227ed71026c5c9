"""The service that the jobs of crash/jobs.py call: it counts, and keeps its own record of who asked for what.

A job brings its state, a number; the answer is the next one.  A job whose name begins with `later` is answered 202 at
once, and acknowledged by one of these threads, again and again until a node says yes or no, through nodes that come
and go.
"""

import heapq
import http.client
import http.server
import json
import random
import threading
import time
from dataclasses import dataclass

WORKERS = 4
NOW_MOST_S = 0.1        # how long work takes
LATER_MOST_S = 0.4      # ... that is acknowledged later
AGAIN_S = 0.1
DONE, OVER, AGAIN = 200, 410, (None, 429, 503)      # what a node answers, or does not

BODY = '{"job": "${job}", "nominal": "${nominal}", "run": "${run}", "state": "${state}"}'


@dataclass(frozen=True)
class Seen:
    """One request: claims of a job have numbers that go up."""
    claim: int
    nominal: str
    state: int


class Service:
    """Listens on a port of its own until close().  `ports` gives those of nodes that may be up."""

    def __init__(self, ports, seed):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self):  # pylint: disable=invalid-name
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = service.take(asked, self.headers)
                if status == 200:
                    time.sleep(service.chance.uniform(0, NOW_MOST_S))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                self.wfile.flush()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):     # a node that was killed leaves its connections
                pass

        self.ports, self.chance = ports, random.Random(seed)
        self.lock = threading.Condition()
        self.seen = {}      # job: [Seen], in the order of arrival
        self.told = {}      # job: the highest number that a node has taken as done
        self.too_late = 0
        self.refused = []   # answers that must not be
        self.work = []      # (when, number, job, what to answer, where) of those that wait
        self.count, self.ended = 0, False
        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(WORKERS)]
        self.threads.append(threading.Thread(target=self.server.serve_forever, daemon=True))
        for thread in self.threads:
            thread.start()

    def take(self, asked, headers):
        """What is answered to a request."""
        job, state = asked["job"], int(asked["state"] or 0)
        answer = json.dumps({"state": str(state + 1)}).encode()
        with self.lock:
            self.count += 1
            self.seen.setdefault(job, []).append(Seen(int(asked["run"]), asked["nominal"], state))
            if not headers["Waybill-Ack"]:
                return 200, answer
            due = time.monotonic() + self.chance.uniform(0, LATER_MOST_S)
            path = "/work/ack" + headers["Waybill-Ack"].partition("/work/ack")[2]
            heapq.heappush(self.work, (due, self.count, job, state + 1, path, headers["Waybill-Ack-Token"]))
            self.lock.notify()
        return 202, b"{}"

    def of(self, job):
        """What was seen of a job so far."""
        with self.lock:
            return list(self.seen.get(job, ()))

    def close(self):
        with self.lock:
            self.ended = True
            self.lock.notify_all()
        self.server.shutdown()
        for thread in self.threads:
            thread.join()
        self.server.server_close()

    # ---- acknowledging later

    def _work(self):
        while (item := self._next()) is not None:
            _, number, job, done, path, token = item
            status, answer = self._post(path, token, done)
            with self.lock:
                if status == DONE and b"stale" not in answer:
                    self.told[job] = max(self.told.get(job, 0), done)
                elif status in (DONE, OVER):
                    self.too_late += 1
                elif status not in AGAIN:
                    self.refused.append(f"{job}: an acknowledgement was answered {status} {answer[:200]!r}")
                else:
                    heapq.heappush(self.work, (time.monotonic() + AGAIN_S, number, job, done, path, token))

    def _next(self):
        """None: it is over."""
        with self.lock:
            while not self.ended:
                wait = self.work[0][0] - time.monotonic() if self.work else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self.work)
                self.lock.wait(wait)
        return None

    def _post(self, path, token, done):
        """To any node: its answer; None: there was none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.chance.choice(self.ports()), timeout=10)
        try:
            connection.request("POST", path, json.dumps({"state": str(done)}),
                               {"Waybill-Ack-Token": token, "Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return None, b""
        finally:
            connection.close()
