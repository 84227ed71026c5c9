"""Documents made of documents, under kills: every parent has exactly its parts, each with its bytes.

Parents of several kinds (KINDS) come in over HTTP: cut by `split`, by a script in its process, or by
both, some of them into several chunks, some with a part that is larger than a segment takes.  The test
binary is killed at every point of a chunk's life and at random moments, on each database.  At the end
the checks (CHECKS) compare what was sent with what the store has: each part of each parent once, with
the bytes that it must have; and with what arrived: everything, always with the same bytes, and in
order at the system that wants it so.

Others keep a record (`store`), are copied for subscribers (`subscribe`), or both.  Of one key the pairs of
previous and new value that arrived form one chain up to the record: a gap, a fork or a pair that nobody got
is `broken`.  A document has one copy for each subscriber, all with its bytes, or it is `copies_wrong`.

The control writes the progress of a parent behind the commit of its chunk, and must be found out.

A step that makes documents in another way is another row of KINDS, what it promises another row of
CHECKS; the numbers that a check gives are printed under their names.

proves: PR2 PR4 PR5 PR13
"""

import collections
import hashlib
import json
import shutil

from crash.senders import Senders, kill_at
from rig.node import Api, Node
from rig.process import RigError, run, wait_for
from rig.receiver import Receiver

SECONDS = 300
PARENTS_PER_KILL = 6
POINT_SECONDS = 15      # a point that is not reached by then is not on the way
POINTS = ("parts.", "settle.")  # prefixes of the points to kill at
LARGE = 1_200_000       # a part that does not fit into a segment
ENDED = ("done", "delivered", "dropped")
KEYS = 3                # of the records of one kind
SUBSCRIBERS = ("far", "hall", "near")
LEFT_OUT = "a later document has set it"    # there is an ordered system: who is late does not set a record back
SCRIPT = """local t = {}
for w in doc.bytes:gmatch([[[^\\n]+]]) do t[#t + 1] = { bytes = w, receiver = 'shop', type = 'to-shop' } end
return t"""

# A kind of parent: its steps, how many parts it may have, write(items) -> (body, bytes of each part), where they
# go, and what comes of it: parts, a pair, copies, or copies of a pair.
Kind = collections.namedtuple("Kind", "name steps sizes write to makes", defaults=("parts",))
# What is promised: the numbers that are printed, those of them that must be 0, and check(field) -> Counter.
Check = collections.namedtuple("Check", "names bad check")
Sent = collections.namedtuple("Sent", "kind body parts")


def split(how, to):
    return f"{{ split: {{ {how}, receiver: 'value:{to}', type: 'value:to-{to}' }} }}"


def lua(script, more=""):
    return f"{{ lua: {{ script: {json.dumps(script)}{more} }} }}"


def as_lines(items):
    return b"".join(i + b"\n" for i in items), [i + b"\n" for i in items]


def as_array(items):
    parts = [b'{ "item": "' + i + b'", "price": 1.10 }' for i in items]
    return b"[" + b",\n".join(parts) + b"]", parts


def as_words(items):
    return b"\n".join(items), items


def as_shouted_lines(items):
    body, parts = as_lines(items)
    return body, [p.upper() for p in parts]


def with_a_large_line(items):
    return as_lines([items[0] + b"x" * LARGE, *items[1:]])


KINDS = (
    Kind("lines", [split("lines: 1", "shop")], (1, 2, 17, 40), as_lines, "shop"),
    Kind("wide", [split("lines: 1", "bin")], (999, 1000, 1001, 2500), as_lines, "bin"),
    Kind("array", [split("json: ''", "lane")], (1, 3, 30), as_array, "lane"),
    Kind("script", [lua(SCRIPT, ", many: true")], (1, 5, 50), as_words, "shop"),
    Kind("chain", [lua("return doc.bytes:upper()"), split("lines: 1", "shop")], (1, 20), as_shouted_lines, "shop"),
    Kind("large", [split("lines: 1", "bin")], (1, 1300), with_a_large_line, "bin"),
)


def as_value(items):
    """One of a few keys, and a value that no other document has."""
    item = items[0].decode()
    return json.dumps({"id": f"k{int(item[1:].split('.')[0]) % KEYS}", "item": item}).encode(), []


def as_it_is(items):
    return b"\n".join(items), []


def as_large_as_it_gets(items):
    return as_it_is([items[0] + b"x" * LARGE])


SUBSCRIBE = "{ subscribe: all }"
# These are small: there are several of each for every one of the others, so that chains are long.
OFTEN = (
    Kind("keyed", ["{ store: { key: 'json:/id' } }", "{ deliver: pairs }"], (1,), as_value, "pairs", "pair"),
    Kind("told", ["{ store: { key: 'json:/id' } }", SUBSCRIBE], (1,), as_value, "near", "copies of a pair"),
    Kind("copied", [SUBSCRIBE], (1, 3), as_it_is, "near", "copies"),
)
KINDS += (Kind("copied-large", [SUBSCRIBE], (1,), as_large_as_it_gets, "near", "copies"), *3 * OFTEN)


def configuration(url):
    """`lane` is ordered; what is for `bin` ends there."""
    endpoints = "".join(f"  {name}: {{ kind: http, url: '{url}/in/{name}', system: {name}, timeout: 10s,"
                        " retry: { first: 100ms, most: 300ms, for: 1h }, breaker: { failures: 50, wait: 100ms } }\n"
                        for name in ("shop", "lane", "pairs", "near"))
    routes = "".join(f"  - {{ name: {k.name}, when: {{ type: {k.name}, receiver: hub }},"
                     f" do: [ {', '.join(k.steps)} ] }}\n" for k in {k.name: k for k in KINDS}.values())
    return ("systems: { hub: {}, shop: { limits: { concurrency: 8 } }, lane: { order: receiver }, bin: {},"
            " pairs: {}, near: {}, far: {}, hall: {} }\n"
            f"subscriptions: {{ all: {{ to: [ {', '.join(SUBSCRIBERS)} ] }} }}\n"
            "types: { '*': {} }\n"
            f"endpoints:\n{endpoints}routes:\n{routes}"
            "  - { name: to-shop, when: { type: to-shop }, do: [ { deliver: shop } ] }\n"
            "  - { name: to-lane, when: { type: to-lane }, do: [ { deliver: lane } ] }\n"
            "  - { name: to-bin, when: { type: to-bin }, do: [ { drop: {} } ] }\n"
            "  - { name: to-near, when: { receiver: near }, do: [ { deliver: near } ] }\n"
            "  - { name: to-others, when: { receiver: [ far, hall ] }, do: [ { drop: {} } ] }\n")


class Services:
    """A node, what is sent to it, and what was found.  Use as a context."""

    def __init__(self, rig, scene, store=None, kinds=KINDS, kills=1, environment=None):
        chance = rig.chance(scene)
        self.rig, self.scene, self.chance = rig, scene, chance
        self.receiver = Receiver()
        self.receiver.listen()
        self.node = Node(rig.debug, rig.new_folder(scene), store=store, environment=environment,
                         more=configuration(self.receiver.url("")),
                         gateway={"extract": {"receiver": '"value:hub"', "type": '"header:x-kind"'}})
        self.sent = [self._parent(n, kinds[n % len(kinds)]) for n in range(kills * max(PARENTS_PER_KILL, len(kinds)))]
        self.senders = None
        self.failures = []
        self.counts = collections.Counter()

    def _parent(self, number, kind):
        items = [f"p{number}.{n} of {kind.name}".encode() for n in range(1, self.chance.choice(kind.sizes) + 1)]
        return Sent(kind, *kind.write(items))

    def begin(self):
        self.node.start()
        self.node.key_add()
        self.node.kill()
        self.senders = Senders(self.node, len(self.sent),
                               lambda n: (self.sent[n].body, {"X-Kind": self.sent[n].kind.name}))

    def allow(self, part):
        self.senders.allowed = int(len(self.sent) * part)

    def settle(self):
        """Until everything is acknowledged and nothing is under way."""
        self.senders.allowed = len(self.sent)
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


# ---- checks ------------------------------------------------------------------------------------

def children(api, parent):
    """All parts of a document: (number, digest, state)."""
    after = None
    while True:
        page = api.graphql(
            "query($p: ID!, $a: String) { documents(filter: { parent: $p }, first: 200, after: $a)"
            " { next items { state sha256 attributes { name value } } } }", {"p": parent, "a": after})["documents"]
        for item in page["items"]:
            facts = {a["name"]: a["value"] for a in item["attributes"]}
            yield int(facts["part"]), item["sha256"], item["state"]
        after = page["next"]
        if after is None:
            return


def of_kind(field, *makes):
    """What was sent of these kinds, each with the id of its document."""
    return [(sent, id) for sent, id in zip(field.sent, field.senders.acked) if sent.kind.makes in makes]


def every_parent_has_its_parts(field):
    those = of_kind(field, "parts")
    counts = collections.Counter(parents=len(those))
    api = Api(field.node, admin=True)
    for sent, parent in those:
        wanted = {n: hashlib.sha256(part).hexdigest() for n, part in enumerate(sent.parts, 1)}
        found = collections.Counter()
        for number, digest, state in children(api, parent):
            found[number] += 1
            if state not in ENDED:
                field.say(f"part {number} of {parent} is {state}")
            if digest != wanted.get(number):
                field.say(f"part {number} of {parent}, a {sent.kind.name}, has other bytes")
        counts["parts"] += sum(found.values())
        counts["missing"] += sum(1 for n in wanted if found[n] == 0)
        counts["doubled"] += sum(times - 1 for times in found.values() if times > 1)
        shown = api.graphql("query($p: ID!) { document(id: $p) { state parts { made total } } }",
                            {"p": parent})["document"]
        if shown != {"state": "done", "parts": {"made": len(wanted), "total": len(wanted)}}:
            field.say(f"{parent}, a {sent.kind.name} of {len(wanted)}, is {shown}")
    api.close()
    return counts


def what_arrived_is_whole_and_in_order(field):
    """Of what came twice the first time counts for the order; the bytes are the same each time."""
    for name in ("shop", "lane"):
        wanted = {part: (n, k) for n, sent in enumerate(field.sent) if sent.kind.to == name
                  for k, part in enumerate(sent.parts)}
        digests, order = collections.defaultdict(set), []
        for request in field.receiver.requests(f"/in/{name}"):
            if not request["whole"]:
                continue
            body, key = request["body"].encode("latin-1"), request["headers"]["idempotency-key"]
            if key not in digests:
                order.append(wanted.get(body))
            digests[key].add(request["sha256"])
        if any(len(d) > 1 for d in digests.values()):
            field.say(f"{name}: a delivery came with other bytes the second time")
        if None in order or len(set(order)) != len(order) or len(order) != len(wanted):
            field.say(f"{name}: {len(order)} arrived of {len(wanted)}, {len(set(order))} of them different")
        if name == "lane" and not in_order(order):
            field.say(f"{name}: not in order: {order}")
    return {}


def in_order(places):
    """Each parent's parts one after the other, and no other's between them."""
    ended = set()
    for before, after in zip(places, places[1:]):
        if after[0] != before[0]:
            ended.add(before[0])
        if after[0] in ended or (after[0] == before[0] and after[1] != before[1] + 1):
            return False
    return True


def arrived(field, name):
    """(first bytes, digest) of each delivery; one that came with other bytes the second time is two."""
    return [came[1:] for came in {(r["headers"]["idempotency-key"], r["body"], r["sha256"])
                                  for r in field.receiver.requests(f"/in/{name}") if r["whole"]}]


def breaks_of(pairs, last):
    """How often the pairs of one key are no chain from nothing to `last`, in which each is used once."""
    follows, broken = {}, 0
    for pair in pairs:
        previous = pair["previous"] and pair["previous"]["item"]
        broken += previous in follows
        follows[previous] = pair["new"]["item"]
    at = None
    while at in follows:
        at = follows.pop(at)
    return broken + len(follows) + (at != last)


def record_of(api, kind, key):
    found = api.graphql("query($s: String!, $k: String!) { record(set: $s, key: $k) { value } }",
                        {"s": kind, "k": key})["record"]
    return found and json.loads(found["value"])["item"]


def is_left_out(api, document):
    lines = api.graphql("query($d: ID!) { document(id: $d) { timeline { message } } }", {"d": document})["document"]
    return any(LEFT_OUT in (line["message"] or "") for line in lines["timeline"])


def pairs_form_chains(field):
    """Each document that was not left out is one pair of its key."""
    counts = collections.Counter()
    api = Api(field.node, admin=True)
    for kind in {s.kind.name: s.kind for s, _ in of_kind(field, "pair", "copies of a pair")}.values():
        told = [json.loads(body) for body, _ in arrived(field, kind.to) if body.startswith('{"previous":')]
        told = [pair for pair in told if pair["new"]["item"].endswith(f" of {kind.name}")]
        late = {json.loads(sent.body)["item"] for sent, id in of_kind(field, kind.makes) if is_left_out(api, id)}
        wanted = {json.loads(sent.body)["item"] for sent, _ in of_kind(field, kind.makes)} - late
        lost = wanted ^ {pair["new"]["item"] for pair in told}
        broken = len(lost)
        for key in {f"k{n}" for n in range(KEYS)}:
            broken += breaks_of([p for p in told if p["new"]["id"] == key], record_of(api, kind.name, key))
        counts.update(pairs=len(told), broken=broken)
        if broken:
            field.say(f"{kind.name}: {broken} breaks in {len(told)} pairs; too few or too many: {sorted(lost)[:5]}")
    api.close()
    return counts


def copies_of(api, document):
    """(receiver, digest) of each."""
    made = api.graphql("query($d: ID!) { document(id: $d) { children(first: 200)"
                       " { items { receiver sha256 state } } } }", {"d": document})["document"]["children"]
    return [(c["receiver"], c["sha256"] if c["state"] in ENDED else c["state"]) for c in made["items"]]


def each_subscriber_has_its_copy(field):
    wrong = 0
    api = Api(field.node, admin=True)
    near = collections.Counter(digest for _, digest in arrived(field, "near"))
    for sent, document in of_kind(field, "copies", "copies of a pair"):
        found = copies_of(api, document)
        digest = hashlib.sha256(sent.body).hexdigest() if sent.kind.makes == "copies" else dict(found).get("near")
        wanted = [] if is_left_out(api, document) else [(name, digest) for name in SUBSCRIBERS]
        if sorted(found, key=str) == wanted and (not wanted or near[digest] == 1):
            continue
        wrong += 1
        field.say(f"{document}, a {sent.kind.name}, has the copies {found}; {near[digest]} arrived")
    api.close()
    return {"copies_wrong": wrong}


CHECKS = (
    Check(("parents", "parts", "missing", "doubled"), ("missing", "doubled"), every_parent_has_its_parts),
    Check((), (), what_arrived_is_whole_and_in_order),
    Check(("pairs", "broken"), ("broken",), pairs_form_chains),
    Check(("copies_wrong",), ("copies_wrong",), each_subscriber_has_its_copy),
)


def line(counts):
    return "services: " + " ".join(f"{name}={counts[name]}" for check in CHECKS for name in check.names)


# ---- the scene ---------------------------------------------------------------------------------

def services(rig, count):
    total = collections.Counter()
    names = [text.split()[0] for text in run([rig.debug, "fault-points"]).splitlines()]
    points = [name for prefix in POINTS for name in names if name.startswith(prefix)]
    for database in ("sqlite", "postgres"):
        total.update(one(rig, database, points, max(1, count // 2)))
    control(rig)
    print(line(total), flush=True)


def one(rig, database, points, kills):
    """All points in turn, and any moment after each round."""
    scene = f"{database}.services"
    tally = rig.tally(scene)
    store = rig.new_database() if database == "postgres" else None
    with Services(rig, scene, store, kills=kills) as field:
        field.begin()
        struck = kill_in_turn(field, points, kills, tally)
        print(f"crash {scene}: killed {dict(struck)}", flush=True)
        if missed := [p for p in points if kills > len(points) and not struck[p]]:
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


def kill_in_turn(field, points, kills, tally):
    struck = collections.Counter()
    for number in range(kills):
        field.allow((number + 1) / (kills + 1))
        point = [*points, None][number % (len(points) + 1)]
        fault = {"WAYBILL_FAULT": f"{point}:kill:{field.chance.randint(1, 4)}"} if point else {}
        there = kill_at(field.node, fault, POINT_SECONDS if point else field.chance.uniform(0.2, 1.5))
        struck[point if there else "anywhere"] += 1
        tally.kills += 1
    return struck


def control(rig):
    """With the progress left out of the commit of its chunk, a kill in between must show."""
    wide = [k._replace(sizes=(2500,)) for k in KINDS if k.name == "wide"]    # the first chunk is not the last
    with Services(rig, "control.services", kinds=wide, environment={"WAYBILL_TEST_PARTS_APART": "1"}) as field:
        field.begin()
        field.allow(1)
        kill_at(field.node, {"WAYBILL_FAULT": "parts.committed:kill:1"}, SECONDS)
        field.settle()
        field.judge()
    print(f"control {line(field.counts)}", flush=True)
    shutil.rmtree(field.node.folder, ignore_errors=True)
    if field.counts["doubled"] == 0:
        rig.fail(f"control services: nothing was doubled, and it must be: the check is blind {field.failures[:1]}")
