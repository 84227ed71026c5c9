"""Compares what the senders were promised with what the receivers got and what the store says.

On top of rig/checker.py: a document that the store calls delivered has arrived everywhere it is
routed to; whatever arrived is in the store; nobody ever saw other bytes than the right ones.
"""

import time
from pathlib import PurePath

from crash.road import BOOK, DEAD, DOUBT, ROADS, keys_in_inbox, lines_of_book
from rig.checker import Checker
from rig.node import Api
from rig.process import RigError, wait_for

SETTLE_SECONDS = 90
DECIDED_AT_ONCE = 200
RESOLVE = """mutation($ids: [ID!]!, $as: Resolution!) {
  resolve(ids: $ids, as: $as) { id result message } }"""
UNDER_WAY = ("received", "active", "held", "retrying")


class RoadChecker(Checker):
    """A Checker that knows the road.  `settled` says that nothing may be under way any more."""

    def __init__(self, node, journal, chance, receivers, folder, book, inbox):
        super().__init__(node, journal, chance)
        self.receivers, self.folder, self.book, self.inbox = receivers, folder, book, inbox
        self.waiting = set()    # keys of files that nobody had taken before the listing
        self.settled = False
        self.unrecorded, self.torn, self.poison = set(), set(), set()
        self.hold_doubled, self.resend_missed, self.probe_not_once = set(), set(), set()
        self.resent = set()     # documents of which somebody said that they are to be sent again
        self.noted = (0, 0)     # arrivals and sights that must be in the listing
        self.compared = (0, 0)  # ... and that were

    # ---- waiting ---------------------------------------------------------------------------

    def settle(self, seconds=SETTLE_SECONDS):
        """Waits until nothing is under way.  Says what still is, when that takes too long."""
        until = time.monotonic() + seconds
        wait_for("an empty inbox", self._inbox_is_empty, seconds, every=0.05)
        while True:
            waiting = [i for i, d in self.listing().items() if d.state in UNDER_WAY]
            while waiting and time.monotonic() < until:
                time.sleep(0.1)
                waiting = self._still_under_way(waiting)
            if not waiting:
                self._wait_for_files(until)
                self.settled = True
                return
            if time.monotonic() >= until:
                raise RigError(f"{len(waiting)} documents are under way after {seconds} s, "
                               f"{waiting[0]} is {self._state(waiting[0])}")

    def _inbox_is_empty(self):
        if not self.node.alive():
            raise RigError(f"the node ended by itself: {self.node.last_words()}")
        return not keys_in_inbox(self.inbox)

    def _wait_for_files(self, until):
        """A document that is dead at one receiver may still be on its way to the other."""
        refused = {f"refused/{i}.json" for i, d in self.listing().items()
                   if self._road(d)[0] == "refused"}
        while time.monotonic() < until:
            self.folder.read()
            if refused <= self.folder.present.keys():
                return
            time.sleep(0.05)

    def _state(self, identity):
        return (Api(self.node, admin=True).document(identity) or {}).get("state")

    def _still_under_way(self, waiting):
        """Asks in order, and stops asking at the first few that are."""
        api, left = Api(self.node, admin=True), []
        for number, identity in enumerate(waiting):
            if (api.document(identity) or {}).get("state") in UNDER_WAY:
                left.append(identity)
                if len(left) == 20:
                    left += waiting[number + 1:]
                    break
        api.close()
        return left

    # ---- deciding ------------------------------------------------------------------------------

    def decide(self):
        """Resolves all that is in doubt, by what its receiver has.  Gives how many were."""
        listed = {i: d for i, d in self.listing().items() if d.state == "in_doubt"}
        self.receivers.read()
        self.journal.read()
        there = [i for i, d in listed.items() if self.receivers.booked[self._doubtful(d), i]]
        self._resolve(there, "delivered")
        self._resolve([i for i in listed if i not in set(there)], "resend")
        return len(listed)

    def _doubtful(self, document):
        kind, _ = self._road(document)
        if kind not in DOUBT:
            raise RigError(f"a document of kind {kind} is in doubt")
        return ROADS[kind][0]

    def _resolve(self, identities, how):
        api = Api(self.node, admin=True)
        for first in range(0, len(identities), DECIDED_AT_ONCE):
            some = identities[first:first + DECIDED_AT_ONCE]
            if how == "resend":
                self.resent.update(some)
            for one in api.graphql(RESOLVE, {"ids": some, "as": how})["resolve"]:
                if one["result"] != "done":
                    raise RigError(f"{one['id']} is in doubt: {one['message']}")
        api.close()

    # ---- comparing --------------------------------------------------------------------------

    def before_listing(self):
        self.noted = len(self.receivers.read()), len(self.folder.read())
        self.waiting = keys_in_inbox(self.inbox)

    def after_listing(self, listed, findings, everything):
        if everything:
            self.folder.scan()
        self.receivers.read()
        self.folder.read()
        self._arrivals(listed, findings)
        self._sights(listed, findings)
        self._inbox(listed, findings)
        for identity, document in listed.items():
            if document.sha256 not in self.strangers:
                self._document(identity, document, everything, findings)
        if everything:
            self._book(listed, findings)
            self._left_overs(findings)
        for name in ("unrecorded", "torn", "poison", "hold_doubled", "resend_missed",
                     "probe_not_once"):
            setattr(findings, name, len(getattr(self, name)))

    def _road(self, document):
        """(kind, digest at receivers) of a listed document."""
        return self.journal.expected.get(self.journal.key_of.get(document.sha256), (None, None))

    def _tear(self, what, why, findings):
        self.torn.add(what)
        findings.say(f"torn: {what}: {why}")

    def _arrivals(self, listed, findings):
        for arrival in self.receivers.arrivals[self.compared[0]:self.noted[0]]:
            document = listed.get(arrival.document)
            if document is None:
                self.unrecorded.add(arrival.document)
                findings.say(f"unrecorded: {arrival.endpoint} got {arrival.document}")
                continue
            kind, sha256 = self._road(document)
            if arrival.endpoint not in ROADS.get(kind, ()):
                findings.say(f"{arrival.document}, of kind {kind}, came to {arrival.endpoint}")
            if arrival.delivery != f"{arrival.document}.{arrival.endpoint}":
                findings.say(f"{arrival.document} came to {arrival.endpoint} as {arrival.delivery}")
            if arrival.sha256 not in (None, sha256):
                self._tear(arrival.delivery, f"digest {arrival.sha256}", findings)
        self.compared = self.noted[0], self.compared[1]

    def _sights(self, listed, findings):
        for path in self.folder.touched:
            self._tear(path, "written to while it could be seen", findings)
        for sight in self.folder.sights[self.compared[1]:self.noted[1]]:
            identity = PurePath(sight.path).stem
            document = listed.get(identity)
            if document is None:
                self.unrecorded.add(identity)
                findings.say(f"unrecorded: a file {sight.path}")
                continue
            kind, sha256 = self._road(document)
            if sight.sha256 != sha256 or "files" not in ROADS.get(kind, ()):
                self._tear(sight.path, f"digest {sight.sha256}, kind {kind}", findings)
        self.compared = self.compared[0], self.noted[1]
        keys = {}
        for sight in self.folder.present.values():
            if keys.setdefault(sight.key, sight.path) != sight.path:
                self._tear(sight.path, f"the same document as {keys[sight.key]}", findings)

    def _inbox(self, listed, findings):
        """What lay in the inbox lies there still, or is a document."""
        stored = {self.journal.key_of.get(document.sha256) for document in listed.values()}
        for key in self.journal.dropped:
            if key not in stored and key not in self.waiting:
                self.lost_ids.add(key)
                findings.say(f"lost: the file {key}.json")

    def _document(self, identity, document, everything, findings):
        kind, _ = self._road(document)
        if document.code == "poison":
            self.poison.add(identity)
            findings.say(f"poison: {identity}, of kind {kind}")
        elif document.state == "dead":
            if DEAD.get(kind) != document.code:
                findings.say(f"{identity}, of kind {kind}, is dead with {document.code}")
        elif document.state == "delivered":
            if kind in DEAD:
                findings.say(f"{identity}, of kind {kind}, is delivered")
        elif document.state == "in_doubt" and kind in DOUBT:
            pass
        elif document.state not in UNDER_WAY:
            findings.say(f"{identity}, of kind {kind}, is {document.state}")
        elif self.settled:
            findings.say(f"{identity}, of kind {kind}, is still {document.state}")
        if document.state == "delivered" or (document.state == "dead" and self.settled):
            for endpoint in ROADS.get(kind, ()):
                if endpoint != "never" and not self._has_arrived(identity, endpoint, everything):
                    self._miss(identity, f"{document.state}, and not at {endpoint}", findings)
                    if endpoint in ("shop", "moody"):
                        self.resend_missed.add(identity)
        if kind in DOUBT:
            self._doubt(identity, document, kind, findings)

    def _doubt(self, identity, document, kind, findings):
        """What its receiver saw of one that is not to come twice; 503 says that it has it not."""
        pair = (ROADS[kind][0], identity)
        seen, booked = self.receivers.reached[pair], self.receivers.booked[pair]
        if kind == "once" and seen > 1 + (identity in self.resent):
            self.hold_doubled.add(identity)
            findings.say(f"doubled at {pair[0]}: {identity} came {seen} times")
        if kind == "asked" and (booked > 1 or (booked == 0 and document.state == "delivered")):
            self.probe_not_once.add(identity)
            findings.say(f"not once at {pair[0]}: {identity} was taken {booked} times")

    def _has_arrived(self, identity, endpoint, everything):
        if endpoint == "files":
            kinds = (f"order/{identity}.json", f"refused/{identity}.json")
            return any(path in self.folder.present for path in kinds)
        if endpoint == "book":
            return True     # its lines are compared as a whole
        if endpoint in ("strict", "exact"):     # what it took without saying so counts, too
            return self.receivers.booked[endpoint, identity] > 0
        return (endpoint, identity) in self.receivers.taken

    def _miss(self, identity, why, findings):
        """What is said to be delivered and is not is lost, whether its sender knows it or not."""
        self.lost_ids.add(identity)
        findings.say(f"lost {identity}: {why}")

    def _book(self, listed, findings):
        lines, rest = lines_of_book(self.book / BOOK)
        if rest:
            self._tear(BOOK, f"its end is {rest[:60]!r}", findings)
        count = {}
        for sha256 in lines:
            count[sha256] = count.get(sha256, 0) + 1
        for identity, document in listed.items():
            kind, sha256 = self._road(document)
            if kind != "line":
                continue
            times = count.pop(sha256, 0)
            if times == 0 and document.state == "delivered":
                self._miss(identity, "delivered, and not in the book", findings)
            elif times > 1:
                self._tear(identity, f"added to the book {times} times", findings)
        for sha256 in count:
            self._tear(BOOK, f"a line that no document has: {sha256}", findings)

    def _left_overs(self, findings):
        found = self.folder.left_overs() if self.settled else []
        if found:
            findings.say(f"{len(found)} temporary files are left, like {found[0]}")
