"""A private MariaDB server for tests.

    with Server() as maria:
        maria.sql("create table t (id int)")
        maria.kill_hard()
        maria.start()

It listens on 127.0.0.1, at a port of its own, and on a socket in a folder of its own; it is a child of this
process and ends with it.  It has one database, `waybill`, and the user `hub` with the password `open`.  What it
writes is not synced: tests end processes, never the machine.  As root it runs as user mysql.
"""
import atexit
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import postgres
from peers import free_port, stop_whole

DATABASE, USER, PASSWORD = "waybill", "hub", "open"
PR_SET_PDEATHSIG = 1


class MariaError(Exception):
    """The server did not do what it was told; the text says what it printed."""


class Server:
    """One server: made and started in the constructor."""

    def __init__(self):
        self.port = free_port()
        self.socket_dir = tempfile.mkdtemp(prefix="maria-", dir="/tmp")
        self.directory = tempfile.mkdtemp(prefix="mariadata-", dir=postgres.unsynced_folder())
        self.user = pwd.getpwnam("mysql") if os.getuid() == 0 else None
        self.process, self.more = None, []  # more: words for the server, from its next start on
        self.socket = os.path.join(self.socket_dir, "sock")
        self.log_path = os.path.join(self.socket_dir, "log")
        atexit.register(self.close)
        for path in (self.socket_dir, self.directory):
            if self.user is not None:
                os.chown(path, self.user.pw_uid, self.user.pw_gid)
        self._install()
        self.start()
        self.sql(f"create database {DATABASE}; create user {USER}@'127.0.0.1' identified by '{PASSWORD}'; "
                 f"grant all on {DATABASE}.* to {USER}@'127.0.0.1'", database="")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def dsn(self, password=PASSWORD, port=None):
        """The connection string of the configuration."""
        return (f"Driver=MariaDB Unicode;Server=127.0.0.1;Port={port or self.port};Database={DATABASE};"
                f"UID={USER};PWD={password}")

    def sql(self, text, database=DATABASE):
        """Run SQL by the client; returns the rows as tab-separated text."""
        got = subprocess.run(
            ["mariadb", "--no-defaults", "-N", "-B", "--raw", "--default-character-set=utf8mb4",
             "-S", self.socket, "-u", "root", "-e", text, database],
            capture_output=True, text=True, check=False)
        if got.returncode != 0:
            raise MariaError(got.stderr.strip())
        return got.stdout.rstrip("\n")

    def start(self, timeout=600):
        """Start it and wait until it answers."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                ["mariadbd", "--no-defaults", f"--datadir={self.directory}", f"--socket={self.socket}",
                 f"--port={self.port}", "--bind-address=127.0.0.1", f"--pid-file={self.socket_dir}/pid",
                 "--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=32M",
                 "--innodb-log-file-size=16M", "--character-set-server=utf8mb4", "--skip-name-resolve",
                 "--max-allowed-packet=80M", *self.more],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=self._die_with_parent, cwd="/", **self._as_user())
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.sql("select 1", database="")
                return
            except MariaError as e:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise MariaError(f"the server does not start: {e}\n{self.log_tail()}") from e
            time.sleep(0.05)

    def kill_hard(self):
        """As if the machine lost the server at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def use_tls(self, cert, key):
        """From its next start on it offers TLS, with this certificate."""
        for source, name in ((cert, "cert.pem"), (key, "key.pem")):
            path = os.path.join(self.socket_dir, name)
            shutil.copyfile(source, path)
            os.chmod(path, 0o600)
            if self.user is not None:
                os.chown(path, self.user.pw_uid, self.user.pw_gid)
            self.more.append(f"--ssl-{name.split('.')[0]}={path}")

    def freeze(self):
        """It stands still; thaw() lets it go on."""
        stop_whole(self.process.pid)

    def thaw(self):
        """It goes on."""
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        """Stop it and remove its files."""
        atexit.unregister(self.close)
        self.kill_hard()
        shutil.rmtree(self.socket_dir, ignore_errors=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def log_tail(self, lines=30):
        """The end of its log."""
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-lines:])

    def _as_user(self):
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    def _install(self):
        made = subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={self.directory}", "--auth-root-authentication-method=normal",
             "--skip-test-db", "--skip-name-resolve", f"--tmpdir={self.socket_dir}",
             *(["--user=mysql"] if self.user else [])],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/")
        if made.returncode != 0:
            raise MariaError("mariadb-install-db: " + made.stdout + made.stderr)

    @staticmethod
    def _die_with_parent():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
