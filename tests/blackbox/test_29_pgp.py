"""`encrypt`, `decrypt`, `sign` and `verify` with a node and with gpg at the other end: each reads what the other made,
and what is wrong with a message ends it with a reason and delivers nothing."""
import re

import pytest

import wire
from gpg import PASSPHRASE, Gpg
from running_node import run_program

SECONDS = 60
CONFIG = """\
systems: {{ hub: {{}} }}
types: {{ "*": {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "header:X-Way" }} }}
endpoints:
  shelf: {{ kind: file, path: ./shelf, name: "${{id}}" }}
routes:
  - {{ name: plain, do: [ {{ deliver: shelf }} ] }}
{routes}
"""
ROUTE = "  - {{ name: {0}, when: {{ type: {0} }}, do: [ {1}, {{ deliver: shelf }} ] }}\n"
TEXT = b"".join(b"%d: the quick brown fox\r\n" % n for n in range(2000)) + b"\0\xff"
OPENS = "decrypt: { key: [secret:rsa, secret:ed], passphrase: secret:pass }"


@pytest.fixture(name="gpg", scope="module")
def gpg_fixture():
    with Gpg() as gpg:
        gpg.make("rsa", "rsa")
        gpg.make("ed", "ed", protected=True)
        gpg.make("other", "ed")
        yield gpg


@pytest.fixture(name="ways")
def ways_fixture(make_node, gpg):
    """Starts a node with these chains of steps, each for documents of its own name; the keys of gpg are secrets of the
    node (`rsa`, `ed`, `pass`) and lie beside its configuration."""
    def start(**chains):
        node = make_node(config=CONFIG.format(routes=""))
        (node.folder / "shelf").mkdir()
        keys = node.folder / "keys"
        keys.mkdir()
        for name in ("rsa", "ed", "other"):
            (keys / f"{name}.asc").write_bytes(gpg.public(name))
            (keys / f"{name}.pgp").write_bytes(gpg.run("--export", f"{name}@test"))  # binary
            (keys / f"{name}-private.asc").write_bytes(gpg.private(name))
        node.start()
        for name in ("rsa", "ed"):
            add_secret(node, name, gpg.private(name).decode())
        add_secret(node, "pass", PASSPHRASE)
        apply(node, chains)
        return node
    return start


def add_secret(node, name, value):
    got = node.cli("secret", "add", name, stdin=value)
    assert got.returncode == 0, got.stderr


def write_chains(node, chains):
    """With the time that a step takes on a busy machine."""
    steps = {name: re.sub(r"\b(encrypt|decrypt|sign|verify): { ", r"\1: { limits: { time: 60s }, ", step)
             for name, step in chains.items()}
    node.write_config(CONFIG.format(routes="".join(ROUTE.format(name, "{ " + step + " }")
                                                   for name, step in steps.items())))


def apply(node, chains):
    write_chains(node, chains)
    got = node.cli("apply", node.config_file)
    assert got.returncode == 0, got.stdout + got.stderr


def look(node, doc):
    return node.show(doc, "state error { code message }")


def ended(node, way, body):
    doc = node.accept("in", body, headers={"X-Way": way})
    return doc, node.await_state(doc, "delivered", "dead", look=look, seconds=SECONDS)


def through(node, way, body):
    doc, shown = ended(node, way, body)
    assert shown["state"] == "delivered", shown
    return (node.folder / "shelf" / doc).read_bytes()


def dead(node, way, body):
    """The reason; nothing was delivered."""
    doc, shown = ended(node, way, body)
    assert shown["state"] == "dead" and not (node.folder / "shelf" / doc).exists(), shown
    assert shown["error"]["code"] == "decrypt_failed", shown
    return shown["error"]["message"]


def test_gpg_reads_what_we_encrypt(ways, gpg):
    node = ways(both="encrypt: { to_file: [keys/rsa.asc, keys/ed.pgp] }",
                text="encrypt: { to_file: keys/ed.asc, armor: true }",
                signed="encrypt: { to_file: keys/rsa.asc, key: secret:ed, passphrase: secret:pass }")
    for body in (TEXT, b"x"):
        made = through(node, "both", body)
        assert gpg.read(made) == body and made != body
    listed = gpg.run("--list-packets", "--list-only", stdin=through(node, "both", TEXT)).decode()
    assert listed.count(":pubkey enc packet:") == 2, listed
    text = through(node, "text", TEXT)
    assert text.startswith(b"-----BEGIN PGP MESSAGE-----") and gpg.read(text) == TEXT
    assert gpg.read(through(node, "signed", TEXT), signer="ed") == TEXT


def test_gpg_verifies_what_we_sign(ways, gpg):
    node = ways(rsa="sign: { key: secret:rsa, armor: true }",
                ed="sign: { key_file: keys/ed-private.asc, passphrase: secret:pass }")
    for way in ("rsa", "ed"):
        made = through(node, way, TEXT)
        assert made.startswith(b"-----BEGIN PGP MESSAGE-----") == (way == "rsa")
        assert gpg.read(made, signer=way) == TEXT


def test_a_stage_that_is_computed_again_is_signed_with_the_same_bytes(ways):
    """What `sign` makes depends on the document and the key alone."""
    node = ways(way="sign: { key: secret:rsa }")
    doc, shown = ended(node, "way", TEXT)
    assert shown["state"] == "delivered"
    again = node.cli("docs", "payload", doc, "--stage", "1", text=False)
    assert again.stdout == (node.folder / "shelf" / doc).read_bytes(), again.stderr


def test_we_read_what_gpg_encrypts(ways, gpg):
    node = ways(open=OPENS, stored="decrypt: { key_file: keys/ed-private.asc, passphrase: secret:pass }")
    none, zip_, bzip2 = (["--compress-algo", name] for name in ("none", "zip", "bzip2"))
    messages = {
        "rsa": gpg.encrypt(TEXT, "rsa", options=zip_), "cv25519": gpg.encrypt(TEXT, "ed", options=none),
        "armored": gpg.encrypt(TEXT, "ed", options=["--armor"]), "several": gpg.encrypt(TEXT, "other", "rsa", "ed"),
        "bzip2": gpg.encrypt(TEXT, "rsa", options=bzip2), "signed": gpg.run(
            "-u", "other@test", "-r", "rsa@test", "--sign", "--encrypt", stdin=TEXT)}
    for name, message in messages.items():
        assert through(node, "open", message) == TEXT, name
    assert through(node, "stored", messages["cv25519"]) == TEXT


def test_we_verify_what_gpg_signs(ways, gpg):
    node = ways(trusted="verify: { key_file: [keys/rsa.asc, keys/ed.pgp] }",
                both="decrypt: { key: secret:rsa, from_file: keys/ed.asc }")
    assert through(node, "trusted", gpg.sign(TEXT, "rsa")) == TEXT
    assert through(node, "trusted", gpg.sign(TEXT, "ed", "--armor", "--compress-algo", "none")) == TEXT
    lines = b"one\n- two\n\nthree\n"
    assert through(node, "trusted", gpg.sign(lines, "ed", how="--clearsign")) == lines
    assert through(node, "both", gpg.run("-u", "ed@test", "-r", "rsa@test", "--sign", "--encrypt", stdin=TEXT)) == TEXT


@pytest.mark.proves("PR9")
def test_what_is_wrong_is_never_delivered(ways, gpg):
    """Wrong key, damage anywhere, a message that is cut off, no integrity protection: a dead letter with the reason."""
    node = ways(open=OPENS)
    flat = gpg.encrypt(TEXT, "ed", options=["--compress-algo", "none"])
    packed = gpg.encrypt(TEXT, "rsa")
    assert "encrypted for the key" in dead(node, "open", gpg.encrypt(TEXT, "other"))
    for message in (flat, packed):
        for at in (0.3, 0.5, 0.9, 0.9999):
            place = int(len(message) * at)
            changed = message[:place] + bytes([message[place] ^ 16]) + message[place + 1:]
            assert "damaged" in dead(node, "open", changed), place
        for length in (len(message) - 1, len(message) - 40, len(message) // 2, 100, 5):
            assert dead(node, "open", message[:length]), length
    large = gpg.encrypt(TEXT * 60, "ed", options=["--compress-algo", "none"])  # most of it was put before it ends
    assert "damaged" in dead(node, "open", large[:-9] + bytes([large[-9] ^ 1]) + large[-8:])
    assert "damaged" in dead(node, "open", large[:-1])
    assert through(node, "open", large) == TEXT * 60
    assert "no integrity protection" in dead(node, "open", gpg.encrypt(
        TEXT, "rsa", options=["--rfc2440", "--cipher-algo", "AES256"]))
    assert "with a password" in dead(node, "open", gpg.run("--symmetric", stdin=TEXT))
    assert "no OpenPGP message" in dead(node, "open", TEXT)
    assert "not encrypted" in dead(node, "open", gpg.sign(TEXT, "rsa"))
    assert through(node, "open", flat) == TEXT  # the process still serves


@pytest.mark.stores("sqlite", "postgres")
@pytest.mark.proves("PR10")
def test_keys_that_cannot_be_read_now_are_waited_for(ways, gpg):
    """What opens the secrets is away, as on a share that is not mounted: nothing is dead, nothing is delivered, other
    routes go on; when it is back, so does the document, without a restart."""
    node = ways(open=OPENS)
    message = gpg.encrypt(TEXT, "ed")
    before = node.accept("in", message, headers={"X-Way": "open"})
    node.await_state(before, "delivered", look=look, seconds=SECONDS)
    assert node.stop() == 0
    key = (node.data / "secret.key").rename(node.folder / "secret.key")
    node.start()
    doc = node.accept("in", message, headers={"X-Way": "open"})
    shown = node.await_state(doc, "retrying", look=look, seconds=SECONDS)
    assert "cannot open the key file secret.key" in shown["error"]["message"], shown
    assert through(node, "plain", b"in the clear") == b"in the clear"
    node.await_state(doc, "retrying", look=look, seconds=SECONDS)  # but for the moment in which it is tried
    assert not (node.folder / "shelf" / doc).exists()
    key.rename(node.data / "secret.key")
    node.await_state(doc, "delivered", look=look, seconds=2 * SECONDS)
    assert (node.folder / "shelf" / doc).read_bytes() == TEXT


def test_a_signature_that_does_not_count(ways, gpg):
    node = ways(trusted="verify: { key_file: keys/ed.asc }",
                both="decrypt: { key: secret:rsa, from_file: keys/ed.asc }")
    good = gpg.sign(TEXT, "ed", "--compress-algo", "none")
    at = good.index(b"1000: the quick")
    assert "changed after it was signed" in dead(node, "trusted", good[:at] + b"X" + good[at + 1:])
    assert "not among those of `key`" in dead(node, "trusted", gpg.sign(TEXT, "other"))
    assert dead(node, "trusted", good[:-1]) and dead(node, "trusted", good[:1000])
    assert "`decrypt` comes first" in dead(node, "trusted", gpg.encrypt(TEXT, "rsa"))
    assert "not signed" in dead(node, "both", gpg.encrypt(TEXT, "rsa"))
    assert "not among those of `from`" in dead(node, "both", gpg.run(
        "-u", "other@test", "-r", "rsa@test", "--sign", "--encrypt", stdin=TEXT))


def check(node, step):
    """What `waybill check` says of a configuration with this step."""
    write_chains(node, {"way": step})
    got = run_program("check", node.config_file, cwd=node.folder)
    assert got.returncode != 0, got.stdout
    return got.stdout + got.stderr


def test_check_finds_keys_that_are_none(ways, gpg):
    """With the place of the step and the name of the file; a private key that everybody could read is refused."""
    node = ways()
    (node.folder / "keys" / "bad.asc").write_text("this is no key\n")
    gpg.make("old", "ed", expires="1y", made="20200101T000000")
    (node.folder / "keys" / "old.asc").write_bytes(gpg.public("old"))
    for step, want in (("encrypt: { to_file: keys/bad.asc }", "`to_file` keys/bad.asc: it is no OpenPGP key"),
                       ("encrypt: { to_file: [keys/rsa.asc, keys/bad.asc] }", "`to_file` keys/bad.asc: it is no"),
                       ("verify: { key_file: keys/bad.asc }", "`key_file` keys/bad.asc: it is no OpenPGP key"),
                       ("encrypt: { to_file: keys/old.asc }", "has expired on 2020-12-31"),
                       ("encrypt: { to_file: keys/rsa-private.asc }", "this is a private key"),
                       ("decrypt: { key_file: keys/rsa-private.asc }", "needs a passphrase"),
                       ("decrypt: { key_file: keys/ed-private.asc }", "`passphrase` is needed"),
                       ("sign: { key_file: keys/ed.asc }", "this is a public key")):
        said = check(node, step)
        assert want in said, said
        line = 1 + [" name: way," in text for text in node.config_file.read_text().splitlines()].index(True)
        assert f"waybill.yaml:{line}:" in said, said
        assert "BEGIN PGP" not in said


def test_a_wrong_passphrase_is_refused_and_not_shown(ways):
    node = ways()
    add_secret(node, "wrong", "it is not this one")
    write_chains(node, {"way": "sign: { key: secret:ed, passphrase: secret:wrong }"})
    got = node.cli("apply", node.config_file)
    said = got.stdout + got.stderr
    assert got.returncode != 0 and "`passphrase` does not unlock the private key" in said, said
    assert "not this one" not in said and "BEGIN PGP" not in said
    assert not any("not this one" in str(e) or "BEGIN PGP" in str(e) for e in node.events)


def test_the_examples_of_the_help_run(ways, gpg):
    """`waybill help service NAME` shows a step; all four in one chain give the document back."""
    node = ways()
    (node.folder / "keys" / "partner.asc").write_bytes(gpg.public("ed"))
    add_secret(node, "our-key", gpg.private("ed").decode())
    add_secret(node, "our-passphrase", PASSPHRASE)
    steps = []
    for name in ("sign", "encrypt", "decrypt", "verify"):
        shown = run_program("help", "service", name).stdout
        found = re.search(r"example:\n  - (.*)\n", shown)
        assert found and found[1].startswith(name + ":"), shown
        steps.append("{ " + found[1] + " }")
    apply(node, {"way": " }, { ".join(step[2:-2] for step in steps)})
    assert through(node, "way", TEXT) == TEXT
    wire.wait_until(lambda: node.metrics()["waybill_cage_processes"] >= 4, SECONDS, "four processes")


def test_the_keys_in_force_open_a_message_in_a_step_that_is_tried_and_come_out_of_none(ways, gpg):
    node = ways(way=OPENS)
    add_secret(node, "other", gpg.private("other").decode())
    doc, shown = ended(node, "way", gpg.encrypt(b"the quick brown fox", "ed", options=["--armor"]))
    assert shown["state"] == "delivered", shown

    def attempt(step):
        return node.graphql("""query($d: ID!, $s: String!) { tryStep(document: $d, step: $s) {
            problems { message } error { message } results { text } } }""", d=doc, s=step)["tryStep"]

    got = attempt("decrypt: { key: secret:ed, passphrase: secret:pass, limits: { time: 9s } }")
    assert [r["text"] for r in got["results"]] == ["the quick brown fox"], got
    for step, name in (("replace: { find: BEGIN, with: secret:rsa }", "rsa"),
                       ("replace: { find: BEGIN, with: 'its ${secret:pass}' }", "pass"),
                       ("lua: { script: 'return [[${secret:rsa}]]' }", "rsa")):
        said = str(attempt(step))
        assert f"(secret {name})" in said and "PRIVATE KEY" not in said and PASSPHRASE not in said, said
    # A key that no step opens messages with is not used either.
    assert attempt("decrypt: { key: secret:other }")["problems"]
