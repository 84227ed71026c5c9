"""Compares what the senders were promised with what the store holds.

Shares nothing with the product: it knows the journal, the documented HTTP paths and the admin
API, and computes digests itself.
"""

import hashlib
import subprocess
from collections import namedtuple
from dataclasses import dataclass, field

from rig.node import Api
from rig.process import RigError, run

PAGE = 200     # the API's largest
LARGE = 1 << 20
ASKED_MOST = 5000
LISTING = """query($first: Int, $after: String) {
  documents(first: $first, after: $after) {
    items { id sha256 size state error { code } } next } }"""
COUNTS = ("lost", "doubled", "unrecorded", "torn", "poison", "hold_doubled", "resend_missed",
          "probe_not_once")

Listed = namedtuple("Listed", "sha256 size state code")


@dataclass
class Findings:
    """What one check has seen."""
    acked: int = 0
    lost: int = 0           # promised, and not there
    doubled: int = 0        # keys with more than one document
    unrecorded: int = 0     # sent, and the store knows nothing of it
    torn: int = 0           # receivers saw other bytes than they should
    poison: int = 0         # healthy documents that were set aside as poison
    hold_doubled: int = 0   # a receiver that minds saw it twice, and nobody had decided that
    resend_missed: int = 0  # said to be delivered, and not at a receiver that takes repetitions
    probe_not_once: int = 0  # a receiver that can be asked took it twice, or never
    documents: int = 0
    payloads_read: int = 0
    problems: list = field(default_factory=list)

    def clean(self):
        return not self.problems and not any(getattr(self, name) for name in COUNTS)

    def say(self, problem):
        if len(self.problems) < 20:
            self.problems.append(problem)


class Checker:
    """Checks one node against one journal, again and again as both grow."""

    def __init__(self, node, journal, chance, sample=300, strangers=()):
        self.node = node
        self.journal = journal
        self.chance = chance
        self.sample = sample
        self.strangers = set(strangers)     # digests that others sent, outside the journal
        self.looked_at = 0      # acks up to here were asked for one by one already
        self.lost_ids = set()   # a loss counts once, not once per check
        self.doubled_keys = set()

    def check(self, everything=False, doctor=True):
        """All acks against the listing; new ones (or everything), up to ASKED_MOST, one by one."""
        findings = Findings()
        journal = self.journal.read()
        findings.acked = len(journal.acks)
        self.before_listing()
        listed = self.listing(findings)
        findings.documents = len(listed)
        self._compare_listing(journal, listed, findings)
        self.after_listing(listed, findings, everything)
        new = journal.acks if everything else journal.acks[self.looked_at:]
        self._ask_each(new, findings)
        self._read_payloads(new, findings)
        self.looked_at = len(journal.acks)
        for key, status in journal.refused:
            findings.say(f"{key} was refused with {status}")
        if doctor:
            self._doctor_live(findings)
        findings.lost, findings.doubled = len(self.lost_ids), len(self.doubled_keys)
        return findings

    def before_listing(self):
        """For checkers that know more: whatever is noted down here must be in the listing."""

    def after_listing(self, listed, findings, everything):
        """For checkers that know more: compares with {id: Listed}."""

    def all_lost(self, why):
        """The store does not open: nothing that was promised can be had."""
        self.journal.read()
        findings = Findings(acked=len(self.journal.acks), lost=len(self.journal.acks))
        findings.say(why)
        return findings

    def listing(self, findings=None):
        """{id: Listed} of all documents, newest first."""
        findings = findings or Findings()
        api, listed, after = Api(self.node, admin=True), {}, None
        pages_most = 100_000
        for _ in range(pages_most):
            page = api.graphql(LISTING, {"first": PAGE, "after": after})["documents"]
            for item in page["items"]:
                if item["id"] in listed:
                    findings.say(f"{item['id']} is listed twice")
                listed[item["id"]] = Listed(item["sha256"], int(item["size"]), item.get("state"),
                                            (item.get("error") or {}).get("code"))
            after = page["next"]
            if after is None:
                api.close()
                return listed
        raise RigError(f"the listing has no end after {pages_most} pages")

    def lose(self, ack, why, findings):
        self.lost_ids.add(ack.document)
        findings.say(f"lost {ack.document} (key {ack.key}): {why}")

    def _compare_listing(self, journal, listed, findings):
        for ack in journal.acks:
            if ack.document not in listed:
                self.lose(ack, "not in the listing", findings)
            elif listed[ack.document][:2] != journal.sent[ack.key]:
                self.lose(ack, f"listed as {listed[ack.document]}", findings)
        seen = {}
        for identity, document in listed.items():
            key = journal.key_of.get(document.sha256)
            if document.sha256 in self.strangers:
                continue
            if key is None:
                findings.say(f"{identity} has a digest that nobody sent: {document.sha256}")
            elif key in seen:
                self.doubled_keys.add(key)
                findings.say(f"doubled: key {key} has {seen[key]} and {identity}")
            else:
                seen[key] = identity
        for key, identities in journal.answered.items():
            if len(identities & listed.keys()) > 1:
                self.doubled_keys.add(key)
                findings.say(f"doubled: key {key} was answered with {sorted(identities)}")

    def _ask_each(self, acks, findings):
        if len(acks) > ASKED_MOST:
            acks = self.chance.sample(acks, ASKED_MOST)
        api = Api(self.node)
        for ack in acks:
            document = api.document(ack.document)
            sha256, size = self.journal.sent[ack.key]
            if document is None:
                self.lose(ack, "GET says 404", findings)
            elif (document.get("sha256"), document.get("size")) != (sha256, size):
                self.lose(ack, "GET gives another digest or size", findings)
            elif document.get("id") != ack.document:
                findings.say(f"GET /documents/{ack.document} gives {document.get('id')}")
        api.close()

    def _read_payloads(self, acks, findings):
        large = [a for a in acks if self.journal.sent[a.key][1] > LARGE]
        small = [a for a in acks if self.journal.sent[a.key][1] <= LARGE]
        if len(small) > self.sample:
            # the newest are the likeliest to be missing
            newest = small[-self.sample // 3:]
            small = newest + self.chance.sample(small[:-len(newest)], self.sample - len(newest))
        api = Api(self.node)
        for ack in large + small:
            digest = hashlib.sha256()
            try:
                status, _ = api.payload_digest(ack.document, digest)
            except OSError as problem:
                self.lose(ack, f"payload cannot be read: {problem}", findings)
                continue
            findings.payloads_read += 1
            if status != 200:
                self.lose(ack, f"payload answers {status}", findings)
            elif digest.hexdigest() != self.journal.sent[ack.key][0]:
                self.lose(ack, "payload has another digest", findings)
        api.close()

    def _doctor_live(self, findings):
        try:
            self.node.cli("doctor", timeout=120)
        except (RigError, subprocess.TimeoutExpired) as problem:
            findings.say(f"doctor: {problem}")

    def doctor_stopped(self, findings):
        """The same question to the folder of a stopped node."""
        try:
            run([self.node.binary, "doctor", "--data", self.node.data], timeout=120,
                cwd=self.node.folder)
        except (RigError, subprocess.TimeoutExpired) as problem:
            findings.say(f"doctor, stopped: {problem}")
