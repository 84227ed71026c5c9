"""A private PostgreSQL cluster for tests.

    with Cluster() as pg:
        conninfo = pg.create_database("orders")
        pg.kill_hard()
        pg.start()

The postmaster is a child of this process, listens on a socket in a directory of
its own, and is stopped when the process ends, also when it is killed.  fsync is on
unless UNSYNCED is asked for: what the server says is durable has to be.  As root the
server runs as user postgres, else as the current user.
"""
import atexit
import contextlib
import ctypes
import glob
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from rig.process import free_port, stop_whole  # noqa: E402  pylint: disable=wrong-import-position

OWNER = "waybill"
PR_SET_PDEATHSIG = 1
MEMORY = "/dev/shm"
MEMORY_LEAST = 6 << 30

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "max_prepared_transactions": "0",
    "log_min_messages": "warning",
    "logging_collector": "off",
    # After a kill the server syncs all it has before it starts: one call instead of one a file, which on a
    # busy disk takes minutes.
    "recovery_init_sync_method": "syncfs",
}

# For tests that end processes and never the machine: what a killed server wrote the kernel still
# has, and no slow disk makes a statement run into its time limit.
UNSYNCED = {"fsync": "off", "max_wal_size": "256MB"}

# One server for all suites of a run: whoever starts it names it to the others in SHARED.
# Nobody kills it, so no page is ever half written; and as every new database is a checkpoint, each page
# would be logged whole again and again.
FOR_ALL = {**UNSYNCED, "max_connections": "400", "full_page_writes": "off"}
SHARED = "WAYBILL_TEST_POSTGRES"


class PostgresError(Exception):
    """The server did not do what it was told; the text says what it printed."""


def bin_dir():
    """The programs of the newest installed PostgreSQL."""
    found = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    if not found:
        raise PostgresError("no PostgreSQL server found under /usr/lib/postgresql")
    newest = max(found, key=lambda p: [int(n) for n in re.findall(r"\d+", p)])
    return os.path.dirname(newest)


def unsynced_folder(of_nodes=False):
    """Where files go that need not outlive the machine: memory if there is plenty, else /tmp.
    `of_nodes`: those of whole nodes and of the servers beside them, which need what a disk has."""
    try:
        free = shutil.disk_usage(MEMORY).free
    except OSError:
        free = 0
    return MEMORY if free > MEMORY_LEAST and (not of_nodes or _is_like_a_disk(MEMORY)) else "/tmp"


def _is_like_a_disk(folder):
    """Programs there may be run (in containers often not), and files have attributes (in memory since Linux 6.6)."""
    try:
        with tempfile.TemporaryFile(dir=folder) as f:
            os.setxattr(f.fileno(), "user.waybill", b"x")
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except OSError:
        return False


def children_of(pid):
    """The ids of the direct children of a process, all its threads together."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as f:
                found += [int(n) for n in f.read().split()]
        except OSError:
            pass
    return found


def is_running(pid):
    """True unless the process is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Server:
    """A server that somebody runs: databases in it."""

    def __init__(self, socket_dir, port):
        self.bin = bin_dir()
        self.socket_dir = socket_dir
        self.port = port

    def address(self):
        """For SHARED."""
        return f"{self.socket_dir}:{self.port}"

    def conninfo(self, database="postgres"):
        """Key-value connection string for libpq and psycopg."""
        return f"host={self.socket_dir} port={self.port} user={OWNER} dbname={database}"

    def url(self, database="postgres"):
        """The same as a postgres:// address, as a configuration file names it."""
        host = self.socket_dir.replace("/", "%2F")
        return f"postgres://{OWNER}@{host}:{self.port}/{database}"

    def sql(self, text, database="postgres"):
        """Run SQL by psql, outside any transaction; returns the rows as tab-separated text."""
        got = subprocess.run(
            [f"{self.bin}/psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1",
             "-d", self.conninfo(database), "-c", text],
            capture_output=True, text=True, check=False)
        if got.returncode != 0:
            raise PostgresError(got.stderr.strip())
        return got.stdout.rstrip("\n")

    def dump(self, database):
        """The schema as pg_dump prints it."""
        got = subprocess.run([f"{self.bin}/pg_dump", "-s", "-d", self.conninfo(database)], capture_output=True, text=True,
                             check=False)
        if got.returncode != 0:
            raise PostgresError(got.stderr.strip())
        # Newer versions put a random word into \\restrict lines.
        return "\n".join(line for line in got.stdout.splitlines() if not line.startswith("\\"))

    def create_database(self, name):
        """A new, empty database; returns its connection string."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.conninfo(name)

    def drop_database(self, name):
        """Remove a database and whoever is connected to it."""
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextlib.contextmanager
def shared():
    """The server of this run of all suites, or one for us alone when there is none."""
    address = os.environ.get(SHARED)
    if address:
        folder, _, port = address.rpartition(":")
        yield Server(folder, int(port))
    else:
        with Cluster(settings=UNSYNCED) as cluster:
            yield cluster


class Cluster(Server):
    """One cluster: made in the constructor, running after start()."""

    def __init__(self, directory=None, tcp=False, settings=None, start=True):
        """directory: where the data goes (default: a temporary one, removed at the end; in
        memory if it is not synced anyway and there is room).
        tcp: listen on 127.0.0.1 as well.  settings: added to postgresql.conf."""
        # Socket names are limited to about 100 bytes, so the socket lives apart from the data.
        super().__init__(tempfile.mkdtemp(prefix="pg-", dir="/tmp"), free_port())
        self.process = None
        self.tcp = tcp
        self.user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        self.keep = directory is not None
        self._own(self.socket_dir)
        place = unsynced_folder() if (settings or {}).get("fsync") == "off" else "/tmp"
        self.directory = directory or tempfile.mkdtemp(prefix="pgdata-", dir=place)
        self._own(self.directory)
        self.log_path = os.path.join(self.socket_dir, "log")
        atexit.register(self.close)
        self._initdb({**SETTINGS, **(settings or {})})
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- running it

    def start(self, timeout=600):
        """Start the postmaster and wait until it answers."""
        if self.process is not None:
            raise PostgresError("already started")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [f"{self.bin}/postgres", "-D", self.directory, "-k", self.socket_dir,
                 "-p", str(self.port), "-h", "127.0.0.1" if self.tcp else ""],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=self._die_with_parent, cwd="/", **self._as_user())
        deadline = time.monotonic() + timeout
        while not self.is_ready():
            if self.process.poll() is not None:
                self.process = None
                raise PostgresError("the server ended at start:\n" + self.log_tail())
            if time.monotonic() > deadline:
                self.kill_hard()
                raise PostgresError("the server does not answer:\n" + self.log_tail())
            time.sleep(0.02)

    def is_ready(self):
        """True when the server takes connections."""
        return subprocess.run(
            [f"{self.bin}/pg_isready", "-q", "-h", self.socket_dir, "-p", str(self.port)],
            check=False).returncode == 0

    def stop(self, timeout=120):    # it writes everything out first: a busy disk takes its time
        """An orderly stop: sessions are ended, a checkpoint is written."""
        self._end(signal.SIGINT, timeout)

    def stop_immediate(self, timeout=60):
        """pg_ctl -m immediate: no checkpoint, the next start recovers."""
        self._end(signal.SIGQUIT, timeout)

    def kill_hard(self):
        """As if the machine lost the server at once.  The postmaster is stopped first, so
        that it starts nothing new; its backends outlive a killed postmaster for seconds
        and could still commit, so they go before it."""
        if self.process is None:
            return
        pid = self.process.pid
        stop_whole(pid)
        backends = children_of(pid)
        for backend in backends:
            _kill(backend, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        deadline = time.monotonic() + 10
        while any(is_running(b) for b in backends):
            if time.monotonic() > deadline:
                raise PostgresError("backends do not die")
            time.sleep(0.005)

    def freeze(self):
        """Stop every process of the server where it stands; thaw() lets them go on.  First the one that starts others."""
        stop_whole(self.process.pid)
        for backend in children_of(self.process.pid):
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # it has just ended
                stop_whole(backend)

    def thaw(self):
        """Let the processes go on."""
        for backend in children_of(self.process.pid):
            _kill(backend, signal.SIGCONT)
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self):
        """Stop the server and remove what the constructor made."""
        atexit.unregister(self.close)
        try:
            self.stop_immediate(timeout=10)
        except PostgresError:
            self.kill_hard()
        shutil.rmtree(self.socket_dir, ignore_errors=True)
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    # -- inside

    def log_tail(self, lines=30):
        """The end of the server's log."""
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as f:
                return "".join(f.readlines()[-lines:])
        except OSError:
            return ""

    def _own(self, path):
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)
        return path

    def _as_user(self):
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid,
                "extra_groups": os.getgrouplist("postgres", self.user.pw_gid)}

    @staticmethod
    def _die_with_parent():
        # SIGQUIT is PostgreSQL's immediate stop.  The parent is the thread that calls
        # start(): call it from one that lasts.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)

    def _initdb(self, settings):
        if os.path.exists(os.path.join(self.directory, "PG_VERSION")):
            return
        made = subprocess.run(
            [f"{self.bin}/initdb", "-D", self.directory, "-U", OWNER, "-A", "trust",
             "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/",
            **self._as_user())
        if made.returncode != 0:
            raise PostgresError("initdb: " + made.stderr.strip())
        with open(os.path.join(self.directory, "postgresql.conf"), "a", encoding="utf-8") as f:
            f.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _end(self, signo, timeout):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signo)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired as e:
            raise PostgresError("the server does not stop:\n" + self.log_tail()) from e
        self.process = None


def _kill(pid, signo):
    try:
        os.kill(pid, signo)
    except ProcessLookupError:
        pass
