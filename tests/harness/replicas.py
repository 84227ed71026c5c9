"""A PostgreSQL primary and its standby, for tests of failover.

    with replicas.pair() as (primary, standby):
        replicas.make_synchronous(primary)
        primary.kill_hard()
        standby.promote()

The standby is made by `pg_basebackup -R` and streams from the primary.
"""
import contextlib
import subprocess
import tempfile
import time

from postgres import OWNER, UNSYNCED, Cluster, PostgresError, unsynced_folder

NAME = "standby"
SETTINGS = {**UNSYNCED, "wal_receiver_status_interval": "1s", "wal_retrieve_retry_interval": "200ms",
            "wal_sender_timeout": "0", "wal_keep_size": "128MB"}


class Standby(Cluster):
    """A copy of a running primary that follows it; a server of its own once it is promoted."""

    def __init__(self, primary):
        folder = tempfile.mkdtemp(prefix="pgdata-", dir=unsynced_folder())
        self.primary = primary
        super().__init__(directory=folder)  # copies in place of initdb, then starts
        self.keep = False

    def _initdb(self, settings):
        """The data is the primary's, its settings too; only the place of the server is another."""
        source = f"host={self.primary.socket_dir} port={self.primary.port} user={OWNER} application_name={NAME}"
        made = subprocess.run(
            [f"{self.bin}/pg_basebackup", "-D", self.directory, "-d", source, "-R", "-X", "stream", "-c", "fast"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/", **self._as_user())
        if made.returncode != 0:
            raise PostgresError("pg_basebackup: " + made.stderr.strip())

    def promote(self):
        """Makes it a primary: it accepts writes when this returns."""
        if self.sql("SELECT pg_promote(true, 60)") != "t":
            raise PostgresError("the standby was not promoted:\n" + self.log_tail())

    def follow(self, timeout=30):
        """Waits until it streams from its primary."""
        _wait(lambda: self.primary.sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") != "0",
              timeout, "the standby does not follow")


def make_synchronous(primary, timeout=30):
    """From now on a COMMIT of the primary waits for the standby."""
    primary.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'")
    primary.sql("SELECT pg_reload_conf()")
    _wait(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1",
          timeout, "the standby is not synchronous")


def url(servers, database):
    """One address with all the servers, in this order."""
    hosts = ",".join(s.socket_dir.replace("/", "%2F") + f":{s.port}" for s in servers)
    return f"postgres://{OWNER}@{hosts}/{database}"


@contextlib.contextmanager
def pair():
    """A primary and a standby that streams from it."""
    with Cluster(settings=SETTINGS) as primary, Standby(primary) as standby:
        standby.follow()
        yield primary, standby


def _wait(done, timeout, otherwise):
    deadline = time.monotonic() + timeout
    while not done():
        if time.monotonic() > deadline:
            raise PostgresError(otherwise)
        time.sleep(0.02)
