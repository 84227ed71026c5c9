"""Alerts that are told through an endpoint: as mails, and as files."""
import email
import email.policy
import pathlib
import signal
import sys

import pytest

from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
import smtp_peer  # noqa: E402  pylint: disable=wrong-import-position

SECONDS = 60
CONFIG = """\
systems: {{ acme: {{}}, desk: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ sender: "value:acme", receiver: "json:/to" }} }}
endpoints:
  mail: {{ kind: smtp, system: desk, url: "smtp://127.0.0.1:{port}", from: "waybill@example.com", {mail} }}
  drawer: {{ kind: file, system: desk, path: "./drawer", name: "${{id}}.txt" }}
  hook: {{ kind: http, system: desk, url: "http://127.0.0.1:9/" }}
routes:
  - {{ name: desk, when: {{ receiver: desk }}, do: [ {{ deliver: drawer }} ] }}
alerts: {{ disk: off, to: {{ {to} }} }}
"""
MAIL = "to: ops@example.org, timeout: 60s"
OPS = "ops: { endpoint: mail, retry: { first: 50ms, most: 200ms } }"


def config(peer, to=OPS, mail=MAIL):
    return CONFIG.format(port=peer.port, to=to, mail=mail)


@pytest.fixture
def peer(tmp_path):
    one = smtp_peer.Peer(tmp_path / "peer")
    yield one
    one.close()


def parse(raw):
    return email.message_from_bytes(raw, policy=email.policy.default)


def stray(node):
    """A dead letter: nobody takes what is for `nowhere`."""
    return node.accept("in", '{"to": "nowhere"}')


def notices(node):
    found = node.graphql("{ alerts(cleared: true) { code notices { kind to state attempts error } } }")["alerts"]
    return [n for a in found if a["code"] == "dead_letters" for n in a["notices"]]


def sent(node, count):
    wait_until(lambda: [n["state"] for n in notices(node)].count("sent") == count, SECONDS, f"{count} sent")


@pytest.mark.smoke
@pytest.mark.stores("sqlite", "postgres")
def test_an_alert_comes_as_a_mail(make_node, peer):
    node = make_node(config=config(peer))
    node.start()
    doc = stray(node)
    sent(node, 1)
    (envelope, raw), = peer.mails()
    mail = parse(raw)
    assert envelope["to"] == ["ops@example.org"] and mail["Subject"].startswith("alert dead_letters-raised-")
    assert mail.get_content_type() == "text/plain" and mail["Auto-Submitted"] == "auto-generated"
    text = mail.get_content()
    assert text.startswith("Waybill: dead_letters raised (store)") and "waybill alerts show " in text, text
    assert node.cli("docs", "discard", doc).returncode == 0
    sent(node, 2)
    mail = parse(peer.mails()[1][1])
    assert mail["Subject"].startswith("alert dead_letters-cleared-") and "\ncleared " in mail.get_content()


def test_templates_of_the_endpoint_know_the_alert(make_node, peer):
    node = make_node(config=config(peer, mail=MAIL + ', subject: "[${code}] ${notice}: ${object}"'))
    node.start()
    stray(node)
    sent(node, 1)
    assert parse(peer.mails()[0][1])["Subject"] == "[dead_letters] raised: store"


def test_a_server_that_is_away_is_told_later_and_once(make_node, peer):
    peer.signal(signal.SIGKILL)
    node = make_node(config=config(peer))
    node.start()
    stray(node)
    wait_until(lambda: any(n["attempts"] > 1 and n["error"] for n in notices(node)), SECONDS, "attempts that fail")
    assert "alert.unsent" in {e["event"] for e in node.events}
    node.restart()
    peer.start()
    sent(node, 1)
    assert len(peer.mails()) == 1


def test_other_kinds_and_two_targets(make_node, peer):
    node = make_node(config=config(peer, to=OPS + ", file: { endpoint: drawer, codes: dead_letters }"))
    node.start()
    stray(node)
    sent(node, 2)
    file, = (pathlib.Path(node.config_file).parent / "drawer").glob("dead_letters-raised-*.txt")
    assert file.read_text().startswith("Waybill: dead_letters raised (store)") and len(peer.mails()) == 1


@pytest.mark.parametrize("to, why", [
    ("ops: { endpoint: nobody }", "there is no endpoint `nobody`"),
    ("ops: { endpoint: hook }", "give its address as `url`"),
    ("ops: { endpoint: mail, headers: { A: b } }", "that of endpoint `mail` is its own"),
    ("ops: { endpoint: mail, url: 'http://127.0.0.1/' }", "both `url` and `endpoint`"),
    ("ops: {}", "exactly one of these: url, endpoint"),
])
def test_a_target_that_cannot_be(make_node, peer, to, why):
    node = make_node(config=config(peer, to=to))
    got = node.cli("check", node.config_file)
    assert got.returncode != 0 and why in got.stdout + got.stderr, got.stdout + got.stderr
