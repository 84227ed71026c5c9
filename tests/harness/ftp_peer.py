#!/usr/bin/python3
"""An FTP server for tests: pyftpdlib in a process of its own, so that it can be stopped and killed.

    ftp_peer.py FOLDER       reads FOLDER/options.json once, FOLDER/script.json before each command

Files are below FOLDER/root, what happens is a line of FOLDER/log.  options: port, tls (one file with certificate and
key), newest (TLS 1.3 and no other), implicit, perm, passwords, rate (bytes per second that it takes, or gives).  script:
{command: answer}; "swallow" does the command and
never answers, "drop" closes the connection after it, "cut" closes the connection before it, "grow" does it and appends to
the file, "replace" is "drop" and writes something else there; any other text is the answer, and nothing is done; "once
TEXT" answers so only once.
"""
import json
import pathlib
import signal
import socket
import subprocess
import sys
import time

from OpenSSL import SSL
from pyftpdlib.authorizers import AuthenticationFailed, DummyAuthorizer
from pyftpdlib.handlers import FTPHandler, PassiveDTP, ThrottledDTPHandler, TLS_DTPHandler, TLS_FTPHandler
from pyftpdlib.servers import FTPServer

SECONDS = 60


class PatientData(TLS_DTPHandler):
    """pyftpdlib closes a data connection on which TLS begins before the command came; libcurl 7.88 begins it at once."""

    def readable(self):
        return self.receive or self._ssl_accepting


class Narrow(PassiveDTP):
    """Bytes that are not read yet wait at their sender: the kernel would take megabytes at once."""

    def listen(self, backlog):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        super().listen(backlog)


class Authorizer(DummyAuthorizer):
    """Several passwords may be right."""

    def __init__(self, passwords):
        super().__init__()
        self.passwords = passwords

    def validate_authentication(self, username, password, handler):
        if not self.has_user(username) or password not in self.passwords:
            raise AuthenticationFailed("Authentication failed.")


def scripted(base, folder, implicit):
    class Handler(base):
        def log_of(self, text):
            with open(folder / "log", "a", encoding="utf-8", errors="replace") as log:
                log.write(text + "\n")

        def handle(self):
            if implicit:
                self.secure_connection(self.ssl_context)
            super().handle()

        def process_command(self, cmd, *args, **kwargs):
            self.log_of(" ".join([cmd, *map(str, args)]))
            path = folder / "script.json"
            script = json.loads(path.read_text()) if path.exists() else {}
            answer = script.get(cmd)
            if (answer or "").startswith("once "):
                answer = script.pop(cmd).removeprefix("once ")
                path.write_text(json.dumps(script))
            if answer == "cut":
                self.close()
            elif answer in ("swallow", "drop", "replace"):
                self.respond = lambda *a, **k: None
                super().process_command(cmd, *args, **kwargs)
                if answer == "replace":
                    pathlib.Path(args[0]).write_bytes(b"newer")
                if answer != "swallow":
                    self.close()
            elif answer == "grow":
                super().process_command(cmd, *args, **kwargs)
                with open(args[0], "ab") as file:
                    file.write(b"+")
            elif answer is not None:
                self.respond(answer)
            else:
                super().process_command(cmd, *args, **kwargs)
    return Handler


def serve(folder):
    options = json.loads((folder / "options.json").read_text())
    authorizer = Authorizer(options.get("passwords", ["right"]))
    authorizer.add_user("waybill", "right", str(folder / "root"), perm=options.get("perm", "elradfmwMT"))
    handler = scripted(TLS_FTPHandler if options.get("tls") else FTPHandler, folder, options.get("implicit"))
    handler.authorizer = authorizer
    handler.auth_failed_timeout = 0
    if options.get("rate"):
        handler.passive_dtp = Narrow
        handler.dtp_handler = type("Slow", (ThrottledDTPHandler,), {"read_limit": options["rate"],
                                                                     "write_limit": options["rate"]})
    if options.get("tls"):
        handler.dtp_handler = PatientData
        handler.certfile = options["tls"]
        handler.tls_control_required = handler.tls_data_required = True
        handler.ssl_context = handler.get_ssl_context()
        if options.get("newest"):
            handler.ssl_context.set_min_proto_version(SSL.TLS1_3_VERSION)
    server = FTPServer(("127.0.0.1", options.get("port", 0)), handler)
    (folder / "port.part").write_text(str(server.address[1]))
    (folder / "port.part").rename(folder / "port")
    server.serve_forever()


class Peer:
    """The server as a test sees it."""

    def __init__(self, folder, **options):
        self.folder, self.options, self.process = pathlib.Path(folder), options, None
        self.inbox = self.folder / "root" / "in"
        self.inbox.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self):
        (self.folder / "options.json").write_text(json.dumps(self.options))
        (self.folder / "port").unlink(missing_ok=True)
        with open(self.folder / "stderr", "ab") as errors:
            self.process = subprocess.Popen(["/usr/bin/python3", __file__, str(self.folder)],
                                            stdout=subprocess.DEVNULL, stderr=errors)
        until = time.monotonic() + SECONDS
        while not (self.folder / "port").exists():
            assert self.process.poll() is None and time.monotonic() < until, (self.folder / "stderr").read_text()
            time.sleep(0.02)
        self.port = self.options["port"] = int((self.folder / "port").read_text())

    def script(self, **script):
        part = self.folder / "script.part"
        part.write_text(json.dumps(script))
        part.rename(self.folder / "script.json")

    def log(self):
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def signal(self, signo):
        self.process.send_signal(signo)
        if signo == signal.SIGKILL:
            self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]))
