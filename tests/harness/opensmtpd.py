"""OpenSMTPD on a port and in a folder of its own.

It has fixed places for its queue and its socket, so it runs in a mount namespace where these are its own; for that,
and for giving up its rights, it needs root.  Mail is delivered as `nobody` into a folder per recipient.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from peers import free_port

SECONDS = 60
CONFIG = """\
listen on 127.0.0.1 port {port} hostname mail.example.org
smtp max-message-size 200K
action "keep" maildir "{mail}/%{{rcpt.user}}" virtual {{ {users} }}
match from any for domain "example.org" action "keep"
"""
START = """\
mount -t tmpfs -o mode=755 tmpfs /run &&
mkdir -p /var/spool && mount -t tmpfs -o mode=755 tmpfs /var/spool && mkdir -m 711 /var/spool/smtpd &&
exec smtpd -d -f "$1"
"""


def missing():
    """Why it cannot run here; None: it can."""
    if os.geteuid() != 0:
        return "OpenSMTPD needs root"
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/run"],
                          capture_output=True, text=True, check=False)
    return f"no mount namespace: {done.stderr.strip()}" if done.returncode != 0 else None


class Server:
    """Takes mail for these users @example.org."""

    def __init__(self, folder, *users):
        self.port = free_port()
        self.mail = pathlib.Path(tempfile.mkdtemp(prefix="waybill-mail."))  # where nobody may go, too
        self.mail.chmod(0o777)
        conf = pathlib.Path(folder) / "smtpd.conf"
        conf.write_text(CONFIG.format(port=self.port, mail=self.mail,
                                      users=", ".join(f'"{u}@example.org" = nobody' for u in users)))
        self.log = pathlib.Path(folder) / "smtpd.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "-m", "--propagation", "private", "--kill-child", "--fork", "--pid", "--mount-proc",
                 "sh", "-c", START, "smtpd", str(conf)],
                stdout=log, stderr=log, env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin"))
        self.wait(self.listens)

    def listens(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as s:
                return s.recv(3) == b"220"
        except OSError:
            return False

    def wait(self, true):
        until = time.monotonic() + SECONDS
        while not (got := true()):
            assert self.process.poll() is None and time.monotonic() < until, self.log.read_text()
            time.sleep(0.05)
        return got

    def mails(self, user):
        return [p.read_bytes() for p in sorted((self.mail / user / "new").glob("*"))]

    def close(self):
        self.process.kill()  # it is the first process of its namespace: all of them end
        self.process.wait()
        shutil.rmtree(self.mail, ignore_errors=True)
