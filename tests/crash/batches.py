"""Batches under kills: each member in exactly one, each batch sent as the policy of its system says.

Documents go into two batches of 200: one for a system that may be sent to twice (`resend`), one for a
system that may not (`hold`).  The test binary is killed at the points of a batch's life and at random
moments, on each database.  At the end every line that was acknowledged stands in exactly one document
of a batch; of `resend` each of those arrived at least once, of `hold` exactly once, after a person has
decided on what was in doubt; and the doctor finds nothing.

proves: BA2 BA3 BA4
"""

import collections
import time

from crash.senders import Senders, kill_at
from rig.node import GATEWAY, Api, Node
from rig.process import RigError, wait_for
from rig.receiver import Receiver

MEMBERS = 10000
PER_BATCH = 200
POLICIES = ("resend", "hold")
SECONDS = 240


def configuration(url):
    systems = "".join(f"  {p}: {{ in_doubt: {p} }}\n" for p in POLICIES)
    endpoints = "".join(f"  to-{p}: {{ kind: http, url: '{url}/in/{p}', system: {p}, timeout: 10s,"
                        " retry: { first: 100ms, most: 300ms, for: 1h }, breaker: { failures: 50, wait: 100ms } }\n"
                        for p in POLICIES)
    batches = "".join(f"  {p}: {{ count: {PER_BATCH}, join: text, do: [ {{ deliver: to-{p} }} ] }}\n"
                      for p in POLICIES)
    routes = "".join(f"  - {{ name: {p}, when: {{ receiver: {p} }}, do: [ {{ batch: {p} }} ] }}\n" for p in POLICIES)
    return f"systems:\n{systems}endpoints:\n{endpoints}batches:\n{batches}routes:\n{routes}"


def line(number):
    return GATEWAY, f"{number}\n", {"X-To": POLICIES[number % len(POLICIES)]}


def batch(rig, count):
    for database in ("sqlite", "postgres"):
        one(rig, database, max(1, count // 2))


def one(rig, database, kills):
    scene = f"{database}.batch"
    chance = rig.chance(scene)
    tally = rig.tally(scene)
    store = rig.new_database() if database == "postgres" else None
    with Receiver() as receiver:
        node = Node(rig.debug, rig.new_folder(scene), store=store, more=configuration(receiver.url("")),
                    gateway={"extract": {"receiver": '"header:x-to"'}})
        senders = None
        try:
            node.start()
            node.key_add()
            node.kill()
            senders = Senders(node, MEMBERS, line)
            struck = collections.Counter()
            for number in range(kills):
                senders.allowed = MEMBERS * (number + 1) // (kills + 1)
                struck[kill_once(node, chance, number)] += 1
                tally.kills += 1
                if number % 10 == 9:
                    print(f"crash {scene}: {number + 1} of {kills}, acked {MEMBERS - senders.left()}", flush=True)
            print(f"crash {scene}: killed {dict(struck)}", flush=True)
            senders.allowed = MEMBERS
            node.start()
            wait_for("all lines to be acknowledged", lambda: senders.left() == 0, SECONDS, 0.1)
            senders.close()
            judge(rig, scene, node, receiver, tally)
            node.stop()
        except RigError as problem:
            tally.failures.append(f"{scene}: {problem}; see {node.folder}")
        finally:
            if senders is not None:
                senders.close()
            node.kill()


def points():
    return ("joined", "frozen", "claimed", "read", "built", "stored", "closed", "ending")


def kill_once(node, chance, number):
    """At a point of a batch's life in turn, or, every third time, at any moment.  Gives which."""
    point = points()[number % len(points())]
    passes = 1 if point == "frozen" else chance.randint(1, 300) if point == "read" else chance.randint(1, 3)
    fault = {} if number % 3 == 2 else {"WAYBILL_FAULT": f"batch.{point}:kill:{passes}"}

    def close_one():
        if fault and point == "frozen":
            time.sleep(chance.uniform(0, 0.3))
            close(node, chance.choice(POLICIES))

    return point if kill_at(node, fault, 2.5 if fault else chance.uniform(0.3, 1.0), close_one) else "anywhere"


def close(node, name):
    try:
        Api(node, admin=True).graphql("mutation($n: String!) { batchClose(name: $n) }", {"n": name})
    except (OSError, RigError):
        pass  # it is gone


def listed(api, ended):
    found, after = [], None
    while True:
        page = api.graphql("query($ended: Boolean, $after: String) { batches(ended: $ended, first: 200, after: $after)"
                           " { next batches { id name state count document why } } }",
                           {"ended": ended, "after": after})["batches"]
        found += page["batches"]
        after = page["next"]
        if after is None:
            return found


def decide(api, receiver):
    """What is in doubt: the receiver has it, or not."""
    seen = {r["headers"].get("idempotency-key", "").partition(".")[0] for r in receiver.requests("/in/hold") if r["whole"]}
    page = api.graphql("{ documents(filter: { state: \"in_doubt\" }, first: 200) { items { id name } } }", {})["documents"]
    for document in page["items"]:
        if not (document["name"] or "").startswith("hold-"):
            continue  # a member: it goes by its batch
        api.graphql("mutation($ids: [ID!]!, $as: Resolution!) { resolve(ids: $ids, as: $as) { result } }",
                    {"ids": [document["id"]], "as": "delivered" if document["id"] in seen else "resend"})


def judge(rig, scene, node, receiver, tally):
    api = Api(node, admin=True)

    def arrived():
        return sum(b["count"] for b in listed(api, True)) >= MEMBERS

    def settled():
        waiting = [b for b in listed(api, False) if b["state"] == "open"]
        for b in waiting if arrived() else []:
            close(node, b["name"])
        decide(api, receiver)
        return not listed(api, False)

    wait_for("all batches to end", settled, SECONDS, 0.3)
    where = collections.Counter()
    documents = {policy: set() for policy in POLICIES}
    found = listed(api, True)
    for b in found:
        if b["count"] > PER_BATCH or b["document"] is None:
            tally.failures.append(f"{scene}: batch {b}")
            continue
        documents[b["name"]].add(b["document"])
        response = api.request("GET", f"/documents/{b['document']}/payload")
        lines = response.read().split()
        if len(lines) != b["count"]:
            tally.torn += 1
        where.update(int(n) for n in lines)
    tally.acked += MEMBERS
    tally.lost += sum(1 for n in range(MEMBERS) if where[n] == 0)
    tally.doubled += sum(1 for n in where if where[n] > 1)
    for policy in POLICIES:
        sends(scene, policy, documents[policy], receiver, tally)
    doctor = api.graphql("{ doctor { ok checks { name ok message } } }", {})["doctor"]
    if not doctor["ok"]:
        tally.failures.append(f"{scene}: {[c for c in doctor['checks'] if not c['ok']]}")
    api.close()
    print(f"crash {scene}: {MEMBERS} members in {len(found)} batches", flush=True)


def sends(scene, policy, documents, receiver, tally):
    """What arrived, by the id of the document."""
    arrived, digests = collections.Counter(), collections.defaultdict(set)
    for r in receiver.requests(f"/in/{policy}"):
        if r["whole"]:
            document = r["headers"]["idempotency-key"].partition(".")[0]
            arrived[document] += 1
            digests[document].add(r["sha256"])
    for document in documents:
        if arrived[document] == 0:
            tally.resend_missed += policy == "resend"
            tally.failures.append(f"{scene}: {policy} batch {document} never arrived")
        if policy == "hold" and arrived[document] > 1:
            tally.hold_doubled += 1
        if len(digests[document]) > 1:
            tally.torn += 1
    for stranger in set(arrived) - documents:
        tally.failures.append(f"{scene}: {policy}: {stranger} is no batch")
