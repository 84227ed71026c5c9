"""What crash/services.py promises: each check compares what was sent with what the store has and what arrived.

A check takes the field and gives numbers, which are printed under their names.
"""

import collections
import hashlib
import json

from crash.services_kinds import KEYS, SUBSCRIBERS
from rig.node import Api

ENDED = ("done", "delivered", "dropped")
LEFT_OUT = "a later document has set it"    # there is an ordered system: who is late does not set a record back

# What is promised: the numbers that are printed, those of them that must be 0, and check(field) -> Counter.
Check = collections.namedtuple("Check", "names bad check")


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


def digest_of(data):
    return hashlib.sha256(data).hexdigest()


def of_kind(field, *makes):
    """What was sent of these kinds, each with the id of its document."""
    return [(sent, id) for sent, id in zip(field.sent, field.senders.acked) if sent.kind.makes in makes]


def every_parent_has_its_parts(field):
    those = of_kind(field, "parts")
    counts = collections.Counter(parents=len(those))
    api = Api(field.node, admin=True)
    for sent, parent in those:
        wanted = {n: digest_of(part) for n, part in enumerate(sent.made, 1)}
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
    digests = collections.defaultdict(set)
    for request in field.receiver.requests():
        if request["whole"]:
            digests[request["path"], request["headers"]["idempotency-key"]].add(request["sha256"])
    for (path, key), several in digests.items():
        if len(several) > 1:
            field.say(f"{path}: {key} came with other bytes the second time")
    for name in ("shop", "lane"):
        wanted = {digest_of(part): (n, k) for n, sent in enumerate(field.sent) if sent.kind.to == name
                  for k, part in enumerate(sent.made)}
        order = [wanted.get(digest) for digest in first_times(field, name)]
        if None in order or len(set(order)) != len(order) or len(order) != len(wanted):
            field.say(f"{name}: {len(order)} arrived of {len(wanted)}, {len(set(order))} of them different")
        elif name == "lane" and not in_order(order):
            field.say(f"{name}: not in order: {order}")
    return {}


def first_times(field, name):
    """The digest of each delivery, in the order in which they came."""
    seen = {}
    for request in field.receiver.requests(f"/in/{name}"):
        if request["whole"]:
            seen.setdefault(request["headers"]["idempotency-key"], request["sha256"])
    return seen.values()


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
    """How often the pairs of one key are no chain from nothing to `last`, in which each value comes once."""
    follows, broken = {}, len(pairs) - len({pair["new"]["item"] for pair in pairs})
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
        digest = digest_of(sent.body) if sent.kind.makes == "copies" else dict(found).get("near")
        wanted = [] if is_left_out(api, document) else [(name, digest) for name in SUBSCRIBERS]
        if sorted(found, key=str) == wanted and (not wanted or near[digest] == 1):
            continue
        wrong += 1
        field.say(f"{document}, a {sent.kind.name}, has the copies {found}; {near[digest]} arrived")
    api.close()
    return {"copies_wrong": wrong}


def answers_of(api, document):
    """(digest, id of what it answers) of each."""
    made = api.graphql("query($d: ID!) { document(id: $d) { children(kind: answer, first: 200)"
                       " { items { sha256 state answerOf { id } } } } }", {"d": document})["document"]["children"]
    return [(a["sha256"] if a["state"] in ENDED else a["state"], a["answerOf"]["id"]) for a in made["items"]]


def each_answer_is_there_once(field):
    """A document that was answered has this one answer, which arrived once; a step goes on with the same bytes."""
    wrong = 0
    api = Api(field.node, admin=True)
    desk, taker = (collections.Counter(digest for _, digest in arrived(field, name)) for name in ("desk", "taker"))
    for sent, document in of_kind(field, "an answer", "an answer that goes on"):
        digest = digest_of(sent.made[0])
        found = answers_of(api, document)
        goes_on = sent.kind.makes == "an answer that goes on"
        if found == [(digest, document)] and desk[digest] == 1 and taker[digest] == goes_on:
            continue
        wrong += 1
        field.say(f"{document}, an {sent.kind.name}, has the answers {found}, not one of {digest};"
                  f" {desk[digest]} arrived, and {taker[digest]} behind the step")
    api.close()
    return {"answers_wrong": wrong}


CHECKS = (
    Check(("parents", "parts", "missing", "doubled"), ("missing", "doubled"), every_parent_has_its_parts),
    Check((), (), what_arrived_is_whole_and_in_order),
    Check(("pairs", "broken"), ("broken",), pairs_form_chains),
    Check(("copies_wrong",), ("copies_wrong",), each_subscriber_has_its_copy),
    Check(("answers_wrong",), ("answers_wrong",), each_answer_is_there_once),
)
