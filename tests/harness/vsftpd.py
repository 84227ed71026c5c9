"""vsftpd on a port and in a folder of its own, for anonymous users who may write; it needs root."""
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
listen=YES
listen_address=127.0.0.1
listen_port={port}
background=NO
anonymous_enable=YES
local_enable=NO
no_anon_password=YES
ftp_username=ftp
anon_root={root}
write_enable=YES
anon_upload_enable=YES
anon_other_write_enable=YES
anon_world_readable_only=NO
anon_umask=022
seccomp_sandbox=NO
secure_chroot_dir={empty}
xferlog_enable=YES
vsftpd_log_file={log}
anon_mkdir_write_enable={mkdir}
{tls}
"""
TLS = """\
ssl_enable=YES
allow_anon_ssl=YES
force_anon_data_ssl=YES
force_anon_logins_ssl=YES
require_ssl_reuse=YES
rsa_cert_file={cert}
rsa_private_key_file={key}
ssl_ciphers=HIGH
"""


def missing():
    """Why it cannot run here; None: it can."""
    if os.geteuid() != 0:
        return "vsftpd needs root"
    return None


class Server:
    """`inbox` is /in of its users; without `mkdir` they may write and rename files, and make no folders."""

    def __init__(self, cert=None, key=None, mkdir=False):
        self.port = free_port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-ftp."))  # where nobody may go, too
        self.folder.chmod(0o755)
        for name in ("root", "empty"):
            (self.folder / name).mkdir(mode=0o755)
        self.inbox = self.folder / "root" / "in"
        self.inbox.mkdir()
        self.inbox.chmod(0o777)
        conf = self.folder / "vsftpd.conf"
        conf.write_text(CONFIG.format(port=self.port, log=self.folder / "log", root=self.folder / "root", empty=self.folder / "empty", mkdir="YES" if mkdir else "NO",
                                      tls=TLS.format(cert=cert, key=key) if cert else ""))
        self.process = subprocess.Popen(["/usr/sbin/vsftpd", str(conf)], stdout=subprocess.DEVNULL)
        until = time.monotonic() + SECONDS
        while not self.listens():
            assert self.process.poll() is None and time.monotonic() < until, "vsftpd does not listen"
            time.sleep(0.05)

    def listens(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as s:
                return s.recv(3) == b"220"
        except OSError:
            return False

    def logins(self):
        log = self.folder / "log"
        return log.read_text().count(" OK LOGIN") if log.exists() else 0

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
