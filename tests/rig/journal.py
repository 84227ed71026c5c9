"""The sender's journal (written by the load programs, format in wire.h), read as it grows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ack:
    """A 202 that the sender has received."""
    key: str
    document: str
    time_ns: int


class Journal:
    """All that the senders know: what they sent, and what they were promised."""

    def __init__(self, path):
        self.path = path
        self.offset = 0
        self.sent = {}          # key -> (sha256, size)
        self.key_of = {}        # sha256 -> key: no two bodies are equal
        self.expected = {}      # key -> (kind, sha256): what receivers must get
        self.acks = []          # every 202, in order
        self.dropped = {}       # key -> time_ns: files that were put into the inbox
        self.answered = {}      # key -> set of document ids
        self.refused = []       # (key, status): answers that are neither 202 nor "try again"

    def read(self):
        """Takes in what was written since the last call."""
        try:
            file = open(self.path, "rb")
        except FileNotFoundError:
            return self
        with file:
            file.seek(self.offset)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self.offset += whole
        for line in text[:whole].decode().splitlines():
            self._take(line.split(" "))
        return self

    def _take(self, words):
        if words[0] == "S":
            _, key, sha256, size, _ = words
            self.sent[key] = (sha256, int(size))
            self.key_of[sha256] = key
        elif words[0] == "E":
            _, key, kind, sha256 = words
            self.expected[key] = (kind, sha256)
        elif words[0] == "I":
            self.dropped[words[1]] = int(words[2])
        elif words[0] == "A":
            _, key, status, document, time_ns = words
            if status == "202":
                self.acks.append(Ack(key, document, int(time_ns)))
                self.answered.setdefault(key, set()).add(document)
            elif status not in ("429", "503", "507"):
                self.refused.append((key, int(status)))

    def drop_acks_after(self, time_ns, first):
        """Takes back the promises from number `first` on that came after a power cut had begun.

        Gives how many.  The documents may exist or not; what the sender believes no longer counts.
        """
        self.dropped = {key: at for key, at in self.dropped.items() if at <= time_ns}
        kept, dropped = [], 0
        for ack in self.acks[first:]:
            if ack.time_ns <= time_ns:
                kept.append(ack)
            else:
                dropped += 1
        self.acks[first:] = kept
        return dropped
