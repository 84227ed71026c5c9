"""Many jobs and some that hang: none is felt by the others, and all of them together are not felt by a service."""
import http.server
import json
import socket
import threading
import time

import pytest

from wire import wait_until

BOTH = pytest.mark.stores("sqlite", "postgres")
SECONDS = 60
SLOTS, BATCH, JOBS = 3, 2, 30


def notes(node, job):
    return [e for e in list(node.events) if e.get("event") == "job.note" and e["job"] == job]


class Silent:
    """Takes connections, as the kernel does, and never answers."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.listener.setblocking(False)
        self.taken = []
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        return self

    def __exit__(self, *_):
        for each in [self.listener, *self.taken]:
            each.close()

    def asked(self):
        """How many have connected."""
        try:
            while True:
                self.taken.append(self.listener.accept()[0])
        except BlockingIOError:
            return len(self.taken)


@BOTH
@pytest.mark.proves("SC1")
def test_jobs_that_hang_leave_the_others_their_schedule(make_node):
    """Half of the slots hang for an hour, and other jobs fail again and again."""
    with Silent() as silent:
        jobs = [f"  work-{n}: {{ kind: note, every: 100ms }}" for n in range(5)]
        jobs += [f"  hangs-{n}: {{ kind: call, every: 100ms, url: \"{silent.url}\", timeout: 1h }}" for n in range(8)]
        jobs += [f"  fails-{n}: {{ kind: call, every: 100ms, url: \"http://127.0.0.1:1/\", suspend: never, "
                 "retry: { first: 100ms, most: 100ms } }" for n in range(4)]
        node = make_node(config="jobs:\n" + "\n".join(jobs) + "\n")
        node.start()
        wait_until(lambda: silent.asked() == 8, SECONDS, f"all that hang to have begun\n{node.tail()}")
        node.wait_event("job.fail", SECONDS)
        began = {n: len(notes(node, f"work-{n}")) for n in range(5)}
        wait_until(lambda: all(len(notes(node, f"work-{n}")) >= began[n] + 20 for n in began), SECONDS,
                   f"twenty runs of each\n{node.tail()}")
        assert silent.asked() == 8
        assert node.stop() == 0


class Crowd:
    """A service that notes how many ask at the same time."""

    def __init__(self):
        crowd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # pylint: disable=invalid-name
                job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["job"]
                with crowd.lock:
                    crowd.now += 1
                    crowd.most = max(crowd.most, crowd.now)
                    crowd.runs[job] = crowd.runs.get(job, 0) + 1
                time.sleep(0.02)  # others that are too many would come
                with crowd.lock:
                    crowd.now -= 1
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self.lock, self.runs, self.now, self.most = threading.Lock(), {}, 0, 0
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@BOTH
@pytest.mark.proves("SC19")
def test_what_is_due_at_once_after_an_outage_comes_a_few_at_a_time(make_node):
    with Crowd() as crowd:
        body = '{"job": "${job}"}'
        jobs = "".join(f"  j{n}: {{ kind: call, every: 1s, url: \"{crowd.url}\", body: '{body}' }}\n" for n in range(JOBS))
        node = make_node(config="jobs:\n" + jobs, options=f"jobs: {{ batch: {BATCH}, slots: {SLOTS} }}")
        for times in (1, 2):
            node.start()
            wait_until(lambda: len(crowd.runs) == JOBS and min(crowd.runs.values()) >= times, SECONDS,
                       f"a run of each\n{node.tail()}")
            assert node.stop() == 0
            crowd.runs = {job: times for job in crowd.runs}
            time.sleep(1.5)  # all of them are due again, while no node is there
        assert 1 < crowd.most <= SLOTS
