"""Under attack: wrong passwords at a gateway beside people who log in; idle connections beside those who ask."""

import base64
import http.client
import json
import multiprocessing
import socket
import statistics
import threading
import time

from bench.measure import say
from rig.node import GATEWAY, Api
from rig.process import RigError, run

ATTACKERS = 80
LOGINS = 20
SECONDS = 10
SLOWER_MOST = 3
IDLE = 10_000
REQUESTS = 200
PASSWORD = "correct horse battery"
HOME, AWAY = "127.0.0.1", "127.0.0.2"


def logins(bench):
    """80 connections with wrong passwords for 10 s: every right login is answered, each within 3 times its time alone."""
    hashed = run([bench.binary, "hash"], input=PASSWORD + "\n").strip()
    for scene, sources in (("from one address", [AWAY]), ("from 80 addresses", [f"127.0.1.{i + 1}" for i in range(ATTACKERS)])):
        node = bench.node(gateway={"auth": "basic", "users": {"ann": json.dumps(hashed)}})
        try:
            node.start()
            people = [add_user(node, number) for number in range(2 * LOGINS)]
            alone = [log_in(node, name) for name in people[:LOGINS]]
            with attack(node, sources) as answers:
                under = []
                pause = SECONDS / LOGINS
                for name in people[LOGINS:]:
                    began = time.monotonic()
                    under.append(log_in(node, name))
                    time.sleep(max(0.0, pause - (time.monotonic() - began)))
            judge(bench, scene, alone, under, dict(answers))
        finally:
            bench.discard(node)


def judge(bench, scene, alone, under, answers):
    usual = statistics.median(seconds for _, seconds in alone)
    slowest = max(seconds for _, seconds in under)
    wrong = [status for status, _ in alone + under if status != 200]
    counts = " ".join(f"{status}={n}" for status, n in sorted(answers.items()))
    bench.verdict(
        f"attack logins {scene}",
        f"a login takes {usual * 1e3:.0f} ms alone, {slowest * 1e3:.0f} ms at most beside {ATTACKERS} attackers "
        f"(median {statistics.median(s for _, s in under) * 1e3:.0f}), who got {counts}",
        answered=(not wrong, f"{len(wrong)} logins were answered with {sorted(set(wrong))}"),
        quick=(slowest <= SLOWER_MOST * usual, f"over {SLOWER_MOST} times as long"))


def add_user(node, number):
    """A person with a password of their own."""
    name = f"person{number}"
    api = Api(node, admin=True)
    made = api.graphql('mutation($n: String!) { userAdd(name: $n, roles: ["viewer"]) { link } }', {"n": name})
    status, _ = post(node, made["userAdd"]["link"], {"user": name, "password": PASSWORD})
    api.close()
    if status != 200:
        raise RigError(f"the link of {name} was answered with {status}")
    return name


def post(node, path, body, source=HOME):
    """Status and seconds of one request with JSON."""
    began = time.monotonic()
    connection = http.client.HTTPConnection(HOME, node.port, timeout=60, source_address=(source, 0))
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status, time.monotonic() - began


def log_in(node, name):
    return post(node, "/login", {"user": name, "password": PASSWORD})


class attack:  # pylint: disable=invalid-name
    """While it lasts a process sends wrong passwords on 80 connections, as fast as answers come."""

    def __init__(self, node, sources):
        self.answers = multiprocessing.Manager().dict()
        self.stop = multiprocessing.Event()
        self.begun = multiprocessing.Event()
        self.process = multiprocessing.Process(target=guess_all, args=(node.port, sources, self.stop, self.begun, self.answers))

    def __enter__(self):
        self.process.start()
        if not self.begun.wait(60):
            raise RigError("the attack did not begin")
        return self.answers

    def __exit__(self, *_):
        self.stop.set()
        self.process.join()


def guess_all(port, sources, stop, begun, answers):
    counts, lock = {}, threading.Lock()
    ready = threading.Barrier(ATTACKERS + 1)

    def guess(number):
        source = sources[number % len(sources)]
        connection = http.client.HTTPConnection(HOME, port, timeout=60, source_address=(source, 0))
        login = {"Authorization": "Basic " + base64.b64encode(f"ann:wrong {number}".encode()).decode()}
        connection.connect()
        ready.wait()
        while not stop.is_set():
            connection.request("POST", f"/in/{GATEWAY}", b"x", login)
            answer = connection.getresponse()
            answer.read()
            with lock:
                counts[answer.status] = counts.get(answer.status, 0) + 1

    threads = [threading.Thread(target=guess, args=(number,)) for number in range(ATTACKERS)]
    for thread in threads:
        thread.start()
    ready.wait()
    begun.set()
    for thread in threads:
        thread.join()
    answers.update(counts)


def idle(bench):
    """10 000 idle connections from one address: requests from another are all answered."""
    count = 1000 if bench.quick else IDLE
    node = bench.node(limits={"connections": count})
    clients = []
    try:
        node.start()
        node.key_add()
        for _ in range(count):
            clients.append(socket.create_connection((HOME, node.port), timeout=10, source_address=(AWAY, 0)))
        say(f"{count} connections from {AWAY} were opened")
        statuses, longest = {}, 0.0
        for number in range(REQUESTS):
            began = time.monotonic()
            connection = http.client.HTTPConnection(HOME, node.port, timeout=60)
            connection.request("POST", f"/in/{GATEWAY}", b"%d" % number, {"Authorization": f"Bearer {node.key}"})
            status = connection.getresponse().status
            connection.close()
            statuses[status] = statuses.get(status, 0) + 1
            longest = max(longest, time.monotonic() - began)
        kept = Api(node).metrics()["waybill_http_connections"]
    finally:
        for client in clients:
            client.close()
        bench.discard(node)
    bench.verdict("attack idle", f"{REQUESTS} requests beside {count} idle connections, of which {kept:.0f} were kept, "
                  f"were answered {statuses}, the slowest after {longest * 1e3:.0f} ms",
                  answered=(statuses == {202: REQUESTS}, "not all requests were answered with 202"))
