"""One node under test: its folder, configuration, process, keys and HTTP face."""

import http.client
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from rig.process import RigError, end, free_port, run, spawn, wait_for

READY_SECONDS = 30
GATEWAY = "orders"


class Node:
    """A `waybill serve` that can be started, killed and started again on the same port."""

    def __init__(self, binary, folder, data=None, store=None, limits=None, gateway=None,
                 environment=None, more_gateways="", more=""):
        """`more` is the rest of the configuration: systems, endpoints, routes."""
        self.binary = Path(binary)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = Path(data or self.folder / "data")
        self.store = store
        self.on_sqlite = store is None
        self.log = self.folder / "log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = dict(environment or {})
        self.process = None
        self.key = None
        self.config = self.folder / "waybill.yaml"
        self.config.write_text(self._configuration(store, limits or {}, gateway or {}) +
                               more_gateways + more)

    def _configuration(self, store, limits, gateway):
        node_limits = {"disk_reserve": "16 MiB", "commit_queue": 4096, **limits}
        text = f"node:\n  listen: 127.0.0.1:{self.port}\n  data: {self.data}\n"
        text += "  monitors: [127.0.0.1]\n"
        text += f"  folders: [{self.folder.parent}, {self.data.parent}]\n"
        if store:
            text += f"  store: {store}\n"
        text += f"  limits: {_flow(node_limits)}\n"
        settings = {"kind": "http", "auth": "key", "idempotency": "24h", **gateway}
        return text + f"gateways:\n  {GATEWAY}: {_flow(settings)}\n"

    def begin(self, environment=None):
        """Starts the process and returns at once."""
        self.log_from = self.log.stat().st_size if self.log.exists() else 0
        variables = {**os.environ, **self.environment, **(environment or {})}
        with open(self.log, "ab") as log:
            self.process = spawn([self.binary, "serve", "-c", self.config], stderr=log,
                                 stdout=subprocess.DEVNULL, env=variables, cwd=self.folder)

    def is_ready(self):
        """True once the log says so; an early end of the process is a RigError."""
        ended = self.process.poll() is not None
        with open(self.log, "rb") as log:
            log.seek(self.log_from)
            for line in log:
                if b'"node.ready"' in line and line.endswith(b"\n"):
                    return True
        if ended:
            raise RigError(f"the node ended at start with {self.process.returncode}: "
                           f"{self.last_words()}")
        return False

    def wait_ready(self, seconds=READY_SECONDS):
        wait_for("node.ready", self.is_ready, seconds)

    def start(self, environment=None, seconds=READY_SECONDS):
        """Starts and waits until it accepts.  Gives the seconds that took."""
        began = time.monotonic()
        self.begin(environment)
        self.wait_ready(seconds)
        return time.monotonic() - began

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.process is not None:
            end(self.process, signal.SIGKILL)

    def stop(self, seconds=30):
        """SIGTERM; anything but exit code 0 is a RigError."""
        code = end(self.process, signal.SIGTERM, seconds)
        if code != 0:
            raise RigError(f"the node ended with {code} on SIGTERM: {self.last_words()}")

    def last_words(self):
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:400] if lines else "(empty log)"

    def token(self):
        return (self.data / "token").read_text().strip()

    def cli(self, *words, timeout=60):
        """A verb against the running node, with the admin token."""
        return run([self.binary, *words, "--url", self.url], timeout,
                   env={**os.environ, "WAYBILL_TOKEN": self.token()})

    def key_add(self):
        """The key of a sender, kept for later."""
        self.key = json.loads(self.cli("key", "add", GATEWAY, "--json"))["key"]
        return self.key

    def ready(self):
        """What /readyz says now."""
        try:
            return Api(self).get("/readyz")[0] == 200
        except OSError:
            return False


class Api:
    """A keep-alive client of one node; reconnects once when the connection went away."""

    def __init__(self, node, admin=False):
        self.node = node
        self.admin = admin
        self.connection = None

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _headers(self):
        credential = self.node.token() if self.admin else self.node.key
        return {"Authorization": f"Bearer {credential}"} if credential else {}

    def request(self, method, path, body=None, headers=None):
        """An http.client response whose body is still to be read."""
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.node.port,
                                                             timeout=60)
            try:
                self.connection.request(method, path, body, {**self._headers(), **(headers or {})})
                return self.connection.getresponse()
            except (http.client.HTTPException, OSError) as problem:
                self.close()
                if attempt == 2:
                    raise OSError(f"{method} {path}: {problem}") from problem

    def get(self, path):
        response = self.request("GET", path)
        return response.status, response.read()

    def document(self, identity):
        """The JSON of a document, or None when there is none."""
        status, body = self.get(f"/documents/{identity}")
        if status == 404:
            return None
        if status != 200:
            raise RigError(f"GET /documents/{identity}: {status} {body[:200]!r}")
        return _parse(body, f"/documents/{identity}")

    def payload_digest(self, identity, digest):
        """Feeds the payload to a hashlib object.  Gives (status, bytes read)."""
        response = self.request("GET", f"/documents/{identity}/payload")
        size = 0
        while chunk := response.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
        return response.status, size

    def graphql(self, query, variables):
        body = json.dumps({"query": query, "variables": variables})
        response = self.request("POST", "/graphql", body, {"Content-Type": "application/json"})
        text = response.read()
        if response.status != 200:
            raise RigError(f"POST /graphql: {response.status} {text[:300]!r}")
        answer = _parse(text, "/graphql")
        if answer.get("errors"):
            raise RigError(f"POST /graphql: {answer['errors']}")
        return answer["data"]

    def metrics(self):
        """Sums of all series by name."""
        status, body = self.get("/metrics")
        if status != 200:
            raise RigError(f"GET /metrics: {status}")
        sums = {}
        for line in body.decode().splitlines():
            if line and not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                name = name.partition("{")[0]
                sums[name] = sums.get(name, 0.0) + float(value)
        return sums


def _parse(text, where):
    try:
        return json.loads(text)
    except ValueError as problem:
        raise RigError(f"{where} answers with what is not JSON: {problem}: {text[:300]!r}") from None


def _flow(settings):
    """A YAML flow map of plain values and one more level of maps."""
    parts = []
    for name, value in settings.items():
        parts.append(f"{name}: {_flow(value) if isinstance(value, dict) else value}")
    return "{ " + ", ".join(parts) + " }"
