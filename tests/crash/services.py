"""Documents made of documents, under kills: every parent has exactly its parts, each with its bytes.

Parents of several kinds (services_kinds.py) come in over HTTP: cut by `split`, by a script in its process, by both,
or by a service that is called; some of them into several chunks, some with a part that is larger than a segment
takes.  The test binary is killed at every point of a chunk's life and at random moments, on each database.  At
the end the checks (services_checks.py) compare what was sent with what the store has: each part of each parent
once, with the bytes that it must have; and with what arrived: everything, always with the same bytes, and in order
at the system that wants it so.

Others keep a record (`store`), are copied for subscribers (`subscribe`), or both.  Of one key the pairs of
previous and new value that arrived form one chain up to the record: a gap, a fork or a pair that nobody got
is `broken`.  A document has one copy for each subscriber, all with its bytes, or it is `copies_wrong`.

Others are answered: by the receiver, by a service that a step calls, or later, by a document that comes in.  Each
has one answer that is linked to it, or it is `answers_wrong`.

In a control what belongs into one commit is left out of it, and the node dies there: its counter must count.

A step that makes documents in another way is another kind, what it promises another check; the numbers that a
check gives are printed under their names.

proves: PR2 PR4 PR5 PR13 PR17
"""

import collections
import http.client
import shutil

from crash.senders import Senders, kill_at
from crash.services_checks import CHECKS
from crash.services_kinds import EXTRACT, GATEWAYS, KINDS, LATER, Sent, configuration, item, only, teach
from rig.node import GATEWAY, Api, Node
from rig.process import RigError, run, wait_for
from rig.receiver import Receiver

SECONDS = 300
POINT_SECONDS = 15      # a pass that has not come by then is not on the way
FIRST_SECONDS = 120     # the first pass comes for sure: each kill has documents of each kind
POINTS = {"parts.": 4, "call.": 2, "answer.": 2, "answers.": 2, "settle.": 4}  # by prefix; one of so many passes
CONTROL_DOCUMENTS = 4


class Services:
    """A node, what is sent to it, and what was found.  Use as a context."""

    def __init__(self, rig, scene, count, store=None, kinds=KINDS):
        self.rig, self.scene, self.chance = rig, scene, rig.chance(scene)
        self.receiver = Receiver()
        self.receiver.listen()
        teach(self.receiver)
        self.node = Node(rig.debug, rig.new_folder(scene), store=store, more_gateways=GATEWAYS,
                         more=configuration(self.receiver.url("")), gateway={"extract": EXTRACT})
        self.sent = [self._document(n, kinds[n % len(kinds)]) for n in range(count)]
        self.senders = None
        self.failures = []
        self.counts = collections.Counter()

    def _document(self, number, kind):
        items = [item(number, n, kind.name) for n in range(1, self.chance.choice(kind.sizes) + 1)]
        return Sent(kind, *kind.write(items))

    def begin(self):
        self.node.start()
        self.node.key_add()
        self.node.kill()
        self.senders = Senders(self.node, len(self.sent), self._request)

    def _request(self, number):
        sent = self.sent[number]
        headers = {"X-Kind": sent.kind.name}
        if sent.kind.name != "late":
            return GATEWAY, sent.body, headers
        answered = self.senders.acked[number - 1]
        return (LATER, sent.body, {**headers, "X-Answers": answered}) if self._is_delivered(answered) else None

    def _is_delivered(self, document):
        """False also when the node is dead."""
        if document is None:
            return False
        api = Api(self.node, admin=True)
        try:
            return (api.document(document) or {}).get("state") == "delivered"
        except (OSError, http.client.HTTPException, RigError):
            return False
        finally:
            api.close()

    def allow_all(self):
        self.senders.allowed = len(self.sent)

    def settle(self):
        """Until everything is acknowledged and nothing is under way."""
        self.allow_all()
        self.node.start()
        wait_for("all documents to be acknowledged", lambda: self.senders.left() == 0, SECONDS, 0.1)
        self.senders.close()
        api = Api(self.node, admin=True)
        ask = "{ " + " ".join(f'{s}: documents(filter: {{ state: "{s}" }}, first: 1) {{ items {{ id }} }}'
                              for s in ("received", "active", "held", "retrying")) + " }"
        wait_for("the end of all documents", lambda: not any(
            found["items"] for found in api.graphql(ask, {}).values()), SECONDS, 0.2)
        api.close()

    def judge(self):
        for check in CHECKS:
            self.counts.update(check.check(self))
        api = Api(self.node, admin=True)
        doctor = api.graphql("{ doctor { ok checks { name ok message } } }", {})["doctor"]
        api.close()
        if not doctor["ok"]:
            self.say(f"{[c for c in doctor['checks'] if not c['ok']]}")

    def say(self, problem):
        self.failures.append(f"{self.scene}: {problem}")

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, trace):
        """A failure of the rig is one of the scene."""
        ours = kind is not None and issubclass(kind, RigError)
        if ours:
            self.say(f"{problem}; see {self.node.folder}")
        if self.senders is not None:
            self.senders.close()
        self.node.kill()
        self.receiver.stop_listening()
        if not self.failures and not self.is_bad() and kind is None:
            shutil.rmtree(self.node.folder, ignore_errors=True)
        return ours

    def is_bad(self):
        return [f"{name}={self.counts[name]}" for check in CHECKS for name in check.bad if self.counts[name]]


def line(counts):
    return "services: " + " ".join(f"{name}={counts[name]}" for check in CHECKS for name in check.names)


# ---- the scene ---------------------------------------------------------------------------------

def services(rig, count):
    """All points in turn, and any moment after each round; a database goes on where the one before it ended."""
    total = collections.Counter()
    names = [text.split()[0] for text in run([rig.debug, "fault-points"]).splitlines()]
    points = [name for prefix in POINTS for name in names if name.startswith(prefix)]
    turn = [*points, None]
    kills = max(1, count // 2)
    kinds = KINDS if kills >= len(turn) else [k._replace(sizes=k.sizes[:2]) for k in KINDS]
    for number, database in enumerate(("sqlite", "postgres")):
        total.update(one(rig, database, kinds, [turn[(number * kills + k) % len(turn)] for k in range(kills)]))
    for control in CONTROLS:
        look_for_it(rig, control)
    print(line(total), flush=True)


def one(rig, database, kinds, points):
    """A kill at each of these; None: at any moment."""
    scene = f"{database}.services"
    tally = rig.tally(scene)
    store = rig.new_database() if database == "postgres" else None
    with Services(rig, scene, (len(points) + 1) * len(kinds), store, kinds) as field:    # the last ones are for the end
        field.begin()
        struck = kill_in_turn(field, points, tally)
        print(f"crash {scene}: killed {dict(struck)}", flush=True)
        if missed := [p for p in dict.fromkeys(points) if p is not None and not struck[p]]:
            field.say(f"never reached: {' '.join(missed)}")
        field.settle()
        field.judge()
        field.node.stop()
    tally.acked += len(field.sent)
    tally.lost += field.counts["missing"]
    tally.doubled += field.counts["doubled"]
    tally.failures += field.failures
    tally.failures += [f"{scene}: {bad}; see {field.node.folder}" for bad in field.is_bad()]
    return field.counts


def kill_in_turn(field, points, tally):
    struck, tried = collections.Counter(), set()
    for number, point in enumerate(points, 1):
        field.senders.allowed = number * len(KINDS)
        there = kill_once(field, point, point not in tried)
        tried.add(point)
        struck[point if there else "anywhere"] += 1
        tally.kills += 1
    return struck


def kill_once(field, point, is_first):
    """True: at the point; the first time at its first pass."""
    if point is None:
        return kill_at(field.node, {}, field.chance.uniform(0.2, 1.5))
    passes = 1 if is_first else field.chance.randint(1, POINTS[point.partition(".")[0] + "."])
    fault = {"WAYBILL_FAULT": f"{point}:kill:{passes}"}
    return kill_at(field.node, fault, FIRST_SECONDS if is_first else POINT_SECONDS)


# ---- controls ----------------------------------------------------------------------------------

# What is left out of a commit, the point behind it, at which the node dies, and the counter that must count.
Control = collections.namedtuple("Control", "name kinds switch point counter")
CONTROLS = (
    Control("progress", only("wide", sizes=(1001,)),    # the first chunk is not the last
            {"WAYBILL_TEST_PARTS_APART": "progress"}, "parts.committed", "doubled"),
    Control("record", only("keyed"), {"WAYBILL_TEST_RECORDS_APART": "1"}, "settle.done", "broken"),
    Control("copies", only("copied"), {"WAYBILL_TEST_PARTS_APART": "end"}, "parts.committed", "copies_wrong"),
    Control("answer", only("asked"), {"WAYBILL_TEST_PARTS_APART": "end"}, "parts.committed", "answers_wrong"),
)


def look_for_it(rig, control):
    """The first document of the kind has the fault, whatever the chance."""
    struck = False
    with Services(rig, f"control.{control.name}", CONTROL_DOCUMENTS, kinds=control.kinds) as field:
        field.begin()
        field.allow_all()
        fault = {"WAYBILL_FAULT": f"{control.point}:kill:1", **control.switch}
        struck = kill_at(field.node, fault, SECONDS)
        field.settle()
        field.judge()
    print(f"control {control.name}: {line(field.counts)}", flush=True)
    shutil.rmtree(field.node.folder, ignore_errors=True)
    if not struck or field.counts[control.counter] == 0:
        rig.fail(f"control {control.name}: {control.counter} is 0, and it must not be: the check is blind"
                 f" {field.failures[:1]}")
