"""Two locations with one link each, which make a table go both ways."""
import json

from both_ways import LINKS, TABLE, Both
from links import SECONDS, peer_key
from recorder import Recorder
from tables import casts

NAMES = ("hamburg", "berlin")
BASES = ("one", "two")


class Apart(Both):
    """Hamburg has `one` and the link a-b, berlin has `two` and b-a; each reaches the other over a wire that can be cut.
    `pull`: the links are at the destinations; `rules`, `backs`, `more`: of both links; `may`: of both peers."""

    def __init__(self, make_node, one, two, rules=("source", "dest"), backs=("b-a", "a-b"), pull=False, more=("", ""),
                 may=("[read, apply, install]",) * 2):
        # pylint: disable=super-init-not-called
        self.one, self.two, self.pull, self.rules, self.backs, self.more, self.may = one, two, pull, rules, backs, more, may
        self.nodes, self.wires, self.keys = [], [], []
        for which, database in enumerate((one, two)):
            folders = [str(database.path.parent)] if database.kind == "sqlite" else []
            node = make_node(config=f"databases:\n  {BASES[which]}: {database.settings()}\n",
                             options=f"folders: {json.dumps(folders)}" if folders else "")
            node.start()
            self.nodes.append(node)
            self.wires.append(Recorder(node.url))
        self.keys = [peer_key(self.nodes[1], "hamburg"), peer_key(self.nodes[0], "berlin")]     # that each one shows
        self.heads = [node.config_file.read_text() for node in self.nodes]
        for which in (0, 1):
            self.apply(which)

    def close(self):
        for wire in self.wires:
            wire.close()

    def text(self, which, rule=None, back=None):
        """Of one location."""
        other = 1 - which
        here, there, database = BASES[which], f"{NAMES[other]}/{BASES[other]}", (self.one, self.two)[other if self.pull else which]
        ends = (there, here) if self.pull else (here, there)
        said = casts(self.one if self.one.kind != "postgres" else self.two)
        assert database is not None
        return (f"peers:\n  {NAMES[other]}:\n    url: \"{self.wires[other].url}\"\n    key: {self.keys[which]}\n"
                f"    may: {{ {here}: {self.may[which]} }}\n"
                f"links:\n  {self.link(which)}:\n    from: {ends[0]}\n    to: {ends[1]}\n    every: 100ms\n"
                f"    back: {back or self.link(other)}\n    conflict: \"{rule or self.rules[which]}\"\n"
                f"    retry: {{ first: 100ms, most: 1s }}\n"
                f"    tables: {{ {TABLE}: {said} }}\n    deletes: {{ most: 1000000, share: 100% }}\n" + self.more[which])

    def link(self, which):
        """The one that a location has."""
        return LINKS[1 - which if self.pull else which]

    def apply(self, which, **more):
        node = self.nodes[which]
        node.config_file.write_text(self.heads[which] + self.text(which, **more))
        done = node.cli("apply", str(node.config_file))
        assert done.returncode == 0, done

    @property
    def node(self):
        return self.nodes[0]

    def node_of(self, link):
        return self.nodes[0 if self.link(0) == link else 1]

    def tail(self):
        return "\n".join(node.tail(10) for node in self.nodes)

    def cut(self, on=True):
        for wire in self.wires:
            wire.cut = on

    def at(self, which, *args, code=0):
        """`waybill repl ARGS` at one location."""
        done = self.nodes[which].cli("repl", *args, timeout=SECONDS)
        assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def cli(self, *args, code=0):
        """Where the link is that is named."""
        named = next(word for word in args if word.split("/")[0] in LINKS)
        return self.at(self.nodes.index(self.node_of(named.split("/")[0])), *args, code=code)

    def state(self, link):
        done = self.node_of(link).cli("repl", "status", f"{link}/{TABLE}", "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def listed(self, which):
        """The rows that have lost, as one location lists them."""
        rows = [json.loads(line) for line in self.at(which, "quarantine", "--json").splitlines()]
        return [r for r in rows if r["kind"] == "conflict"]

    def losers(self, link=None):
        return [r for r in self.listed(0) if link in (None, r["link"])]

    def lists(self):
        """What both list, without what only one of them can say."""
        return [sorted((r["link"], r["table"], r["key"], str(r["values"]), r["why"], r["discarded"]) for r in self.listed(which))
                for which in (0, 1)]
