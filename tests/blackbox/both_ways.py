"""Two links between two tables, one for each direction, and writers that know which values they have replaced."""
import json
import random
import threading
import time

from links import SECONDS
from tables import CONFLICTS, casts

TABLE = "item"
LINKS = ("a-b", "b-a")


def config(one, two, rules=("source", "dest"), more=("", ""), peer=None):
    """`rules`: `conflict` of both links; `peer`: the entry of the location that has `two`."""
    text = f"databases:\n  one: {one.settings()}\n"
    text += f"peers:\n  berlin: {peer}\nlinks:\n" if peer else f"  two: {two.settings()}\nlinks:\n"
    name = "berlin/two" if peer else "two"
    for link, ends, of, rule, further in zip(LINKS, (("one", name), (name, "one")), (one, two), rules, more):
        said = casts(one if one.kind == "sqlite" else two if two.kind == "sqlite" else one if one.kind == "mariadb" else two)
        text += (f"  {link}:\n    from: {ends[0]}\n    to: {ends[1]}\n    every: 100ms\n    conflict: \"{rule}\"\n"
                 f"    tables: {{ {TABLE}: {said} }}\n    deletes: {{ most: 1000000, share: 100% }}\n" + further)
        assert of is not None
    return text


class Both:
    """A node with both links; `one` and `two` are the databases."""

    def __init__(self, make_node, one, two, rules=("source", "dest"), environment=None, more=("", ""), peer=None):
        self.one, self.two = one, two
        folders = sorted({str(d.path.parent) for d in (one, two) if d.kind == "sqlite"})
        self.node = make_node(config=config(one, two, rules, more, peer), environment=environment,
                              options=f"folders: {json.dumps(folders)}" if folders else "")
        self.node.start()

    def cli(self, *args, code=0):
        done = self.node.cli("repl", *args, timeout=SECONDS)
        assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def tail(self):
        return self.node.tail(10)

    def install(self):
        for link in LINKS:
            self.cli("install", link, "--yes")

    def state(self, link):
        done = self.node.cli("repl", "status", f"{link}/{TABLE}", "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def await_state(self, link, stands, reason=None):
        until = time.monotonic() + SECONDS
        while True:
            seen = self.state(link)
            if seen["stands"] == stands and (reason is None or seen["reason"] == reason):
                return seen
            assert time.monotonic() < until, f"{link} does not become {stands}: {seen}\n{self.tail()}"
            time.sleep(0.1)

    def await_equal(self, seconds=SECONDS):
        """Until both tables are the same; nobody writes."""
        until = time.monotonic() + seconds
        while True:
            one, two = self.one.rows(TABLE), self.two.rows(TABLE)
            if one == two:
                return one
            assert time.monotonic() < until, (
                f"only one {sorted(one.keys() - two.keys())[:5]} only two {sorted(two.keys() - one.keys())[:5]} different "
                f"{[(one[k], two[k]) for k in one if k in two and one[k] != two[k]][:3]} "
                f"{[self.state(link) for link in LINKS]}\n{self.tail()}")
            time.sleep(0.1)

    def await_current(self):
        for link in LINKS:
            self.await_state(link, "current")

    def await_runs(self, count=3):
        """Until both links have run so often from now on."""
        for link in LINKS:
            seen = {self.state(link)["current"]}
            until = time.monotonic() + SECONDS
            while len(seen) <= count:
                assert time.monotonic() < until, self.state(link)
                seen.add(self.state(link)["current"])
                time.sleep(0.05)

    def sent(self):
        """Rows that both links have written and removed so far."""
        seen = [self.state(link) for link in LINKS]
        return [s["written"] + s["removed"] for s in seen]

    def losers(self, link=None):
        """What stands in the quarantine as a conflict, of one or of both links."""
        return [r for name in ([link] if link else LINKS) for r in self._quarantine(name) if r["kind"] == "conflict"]

    def aside(self):
        return [r for name in LINKS for r in self._quarantine(name) if r["kind"] != "conflict"]

    def _quarantine(self, link):
        return [json.loads(line) for line in self.cli("quarantine", link, "--json").splitlines()]


class Knowing:
    """Programs of one side that read a row before they write it: `wrote` has each value that was committed, `knew` each that
    was replaced by somebody who has seen it.  Values are names, each of which is written once; a row that is removed has
    none, so what is not in `knew` must be in the table in the end, or have lost."""

    def __init__(self, database, side, keys=40, threads=3, seed=1, pause=0.02, removes=0.15):
        self.database, self.side, self.keys, self.pause, self.removes = database, side, keys, pause, removes
        self.stopping, self.lock, self.changes, self.failed = threading.Event(), threading.Lock(), 0, []
        self.wrote, self.knew, self.history = {}, set(), []
        self.threads = [threading.Thread(target=self._write, args=(random.Random(seed * 100 + n), n), daemon=True)
                        for n in range(threads)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed

    def await_changes(self, count, seconds=SECONDS):
        until = time.monotonic() + seconds
        while self.changes < count:
            assert time.monotonic() < until and not self.failed, (self.changes, self.failed)
            time.sleep(0.02)

    def _write(self, chance, number):
        db, connection, n = self.database, None, 0
        while not self.stopping.is_set():
            n += 1
            try:
                connection = connection or db.connect()
                self._change(connection, chance, f"{self.side}{number}-{n}")
            except CONFLICTS:
                try:
                    connection.rollback()
                except Exception:  # pylint: disable=broad-except
                    connection = None
            except Exception as e:  # pylint: disable=broad-except
                self.failed.append(repr(e))
                return
            time.sleep(chance.random() * self.pause)
        if connection is not None:
            connection.close()

    def _change(self, connection, chance, name):
        db, key = self.database, chance.randrange(self.keys)
        table, of_key = db.quote(TABLE), f"where {db.quote('id')} = {db.mark}"
        cursor = connection.cursor()
        if db.kind == "sqlite":
            cursor.execute("begin immediate")
        cursor.execute(f"select {db.quote('name')} from {table} {of_key}" + ("" if db.kind == "sqlite" else " for update"), (key,))
        there, new = cursor.fetchone(), None
        if there is None:
            cursor.execute(f"insert into {table} ({db.quote('id')}, {db.quote('name')}, {db.quote('price')}) "
                           f"values ({db.mark}, {db.mark}, {db.mark})", (key, name, chance.randrange(1000)))
            new = name
        elif chance.random() < self.removes:
            cursor.execute(f"delete from {table} {of_key}", (key,))
        else:
            cursor.execute(f"update {table} set {db.quote('name')} = {db.mark}, {db.quote('price')} = {db.mark} {of_key}",
                           (name, chance.randrange(1000), key))
            new = name
        if db.kind != "sqlite":
            time.sleep(chance.choice((0, 0, 0.002, 0.01)))
        connection.commit()
        with self.lock:
            self.changes += 1
            self.history.append((time.time(), key, there and there[0], new))
            if there is not None:
                self.knew.add(there[0])
            if new is not None:
                self.wrote[new] = key


def lost(writers, rows, losers):
    """Values that are nowhere any more, although nobody has replaced them knowingly."""
    kept = {r[1] for r in rows.values()} | {r["values"][1] for r in losers if r["values"]}
    knew = set().union(*(w.knew for w in writers))
    gone = sorted(v for w in writers for v in w.wrote if v not in knew and v not in kept)
    for key in {w.wrote[v] for v in gone for w in writers if v in w.wrote}:
        for step in sorted(h for w in writers for h in w.history if h[1] == key):
            print(*step)
        print("in the end", rows.get(key), [(r["link"], r["values"] and r["values"][1], r["why"]) for r in losers if r["key"] == str(key)])
    return gone
