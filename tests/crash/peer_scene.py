"""Other systems under kills of the node: what was acknowledged arrives there, whole, as often as its kind promises.

Documents for every kind (peer_kinds.py, peer_sql.py) are under way beside each other, over HTTP, over MLLP and from
tables.  The test binary is killed at the points of these kinds, at those that all deliveries pass, and at random
moments, on each database.  The servers live on.  At the end everything that was acknowledged is compared with what
the servers have; a second copy counts where the kind promises that there is none.

In the control a row of the inbox is left out of the transaction of its delivery, and the node dies between the two:
`not_once` must count.

proves: DE9 DE10 DE11
"""

import collections
import shutil
import signal

from crash.peer_kinds import RETRY, S3, MllpIn, MllpOut, Sftp, Smtp
from crash.peer_sql import Sql, SqlMaria
from crash.senders import Senders, kill_at
from rig.node import GATEWAY, Api, Node
from rig.process import RigError, run, wait_for

KINDS = (Sftp, S3, Sql, SqlMaria, MllpIn, MllpOut, Smtp)
SAID_WITH = {"mllp_out": "mllp", "sql_maria": "sql"}    # one name for both in the line at the end
SECONDS = 300
POINT_SECONDS = 10      # a pass that has not come by then is not on the way
FIRST_SECONDS = 60      # the first pass comes for sure: each kill has documents of each kind
EVERY = ("send.begin", "send.answered", "settle.submit", "settle.done")
EACH = 2                # documents of a kind for each kill
INBOX_APART = {"WAYBILL_TEST_INBOX_APART": "1", "WAYBILL_FAULT": "sql.executed:kill:1"}

CONFIG = """\
systems: {{ near: {{}}{systems} }}
types: {{ "*": {{}} }}
endpoints:
{endpoints}
routes:
  - {{ name: stored, when: {{ receiver: near }}, do: [ {{ drop: "the test reads the store" }} ] }}
{routes}
"""
EXTRACT = {"sender": '"value:near"', "receiver": '"header:X-To"', "type": '"value:document"'}


class Peers:
    """The servers, and a node for each database in turn.  Use as a context."""

    def __init__(self, rig):
        self.rig = rig
        self.folder = rig.new_folder("peers")
        self.kinds = []

    def __enter__(self):
        try:
            for kind in KINDS:
                place = self.folder / kind.name
                place.mkdir()
                self.kinds.append(kind(place))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        for kind in self.kinds:
            kind.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Field:
    """One node, what is sent through it, and what was found."""

    def __init__(self, rig, kinds, scene, store, rounds):
        self.scene = scene
        self.chance = rig.chance(scene)
        self.by_http = [k for k in kinds if k.by_http]
        self.kinds = kinds
        self.rounds = rounds
        self.node = Node(rig.debug, rig.new_folder(scene), store=store, gateway={"extract": EXTRACT},
                         more_gateways="".join(k.gateway(scene) for k in kinds), more=self._config())
        self.senders = None
        self.counts = {}
        self.failures = []

    def _config(self):
        names = [k.name for k in self.by_http]
        return CONFIG.format(
            systems="".join(f", {name}: {{}}" for name in names),
            endpoints="\n".join(f"  {k.name}: {{ {k.endpoint(self.scene)}, system: {k.name}, {RETRY} }}"
                                for k in self.by_http),
            routes="\n".join(f"  - {{ name: {name}, when: {{ receiver: {name} }}, do: [ {{ deliver: {name} }} ] }}"
                             for name in names))

    # One after the other: document n is of the kind n modulo their number.
    def _request(self, number):
        kind = self.by_http[number % len(self.by_http)]
        return GATEWAY, *kind.request(self.scene, number // len(self.by_http))

    def begin(self):
        self.node.start()
        self.node.key_add()
        self.node.kill()
        self.senders = Senders(self.node, self.rounds * EACH * len(self.by_http), self._request)
        for kind in self.kinds:
            kind.begin(self.scene, self.rounds)

    def allow(self, rounds):
        self.senders.allowed = rounds * EACH * len(self.by_http)
        for kind in self.kinds:
            kind.allow(rounds)

    def settle(self):
        """Until everything is acknowledged and nothing is under way."""
        self.allow(self.rounds)
        self.node.start()
        api = Api(self.node, admin=True)
        wait_for("all documents to be acknowledged",
                 lambda: self.senders.left() == 0 and not any(k.left(api) for k in self.kinds), SECONDS, 0.1)
        ask = "{ " + " ".join(f'{s}: documents(filter: {{ state: "{s}" }}, first: 1) {{ items {{ id }} }}'
                              for s in ("received", "active", "held", "retrying", "in_doubt")) + " }"
        wait_for("the end of all documents", lambda: not any(
            found["items"] for found in api.graphql(ask, {}).values()), SECONDS, 0.2)
        api.close()

    def judge(self):
        api = Api(self.node, admin=True)
        numbers = range(self.rounds * EACH)
        for kind in self.kinds:
            self.counts[kind] = {**(kind.judge(self.scene, numbers) if kind.by_http else {}),
                                 **kind.judge_store(self.scene, api)}
            self.failures += [f"{self.scene}: {wrong}" for wrong in kind.wrong()[:3]]
        dead = api.graphql('{ documents(filter: { state: "dead" }, first: 3) { items { id error { message } } } }', {})
        self.failures += [f"{self.scene}: dead: {one}" for one in dead["documents"]["items"]]
        doctor = api.graphql("{ doctor { ok checks { name ok message } } }", {})["doctor"]
        if not doctor["ok"]:
            self.failures.append(f"{self.scene}: {[c for c in doctor['checks'] if not c['ok']]}")
        api.close()
        for kind, counts in self.counts.items():
            self.failures += [f"{self.scene}: {kind.name} {name}={counts[name]}; see {self.node.folder}"
                              for name in (*kind.bad, "left") if counts.get(name)]

    def close(self):
        if self.senders is not None:
            self.senders.close()
        for kind in self.kinds:
            kind.end()
        self.node.kill()
        if not self.failures:
            shutil.rmtree(self.node.folder, ignore_errors=True)


# ---- the scene -----------------------------------------------------------------------------------

def peers(rig, count):
    """All points in turn, and any moment after each round; a database goes on where the one before it ended."""
    names = [text.split()[0] for text in run([rig.debug, "fault-points"]).splitlines()]
    wanted = [prefix for kind in KINDS for prefix in kind.points] + list(EVERY)
    points = [name for prefix in wanted for name in names if name.startswith(prefix)]
    turn = [*points, None, None]
    kills = max(1, count // 2)
    total = collections.defaultdict(collections.Counter)
    with Peers(rig) as servers:
        for number, database in enumerate(("sqlite", "postgres")):
            found = one(servers, database, [turn[(number * kills + k) % len(turn)] for k in range(kills)])
            for kind, counts in found.items():
                total[kind].update(counts)
        control(rig, [kind for kind in servers.kinds if isinstance(kind, Sql)])
        print(f"peers: {line(total)}", flush=True)


def line(total):
    """`mllp` counts both ways, what the gateway acknowledged and what the endpoint sent; `sql` both servers."""
    by_name = {kind.name: (kind, collections.Counter(counts)) for kind, counts in total.items()}
    for name in by_name.keys() & SAID_WITH.keys():
        by_name[SAID_WITH[name]][1].update(by_name.pop(name)[1])
    return ", ".join(kind.line(counts) for kind, counts in by_name.values())


def control(rig, kinds):
    """One delivery has its row in the inbox and takes no effect, whatever the chance."""
    field = Field(rig, kinds, "control.inbox", None, 1)
    struck = False
    try:
        field.begin()
        field.allow(1)
        struck = kill_at(field.node, INBOX_APART, FIRST_SECONDS)
        field.settle()
        field.judge()
    except RigError as problem:
        field.failures.append(f"{field.scene}: {problem}")
    finally:
        field.close()
    print(f"control inbox: {line(field.counts)}", flush=True)
    shutil.rmtree(field.node.folder, ignore_errors=True)
    if not struck or not any(counts["not_once"] for counts in field.counts.values()):
        rig.fail(f"control inbox: not_once is 0, and it must not be: the check is blind {field.failures[:1]}")


def one(servers, database, points):
    """A kill at each of these; None: at any moment."""
    scene = f"{database}.peers"
    rig, tally = servers.rig, servers.rig.tally(scene)
    field = Field(rig, servers.kinds, scene, rig.new_database() if database == "postgres" else None, len(points) + 1)
    try:
        field.begin()
        struck = kill_in_turn(field, points, tally)
        print(f"crash {scene}: killed {dict(struck)}", flush=True)
        if missed := [p for p in dict.fromkeys(points) if p is not None and not struck[p]]:
            field.failures.append(f"{scene}: never reached: {' '.join(missed)}")
        field.settle()
        field.judge()
        field.node.stop()
    except RigError as problem:
        field.failures.append(f"{scene}: {problem}; see {field.node.folder}")
    finally:
        field.close()
    tally.acked += sum(a is not None for a in field.senders.acked) + sum(kind.acked() for kind in field.kinds)
    tally.lost += sum(counts.get("lost", 0) for counts in field.counts.values())
    tally.torn += sum(counts.get("torn", 0) for counts in field.counts.values())
    tally.doubled += sum(counts.get("doubled", 0) for counts in field.counts.values())
    tally.failures += field.failures
    return field.counts


def kill_in_turn(field, points, tally):
    struck, tried = collections.Counter(), set()
    for number, point in enumerate(points, 1):
        field.allow(number)
        there = kill_once(field, point, point not in tried)
        if field.node.process.returncode not in (-signal.SIGKILL, 0):
            field.failures.append(f"{field.scene}: the node ended with {field.node.process.returncode}: "
                                  f"{field.node.last_words()}")
        tried.add(point)
        struck[point if there else "anywhere"] += 1
        tally.kills += 1
    return struck


def kill_once(field, point, is_first):
    """True: at the point; the first time at its first pass."""
    if point is None:
        return kill_at(field.node, {}, field.chance.uniform(0.2, 1.5))
    passes = 1 if is_first else field.chance.randint(1, EACH)
    return kill_at(field.node, {"WAYBILL_FAULT": f"{point}:kill:{passes}"}, FIRST_SECONDS if is_first else POINT_SECONDS)
