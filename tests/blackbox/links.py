"""A node with one link between two databases, and what its people see of it."""
import http.client
import http.server
import json
import os
import random
import threading
import time

import mariadb
from tables import Maria, Postgres, Sqlite, casts, row

SECONDS, VERIFY_SECONDS = 120, 600
LINK = "mirror"
TABLE = "item"


class Databases:
    """Makes databases of any kind; servers are started when the first one is asked for, and live as long as the module."""

    def __init__(self, postgres, folder):
        self.postgres, self.folder, self.maria = postgres, folder, None

    def of(self, kind):
        """A new and empty one."""
        if kind == "postgres":
            return Postgres(self.postgres)
        if kind == "sqlite":
            return Sqlite(self.folder / f"base-{os.urandom(6).hex()}.db")
        if self.maria is None:
            self.maria = mariadb.Server()
        return Maria(self.maria)

    def close(self):
        if self.maria is not None:
            self.maria.close()


def pair(databases, source, dest, rows=2000, seed=1):
    """Two databases with the same table, of which the first one has rows."""
    chance = random.Random(seed)
    made = databases.of(source), databases.of(dest)
    for one in made:
        one.make(TABLE)
    made[0].fill(TABLE, [row(chance, n) for n in range(rows)])
    return made


class Other:
    """A database that is in the configuration only."""
    kind = None

    def __init__(self, entry):
        self.entry = entry

    def settings(self):
        return self.entry


def config(source, dest, tables, more=""):
    """The configuration of a link; `tables`: the value of its key, `more`: further lines of the link."""
    return ("databases:\n"
            f"  source: {source.settings()}\n"
            f"  dest: {dest.settings()}\n"
            "links:\n"
            f"  {LINK}:\n    from: source\n    to: dest\n    every: 200ms\n    tables: {tables}\n"
            + ("" if "verify:" in more else "    verify: []\n") + more)


class Link:
    """A link of one table on a node that runs."""

    def __init__(self, make_node, source, dest, table=None, more="", environment=None):
        self.source, self.dest = source, dest
        self.config = config(source, dest, f"{{ {TABLE}: {table or casts(source)} }}", more)
        folders = [one.path.parent for one in (source, dest) if one.kind == "sqlite"]
        self.node = make_node(config=self.config, environment=environment, options=f"folders: {json.dumps(sorted({str(f) for f in folders}))}" if folders else "")
        self.node.start()

    def cli(self, *args, code=0):
        """`waybill repl ARGS`, which ends with this code; what it prints."""
        done = self.node.cli("repl", *args, timeout=VERIFY_SECONDS if "--wait" in args else SECONDS)
        assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def install(self):
        return self.cli("install", LINK, "--yes")

    def state(self, table=TABLE):
        """What `repl status` says of the table."""
        done = self.node.cli("repl", "status", f"{LINK}/{table}", "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def await_state(self, stands, reason=None, table=TABLE, seconds=SECONDS):
        """Until the table stands so."""
        until = time.monotonic() + seconds
        while True:
            seen = self.state(table)
            if seen["stands"] == stands and (reason is None or seen["reason"] == reason):
                return seen
            assert time.monotonic() < until, f"it does not become {stands} {reason}: {seen}\n{self.node.tail(10)}"
            time.sleep(0.1)

    def await_equal(self, table=TABLE, seconds=SECONDS):
        """Until the destination has what the source has, which does not change any more."""
        wanted, until = self.source.rows(table), time.monotonic() + seconds
        while (there := self.dest.rows(table)) != wanted:
            assert time.monotonic() < until, (
                f"missing {sorted(wanted.keys() - there.keys())[:5]} extra {sorted(there.keys() - wanted.keys())[:5]} different "
                f"{[(wanted[k], there[k]) for k in wanted if k in there and wanted[k] != there[k]][:3]} {self.state(table)}")
            time.sleep(0.1)
        return wanted


def location(make_node, database, may="[read, apply, install]", peer="here", options="", name="base"):
    """A node that has a database, and lets a peer ask for it."""
    folders = [str(database.path.parent)] if database.kind == "sqlite" else []
    node = make_node(config=f"databases:\n  {name}: {database.settings()}\n"
                            f"peers:\n  {peer}: {{ may: {{ {name}: {may} }} }}\n",
                     options=options + (f"\nfolders: {json.dumps(folders)}" if folders else ""))
    node.start()
    return node


def peer_key(node, title="here"):
    made = node.cli("key", "add", "--admin", "--title", title, "--role", "peer", "--json")
    assert made.returncode == 0, made
    return json.loads(made.stdout)["key"]


class PeerLink(Link):
    """A link of which one end is a database of another node."""

    def __init__(self, make_node, source, dest, away, other=None, table=None, more="", environment=None, options="", key=None, url=None):
        self.source, self.dest = source, dest
        self.other = other or location(make_node, dest if away == "dest" else source)
        here = source if away == "dest" else dest
        ends = ("base", "berlin/base") if away == "dest" else ("berlin/base", "base")
        self.config = (f"databases:\n  base: {here.settings()}\n"
                       f"peers:\n  berlin: {{ url: \"{url or self.other.url}\", key: {key or peer_key(self.other)} }}\n"
                       f"links:\n  {LINK}:\n    from: {ends[0]}\n    to: {ends[1]}\n    every: 200ms\n"
                       f"    tables: {{ {TABLE}: {table or casts(source)} }}\n"
                       + ("" if "verify:" in more else "    verify: []\n") + more)
        folders = [str(here.path.parent)] if here.kind == "sqlite" else []
        self.node = make_node(config=self.config, environment=environment,
                              options=options + (f"\nfolders: {json.dumps(folders)}" if folders else ""))
        self.node.start()


class Recorder:
    """Stands before a node, and notes how large the messages of its peers are.

        recorder.sizes      bytes of every body, there and back
        recorder.cut        true: nothing comes through
        recorder.lose       asked for each answer to a question: true ends the connection instead
        recorder.waits      how long an answer is kept back
    """

    def __init__(self, url):
        recorder, self.sizes, self.lose, self.waits, self.target = self, [], lambda: False, 0, url
        self.cut = False

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):  # pylint: disable=arguments-differ
                pass

            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if recorder.cut:
                    self.close_connection = True
                    return
                to = http.client.HTTPConnection(recorder.target.split("//")[1], timeout=SECONDS)
                try:
                    to.request("POST", self.path, body, dict(self.headers))
                    answer = to.getresponse()
                    text = answer.read()
                except OSError:
                    self.close_connection = True
                    return
                finally:
                    to.close()
                recorder.sizes += [len(body), len(text)]
                time.sleep(recorder.waits)
                if recorder.lose():
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("date", "connection", "content-length"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
