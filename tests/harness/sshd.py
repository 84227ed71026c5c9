#!/usr/bin/python3
"""OpenSSH's server on a private port, with a user of its own.

    with Sshd() as server: server.port; server.folder; server.password; server.print("ed25519"); server.log()

The user and its password exist only in the mount namespace of the server: /etc/passwd and /etc/shadow are
covered by copies.  The server is the first process of a PID namespace, so whatever it started ends with it.
It needs root; missing() says what is not there.
"""
import atexit
import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from peers import free_port  # noqa: E402  pylint: disable=wrong-import-position

SSHD = "/usr/sbin/sshd"
SECONDS = 60
USER, UID = "sftpu", 47110
PASSWORD = "correct horse"
HOST_KEYS = ("ed25519", "ecdsa", "rsa")

CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
PidFile none
AuthorizedKeysFile {home}/keys
StrictModes no
UseDNS no
LogLevel VERBOSE
MaxStartups 1000
MaxSessions 1000
LoginGraceTime 600
Subsystem sftp internal-sftp
"""


def missing():
    """Why there can be no such server here, or None."""
    if os.geteuid() != 0:
        return "needs root, to change users"
    tried = subprocess.run(["unshare", "-m", "-p", "--fork", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "needs namespaces of mounts and processes"


def keygen(path, kind, *more, passphrase=""):
    bits = ["-b", "2048"] if kind == "rsa" else []
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *bits, "-N", passphrase, "-C", "", "-f", str(path), *more], check=True)
    return path


@functools.cache
def host_keys():
    """A folder with keys for all servers of this process: making one takes its time."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-sshd-keys-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for kind in HOST_KEYS:
        keygen(folder / f"host_{kind}", kind)
    return folder


class Sshd:
    """`options`: more lines of its configuration; `pam`: passwords are asked for by PAM; `at`: where its folder is."""

    def __init__(self, options="", pam=False, at=None):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="waybill-sshd-", dir=at))
        self.base.chmod(0o755)
        self.home = self.base / "home"
        self.folder = self.home / "out"  # where documents go
        self.folder.mkdir(parents=True)
        for path in (self.home, self.folder):
            os.chown(path, UID, UID)
        self.password = PASSWORD
        self.user = USER
        self.options, self.pam = options, pam
        self.port = free_port()
        self.process = None
        (self.home / "keys").write_text("")
        for key in host_keys().iterdir():
            shutil.copy(key, self.base)
        self.write_accounts()
        self.start()

    # -- what it is made of

    def write_accounts(self):
        user = f"{USER}:x:{UID}:{UID}::{self.home}:/bin/sh\n"
        (self.base / "passwd").write_text(pathlib.Path("/etc/passwd").read_text() + user)
        self.set_password(PASSWORD)
        (self.base / "pam").write_text("auth required pam_unix.so\naccount required pam_permit.so\n"
                                       "session required pam_permit.so\n")

    def set_password(self, password):
        """Also while it runs: it is asked at every login."""
        made = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=password, capture_output=True, text=True,
                              check=True).stdout.strip()
        shadow = pathlib.Path("/etc/shadow").read_text()
        (self.base / "shadow").write_text(shadow + f"{USER}:{made}:19000:0:99999:7:::\n")

    def write_config(self):
        lines = CONFIG.format(port=self.port, home=self.home)
        lines += "".join(f"HostKey {self.base}/host_{kind}\n" for kind in HOST_KEYS)
        lines += ("UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication yes\n" if self.pam else
                  "UsePAM no\n")
        (self.base / "sshd_config").write_text(lines + self.options)

    def new_host_keys(self):
        """From the next start on it is another server."""
        for kind in HOST_KEYS:
            (self.base / f"host_{kind}").unlink()
            (self.base / f"host_{kind}.pub").unlink()
            keygen(self.base / f"host_{kind}", kind)

    def print(self, kind="ed25519"):
        """The fingerprint of one of its keys."""
        told = subprocess.run(["ssh-keygen", "-lf", str(self.base / f"host_{kind}.pub")], capture_output=True,
                              text=True, check=True)
        return told.stdout.split()[1]

    def allow(self, key):
        """A login with this private key."""
        with open(self.home / "keys", "a", encoding="ascii") as keys:
            keys.write(pathlib.Path(f"{key}.pub").read_text())

    def url(self, folder=None, port=None):
        return f"sftp://{USER}@127.0.0.1:{port or self.port}{folder or self.folder}"

    # -- running it

    def start(self):
        os.makedirs("/run/sshd", exist_ok=True)
        self.write_config()
        covers = [("passwd", "/etc/passwd"), ("shadow", "/etc/shadow"), ("pam", "/etc/pam.d/sshd")]
        script = "".join(f"mount --bind '{self.base}/{own}' {theirs} && " for own, theirs in covers)
        self.process = subprocess.Popen(
            ["unshare", "-m", "-p", "--fork", "--kill-child=KILL", "sh", "-c",
             script + f"exec {SSHD} -D -f '{self.base}/sshd_config' -E '{self.base}/log'"])
        until = time.monotonic() + SECONDS
        while True:
            assert self.process.poll() is None and time.monotonic() < until, f"no sshd:\n{self.log()}"
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)

    def processes(self):
        """The ids of all its processes, as this namespace knows them."""
        children = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
        found, todo = [], [self.process.pid]
        while todo:
            below = children.get(todo.pop(), [])
            found += below
            todo += below
        return found

    def signal(self, signo):
        for pid in self.processes():
            try:
                os.kill(pid, signo)
            except ProcessLookupError:
                pass

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """At once, with all connections."""
        if self.process is None:
            return
        ends = self.processes()
        self.process.kill()  # and so its children, by --kill-child
        self.process.wait()
        self.process = None
        until = time.monotonic() + SECONDS
        while any(os.path.exists(f"/proc/{pid}") for pid in ends):
            assert time.monotonic() < until, "sshd does not end"
            time.sleep(0.01)

    def close(self):
        self.kill()
        shutil.rmtree(self.base, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- what it saw

    def log(self):
        path = self.base / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def logins(self):
        """How many connections have logged in."""
        return len(re.findall(r"^Accepted \S+ for ", self.log(), re.M))

    def files(self, folder=None):
        """What stands under a name that is not hidden, with its bytes."""
        return {f.name: f.read_bytes() for f in (folder or self.folder).glob("[!.]*") if f.is_file()}

    def left_over(self):
        return sorted(str(f.relative_to(self.home)) for f in self.home.rglob(".*"))
