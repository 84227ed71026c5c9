"""What is allowed and may hurt is said aloud: by `check`, and by the node when it starts."""
import json
import os

import pytest
from test_13_start_stop import make_certificate

WEAK = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA"
RISKY = f"""\
systems: {{ hub: {{}} }}
types: {{ "*": {{}} }}
gateways:
  partners: {{ kind: http, auth: basic, users: {{ acme: "{WEAK}" }} }}
endpoints:
  clear: {{ kind: http, system: hub, url: "http://far.example/in", user: u, password: hunter2 }}
  blind: {{ kind: http, system: hub, url: "https://far.example/in", tls: {{ verify: false }} }}
  named: {{ kind: http, system: hub, url: "https://u:hunter2@far.example/in" }}
"""
SAID = ["the hash of", "`password` is written out", "credentials go out in clear text", "`verify: false`",
        "the URL has a user name or a password"]


@pytest.mark.smoke
@pytest.mark.proves("S15")
def test_clear_text_for_others_is_refused_unless_it_is_meant(make_node, program):
    node = make_node(config='types: { "*": {} }\n', options="listen: 0.0.0.0:0")
    checked = program("check", node.config_file)
    assert checked.returncode == 1 and "insecure: true" in checked.stdout
    code, said = node.refuse()
    assert code == 1 and "clear text on 0.0.0.0" in said and "insecure: true" in said

    node.options += "\ninsecure: true"
    node.write_config('types: { "*": {} }\n')
    checked = program("check", node.config_file)
    assert checked.returncode == 0 and "warning: without `tls`" in checked.stdout
    node.start()
    assert "clear text on 0.0.0.0" in node.wait_event("config.warn")["what"]


@pytest.mark.proves("S15")
def test_with_tls_others_are_answered(make_node):
    node = make_node(config='types: { "*": {} }\n', options="listen: 0.0.0.0:0\ntls: { cert: cert.pem, key: key.pem }")
    make_certificate(node.folder, "here")
    node.start()
    assert not [e for e in node.events if e["event"] == "config.warn"]


def test_risks_of_a_version_are_named(make_node, program):
    node = make_node(config=RISKY)
    checked = program("check", "--json", node.config_file)
    warnings = [json.loads(line) for line in checked.stdout.splitlines()]
    assert checked.returncode == 0 and {w["severity"] for w in warnings} == {"warning"}
    node.start()
    logged = [e["what"] for e in node.events if e["event"] == "config.warn"]
    for said in SAID:
        assert any(said in w["message"] and w["hint"] for w in warnings), said
        assert any(said in what for what in logged), said
    assert "hunter2" not in checked.stdout and "hunter2" not in node.tail(100)


def test_risks_of_a_node_are_named(make_node, program):
    node = make_node(config='types: { "*": {} }\n', options="tls: { cert: cert.pem, key: key.pem }")
    make_certificate(node.folder, "here")
    (node.folder / "key.pem").chmod(0o644)
    checked = program("check", node.config_file)
    assert checked.returncode == 0 and "read or change the TLS key" in checked.stdout
    node.start()
    assert "its mode is 644" in node.wait_event("config.warn")["what"]
    if os.geteuid() == 0:
        assert "root" in node.wait_event("node.warn")["what"]


def test_a_database_far_away_without_encryption_is_named(program, tmp_path):
    file = tmp_path / "waybill.yaml"
    for end, named in [("", True), ("?sslmode=verify-full", False)]:
        file.write_text(f'node: {{ store: "postgres://waybill@db.example/waybill{end}" }}\n')
        checked = program("check", file)
        assert checked.returncode == 0 and ("on another machine" in checked.stdout) is named
