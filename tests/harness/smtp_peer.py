#!/usr/bin/python3
"""A mail server for tests: aiosmtpd in a process of its own, so that it can be stopped and killed.

    smtp_peer.py FOLDER       reads FOLDER/options.json once, FOLDER/script.json before each command

What it accepts is FOLDER/N.eml with FOLDER/N.json; what happens is a line of FOLDER/log.  options: port, tls
(certificate, key), implicit, login (user, password or a list of them, token).  script: `most` [mails of a connection, the
answer to the sender of one more: a 421 closes it], `rcpt` {address: answer}, `rset` an answer ("cut" closes the
connection), `data` a list of answers, the first of which is used up by each mail and the last one stays; "swallow" stores the mail and
never answers, "drop" closes the connection after it, "later" answers when FOLDER/go exists.
"""
import asyncio
import base64
import json
import pathlib
import signal
import ssl
import subprocess
import sys
import time

from aiosmtpd.smtp import SMTP, AuthResult

SECONDS = 60


class Handler:
    """What aiosmtpd calls."""

    def __init__(self, folder, options):
        self.folder, self.login = folder, options.get("login")
        self.count = len(list(folder.glob("*.eml")))
        self.mails = 0

    def log(self, text):
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            log.write(text + "\n")

    def script(self):
        path = self.folder / "script.json"
        return json.loads(path.read_text()) if path.exists() else {}

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        self.log("ehlo")
        session.host_name = hostname
        return responses

    async def handle_RSET(self, server, session, envelope):
        self.log("rset")
        answer = self.script().get("rset", "250 OK")
        if answer == "cut":
            server.transport.abort()
        return answer

    async def handle_MAIL(self, server, session, envelope, address, options):
        most, answer = self.script().get("most", [None, None])
        if most is not None and getattr(session, "served", 0) >= most:
            self.log(f"no more {answer}")
            if answer.startswith("421"):
                asyncio.get_running_loop().call_soon(server.transport.close)
            return answer
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        self.log(f"rcpt {address}")
        answer = self.script().get("rcpt", {}).get(address)
        if answer is not None:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    def store(self, session, envelope):
        self.count += 1
        (self.folder / f"{self.count}.json").write_text(json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "tls": session.ssl is not None,
            "login": session.auth_data.decode() if session.auth_data else None}))
        part = self.folder / f"{self.count}.part"
        part.write_bytes(envelope.content)
        part.rename(self.folder / f"{self.count}.eml")

    async def handle_DATA(self, server, session, envelope):
        answers = self.script().get("data", ["ok"])
        answer = answers[min(self.mails, len(answers) - 1)]
        self.mails += 1
        self.log(f"data {envelope.rcpt_tos[0]} {answer}")
        if answer[0] in "45":
            return answer
        self.store(session, envelope)
        session.served = getattr(session, "served", 0) + 1
        if answer == "swallow":
            await asyncio.sleep(3600)
        if answer == "drop":
            server.transport.abort()
        while answer == "later" and not (self.folder / "go").exists():
            await asyncio.sleep(0.02)
        return f"250 2.0.0 queued as {self.count}"

    async def auth_XOAUTH2(self, server, args):
        said = base64.b64decode(args[1]) if len(args) > 1 else await server.challenge_auth("")
        user, token = self.login["user"], self.login.get("token")
        good = said == f"user={user}\x01auth=Bearer {token}\x01\x01".encode()
        self.log(f"auth XOAUTH2 {good}")
        return AuthResult(success=good, handled=False, auth_data=user.encode() if good else None)

    def authenticate(self, server, session, envelope, mechanism, data):
        user, password = data.login.decode(), data.password.decode()
        right = (self.login or {}).get("password")
        good = self.login is not None and user == self.login["user"] and password in (right if isinstance(right, list) else [right])
        self.log(f"auth {mechanism} {good}")
        return AuthResult(success=good, handled=False, auth_data=user.encode() if good else None)


def serve(folder):
    options = json.loads((folder / "options.json").read_text())
    handler = Handler(folder, options)
    context = None
    if options.get("tls"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*options["tls"])
    implicit = options.get("implicit")

    def make():
        more = {}
        if options.get("login"):
            more = {"authenticator": handler.authenticate, "auth_require_tls": False, "auth_required": True}
        if context is not None and not implicit:
            more["tls_context"] = context
        return SMTP(handler, hostname="peer.example", data_size_limit=options.get("size", 32 << 20), loop=loop, **more)

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    server = loop.run_until_complete(loop.create_server(
        make, options.get("address", "127.0.0.1"), options.get("port", 0), ssl=context if implicit else None))
    (folder / "port.part").write_text(str(server.sockets[0].getsockname()[1]))
    (folder / "port.part").rename(folder / "port")
    loop.run_forever()


class Peer:
    """The server as a test sees it."""

    def __init__(self, folder, **options):
        self.folder, self.options, self.process = pathlib.Path(folder), options, None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self):
        (self.folder / "options.json").write_text(json.dumps(self.options))
        (self.folder / "port").unlink(missing_ok=True)
        self.process = subprocess.Popen(["/usr/bin/python3", __file__, str(self.folder)],
                                        stdout=subprocess.DEVNULL, stderr=open(self.folder / "stderr", "ab"))
        self.wait(lambda: (self.folder / "port").exists())
        self.port = self.options["port"] = int((self.folder / "port").read_text())

    def wait(self, true):
        until = time.monotonic() + SECONDS
        while not true():
            assert self.process.poll() is None and time.monotonic() < until, (self.folder / "stderr").read_text()
            time.sleep(0.02)

    def script(self, **script):
        part = self.folder / "script.part"
        part.write_text(json.dumps(script))
        part.rename(self.folder / "script.json")

    def log(self):
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def mails(self):
        """[(envelope, bytes)] in the order in which they came."""
        found = sorted(self.folder.glob("*.eml"), key=lambda p: int(p.stem))
        return [(json.loads(p.with_suffix(".json").read_text()), p.read_bytes()) for p in found]

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
