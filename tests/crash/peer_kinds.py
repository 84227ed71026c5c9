"""The other systems of the scene `peers`: real servers, what the node sends there, and what must be there at the end.

A kind has its servers, its endpoint or gateway in the configuration, its documents, and a judge.  What it counts
under `bad` names is what its guarantee excludes (docs/in-doubt.md): a file over SFTP and an object in a bucket stay
where they were put, so they are there once; a mail and a message over MLLP may come twice, and never not at all.

Databases are in peer_sql.py.  Another kind is another class in KINDS (peer_scene.py).
"""

import collections
import email
import email.policy
import http.client
import random
import re
import socket
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

# The harness is a folder of modules, not a package.
import smtp_peer  # noqa: E402  pylint: disable=wrong-import-position
import sshd  # noqa: E402  pylint: disable=wrong-import-position
from swift import Swift  # noqa: E402  pylint: disable=wrong-import-position

from rig.node import Api  # noqa: E402
from rig.process import RigError, free_port  # noqa: E402

SIZES = (40, 3000, 200_000)     # the largest is written in several pieces
RETRY = "retry: { first: 50ms, most: 300ms }, breaker: { failures: 100000, wait: 200ms }, timeout: 20s"
BUCKET = "peers"
SB, EB = b"\x0b", b"\x1c\r"
ACK_SECONDS = 30
MESSAGES = 8            # over MLLP for each kill


def bytes_of(title, number):
    """Of a document: its name in the first line, then what nobody else has."""
    chance = random.Random(f"{title} {number}")
    return f"{title} {number}\n".encode() + chance.randbytes(SIZES[number % len(SIZES)])


def judge_things(expected, found, title):
    """(lost, torn, doubled) of things by their names: `expected` {name: bytes}, `found` {name: bytes}.

    Lost: nothing has the name.  Torn: what has it has other bytes.  Doubled: a thing under another name that is one
    of these documents, or was to be."""
    lost = sum(name not in found for name in expected)
    torn = sum(found[name] != body for name, body in expected.items() if name in found)
    doubled = sum(name not in expected and body.startswith(title.encode() + b" ") for name, body in found.items())
    return lost, torn, doubled


class Kind:
    """A server that gets documents which come in over HTTP, unless it says otherwise."""
    name, points, bad = "", (), ("lost",)
    by_http = True

    def __init__(self, folder):
        self.folder = folder
        self.counts = collections.Counter()

    def title(self, scene):
        return f"{scene}.{self.name}"

    def request(self, scene, number):
        """(body, headers) of a document."""
        return bytes_of(self.title(scene), number), {"X-To": self.name, "Waybill-Name": f"{self.title(scene)}-{number}"}

    def expected(self, scene, numbers):
        return {f"{self.title(scene)}-{n}": bytes_of(self.title(scene), n) for n in numbers}

    def gateway(self, scene):
        return ""

    # What comes in through its own gateway: so many rounds of it, each when it is allowed.
    def begin(self, scene, rounds):
        pass

    def allow(self, rounds):
        pass

    def left(self, api):  # pylint: disable=unused-argument
        """How much of it is not acknowledged yet."""
        return 0

    def judge_store(self, scene, api):  # pylint: disable=unused-argument
        """Counts of what came in, by what the store has."""
        return {}

    def wrong(self):
        """What senders of its own were told and should not have been."""
        return []

    def acked(self):
        """How many things came in through its own gateway."""
        return 0

    def end(self):
        """The scene is over."""

    def close(self):
        pass

    def line(self, counts):
        return " ".join([self.name, *(f"{name}={counts[name]}" for name in self.bad)])


class Sftp(Kind):
    name, points, bad = "sftp", ("sftp.",), ("lost", "torn", "doubled")

    def __init__(self, folder):
        super().__init__(folder)
        if why := sshd.missing():
            raise RigError(f"sshd: {why}")
        self.server = sshd.Sshd()

    def endpoint(self, scene):
        return (f'kind: sftp, url: "{self.server.url()}", password: "{self.server.password}", '
                f'host_key: "{self.server.print()}", name: "${{name}}"')

    def judge(self, scene, numbers):
        title = self.title(scene)
        counts = judge_things(self.expected(scene, numbers), self.server.files(), title)
        # Nothing hidden stays: it would be half of a document, or a second one.
        left = [name for name in self.server.left_over() if title in name]
        return dict(zip(self.bad, counts), left=len(left))

    def close(self):
        self.server.close()


class S3(Kind):
    name, bad = "s3", ("lost", "doubled")

    def __init__(self, folder):
        super().__init__(folder)
        self.server = Swift(folder)
        self.server.start()
        self.server.client().make_bucket(BUCKET)

    def endpoint(self, scene):
        return (f'kind: s3, url: "{self.server.url}", bucket: {BUCKET}, name: "${{name}}", '
                f'access_key: "{self.server.access_key}", secret_key: "{self.server.secret_key}"')

    def judge(self, scene, numbers):
        client, title = self.server.client(), self.title(scene)
        found = {key: client.get(BUCKET, key) for key in client.keys(BUCKET) if key.startswith(title + "-")}
        lost, torn, doubled = judge_things(self.expected(scene, numbers), found, title)
        return {"lost": lost + torn, "doubled": doubled}

    def close(self):
        self.server.stop()


class Smtp(Kind):
    name, points = "smtp", ("mail.",)

    def __init__(self, folder):
        super().__init__(folder)
        self.server = smtp_peer.Peer(folder)

    def endpoint(self, scene):
        return (f'kind: smtp, url: "smtp://127.0.0.1:{self.server.port}", from: waybill@example.com, '
                'to: ann@example.org, name: "${name}"')

    def judge(self, scene, numbers):
        mails = [email.message_from_bytes(raw, policy=email.policy.default) for _, raw in self.server.mails()]
        came = collections.Counter(m.get_content() for m in mails)
        expected = self.expected(scene, numbers)
        again = sum(came[body] - 1 for body in expected.values() if came[body] > 1)
        return {"lost": sum(came[body] == 0 for body in expected.values()), "again": again}

    def close(self):
        self.server.close()


# ---- HL7 -----------------------------------------------------------------------------------------

def message(title, number):
    body = bytes_of(title, number)
    return (f"MSH|^~\\&|LAB|HOSP|EHR|CLINIC|20260101120000||ORU^R01^ORU_R01|{title}-{number}|P|2.5\r"
            f"NTE|1|L|{body[-SIZES[1]:].hex()}\r").encode()


def control_of(body):
    return body.split(b"|", 10)[9].decode()


class MllpOut(Kind):
    """A receiver that acknowledges everything."""
    name, points = "mllp_out", ("mllp.",)

    def __init__(self, folder):
        super().__init__(folder)
        self.came = collections.Counter()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        got = b""
        with connection:
            try:
                while more := connection.recv(1 << 16):
                    got += more
                    while EB in got:
                        frame, _, got = got.partition(EB)
                        self.came[frame[1:]] += 1
                        connection.sendall(SB + b"MSH|^~\\&|EHR|CLINIC|LAB|HOSP|2026||ACK|1|P|2.5\rMSA|AA|" +
                                           control_of(frame).encode() + b"\r" + EB)
            except OSError:     # the node is dead
                pass

    def endpoint(self, scene):
        return f'kind: mllp, address: "127.0.0.1:{self.port}"'

    def request(self, scene, number):
        return message(self.title(scene), number), {"X-To": self.name}

    def judge(self, scene, numbers):
        return {"lost": sum(self.came[message(self.title(scene), n)] == 0 for n in numbers)}

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)    # ends accept()
        except OSError:
            pass
        self.listener.close()


class Hl7Senders:
    """Every message is sent until it is acknowledged; each thread has one connection."""
    THREADS = 4

    def __init__(self, port, count, make):
        self.port, self.count, self.make = port, count, make
        self.acked = [False] * count
        self.wrong = []
        self.stored_unacked = 0
        self.allowed = 0
        self.ended = False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._work, args=(k,), daemon=True) for k in range(self.THREADS)]
        for thread in self.threads:
            thread.start()

    def _work(self, first):
        connection = None
        for number in range(first, self.count, self.THREADS):
            body, tries = self.make(number), 0
            while not self.acked[number] and not self.ended:
                if number >= self.allowed:
                    time.sleep(0.01)
                    continue
                try:
                    connection = connection or socket.create_connection(("127.0.0.1", self.port), ACK_SECONDS)
                    sent_ms = time.time() * 1000
                    tries += 1
                    connection.sendall(SB + body + EB)
                    self._hear(number, body, self._read(connection), tries, sent_ms)
                except OSError:
                    if connection is not None:
                        connection.close()
                    connection = None
                    time.sleep(0.02)
                if not self.acked[number]:
                    time.sleep(0.02)
        if connection is not None:
            connection.close()

    @staticmethod
    def _read(connection):
        got = b""
        while EB not in got:
            more = connection.recv(1 << 16)
            if not more:
                raise ConnectionError("closed")
            got += more
        return got

    def _hear(self, number, body, ack, tries, sent_ms):
        """An acknowledgement has the time of the document in its own control id: was it there before it was sent again?"""
        control = control_of(body).encode()
        msh, msa = (re.search(pattern, ack) for pattern in (rb"MSH\|[^\r]*\|([0-9A-F]{20})\|P\|", rb"\rMSA\|(..)\|([^|\r]*)"))
        if not msh or not msa or msa[2] != control or msa[1] not in (b"AA", b"AE"):
            self.wrong.append(f"{control.decode()} is answered by {ack[:300]!r}")
            self.acked[number] = True
        elif msa[1] == b"AA":
            with self.lock:
                self.stored_unacked += tries > 1 and int(msh[1][:12], 16) < sent_ms - 1
            self.acked[number] = True

    def left(self):
        return self.acked.count(False)

    def close(self):
        self.ended = True
        for thread in self.threads:
            thread.join()


class MllpIn(Kind):
    """The gateway.  It gets messages of its own senders: nothing comes over HTTP."""
    name, points, bad = "mllp", ("ack.send", "group.committed", "group.acked"), ("lost", "doubled")
    by_http = False

    def __init__(self, folder):
        super().__init__(folder)
        self.port = free_port()
        self.senders = None

    def gateway(self, scene):
        return (f'  lab: {{ kind: mllp, listen: "127.0.0.1:{self.port}", '
                'extract: { sender: "value:near", receiver: "value:near", type: "value:hl7" } }\n')

    def begin(self, scene, rounds):
        self.senders = Hl7Senders(self.port, rounds * MESSAGES, lambda n: message(self.title(scene), n))

    def allow(self, rounds):
        self.senders.allowed = rounds * MESSAGES

    def left(self, api):
        return self.senders.left()

    def wrong(self):
        return self.senders.wrong

    def acked(self):
        return sum(self.senders.acked)

    def judge_store(self, scene, api):
        """What the store has against what was acknowledged."""
        count = self.senders.count
        stored = collections.Counter(payloads(api, "lab"))
        expected = [message(self.title(scene), n) for n in range(count)]
        return {"lost": sum(stored[body] == 0 for body in expected) + len(self.senders.wrong),
                "doubled": sum(stored[body] > 1 for body in expected),
                "unacked_stored": self.senders.stored_unacked}

    def line(self, counts):
        return f"mllp lost={counts['lost']} unacked_stored={counts['unacked_stored']}"

    def end(self):
        if self.senders is not None:
            self.senders.close()


def payloads(api: Api, gateway):
    """The bytes of all documents that came in through a gateway."""
    query = """query($gateway: String!, $after: String) {
        documents(filter: { gateway: $gateway }, first: 200, after: $after) { next items { id } } }"""
    after = None
    while True:
        page = api.graphql(query, {"gateway": gateway, "after": after})["documents"]
        for item in page["items"]:
            answer = api.request("GET", f"/documents/{item['id']}/payload")
            body = answer.read()
            if answer.status != http.client.OK:
                raise RigError(f"the payload of {item['id']}: {answer.status}")
            yield body
        if (after := page["next"]) is None:
            return

