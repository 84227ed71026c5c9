"""waybill probe: each planted fault is named with its remedy, healthy ways pass, and nothing is sent, taken or left.

One node has an endpoint or a gateway for every fault; the servers behind them really run.
"""
import contextlib
import json
import re
import shutil
import signal
import socket
import threading

import pytest

import ftp_peer
import smtp_peer
import sshd
import vsftpd
from fake_api import FakeApi, Reply
from moved_clock import MovedClock
from peers import free_ports
from rig.receiver import Certificates, Receiver
from running_node import Node, clean_environment
from s3_client import S3Error
from swift import Swift
from test_43_mllp_out import Receiver as Lab
from test_87_rights import DENIED, make_role, somebody
from wire import wait_until

BUCKET = "orders"
SECRET = "wr0ng-secret"
SOON = {"connect_timeout": "2s", "timeout": "2s"}  # for those that never answer
pytestmark = [pytest.mark.skipif(bool(sshd.missing()), reason=str(sshd.missing()))]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """All servers."""
    with contextlib.ExitStack() as stack:
        yield World(stack, tmp_path_factory.mktemp("world"))


class Silent:
    """Takes connections and never says anything."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.taken = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.taken.append(self.listener.accept()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.taken:
            one.close()


class World:
    """The other sides, healthy and not."""

    def __init__(self, stack, folder):
        folder.chmod(0o755)
        self.closed = free_ports(1)[0]
        self.certificates = Certificates(folder / "tls")
        self.https = {kind: stack.enter_context(Receiver(tls=kind, folder=folder / "tls"))
                      for kind in ("good", "expired", "wrong_name")}
        self.silent = stack.enter_context(Silent())
        self.tokens, self.refusing = FakeApi(), FakeApi()
        self.tokens.replies = [Reply({"access_token": "abc", "token_type": "Bearer", "expires_in": 600})]
        self.refusing.replies = [Reply({"error": "invalid_client"}, status=401)]
        self.ssh = stack.enter_context(sshd.Sshd())
        (self.ssh.home / "closed").mkdir()  # root's
        both = folder / "both.pem"
        both.write_text(self.pem("good.pem") + self.pem("good.key"))
        login = {"user": "waybill", "password": "right"}
        self.ftp = ftp_peer.Peer(folder / "ftp")
        self.ftp_reads = ftp_peer.Peer(folder / "ftp_reads", perm="elr")
        self.ftp_tls = ftp_peer.Peer(folder / "ftp_tls", tls=str(both))
        self.ftp_no_data, self.ftp_fixed = ftp_peer.Peer(folder / "ftp_no_data"), ftp_peer.Peer(folder / "ftp_fixed")
        self.ftp_no_data.script(EPSV="500 no", PASV="500 no")
        self.ftp_fixed.script(RNTO="550 not for you")
        self.vsftpd = vsftpd.Server(self.certificates.path("good.pem"), self.certificates.path("good.key"), mkdir=True)
        self.mail = smtp_peer.Peer(folder / "mail", login=login,
                                   tls=[self.certificates.path("good.pem"), self.certificates.path("good.key")])
        self.mail_plain = smtp_peer.Peer(folder / "mail_plain")
        self.lab, self.lab_tls = Lab(), Lab(tls=self.certificates.context("good"))
        for one in (self.ftp, self.ftp_reads, self.ftp_tls, self.ftp_no_data, self.ftp_fixed, self.vsftpd, self.mail, self.mail_plain, self.lab, self.lab_tls,
                    self.tokens, self.refusing):
            stack.callback(one.close)
        self.swift = stack.enter_context(Swift(folder / "swift"))
        wait_until(self.make_bucket, 120, "a bucket")

    def make_bucket(self):
        """Swift may be up before all of its servers are."""
        try:
            self.swift.client().make_bucket(BUCKET)
        except S3Error as e:
            assert e.status == 503, e
            return False
        return True

    def pem(self, name):
        with open(self.certificates.path(name), encoding="ascii") as text:
            return text.read()

    @staticmethod
    def token_url(server):
        return server.url + "/token"

    def seen(self):
        """What the other sides have of us: it must stay as it is."""
        return {"http": [r.requests() for r in self.https.values()],
                "sftp": sorted(str(p) for p in self.ssh.home.rglob("*")),
                "ftp": [sorted(str(p) for p in peer.folder.rglob("root/**/*") if ".waybill" not in p.parts) for peer in
                        (self.ftp, self.ftp_reads, self.ftp_tls, self.ftp_no_data, self.ftp_fixed, self.vsftpd)],
                "mail": [peer.mails() for peer in (self.mail, self.mail_plain)],
                "rcpt": [line for peer in (self.mail, self.mail_plain) for line in peer.log() if line.startswith("rcpt")],
                "lab": [peer.messages for peer in (self.lab, self.lab_tls)],
                "s3": self.swift.client().keys(BUCKET)}


def http(url, **more):
    return {"kind": "http", "url": url, **more}


def oauth2(url):
    return {"token_url": url, "client_id": "us", "client_secret": SECRET}


def sftp(w, folder=None, **more):
    return {"kind": "sftp", "url": w.ssh.url(folder), "password": sshd.PASSWORD, "host_key": w.ssh.print(), "name": "x",
            **more}


def ftp(w, peer=None, folder="in", **more):
    port = (peer or w.ftp).port
    return {"kind": "ftp", "url": f"ftp://127.0.0.1:{port}/{folder}", "user": "waybill", "password": "right", **more}


def ftp_in(w, peer=None, folder="in", **more):
    """A gateway that looks once."""
    return {**ftp(w, peer, folder), "every": "1h", "after": "delete", **more}


def vsftpd_way(w, ca, **more):
    return {"kind": "ftp", "url": f"ftp://127.0.0.1:{w.vsftpd.port}/in", "tls": {"ca": ca}, **more}


def smtp(url, **more):
    return {"kind": "smtp", "url": url, "from": "a@example.org", "to": "b@example.org", **more}


def s3(w, **more):
    return {"kind": "s3", "url": w.swift.url, "bucket": BUCKET, "access_key": w.swift.access_key,
            "secret_key": w.swift.secret_key, **more}


def mllp(address, **more):
    return {"kind": "mllp", "address": address, **more}


def healthy(w, ca):
    """Ways that are right."""
    return {
        "file-good": {"kind": "file", "path": "./out"},
        "http-good": http(w.https["good"].url("/in"), tls={"ca": ca}),
        "http-token": http(w.https["good"].url("/in"), tls={"ca": ca}, oauth2=oauth2(w.token_url(w.tokens))),
        "sftp-good": sftp(w),
        "sftp-any": sftp(w, host_key="any"),
        "ftp-good": ftp(w),
        "ftp-tls": ftp(w, w.ftp_tls, tls={"ca": ca}),
        "ftp-vsftpd": vsftpd_way(w, ca),
        "smtp-good": smtp(f"smtp://127.0.0.1:{w.mail.port}", user="waybill", password="right", tls={"ca": ca}),
        "s3-good": s3(w),
        "mllp-good": mllp(w.lab.address),
        "mllp-tls": mllp(w.lab_tls.address, tls={"ca": ca}),
    }


def broken(w, ca):
    """name: (the endpoint, the step that fails, words of the reason, words of the remedy)."""
    known = "SHA256:" + "A" * 43
    return {
        "http-name": (http("https://no-such-host.invalid/"), "name", "no-such-host.invalid", "DNS"),
        "http-port": (http(f"https://127.0.0.1:{w.closed}/"), "connect", f"port {w.closed}", "firewalls"),
        "http-hung": (http(f"https://127.0.0.1:{w.silent.port}/", **SOON), "TLS", "does not answer to TLS in time", "stuck"),
        "http-authority": (http(w.https["good"].url("/")), "TLS", "signed by ca", "tls: { ca"),
        "http-expired": (http(w.https["expired"].url("/"), tls={"ca": ca}), "TLS", "has expired, on 2020-02-01", "renew it"),
        "http-other": (http(w.https["wrong_name"].url("/"), tls={"ca": ca}), "TLS", "is for other.example", "use a name"),
        "http-barred": (http("http://169.254.169.254/"), "connect", "link-local", "`egress`"),
        "http-secret": (http(w.https["good"].url("/"), headers={"X-Key": "${secret:nobody-set-it}"}), "settings", "nobody-set-it",
                        "waybill secret add"),
        "token-down": (http(w.https["good"].url("/"), tls={"ca": ca}, oauth2=oauth2(f"http://127.0.0.1:{w.closed}/")), "token",
                       "token", "token_url"),
        "token-wrong": (http(w.https["good"].url("/"), tls={"ca": ca}, oauth2=oauth2(w.token_url(w.refusing))), "token",
                        "invalid_client", "client_secret"),
        "sftp-port": ({**sftp(w), "url": f"sftp://u@127.0.0.1:{w.closed}/"}, "connect", "refused", "firewalls"),
        "sftp-hung": ({**sftp(w), "url": f"sftp://u@127.0.0.1:{w.silent.port}/", **SOON}, "host key", "does not answer", "stuck"),
        "sftp-key": (sftp(w, host_key=known), "host key", w.ssh.print("ed25519"), f'host_key: "{w.ssh.print("ed25519")}"'),
        "sftp-login": (sftp(w, password=SECRET), "login", "refuses the login", "`password`"),
        "sftp-folder": (sftp(w, str(w.ssh.home / "missing")), "folder", "there is no folder", "create it"),
        "sftp-rights": (sftp(w, str(w.ssh.home / "closed")), "rights", "may not create a file", "give the user the right"),
        "ftp-login": (ftp(w, password=SECRET), "login", "refused", "`user`"),
        "ftp-folder": (ftp(w, folder="missing"), "folder", "550", "create the folder"),
        "ftp-rights": (ftp(w, w.ftp_reads), "rights", "550", "give the user the right"),
        "ftp-plain": (ftp(w, tls={"ca": ca}), "TLS", "no encryption", "switch it on"),
        "smtp-plain": (smtp(f"smtp://127.0.0.1:{w.mail_plain.port}", tls={"ca": ca}), "TLS", "no encryption", "switch it on"),
        "smtp-login": (smtp(f"smtp://127.0.0.1:{w.mail.port}", user="waybill", password=SECRET, tls={"ca": ca}), "login",
                       "refused", "`user`"),
        "smtp-hung": (smtp(f"smtp://127.0.0.1:{w.silent.port}", **SOON), "connect", "does not greet", "stuck"),
        "s3-bucket": (s3(w, bucket="nowhere"), "folder", "nowhere is not there", "create the bucket"),
        "s3-secret": (s3(w, secret_key=SECRET), "login", "`secret_key` is not the secret", "`secret_key`"),
        "s3-access": (s3(w, access_key="nobody"), "login", "`access_key`", "`access_key`"),
        "s3-region": (s3(w, region="eu-nowhere-1"), "login", "it is us-east-1 here", "`region`"),
        "mllp-port": (mllp(f"127.0.0.1:{w.closed}"), "connect", f"port {w.closed}", "firewalls"),
        "mllp-authority": (mllp(w.lab_tls.address, tls={}), "TLS", "signed by ca", "tls: { ca"),
    }


def broken_gateways(w, ca):
    """The same of gateways that fetch files."""
    return {
        "ftp-in-name": ({**ftp_in(w), "url": "ftp://no-such-host.invalid/in"}, "name", "no-such-host.invalid", "DNS"),
        "ftp-in-port": ({**ftp_in(w), "url": f"ftp://127.0.0.1:{w.closed}/in"}, "connect", f"port {w.closed}", "firewalls"),
        "ftp-in-hung": ({**ftp_in(w), "url": f"ftp://127.0.0.1:{w.silent.port}/in", "timeout": "2s"}, "connect", "does not greet",
                        "stuck"),
        "ftp-in-plain": (ftp_in(w, tls={"ca": ca}), "TLS", "no encryption", "switch it on"),
        "ftp-in-authority": (ftp_in(w, w.ftp_tls, tls="explicit"), "TLS", "signed by ca", "tls: { ca"),
        "ftp-in-login": (ftp_in(w, password=SECRET), "login", "refused", "`user`"),
        "ftp-in-folder": (ftp_in(w, folder="missing"), "folder", "550", "create the folder"),
        "ftp-in-data": (ftp_in(w, w.ftp_no_data), "folder", "cannot be listed", "ports for data connections"),
        "ftp-in-rights": (ftp_in(w, w.ftp_fixed), "rights", "may not rename there", "550 not for you", "give the user the right"),
        "ftp-in-move": (ftp_in(w, after={"move": "nowhere"}), "rights", "folder of `after.move`", "create that folder"),
    }


def config(endpoints, gateways=None, systems=("hub", "acme")):
    sections = {
        "systems": {name: {} for name in systems},
        "gateways": {"web": {"kind": "http", "auth": "none"}, **(gateways or {})},
        "endpoints": {name: {"system": "hub", **e} for name, e in endpoints.items()},
    }
    return "".join(f"{name}: {json.dumps(content)}\n" for name, content in sections.items())


@pytest.fixture(scope="module")
def ports():
    return free_ports(2)


@pytest.fixture(scope="module")
def node(world, ports, tmp_path_factory):
    """Runs all of them."""
    folder = tmp_path_factory.mktemp("probing") / "node"
    folder.mkdir()
    for name in ("in", "out", "lost-in", "lost-out"):
        (folder / name).mkdir()
    for name in ("ca.pem", "good.pem", "good.key", "expired.pem", "expired.key"):
        (folder / name).write_text(world.pem(name))
    ca = str(folder / "ca.pem")
    endpoints = {**healthy(world, ca), **{name: e for name, (e, *_) in broken(world, ca).items()},
                 "file-lost": {"kind": "file", "path": "./lost-out"},
                 "sftp-frozen": sftp(world, **SOON), "ftp-frozen": ftp(world, **SOON),
                 "http-slow": {**http(f"https://127.0.0.1:{world.silent.port}/"), "connect_timeout": "60s", "timeout": "60s"},
                 "other": {**http(world.https["good"].url("/"), tls={"ca": ca}), "system": "acme"}}
    (world.ftp.inbox / "done").mkdir()
    gateways = {
        "ftp-in": ftp_in(world), "ftp-in-tls": ftp_in(world, world.ftp_tls, tls={"ca": ca}),
        "ftp-in-moves": ftp_in(world, after={"move": "./done"}), "ftp-in-keeps": ftp_in(world, after="keep"),
        "ftp-in-reads": ftp_in(world, world.ftp_reads), "ftp-in-vsftpd": vsftpd_way(world, ca, every="1h", after="delete"),
        **{name: g for name, (g, *_) in broken_gateways(world, ca).items()},
        "drop": {"kind": "file", "path": "./in", "match": "*.xml", "after": "delete", "every": "1s"},
        "drop-lost": {"kind": "file", "path": "./lost-in", "after": "delete", "every": "1s"},
        "lab": {"kind": "mllp", "listen": f"127.0.0.1:{ports[0]}",
                "tls": {"cert": str(folder / "good.pem"), "key": str(folder / "good.key")}},
        "lab-expired": {"kind": "mllp", "listen": f"127.0.0.1:{ports[1]}",
                        "tls": {"cert": str(folder / "expired.pem"), "key": str(folder / "expired.key")}},
    }
    one = Node(folder, config=config(endpoints, gateways), options=f"ports: [{ports[0]}, {ports[1]}]")
    (folder / "in" / "other.txt").write_text("not for us")
    one.start()
    one.ca = ca
    yield one
    one.stop()
    assert not any("Sanitizer" in line for line in one.stray), one.stray


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left(world, node):
    """Over all tests of this file."""
    before = world.seen()
    yield
    assert world.seen() == before
    assert before["http"] == [[], [], []] and before["lab"] == [[], []] and before["s3"] == [] and not before["rcpt"]
    assert node.documents() == []
    assert sorted(p.name for p in (node.folder / "in").iterdir()) == [".waybill", "other.txt"]
    assert list((node.folder / "out").iterdir()) == []
    text = json.dumps(node.events) + "\n".join(node.stray)
    assert SECRET not in text


def step(name, result, *words):
    """A line of the output."""
    return re.compile(rf"^{re.escape(name)} +{result} .*" + ".*".join(re.escape(w) for w in words), re.M)


def probe(node, name, *more, **options):
    done = node.cli("probe", name, *more, **options)
    assert SECRET not in done.stdout + done.stderr
    return done


# ---- what is right ----------------------------------------------------------------------------

WAYS = {
    "file-good": ("settings", "folder", "rights"),
    "http-good": ("settings", "name", "connect", "TLS"),
    "http-token": ("settings", "name", "connect", "TLS", "token"),
    "sftp-good": ("settings", "name", "connect", "host key", "login", "folder", "rights"),
    "ftp-good": ("settings", "name", "connect", "login", "folder", "rights"),
    "ftp-tls": ("settings", "name", "connect", "TLS", "login", "folder", "rights"),
    "ftp-vsftpd": ("settings", "name", "connect", "TLS", "folder", "rights"),
    "ftp-in": ("settings", "name", "connect", "login", "folder", "clock", "rights"),
    "ftp-in-tls": ("settings", "name", "connect", "TLS", "login", "folder", "clock", "rights"),
    "ftp-in-moves": ("settings", "name", "connect", "login", "folder", "clock", "rights"),
    "ftp-in-keeps": ("settings", "name", "connect", "login", "folder"),
    "ftp-in-reads": ("settings", "name", "connect", "login", "folder"),
    "ftp-in-vsftpd": ("settings", "name", "connect", "TLS", "folder", "rights"),
    "smtp-good": ("settings", "name", "connect", "TLS", "login"),
    "s3-good": ("settings", "name", "connect", "clock", "login", "folder"),
    "mllp-good": ("settings", "name", "connect"),
    "mllp-tls": ("settings", "name", "connect", "TLS"),
    "web": ("settings", "connect"),
    "drop": ("settings", "folder", "rights"),
    "lab": ("settings", "connect", "TLS"),
}


@pytest.mark.smoke
def test_healthy_ways_pass(node):
    for name, steps in WAYS.items():
        done = probe(node, name)
        assert done.returncode == 0, f"{name}:\n{done.stdout}{done.stderr}"
        passed = re.findall(r"^(\S+(?: key)?) +passed ", done.stdout, re.M)
        assert tuple(passed) == steps, done.stdout
        assert "FAILED" not in done.stdout


def test_the_key_of_a_server_is_shown_to_paste(node, world):
    done = probe(node, "sftp-any")
    assert done.returncode == 0 and f'host_key: "{world.ssh.print()}"' in done.stdout, done.stdout


def test_what_cannot_be_tried_without_a_trace_is_left_out(node):
    for name, what in (("http-good", "request"), ("smtp-good", "rights"), ("s3-good", "rights"), ("ftp-in-keeps", "rights")):
        assert step(what, "left out", "not tried").search(probe(node, name).stdout)
    assert step("TLS", "left out", "not used").search(probe(node, "mllp-good").stdout)
    assert step("rights", "left out", "read where they lie").search(probe(node, "ftp-in-reads").stdout)
    assert step("clock", "left out", "does not tell").search(probe(node, "ftp-in-vsftpd").stdout)


# ---- what is wrong ----------------------------------------------------------------------------

def test_each_fault_is_named_with_its_remedy(node, world):
    faults = {**broken(world, node.ca), **broken_gateways(world, node.ca)}
    assert len(faults) > 35
    wrong = []
    for name, (_, where, *words) in faults.items():
        done = probe(node, name)
        if (done.returncode, done.stdout.count("FAILED")) != (1, 1) or not step(where, "FAILED", *words).search(done.stdout):
            wrong.append(f"{name}, {done.returncode}: {where} {words}\n{done.stdout}{done.stderr}")
    assert not wrong, "\n".join(wrong)


def test_a_wrong_clock_is_told_with_the_offset(world, tmp_path):
    clock = MovedClock(tmp_path)
    clock.by(2 * 3600)
    (tmp_path / "node").mkdir()
    ahead = Node(tmp_path / "node", config=config({"s3-clock": s3(world)}), environment=clock.environment)
    ahead.start()
    try:
        done = probe(ahead, "s3-clock")
        assert done.returncode == 1, done.stdout
        found = step("clock", "FAILED", "s behind that of this machine", "NTP").search(done.stdout)
        assert found and 7100 <= int(re.search(r"is (\d+) s", found[0])[1]) <= 7400, done.stdout
    finally:
        ahead.stop()


def test_a_server_that_stands_still(node, world):
    """They take the connection, and nobody answers."""
    world.ssh.freeze()
    try:
        done = probe(node, "sftp-frozen")
    finally:
        world.ssh.thaw()
    assert done.returncode == 1 and step("host key", "FAILED", "does not answer").search(done.stdout), done.stdout
    world.ftp.signal(signal.SIGSTOP)
    try:
        done = probe(node, "ftp-frozen")
    finally:
        world.ftp.signal(signal.SIGCONT)
    assert done.returncode == 1 and step("connect", "FAILED", "does not greet").search(done.stdout), done.stdout
    wait_until(lambda: probe(node, "sftp-good").returncode == 0, 60, "sshd goes on")


def test_folders_that_are_gone(node):
    """None is made anew."""
    wait_until(lambda: probe(node, "drop-lost").returncode == 0, 60, "the gateway has met its folder")
    shutil.rmtree(node.folder / "lost-in")
    done = probe(node, "drop-lost")
    assert done.returncode == 1 and step("folder", "FAILED", "lost-in", "mount the share").search(done.stdout), done.stdout
    (node.folder / "lost-out").rmdir()
    done = probe(node, "file-lost")
    assert done.returncode == 1 and step("folder", "FAILED", "it was there and is gone", "mount").search(done.stdout), done.stdout
    assert not (node.folder / "lost-in").exists() and not (node.folder / "lost-out").exists()
    (node.folder / "lost-out").write_text("a file")
    done = probe(node, "file-lost")
    assert done.returncode == 1 and step("folder", "FAILED", "Not a directory", "a file is in its place").search(done.stdout)


def test_a_certificate_of_our_own_that_has_expired(node):
    done = probe(node, "lab-expired")
    assert done.returncode == 1 and step("TLS", "FAILED", "expired, on 2020-02-01", "renew it").search(done.stdout), done.stdout


# ---- who may, and how many ----------------------------------------------------------------------

def test_it_takes_the_right_for_the_system(node):
    make_role(node, "desk", {"see", "hold"}, ["acme"])
    desk, viewer = somebody(node, "desk"), somebody(node, "viewer")
    assert probe(node, "other", env=as_somebody(desk)).returncode == 0
    for name in ("http-good", "web"):  # of another system, and of none
        done = probe(node, name, env=as_somebody(desk))
        assert done.returncode == 1 and f"no gateway or endpoint {name}" in done.stderr, done.stdout + done.stderr
    done = probe(node, "other", env=as_somebody(viewer))
    assert done.returncode == DENIED and "hold" in done.stderr, done.stdout + done.stderr
    assert probe(node, "nobody").returncode == 1
    lines = node.graphql('{ audit(filter: { action: "probe" }) { items { actor object } } }')["audit"]["items"]
    assert any(line["object"] == "other" and line["actor"].startswith("key ") for line in lines), lines


def as_somebody(one):
    return clean_environment(WAYBILL_TOKEN=one.key)


def test_two_at_a_time(node, world):
    before = len(world.silent.taken)
    both = [threading.Thread(target=probe, args=(node, "http-slow")) for _ in range(2)]
    for one in both:
        one.start()
    wait_until(lambda: len(world.silent.taken) == before + 2, 60, "both are under way")
    done = probe(node, "http-good")
    assert done.returncode != 0 and "2 probes are under way" in done.stderr, done.stdout + done.stderr
    for one in world.silent.taken:
        one.close()
    for one in both:
        one.join()
    assert probe(node, "http-good").returncode == 0


def test_for_programs(node):
    done = probe(node, "http-expired", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert [s["result"] for s in told["steps"]] == ["passed"] * 3 + ["failed"]
    assert told["steps"][-1]["step"] == "TLS" and "2020-02-01" in told["steps"][-1]["text"]
    assert all((s["remedy"] is not None) == (s["result"] == "failed") for s in told["steps"])
