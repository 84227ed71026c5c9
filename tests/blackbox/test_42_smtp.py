"""Documents that go out as mails: to aiosmtpd, which does as it is told, and to OpenSMTPD."""
import email
import email.policy
import hashlib
import http.client
import json
import pathlib
import shutil
import signal
import sys
import time

import pytest

from rig.receiver import Certificates
from wire import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
import opensmtpd  # noqa: E402  pylint: disable=wrong-import-position
import proxy  # noqa: E402  pylint: disable=wrong-import-position
import smtp_peer  # noqa: E402  pylint: disable=wrong-import-position

SECONDS = 60
CONFIG = """\
systems: {{ acme: {{}}, desk: {{ in_doubt: {policy} }} }}
types: {{ order: {{}} }}
gateways:
  in:
    kind: http
    auth: none
    limits: {{ size: 64 MiB }}
    extract: {{ sender: "value:acme", receiver: "value:desk", type: "value:order",
               attributes: {{ title: [ "json:/title", "value:none" ], mail: [ "json:/mail", "value:ann@example.org" ] }} }}
endpoints:
  desk:
    kind: smtp
    system: desk
    url: "{url}"
    from: "Waybill <waybill@example.com>"
    timeout: {timeout}
    retry: {{ first: 50ms, most: 200ms }}
    breaker: {{ failures: 1000, wait: 200ms }}
    {more}
routes:
  - {{ name: all, do: [ {{ deliver: desk }} ] }}
"""
ONE = "to: ann@example.org"
TWO = "to: [ ann@example.org, bob@example.org ]"


def config(url, more=ONE, policy="resend", timeout="60s"):
    return CONFIG.format(url=url, more=more.replace("\n", "\n    "), policy=policy, timeout=timeout)


@pytest.fixture
def peers(tmp_path):
    """Makes mail servers; all are ended after the test."""
    made = []

    def make(**options):
        made.append(smtp_peer.Peer(tmp_path / f"peer{len(made)}", **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def peer(peers):
    return peers()


@pytest.fixture
def make(make_node):
    """A node with one mail endpoint."""
    def run(peer, more=ONE, environment=None, host="127.0.0.1", scheme="smtp", **rest):
        node = make_node(config=config(f"{scheme}://{host}:{peer.port}", more, **rest), environment=environment or {})
        node.start()
        return node
    return run


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def authority(certificates, tmp_path):
    """The certificate of the authority, where a node may read it."""
    return shutil.copy(certificates.path("ca.pem"), tmp_path)


def tls(certificates, kind):
    return [certificates.path(kind + ".pem"), certificates.path(kind + ".key")]


def look(node, doc):
    return node.show(doc, "state deliveries { id state code message attempts name } timeline { stage outcome message }")


def end(node, doc, *states):
    return node.await_state(doc, *states, look=look, seconds=SECONDS)


def said(seen):
    return "; ".join(line["message"] or "" for line in seen["timeline"])


def until_said(node, doc, words, state="retrying"):
    """It waits, and says why."""
    until = time.monotonic() + SECONDS
    while (seen := look(node, doc))["state"] not in (state, "held") or words not in said(seen):
        assert time.monotonic() < until, f"{words}: {seen}"
        time.sleep(0.02)
    return seen


def parse(raw):
    return email.message_from_bytes(raw, policy=email.policy.default)


def content(raw):
    """Of a mail that is its document."""
    return parse(raw).get_payload(decode=True)


def to(peer):
    return [envelope["to"][0] for envelope, _ in peer.mails()]


# ---- it arrives -----------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.stores("sqlite", "postgres")
def test_a_document_arrives_as_a_mail(make, peer):
    more = ONE + '\nsubject: "order of ${sender}: ${title}"\nname: "${name}"'
    node = make(peer, more)
    body = bytes(range(256)) * 40 + b"\r\n.\r\n.x\n"
    doc = node.accept("in", body, {"Content-Type": "application/x-orders", "Waybill-Name": "order 7.bin"})
    seen = end(node, doc, "delivered")
    (envelope, raw), = peer.mails()
    assert envelope == {"from": "waybill@example.com", "to": ["ann@example.org"], "tls": False, "login": None}
    mail = parse(raw)
    assert mail.get_content() == body and mail.get_content_type() == "application/x-orders"
    assert mail.get_filename() == "order 7.bin" and mail.get_content_disposition() == "attachment"
    assert mail["Subject"] == "order of acme: none" and mail["To"] == "ann@example.org"
    assert mail["From"] == '"Waybill" <waybill@example.com>' or mail["From"] == "Waybill <waybill@example.com>"
    assert mail["Message-ID"] == f"<{doc}.desk@example.com>" and mail["Waybill-Document"] == doc
    assert mail["Auto-Submitted"] == "auto-generated" and mail["Date"].datetime.utcoffset().total_seconds() == 0
    assert not mail.defects and all(not part.defects for part in mail.walk())
    assert "queued as 1" in said(seen)
    assert max(len(line) for line in raw.split(b"\r\n")) <= 78 and b"\n" not in raw.replace(b"\r\n", b"")


def test_texts_are_shown_and_attached_behind_a_text(make, peer):
    node = make(peer)
    doc = node.accept("in", "Grüße\n".encode(), {"Content-Type": "text/plain"})
    end(node, doc, "delivered")
    mail = parse(peer.mails()[0][1])
    assert mail.get_content_disposition() == "inline" and mail.get_content() == "Grüße\n"
    node.write_config(config(f"smtp://127.0.0.1:{peer.port}", ONE + '\nbody: "An order,\\nfrom ${sender}.\\n"'
                             '\nname: "${id}.txt"\nsubject: "Bestellung für ${receiver} " '))
    assert node.cli("apply", node.config_file).returncode == 0
    doc = node.accept("in", b"x" * 1000, {"Content-Type": "text/plain"})
    end(node, doc, "delivered")
    mail = parse(peer.mails()[1][1])
    text, attached = mail.iter_parts()
    assert mail["Subject"] == "Bestellung für desk" and text.get_content().split() == "An order, from acme.".split()
    assert attached.get_filename() == f"{doc}.txt" and attached.get_content() == "x" * 1000
    assert attached.get_content_disposition() == "attachment" and not mail.defects


def test_small_and_large_documents_arrive_whole(make, peer):
    node = make(peer, TWO)
    end(node, node.accept("in", b"."), "delivered")
    assert [parse(raw).get_content() for _, raw in peer.mails()] == [b".", b"."]
    body = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(3 << 15))  # 3 MiB: from the store
    end(node, node.accept("in", body), "delivered")
    assert to(peer) == ["ann@example.org", "bob@example.org"] * 2
    assert [parse(raw).get_content() == body for _, raw in peer.mails()[2:]] == [True, True]
    assert peer.mails()[2][1] == peer.mails()[3][1]  # the same mail for both


# ---- recipients -----------------------------------------------------------------------------------

@pytest.mark.proves("DE7")
@pytest.mark.stores("sqlite", "postgres")
def test_one_of_two_recipients_is_refused(make, peer):
    peer.script(rcpt={"bob@example.org": "550 5.1.1 no such user"})
    node = make(peer, TWO)
    doc = node.accept("in", b"x")
    seen = end(node, doc, "dead")
    delivery, = seen["deliveries"]
    assert delivery["code"] == "rejected" and "1 of 2 recipients have it" in delivery["message"]
    assert "550" in delivery["message"] and "no such user" in delivery["message"] and "bob@example.org" in delivery["message"]
    assert delivery["name"] == "ann@example.org accepted 250, bob@example.org refused 550"
    assert to(peer) == ["ann@example.org"]
    # Mended and retried by a person, it goes to the one who did not have it.
    peer.script()
    assert node.cli("docs", "retry", doc).returncode == 0
    end(node, doc, "delivered")
    assert to(peer) == ["ann@example.org", "bob@example.org"]
    assert parse(peer.mails()[0][1])["Message-ID"] == parse(peer.mails()[1][1])["Message-ID"]


@pytest.mark.proves("DE8")
@pytest.mark.stores("sqlite", "postgres")
def test_a_retry_goes_to_those_who_have_not_accepted(make, peer):
    peer.script(rcpt={"bob@example.org": "450 4.2.1 try again", "eve@example.org": "550 no"})
    node = make(peer, "to: [ ann@example.org, bob@example.org, eve@example.org, joe@example.org, ann@example.org ]")
    doc = node.accept("in", b"x")
    wait_until(lambda: peer.log().count("rcpt bob@example.org") >= 3, SECONDS)
    seen = until_said(node, doc, "450")
    assert "2 of 4 recipients have it" in said(seen)
    node.restart()  # what is known of each is in the store
    again = len(peer.log())
    wait_until(lambda: "rcpt bob@example.org" in peer.log()[again:], SECONDS)
    peer.script()
    end(node, doc, "dead")  # one of them never will
    assert to(peer) == ["ann@example.org", "joe@example.org", "bob@example.org"]
    assert peer.log().count("rcpt eve@example.org") == 1


def test_recipients_come_from_documents(make, peer):
    node = make(peer, 'to: "${mail}"\nsubject: "${title}"\nname: "${name}"')
    good = node.accept("in", json.dumps({"mail": "Bob <bob@example.org>"}), {"Waybill-Name": "x"})
    end(node, good, "delivered")
    assert to(peer) == ["bob@example.org"]
    for mail in ("a@b, c@d", "bob", "a b@c", "bøb@example.org", "<a@b> SIZE=1", "b" * 300 + "@example.org"):
        doc = node.accept("in", json.dumps({"mail": mail}), {"Waybill-Name": "x"})
        seen = end(node, doc, "dead")
        assert "`to`" in seen["deliveries"][0]["message"], seen
    for mail in ("bob@example.org\r\nRCPT TO:<eve@example.org>", "x\nBcc: eve@example.org <bob@example.org>"):
        end(node, node.accept("in", json.dumps({"mail": mail}), {"Waybill-Name": "x"}), "dead")
    assert to(peer) == ["bob@example.org"]


# ---- hostile values -------------------------------------------------------------------------------

@pytest.mark.proves("S3")
def test_hostile_values_stay_where_they_belong(make, peer):
    node = make(peer, ONE + '\nsubject: "${title}"\nname: "${name}"')

    def send(title, name="x", ctype="application/json"):
        return node.accept("in", json.dumps({"title": title}), {"Waybill-Name": name.encode(), "Content-Type": ctype})

    for title in ("a\r\nBcc: eve@example.org", "a\nb", "a\x00b", "a\x1b[2J", "x" * 3000):
        end(node, send(title), "dead")
    for name in ("..", "a/b", ".ssh", "n" * 300, "../../etc/passwd"):
        seen = end(node, send("t", name), "dead")
        assert "name" in seen["deliveries"][0]["message"], seen
    assert peer.mails() == []
    names = ["é" * 120, 'a"b\\c;d=e.txt', "%41'x*.txt", "=?utf-8?B?YQ==?=", "日本.xml"]
    titles = ["ü" * 300, "=?utf-8?Q?x?=", "x" * 300, "日本" * 40, "a: b, c <d@e>; f"]
    for title, name in zip(titles, names):
        end(node, send(title, name, "text/x\"y"), "delivered")
        raw = peer.mails()[-1][1]
        mail = parse(raw)
        assert mail["Subject"] == title and mail.get_filename() == name
        assert mail.get_content_type() == "application/octet-stream"
        assert max(len(line) for line in raw.split(b"\r\n")) <= 78 and not mail.defects


# ---- answers --------------------------------------------------------------------------------------

@pytest.mark.proves("DE8")
def test_a_temporary_failure_is_tried_again(make, peer):
    peer.script(data=["451 4.3.0 try later", "452 full", "ok"])
    node = make(peer)
    doc = node.accept("in", b"x")
    seen = end(node, doc, "delivered")
    assert "451 4.3.0 try later" in said(seen) and to(peer) == ["ann@example.org"]


def test_outcomes_can_be_named_otherwise(make, peer):
    peer.script(rcpt={"ann@example.org": "450 4.1.1 unknown here", "bob@example.org": "550 5.7.1 come back later"})
    node = make(peer, TWO + "\noutcome: { 450: rejected, 550: retry, 554: delivered }")
    doc = node.accept("in", b"x")
    until_said(node, doc, "come back later")
    wait_until(lambda: peer.log().count("rcpt bob@example.org") >= 2, SECONDS)
    assert peer.log().count("rcpt ann@example.org") == 1
    peer.script(data=["554 known"])
    seen = end(node, doc, "dead")
    assert seen["deliveries"][0]["name"] == "ann@example.org refused 450, bob@example.org accepted 554"


def test_a_mail_that_is_too_large_is_a_dead_letter(make, peers):
    small = peers(size=20000)
    node = make(small)
    doc = node.accept("in", b"x" * 100000)
    message = end(node, doc, "dead")["deliveries"][0]["message"]
    assert "552" in message and "compress or split" in message
    assert not any(line.startswith("data") for line in small.log())  # it says its size before it is sent


@pytest.mark.proves("DE19")
def test_a_wrong_login_opens_the_breaker(make, peers):
    peer = peers(login={"user": "waybill", "password": "right"})
    node = make(peer, ONE + "\nuser: waybill\npassword: wr0ng-secret")
    doc = node.accept("in", b"x")
    seen = until_said(node, doc, "refused the login", "held")
    assert "535" in said(seen) and "wr0ng-secret" not in said(seen)
    node.write_config(config(f"smtp://127.0.0.1:{peer.port}", ONE + "\nuser: waybill\npassword: right"))
    assert node.cli("apply", node.config_file).returncode == 0
    end(node, doc, "delivered")
    assert peer.mails()[0][0]["login"] == "waybill"
    assert "wr0ng-secret" not in "".join(str(event) for event in node.events)


def test_a_token_logs_in(make, peers):
    peer = peers(login={"user": "waybill", "token": "t0ken"})
    node = make(peer, ONE + "\nuser: waybill\ntoken: t0ken")
    end(node, node.accept("in", b"x"), "delivered")
    assert "auth XOAUTH2 True" in peer.log()
    node.write_config(config(f"smtp://127.0.0.1:{peer.port}", ONE + "\nuser: waybill\ntoken: stale-t0ken"))
    assert node.cli("apply", node.config_file).returncode == 0
    seen = until_said(node, node.accept("in", b"x"), "refused the login", "held")
    assert "stale-t0ken" not in said(seen)


def test_a_server_without_login_gets_no_mail(make, peer):
    node = make(peer, ONE + "\nuser: waybill\npassword: x")
    until_said(node, node.accept("in", b"x"), "it offers no login", "held")
    assert peer.mails() == []


# ---- TLS ------------------------------------------------------------------------------------------

def test_mails_are_encrypted(make, peers, certificates, authority):
    login = {"user": "waybill", "password": "right"}
    for scheme, implicit in (("smtp", False), ("smtps", True)):
        peer = peers(tls=tls(certificates, "good"), implicit=implicit, login=login)
        node = make(peer, ONE + f"\nuser: waybill\npassword: right\ntls: {{ ca: '{authority}' }}",
                    scheme=scheme)
        end(node, node.accept("in", b"x"), "delivered")
        envelope, _ = peer.mails()[0]
        assert envelope["login"] == "waybill" and (envelope["tls"] or implicit)


@pytest.mark.proves("DE5")
@pytest.mark.parametrize("kind, words", [("expired", "expired"), ("self_signed", "self"), ("wrong_name", "name")])
def test_a_wrong_certificate_gets_no_mail(make, peers, certificates, authority, kind, words):
    peer = peers(tls=tls(certificates, kind))
    node = make(peer, ONE + f"\ntls: {{ ca: '{authority}' }}")
    doc = node.accept("in", b"x")
    seen = until_said(node, doc, "its certificate is not right")
    assert words in said(seen) and "tls.ca" in said(seen)
    assert peer.mails() == [] and not any(line.startswith("rcpt") for line in peer.log())


def test_beyond_this_machine_nothing_is_sent_in_the_clear(make, peers):
    peer = peers(address="127.0.0.2", login={"user": "waybill", "password": "right"})
    node = make(peer, ONE + "\nuser: waybill\npassword: right", host="127.0.0.2")
    until_said(node, node.accept("in", b"x"), "it offers no encryption")
    assert not any(line.startswith(("auth", "rcpt")) for line in peer.log())
    local = peers()
    node = make(local, ONE + "\ntls: { verify: true }")  # who says tls gets it
    until_said(node, node.accept("in", b"x"), "it offers no encryption")
    assert local.mails() == []


@pytest.mark.proves("S16")
def test_addresses_that_are_barred_are_not_connected_to(make_node, tmp_path):
    node = make_node(config=config("smtps://169.254.169.254:25"))
    node.start()
    until_said(node, node.accept("in", b"x"), "node.egress")
    port = node.url.rpartition(":")[2].strip("/")
    node.write_config(config(f"smtp://127.0.0.1:{port}"))
    assert node.cli("apply", node.config_file).returncode == 0
    until_said(node, node.accept("in", b"x"), "administration of this node")


# ---- in doubt -------------------------------------------------------------------------------------

@pytest.mark.proves("DE6")
@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.parametrize("answer", ["swallow", "drop"])
def test_no_answer_after_the_dot_is_in_doubt(make, peer, answer):
    peer.script(data=[answer, "ok"])
    node = make(peer, policy="hold", timeout="10s" if answer == "swallow" else "60s")
    doc = node.accept("in", b"x")
    seen = end(node, doc, "in_doubt")
    assert "gave no answer" in seen["deliveries"][0]["message"], seen
    assert node.cli("docs", "resolve", doc, "--resend").returncode == 0
    end(node, doc, "delivered")
    first, second = (parse(raw) for _, raw in peer.mails())
    assert first["Message-ID"] == second["Message-ID"] and peer.mails()[0][1] == peer.mails()[1][1]


def test_by_default_what_is_in_doubt_is_sent_again(make, peer):
    peer.script(data=["drop", "ok"])
    node = make(peer)
    doc = node.accept("in", b"x")
    end(node, doc, "delivered")
    assert len(peer.mails()) == 2


@pytest.mark.parametrize("policy", ["hold", "assume"])
def test_who_is_in_doubt_keeps_no_other_recipient_waiting(make, peer, policy):
    peer.script(data=["drop", "ok"])
    node = make(peer, TWO, policy=policy)
    doc = node.accept("in", b"x")
    seen = end(node, doc, "in_doubt" if policy == "hold" else "delivered")
    assert to(peer) == ["ann@example.org", "bob@example.org"]
    if policy == "assume":
        assert "unconfirmed" in said(seen)
        return
    assert seen["deliveries"][0]["name"] == "ann@example.org in_doubt 0, bob@example.org accepted 250"
    assert node.cli("docs", "resolve", doc, "--resend").returncode == 0
    end(node, doc, "delivered")
    assert to(peer) == ["ann@example.org", "bob@example.org", "ann@example.org"]


# ---- one connection for many mails ----------------------------------------------------------------

def connections(peer):
    return peer.log().count("ehlo")


def delivers(node, bodies):
    """Each at the first attempt."""
    for body in bodies:
        seen = end(node, node.accept("in", body), "delivered")
        assert seen["deliveries"][0]["attempts"] == 1, seen


def apply(node, text):
    node.write_config(text)
    done = node.cli("apply", node.config_file)
    assert done.returncode == 0, done.stderr


def test_a_connection_serves_many_mails(make, peers):
    """Also when other things are configured anew; another password is another connection."""
    peer = peers(login={"user": "waybill", "password": ["right", "right too"]})
    more = TWO + "\nconnections: 1\nuser: waybill\npassword: right"
    node = make(peer, more)
    delivers(node, [b"a%d" % n for n in range(6)])
    text = config(f"smtp://127.0.0.1:{peer.port}", more)
    apply(node, text.replace("order: {}", "order: {}, invoice: {}"))
    delivers(node, [b"b"])
    assert connections(peer) == 1 and len(peer.mails()) == 14 and peer.log().count("rset") == 6
    apply(node, text.replace("password: right", "password: right too"))
    delivers(node, [b"c%d" % n for n in range(3)])
    assert connections(peer) == 2 and [line for line in peer.log() if line.startswith("auth")] == ["auth PLAIN True"] * 2
    assert [content(raw) for _, raw in peer.mails()][::2] == [*(b"a%d" % n for n in range(6)), b"b", *(b"c%d" % n for n in range(3))]


@pytest.mark.parametrize("gone", ["restart", "421 too many mails", "cut"])
def test_a_connection_that_is_gone_is_no_failure(make, peer, gone):
    """The server was started again, wants no more mails on it, or closes it in the moment in which it is used."""
    node = make(peer, ONE + "\nconnections: 1")
    delivers(node, [b"a"])
    if gone == "restart":
        peer.signal(signal.SIGKILL)
        peer.start()
    else:
        peer.script(rset=gone)
    delivers(node, [b"b"])
    assert connections(peer) == 2 and [content(raw) for _, raw in peer.mails()] == [b"a", b"b"]


@pytest.mark.parametrize("answer", ["421 4.7.0 too many messages in this connection", "452 4.5.3 too many mails"])
def test_a_server_that_limits_the_mails_of_a_connection(make, peer, answer):
    """The next one goes over a new connection, at once: also in the middle of the recipients of a document."""
    peer.script(most=[2, answer])
    node = make(peer, "to: [ ann@example.org, bob@example.org, eve@example.org ]\nconnections: 1")
    delivers(node, [b"a%d" % n for n in range(4)])
    assert to(peer) == ["ann@example.org", "bob@example.org", "eve@example.org"] * 4
    assert connections(peer) == 6 and peer.log().count(f"no more {answer}") == 5


def test_what_a_new_connection_answers_costs_an_attempt(make, peer):
    """One that was used is left for a new one, and that is told the same."""
    node = make(peer, ONE + "\nconnections: 1")
    delivers(node, [b"a"])
    peer.script(most=[0, "452 4.3.1 full"])
    doc = node.accept("in", b"b")
    until_said(node, doc, "452 4.3.1 full")
    peer.script()
    seen = end(node, doc, "delivered")
    assert seen["deliveries"][0]["attempts"] > 1 and to(peer) == ["ann@example.org"] * 2


def test_a_kept_connection_that_is_silent_costs_no_attempt(make, peer):
    """Nothing comes back over the old one; a new one is made with most of the time."""
    with proxy.Proxy(peer.port) as between:
        node = make(between, ONE + "\nconnections: 1", timeout="40s")
        delivers(node, [b"a"])
        between.mute = b"RSET"
        delivers(node, [b"b"])
        assert between.connections == 2 and [content(raw) for _, raw in peer.mails()] == [b"a", b"b"]


def test_who_is_refused_leaves_no_trace_for_the_next_mail(make, peer):
    peer.script(rcpt={"eve@example.org": "550 nobody here"})
    node = make(peer, 'to: "${mail}"\nconnections: 1')
    mails = [b'{"mail": "%s@example.org"}' % who for who in (b"ann", b"eve", b"bob")]
    delivers(node, mails[:1])
    end(node, node.accept("in", mails[1]), "dead")
    delivers(node, mails[2:])
    assert to(peer) == ["ann@example.org", "bob@example.org"]


# ---- servers that die or hang, and our own death -------------------------------------------------

@pytest.mark.proves("DE5")
def test_a_server_that_was_killed_is_waited_for(make, peer):
    node = make(peer)
    peer.signal(signal.SIGKILL)
    docs = [node.accept("in", b"x%d" % n) for n in range(5)]
    until_said(node, docs[0], "no connection could be made")
    peer.start()
    for doc in docs:
        end(node, doc, "delivered")
    assert sorted(parse(raw).get_content() for _, raw in peer.mails()) == [b"x%d" % n for n in range(5)]


@pytest.mark.proves("DE5")
def test_a_server_that_stands_still_is_given_up(make, peer):
    node = make(peer, timeout="2s")
    peer.signal(signal.SIGSTOP)
    doc = node.accept("in", b"x")
    until_said(node, doc, "in time")
    peer.signal(signal.SIGCONT)
    end(node, doc, "delivered")
    assert to(peer) == ["ann@example.org"]  # nothing had been sent


def post_to_its_end(node, body):
    """A node may die before it has answered; then what was stored is found after its start."""
    try:
        return node.accept("in", body)
    except (OSError, http.client.HTTPException):
        return None


@pytest.mark.proves("DE10", "DE12")
@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.parametrize("fault, mails", [("send.begin:kill:1", 1), ("mail.ending:kill:1", 1), ("mail.answered:kill:1", 2),
                                          ("mail.answered:kill:2", 2), ("settle.submit:kill:1", 2)])
def test_a_crash_loses_no_mail(make, peer, fault, mails):
    node = make(peer, environment={"WAYBILL_FAULT": fault})
    accepted = [post_to_its_end(node, b"one")]
    if fault == "mail.answered:kill:2":
        end(node, accepted[0], "delivered")
        post_to_its_end(node, b"two")
    assert node.ended() == -9
    del node.environment["WAYBILL_FAULT"]
    node.start()
    for doc in node.documents():
        end(node, doc, "delivered")
    came = [parse(raw) for _, raw in peer.mails()]
    assert {mail["Waybill-Document"] for mail in came} == set(node.documents())
    assert len(came) == mails + (fault == "mail.answered:kill:2")
    assert len({mail["Message-ID"] for mail in came}) == len(node.documents())


@pytest.mark.proves("DE9")
@pytest.mark.parametrize("fault", ["mail.ending:kill:1", "mail.answered:kill:1"])
def test_after_a_crash_in_a_mail_a_person_decides(make, peer, fault):
    node = make(peer, policy="hold", environment={"WAYBILL_FAULT": fault})
    post_to_its_end(node, b"one")
    assert node.ended() == -9
    del node.environment["WAYBILL_FAULT"]
    node.start()
    doc, = node.documents()
    end(node, doc, "in_doubt")
    assert len(peer.mails()) == (fault == "mail.answered:kill:1")


def test_no_more_connections_than_allowed(make, peer):
    """The server answers nobody before all of them could have come."""
    peer.script(data=["later"])
    node = make(peer)
    docs = [node.accept("in", f"mail {n}".encode()) for n in range(8)]

    def mails():
        return [line for line in peer.log() if line.startswith("data ")]

    wait_until(lambda: len(mails()) >= 2, SECONDS, "two mails")
    for doc in docs:
        node.await_state(doc, "active", look=look, seconds=SECONDS)
    assert len(mails()) == 2
    (peer.folder / "go").write_text("")
    for doc in docs:
        end(node, doc, "delivered")
    assert len(peer.mails()) == 8


def test_a_node_that_stops_waits_for_the_answer(make, peer):
    peer.script(data=["later"])
    node = make(peer, policy="hold")
    doc = node.accept("in", b"x")
    wait_until(lambda: peer.mails(), SECONDS)
    node.process.send_signal(signal.SIGTERM)
    node.wait_event("node.stop", timeout=SECONDS)
    (peer.folder / "go").touch()
    assert node.ended() == 0
    node.start()
    end(node, doc, "delivered")
    assert len(peer.mails()) == 1


# ---- OpenSMTPD ------------------------------------------------------------------------------------

def test_opensmtpd_takes_what_it_knows(make, tmp_path):
    why = opensmtpd.missing()
    if why:
        pytest.skip(why)
    server = opensmtpd.Server(tmp_path, "ann", "bob")
    try:
        node = make(server, TWO + '\nsubject: "${title}"\nname: "${name}"')
        body = json.dumps({"title": "Grüße " * 30, "lines": [".", "..", "x" * 70000]}).encode()
        doc = node.accept("in", body, {"Waybill-Name": "bestellung für 7.json".encode(), "Content-Type": "application/json"})
        end(node, doc, "delivered")
        for user in ("ann", "bob"):
            mail = parse(server.wait(lambda u=user: server.mails(u))[0])
            assert mail.get_payload(decode=True) == body and mail["Subject"] == ("Grüße " * 30).strip()
            assert mail.get_filename() == "bestellung für 7.json" and mail["Message-ID"] == f"<{doc}.desk@example.com>"
        large = node.accept("in", json.dumps({"title": "x", "more": "x" * 400000}), {"Waybill-Name": "x"})
        assert "5" in end(node, large, "dead")["deliveries"][0]["message"]
        node.write_config(config(f"smtp://127.0.0.1:{server.port}", "to: [ ann@example.org, nobody@example.org ]"))
        assert node.cli("apply", node.config_file).returncode == 0
        seen = end(node, node.accept("in", b"{}"), "dead")
        assert "1 of 2 recipients have it" in seen["deliveries"][0]["message"] and "524" in said(seen)
    finally:
        server.close()
