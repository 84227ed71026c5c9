"""The program under test, and a node of it that runs.

The binary is $WAYBILL_BIN, or build/debug/waybill.  Standard library only.
"""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("WAYBILL_BIN", ROOT / "build" / "debug" / "waybill")).resolve()
START_SECONDS = 120
STOP_SECONDS = 120
CLIENT_VERBS = {
    "apply", "config", "rehearse", "send", "key", "role", "secret", "docs", "dead", "hold", "node", "doctor", "alerts", "backup", "batches",
    "retention", "audit", "user", "probe", "records", "jobs", "repl"}

CONFIG = """\
systems:
  acme: { title: Acme Corp }
  hub:  { title: Hub }
types:
  order: { title: Purchase order }
  "*": {}
gateways:
  open:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" }
  orders:
    kind: http
    auth: key
    extract: { sender: "header:X-Sender", receiver: "value:hub", type: "value:order" }
"""


def clean_environment(**more):
    """The environment without what would point the program at somebody else's node."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("WAYBILL_") and not k.lower().endswith("_proxy")}
    return {**env, **{k: str(v) for k, v in more.items()}}


def run_program(*args, env=None, cwd=None, stdin=None, text=True, timeout=60):
    """The program, once; `stdin` is what it reads (default: nothing)."""
    return subprocess.run([str(BINARY), *map(str, args)], env=env or clean_environment(), cwd=cwd,
                          input=stdin if stdin is not None else ("" if text else b""),
                          capture_output=True, text=text, timeout=timeout, check=False)


class Answer:
    """What came back for one HTTP request."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Node:
    """A `waybill serve` of its own: data folder, configuration, process, log."""

    def __init__(self, folder, config=CONFIG, store=None, options="", environment=None,
                 command=(str(BINARY),), data=None):
        """`options` are more lines for `node:`, `command` is what stands before `serve`."""
        self.folder = pathlib.Path(folder)
        self.data = pathlib.Path(data or self.folder / "data")
        self.command = list(command)
        self.config_file = self.folder / "waybill.yaml"
        self.environment = dict(environment or {})
        self.arguments = []  # more for `serve`
        self.store = store
        self.options = options
        self.process = None
        self.reader = None
        self.url = None
        self.events = []  # every JSON line of the log, over all starts
        self.stray = []   # lines that are no JSON
        self.write_config(config)

    def write_config(self, config):
        """Replace the file that the next start reads."""
        lines = ["node:", f"  data: {json.dumps(str(self.data))}"]
        if "listen:" not in self.options:
            lines.append("  listen: 127.0.0.1:0")
        if "monitors:" not in self.options:
            lines.append("  monitors: [127.0.0.1]")
        if "folders:" not in self.options:  # tests put folders beside that of the node
            lines.append(f"  folders: [{json.dumps(str(self.folder.parent))}]")
        if self.store:
            lines.append(f"  store: {json.dumps(self.store)}")
        lines += ["  " + line for line in self.options.splitlines()]
        self.config_file.write_text("\n".join(lines) + "\n" + config)

    # -- running it

    def start(self, timeout=START_SECONDS):
        """Start and wait until the log says node.ready."""
        seen = len(self.events)
        self.launch()
        try:
            self.await_ready(timeout, since=seen)
        except AssertionError:
            self.kill()
            raise

    def launch(self):
        """Start and do not wait."""
        assert self.process is None, "already started"
        self.process = subprocess.Popen(
            [*self.command, "serve", "-c", str(self.config_file), *self.arguments], cwd=self.folder,
            env=clean_environment(**self.environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self._read_log, args=(self.process.stderr,))
        self.reader.start()

    def await_ready(self, timeout=START_SECONDS, since=0):
        """Wait for node.ready, which says where it listens."""
        ready = self.wait_event("node.ready", timeout, since=since)
        self.url = ("https://" if ready["tls"] else "http://") + ready["listen"]

    def ended(self, timeout=STOP_SECONDS):
        """Wait until the process ends by itself; returns its exit status."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the node did not end within {timeout} s:\n{self.tail()}") from None
        self.process = None
        self.reader.join()
        return code

    def refuse(self, timeout=START_SECONDS):
        """A start that must fail; returns the exit status and what it said."""
        self.stray.clear()
        self.launch()
        return self.ended(timeout), "\n".join(self.stray)

    def _read_log(self, pipe):
        for line in pipe:
            try:
                self.events.append(json.loads(line))
            except ValueError:
                self.stray.append(line.decode(errors="replace").rstrip())
        pipe.close()

    def stop(self, timeout=STOP_SECONDS):
        """SIGTERM; returns the exit status."""
        return self._end(signal.SIGTERM, timeout)

    def kill(self):
        """SIGKILL, as a crash."""
        return self._end(signal.SIGKILL, STOP_SECONDS)

    def _end(self, signo, timeout):
        if self.process is None:
            return None
        self.process.send_signal(signo)
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the node did not stop within {timeout} s:\n{self.tail()}") from None
        finally:
            self.process = None
            self.reader.join()
        return code

    def restart(self):
        """Stop in good order and start on the same data; the port may be another."""
        code = self.stop()
        assert code == 0, f"the node ended with {code}:\n{self.tail()}"
        self.start()

    # -- its log

    def wait_event(self, name, timeout=30, since=0, **fields):
        """The first event of that name (and these fields) at or after index `since`."""
        deadline = time.monotonic() + timeout
        while True:
            for event in self.events[since:]:
                if event.get("event") == name and fields.items() <= event.items():
                    return event
            if self.process is None or self.process.poll() is not None:
                if self.reader is not None:
                    self.reader.join()
                if not any(e.get("event") == name for e in self.events[since:]):
                    raise AssertionError(f"the node ended before {name}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"no event {name} within {timeout} s:\n{self.tail()}")
            time.sleep(0.01)

    def tail(self, lines=30):
        return "\n".join([json.dumps(e) for e in self.events[-lines:]] + self.stray[-lines:])

    # -- talking to it

    @property
    def token(self):
        return (self.data / "token").read_text().strip()

    def request(self, method, path, body=None, headers=None, timeout=30, source=None):
        """One request on a connection of its own; sends exactly these headers.  `source` is an address to send from,
        such as 127.0.0.2."""
        where = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=timeout,
                                                source_address=(source, 0) if source else None)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, token=None):
        """GET, with the admin token unless another (or "") is given."""
        token = self.token if token is None else token
        return self.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})

    def post(self, gateway, body, headers=None):
        """A document into a gateway."""
        return self.request("POST", f"/in/{gateway}", body, headers)

    def accept(self, gateway, body, headers=None):
        """Sends a document that must be taken in; its id."""
        answer = self.post(gateway, body, headers)
        assert answer.status == 202, answer.body
        return answer.json["document"]

    def show(self, doc, fields):
        """Fields of a document, or None."""
        return self.graphql(f"query($id: ID!) {{ document(id: $id) {{ {fields} }} }}", id=doc)["document"]

    def await_state(self, doc, *states, look, seconds=90):
        """Looks until the state is one of these; gives what was seen."""
        until = time.monotonic() + seconds
        while (seen := look(self, doc))["state"] not in states:
            assert time.monotonic() < until, f"{doc} is still {seen}, not {states}\n{self.tail(10)}"
            time.sleep(0.02)
        return seen

    def metrics(self):
        """Every sample of /metrics by its name and labels as they stand there."""
        lines = self.get("/metrics").body.decode().splitlines()
        return {name: float(value) for name, _, value in
                (line.rpartition(" ") for line in lines if not line.startswith("#"))}

    def documents(self):
        """The ids of all documents, newest first."""
        found, after = [], None
        while True:
            page = self.graphql("query($a: String) { documents(first: 200, after: $a)"
                                " { items { id } next } }", a=after)["documents"]
            found += [d["id"] for d in page["items"]]
            after = page["next"]
            if after is None:
                return found

    def add_key(self, gateway):
        """A new key as it is sent, and the id to remove it by."""
        made = self.graphql("mutation($g: String!) { keyAdd(gateway: $g) { id key } }", g=gateway)
        return made["keyAdd"]["key"], made["keyAdd"]["id"]

    def graphql(self, query, **variables):
        """The member `data`; errors are failures of the test."""
        answer = self.request(
            "POST", "/graphql", json.dumps({"query": query, "variables": variables}),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
        assert answer.status == 200, answer.body
        assert not answer.json.get("errors"), answer.json
        return answer.json["data"]

    def cli(self, *args, **options):
        """`waybill ARGS` against this node, with its token; options as for run_program()."""
        args = [str(a) for a in args]
        if args and args[0] in CLIENT_VERBS and "--url" not in args:
            at = args.index("--") if "--" in args else len(args)
            args[at:at] = ["--url", self.url]
        options.setdefault("env", clean_environment(WAYBILL_DATA=self.data))
        options.setdefault("cwd", self.folder)
        return run_program(*args, **options)
