"""A configuration full of mistakes: each told with its place and a remedy, all in one run, and
the configuration in force stays."""
import json
import re

import pytest

DONE, NO = 0, 1
BOTH = pytest.mark.stores("sqlite", "postgres")
CONFIG = "gateways:\n  open: { kind: http, auth: none }\n"
pytestmark = pytest.mark.config(CONFIG)

# Each line of the file with the mistakes in it: where (the text at whose start the place is),
# what is said, what would help.  Lines without mistakes have none.
LINES = [
    ("systems:",),
    ('  acme: { ids: ["0012"], limit: { rate: 5/s } }',
     ("limit:", "unknown key `limit` in system `acme`", "did you mean `limits`?")),
    ('  hub: { ids: ["0012"] }',
     ('"0012"', "the id `0012` is taken already, in line 2", "exactly one system")),
    ("  late: { in_doubt: maybe, limits: { concurrency: few, rate: 5 } }",
     ("maybe", "`in_doubt` cannot be `maybe`", "allowed: resend, hold, probe, assume"),
     ("few", "not a whole number", "a whole number"),
     ("5 }", "`rate` cannot be `5`: the unit is missing", "such as 50/s")),
    ('  "not a name": {}',
     ('"not', "a character that names cannot have", "1 to 64 letters")),
    ('  early: { window: { open: "25:00", days: mon-fry, holidays: feasts } }',
     ("feasts", "there is no calendar `feasts`", "defined"),
     ('"25:00"', "times go from 00:00 to 24:00", 'such as "22:00"'),
     ("mon-fry", "a day is not known", "such as mon-fri")),
    ("  keyed: { order: key }",
     ("key }", "`order: key` needs `order_by`", "such as order_by")),
    ("types:",),
    ('  order: { search: { po: "xml:Order/@no" }, expires: 2 days }',
     ('"xml:', "a path starts with `/`", "written like xml:/Order/ShipTo/@id"),
     ("2 days", "`expires` cannot be `2 days`: the unit is not known", "the units are ms s m h d")),
    ("gateways:",),
    ("  one: { kind: htp }",
     ("htp", "unknown kind of gateway `htp`", "did you mean `http`?")),
    ("  two: { kind: http, auth: basic, limits: { size: 64 MB } }",
     ("basic", "`auth: basic` of gateway `two` needs `users`", "users: { NAME:"),
     ("64 MB", "`size` cannot be `64 MB`", "such as 64 MiB")),
    ("  two: { kind: http }",
     ("two:", "the key `two` stands here twice; the other one is in line 12", "keep one of them")),
    ("  three:",),
    ("    kind: http",),
    ("    idempotency: [24h]",
     ("[24h]", "`idempotency` cannot be a list", "such as 30s")),
    ("    extract:",),
    ("      sender: acme",
     ("acme", "`sender` cannot be `acme`", "a fixed text is written `value:acme`")),
    ('      receiver: "regex:to=("',
     ('"regex', "missing closing parenthesis", "written like regex:id=([0-9]+)")),
    ('      attributes: { region: "json:/region" }',),
    ("endpoints:",),
    ("  hub-api:",),
    ("    kind: http",),
    ("    url: htps://hub.example/in",
     ("htps:", "`url` is not valid: it starts with http:// or https:// here",
      "scheme://host/path")),
    ("    system: hubb",
     ("hubb", "there is no system `hubb`", "did you mean `hub`?")),
    ("    retry: { first: 10m, most: 1s }",
     ("10m", "`first` is longer than `most`", "waits grow")),
    ("    outcome: { 999: delivered }",
     ("999", "`999` is not an HTTP status", "from 100 to 599")),
    ('    headers: { Authorization: "Bearer ${secret:hub" }',
     ('"Bearer', "a `${` is not closed", "${secret:NAME}")),
    ('  drop: { kind: file, name: "${sendr}.xml" }',
     ("drop:", "endpoint `drop` needs `path`", "`path`: the folder"),
     ('"${sendr}', "no document has the word `sendr`", "did you mean `sender`?")),
    ("  empty:",
     ("empty:", "endpoint `empty` needs `kind`", "allowed: http, file")),
    ("routes:",),
    ("  - name: one",),
    ("    when: { sender: acme, receiver: hub }",),
    ("    do: [ { deliver: [hub-api, archive] } ]",
     ("archive", "there is no endpoint `archive`", "defined: drop, empty, hub-api")),
    ("  - name: two",
     ("name: two", "routes `one` (line 32) and `two` (line 35) tie",
      "a receiver, type, sender or attribute that the other does not")),
    ("    when: { receiver: hub, sender: [hub, acme] }",),
    ("    do:",),
    ("      - replce: { find: a }",
     ("replce", "unknown service `replce`", "did you mean `replace`?")),
    ('      - replace: { regex: "[a-", with: b }',
     ('"[a-', "missing terminating ]", "a regular expression of PCRE2")),
    ("      - split: { xml: /A/B }",),
    ("      - deliver: hub-api",
     ("deliver:", "nothing runs after `split`", "put this step before it")),
    ("  - name: one",
     ("one", "the name `one` is taken already, by the route in line 32", "a name of its own")),
    ("    when: { type: invoice, rgion: EU }",
     ("invoice", "there is no type `invoice`", "defined: order"),
     ("rgion", "unknown key `rgion` in `when`", "did you mean `region`?")),
    ("    do: []",
     ("[]", "the list `do` is empty", "put at least one into it")),
    ("jobs:",),
    ('  nightly: { kind: call, url: "https://erp.example", at: "0 25 * * *" }',
     ('"0 25', "the hour is not valid", "five fields")),
    ('  both: { kind: note, at: "22:00", every: 1h }',
     ("every", "job `both` has both `at` and `every`", "keep one of them")),
    ("  idle: { kind: note, every: 1h, idle_most: 1m, catch_up: all }",
     ("1m", "`idle_most` is shorter than `every`", "waits grow"),
     ("catch_up", "`every` misses nothing", "leave it out")),
    ("  late: { kind: note, once: 2026-12-24T22:00, until: 2026-12-24T21:00 }",
     ("2026-12-24T22", "this time never comes", "leave `until` out")),
    ("  copy: { kind: replicate, link: l, every: 1h }",
     ("replicate", "jobs of kind `replicate` are made of `links`", "write a link")),
    ("  clean: { kind: check, every: 1h, database: shop, checks: [ { orphans: t, columns: a, than: 1h } ] }",
     ("shop", "there is no database `shop`", "defined"),
     ("{ orphans", "a check for `orphans` needs `in`", "such as in: orders"),
     ("than", "`than` is not used by a check for `orphans`", "leave it out")),
    ("peers: { berlin: { url: \"https://berlin.example\", key: berlin-key } }",),
    ("databases: { erp: { kind: sqlite, path: /srv/erp.db } }",),
    ("links:",),
    ("  apart: { from: erp, to: berlin/orders, back: apart, tables: { t: {} } }",
     ("apart, tables", "`back: apart` names the link itself", "which the other location has")),
    ("gatways: {}",
     ("gatways", "unknown key `gatways`", "did you mean `gateways`?")),
]
# What a file alone cannot tell: only a node has secrets, an environment and files.
OUTSIDE = [
    ("stores:",),
    ("  mail:",),
    ("    - { password: secret:mail-password }",
     ("secret:", "there is no secret `mail-password`", "waybill secret add mail-password")),
    ('    - { host: "${env:NO_SUCH_VARIABLE}" }',
     ('"${env', "the environment variable NO_SUCH_VARIABLE is not set",
      "set it where the node is started")),
    ('    - { ca: "${file:/no/such/file.pem}" }',
     ('"${file', "cannot open /no/such/file.pem", "put the file there")),
]

EXPOSED = pytest.mark.node_options("expose: { env: [NO_SUCH_VARIABLE, PATH], files: [/no/such/file.pem, ../ca.pem] }")


def write(tmp_path, lines):
    """The file, and what must be said about it, in order of place."""
    file = tmp_path / "wrong.yaml"
    file.write_text("".join(line[0] + "\n" for line in lines))
    want = [(n, line[0].index(where) + 1, message, hint)
            for n, line in enumerate(lines, 1) for where, message, hint in line[1:]]
    return file, sorted(want, key=lambda w: w[:2])


def told(file, output):
    """The problems of an output: line, column, message, hint ("" when there is none)."""
    found = re.findall(rf"^{re.escape(str(file))}:(\d+):(\d+): (?!warning: )(.*)\n(?:    (.*)\n)?",
                       output, re.M)
    return [(int(line), int(column), message, hint) for line, column, message, hint in found]


def compare(got, want):
    """Each of them, no other, each with its remedy."""
    assert [g[:2] for g in got] == [w[:2] for w in want], "\n".join(map(str, got))
    for g, w in zip(got, want):
        assert w[2] in g[2], (g, w)
        assert w[3] in g[3], (g, w)


def test_there_are_enough_mistakes(tmp_path):
    _, want = write(tmp_path, LINES + OUTSIDE)
    assert len(want) >= 35 and len({w[2] for w in want}) == len(want)


@pytest.mark.proves("S4")
@pytest.mark.smoke
def test_check_tells_them_all_in_one_run(program, tmp_path):
    file, want = write(tmp_path, LINES)
    got = program("check", file)
    assert got.returncode == NO and got.stderr == ""
    compare(told(file, got.stdout), want)
    assert f"{file}: {len(want)} problems" in got.stdout

    listed = [json.loads(line) for line in program("check", "--json", file).stdout.splitlines()]
    compare([(p["line"], p["column"], p["message"], p["hint"] or "") for p in listed
             if p["severity"] == "error"], want)


URLS = ("file:///etc/passwd", "FILE:///etc/passwd", "ftp://far.example/x", "gopher://far.example/_x", "ldap://far.example/",
        "dict://far.example/", "jdbc:h2:mem:x;INIT=RUNSCRIPT", "data:text/plain,x", "//far.example/", "/etc/passwd",
        "http:/far.example/", "https://far.example/\\n@other.example", "http://")
PLACES = {
    "endpoint": "systems: {{ hub: {{}} }}\nendpoints: {{ far: {{ kind: http, system: hub, url: {url} }} }}\n",
    "probe": "systems: {{ hub: {{ in_doubt: probe }} }}\nendpoints: {{ far: {{ kind: http, system: hub,"
             " url: 'https://far.example/', probe: {{ url: {url} }} }} }}\n",
    "alerts": "alerts: {{ to: {{ desk: {{ url: {url} }} }} }}\n",
    "oidc": "auth: {{ oidc: {{ issuer: {url}, client_id: x, client_secret: y, groups: g, roles: {{ a: [admin] }} }} }}\n",
}


@pytest.mark.proves("S6", "S16")
@pytest.mark.parametrize("place", PLACES)
def test_a_url_has_a_scheme_that_is_spoken_there_and_a_host(program, tmp_path, place):
    file = tmp_path / "url.yaml"
    file.write_text(PLACES[place].format(url='"https://far.example/x"'))
    found = program("check", str(file))
    assert found.returncode == 0, found.stdout
    for url in URLS:
        file.write_text(PLACES[place].format(url=f'"{url}"'))
        found = program("check", str(file))
        assert found.returncode == 1 and "is not valid" in found.stdout, (url, found.stdout)


@BOTH
@pytest.mark.proves("XC8")
@EXPOSED
def test_apply_tells_them_all_and_the_running_one_stays(node, tmp_path):
    file, want = write(tmp_path, LINES + OUTSIDE)
    live = node.graphql("{ config { version sha256 text } }")
    got = node.cli("apply", file)
    assert got.returncode == NO
    compare(told(file, got.stdout), want)

    assert node.graphql("{ config { version sha256 text } }") == live
    assert live["config"]["version"] == 1 and live["config"]["text"] == CONFIG
    assert len(node.graphql("{ configHistory { version } }")["configHistory"]) == 1
    assert node.post("open", b"x").status == 202
    node.restart()
    assert node.post("open", b"x").status == 202
    assert node.graphql("{ config { version sha256 text } }") == live

    listed = [json.loads(line) for line in node.cli("apply", file, "--json").stdout.splitlines()]
    compare([(p["line"], p["column"], p["message"], p["hint"] or "") for p in listed
             if p.get("severity") == "error"], want)


@EXPOSED
def test_what_only_a_node_can_know(node, tmp_path):
    """A file that is fine in itself: check lets it pass, apply asks for what is missing."""
    file, want = write(tmp_path, OUTSIDE)
    assert node.cli("check", file).returncode == DONE
    got = node.cli("apply", file)
    assert got.returncode == NO
    compare(told(file, got.stdout), want)
    assert node.graphql("{ config { version } }")["config"]["version"] == 1

    assert node.cli("secret", "add", "mail-password", stdin="x").returncode == DONE
    assert [w[0] for w in told(file, node.cli("apply", file).stdout)] == [w[0] for w in want[1:]]
    (tmp_path / "ca.pem").write_text("text\n")
    file.write_text(file.read_text().replace("/no/such/file.pem", "../ca.pem")
                    .replace("NO_SUCH_VARIABLE", "PATH"))
    assert node.cli("apply", file).returncode == DONE


def test_a_time_zone_that_this_machine_does_not_know(node, tmp_path):
    """Asked by check and by apply: both see the machine."""
    file, want = write(tmp_path, [
        ("systems:",),
        ("  night: { window: [ {}, { zone: Europe/Berlim } ] }",
         ("Europe", "this machine does not know the time zone Europe/Berlim",
          "did you mean `Europe/Berlin`?")),
        ('jobs: { clean: { kind: note, at: "@daily", zone: Mars/Olympus } }',
         ("Mars", "this machine does not know the time zone Mars/Olympus", "such as UTC"))])
    for got in (node.cli("check", file), node.cli("apply", file)):
        assert got.returncode == NO
        compare(told(file, got.stdout), want)
    file.write_text(file.read_text().replace("Berlim", "Berlin").replace("Mars", "UTC")
                    .replace("UTC/Olympus", "UTC"))
    got = node.cli("apply", file)
    assert got.returncode == DONE and "window" not in got.stdout, got.stdout


@pytest.mark.parametrize("text, place, says, remedy", [
    ("gateways:\n\topen: {}\n", "2:1", "a value cannot start with this", "tab"),
    ("gateways: { open: { kind: http }\n", "2:1", "", ""),
    ("gateways: &all { open: { kind: http } }\n", "1:11", "anchors", "write the value out"),
    ("- gateways\n", "1:1", "a configuration is a map of sections", "gateways:"),
    ("a: 1\n---\nb: 2\n", "2:1", "a second document", "one document"),
])
def test_a_text_that_is_no_yaml(node, tmp_path, text, place, says, remedy):
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    for got in (node.cli("check", file), node.cli("apply", file)):
        assert got.returncode == NO
        by_place = {f"{p[0]}:{p[1]}": p for p in told(file, got.stdout)}
        assert place in by_place, got.stdout
        assert says in by_place[place][2] and remedy in by_place[place][3]
        assert by_place[place][3], "there is a remedy"
    assert node.graphql("{ config { version } }")["config"]["version"] == 1


def test_a_node_does_not_start_with_them(make_node, tmp_path):
    """The first start has nothing to fall back on: it says them all and ends."""
    _, want = write(tmp_path, LINES)
    node = make_node(config="".join(line[0] + "\n" for line in LINES))
    code, said = node.refuse()
    above = node.config_file.read_text().splitlines().index("systems:")
    assert code != 0
    for line, column, message, hint in want:
        # messages that name another line say where that one is in this file
        message = re.sub(r"line (\d+)", lambda m: f"line {int(m[1]) + above}", message)
        assert f"{node.config_file}:{line + above}:{column}: " in said, (line, said)
        assert message in said and hint in said, message
