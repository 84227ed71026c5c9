"""The command line against a fake admin API, for what a real node will not do: wrong
answers, refusals, silence.  test_71_cli_node.py runs the same verbs against a real one."""
import json
import os
import pathlib
import pty
import re
import socket
import subprocess
import threading

import pytest

from fake_api import FakeApi, Reply, data
from running_node import BINARY, ROOT, clean_environment, run_program

DONE, NO, USAGE, UNREACHABLE, IO, DENIED = 0, 1, 2, 69, 74, 77
VERBS = ["demo", "serve", "check", "apply", "config", "rehearse", "send", "key", "secret", "docs", "dead",
         "doctor", "jobs", "repl", "help"]


@pytest.fixture
def fake():
    api = FakeApi()
    yield api
    api.close()


@pytest.fixture
def ask(fake, tmp_path):
    """Run the program in an empty folder against the fake; variables in `env`."""
    def run(*args, env=None, **options):
        return run_program(*args, "--url", fake.url, cwd=tmp_path,
                           env=clean_environment(**{"TZ": "UTC", **(env or {})}), **options)
    return run


def document(n, **more):
    return {"id": f"018f-{n:04}", "gateway": "orders", "sender": "acme", "receiver": "hub",
            "type": "order", "state": "delivered", "size": 1536, "sha256": "ab" * 32,
            "name": f"order-{n}.xml", "received": "2026-11-15T02:52:10.123456Z",
            "updated": "2026-11-15T02:52:11.000000Z", "error": None, **more}


def page(items, following=None):
    return data(documents={"items": items, "next": following})


def objects(text):
    """The lines of --json."""
    return [json.loads(line) for line in text.splitlines()]


# -- help and usage

def test_help_lists_every_verb(program):
    got = program("help")
    assert got.returncode == DONE and got.stderr == ""
    for verb in VERBS:
        assert re.search(rf"^  {verb} +\S", got.stdout, re.M)
    for later in ("content", "prove"):
        assert not re.search(rf"^  {later} ", got.stdout, re.M)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_ends_with_an_example(program, verb):
    got = program("help", verb)
    assert got.returncode == DONE
    assert got.stdout == program(verb, "--help").stdout
    assert got.stdout.startswith(f"waybill {verb} - ")
    example = got.stdout.split("\nexample:\n")[1]
    assert all(line.startswith(f"  waybill {verb}") for line in example.splitlines())
    assert max(map(len, got.stdout.splitlines())) <= 90


def test_no_help_is_wider_than_a_terminal(program):
    verbs = re.findall(r"(?m)^  ([a-z-]+)  +\S", program("help").stdout)
    assert set(VERBS) < set(verbs)
    wide = [line for verb in verbs for line in program("help", verb).stdout.splitlines() if len(line) > 90]
    assert wide == []


def test_help_works_inside_a_form(program):
    assert program("docs", "ls", "--help").stdout == program("help", "docs").stdout
    assert program("help", "docs", "ls").stdout == program("help", "docs").stdout
    assert program("--help").stdout == program("help").stdout


def test_version(program):
    assert re.fullmatch(r"waybill \d+\.\d+\.\d+\n", program("--version").stdout)


@pytest.mark.parametrize("args, says", [
    ([], "usage: waybill VERB"),
    (["dosc"], "did you mean `waybill docs`?"),
    (["help", "confg"], "did you mean `waybill config`?"),
    (["frobnicate"], "`waybill help` lists them all"),
    (["docs"], "what shall be done?"),
    (["docs", "lst"], "did you mean ls?"),
    (["docs", "ls", "--stat", "dead"], "did you mean --state?"),
    (["docs", "ls", "--since", "soon"], "is not a time"),
    (["docs", "ls", "--limit", "0"], "from 1 to"),
    (["docs", "show"], "usage: waybill docs show ID"),
    (["docs", "show", ""], "1 to 255 bytes"),
    (["docs", "show", "x" * 300], "1 to 255 bytes"),
    (["docs", "payload", "1", "2"], "one word too many"),
    (["apply"], "usage: waybill apply FILE"),
    (["config", "show", "newest"], "a version is a number"),
    (["config", "diff", "1"], "usage: waybill config diff A B | file FILE"),
    (["config", "history", "--limit", "201"], "at most 200"),
    (["send"], "usage: waybill send GATEWAY"),
    (["send", "orders", "--header", "nonsense"], "K:V"),
    (["send", "orders", "--header", "a b:c"], "not the name of a header"),
    (["send", "orders", "--header", "Content-Length: 3"], "no length of its own"),
    (["send", "orders", "--header", "X: a\r\nY: b"], "control characters"),
    (["send", "orders", "--name", "a\nb"], "control characters"),
    (["key", "ls", "--url", "ftp://host"], "http:// or https://"),
    (["key", "ls", "--url", "http://"], "not the address of a node"),
    (["key", "ls", "--url", "http://host/?x=1"], "not the address of a node"),
    (["key", "ls", "--url", "http://me:hunter2@host"], "wants --token"),
    (["key", "ls", "--token", "two words"], "not a token"),
    (["doctor", "now"], "one word too many"),
])
def test_usage_errors(program, tmp_path, args, says):
    got = program(*args, cwd=tmp_path)
    assert got.returncode == USAGE
    assert says in got.stderr and got.stdout == ""
    assert "hunter2" not in got.stderr


def test_the_page_in_docs_is_in_step(program):
    got = subprocess.run([ROOT / "tools" / "gen_cli_docs.py", "--check", BINARY],
                         capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stderr


def test_a_full_disk_is_told(program):
    with open("/dev/full", "w", encoding="ascii") as full:
        got = subprocess.run([BINARY, "help"], stdout=full, stderr=subprocess.PIPE, text=True,
                             check=False)
    assert got.returncode == IO and "cannot write to stdout" in got.stderr


# -- reaching a node

def test_nobody_listens(program, tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{s.getsockname()[1]}"
        got = program("docs", "ls", "--url", url, cwd=tmp_path)
    assert got.returncode == UNREACHABLE
    assert got.stderr == (f"waybill: no node answers at {url}: is it running? "
                          "start it with `waybill serve`, or say --url\n")


def test_the_host_is_not_known(program, tmp_path):
    got = program("docs", "ls", "--url", "http://no-such-host.invalid", cwd=tmp_path)
    assert got.returncode == UNREACHABLE and "check --url" in got.stderr


@pytest.mark.parametrize("words", [b"SSH-2.0-OpenSSH_9.2\r\n", b"", b"HTTP/1.1 200 OK\r\n"],
                         ids=["ssh", "nothing", "half an answer"])
def test_what_listens_is_no_node(program, tmp_path, words):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def answer():
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(words)
        thread = threading.Thread(target=answer)
        thread.start()
        got = program("docs", "ls", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}",
                      cwd=tmp_path)
        thread.join()
    assert got.returncode == UNREACHABLE and got.stdout == ""
    assert got.stderr.startswith("waybill: ")


def test_silence_ends_after_the_timeout(program, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        got = program("docs", "ls", "--url", url, "--timeout", "1", cwd=tmp_path, timeout=10)
        assert got.returncode == UNREACHABLE and "within 1 s" in got.stderr
        got = program("send", "orders", "--url", url, "--timeout", "1", cwd=tmp_path, timeout=10,
                      stdin="x")
        assert got.returncode == UNREACHABLE and "for 1 s" in got.stderr


def test_hanging_up_without_an_answer_leaves_it_open(ask, fake):
    fake.answer(None)
    got = ask("config", "revert", "3")
    assert got.returncode == UNREACHABLE and "may have been done" in got.stderr


@pytest.mark.parametrize("reply, says", [
    (Reply(b"<html>hello</html>"), "not that of a Waybill node"),
    (Reply(b"[]"), "not that of a Waybill node"),
    (Reply({"data": None}), "not that of a Waybill node"),
    (Reply({"data": {"documents": 7}}), "not that of a Waybill node"),
    (Reply({"data": {"documents": {"items": None}}}), "not that of a Waybill node"),
    (Reply(b'{"data": {}', cut=5), "broke before the answer"),
    (Reply(b" " * (17 << 20)), "over 16 MiB"),
    (Reply(b"[" * 100000), "not that of a Waybill node"),
    (Reply(b"not here", status=404), "no Waybill node (status 404)"),
    (Reply(status=302, headers={"Location": "http://elsewhere.invalid/"}), "is not followed"),
    (Reply(status=500), "it does not say why (500)"),
    (Reply({"error": {"code": "busy", "message": "the queue is full"}}, status=503,
           headers={"Retry-After": "7"}), "the queue is full (503); try again in 7 s"),
])
def test_wrong_answers(ask, fake, reply, says):
    fake.answer(reply)
    got = ask("docs", "ls")
    assert got.returncode == UNREACHABLE and says in got.stderr
    assert got.stdout == "" and got.stderr.count("\n") == 1
    assert len(fake.requests) == 1


def test_errors_of_graphql_are_a_no(ask, fake):
    fake.answer(Reply({"errors": [{"message": "no such thing\x1b[31m"}], "data": None}))
    got = ask("docs", "ls")
    assert got.returncode == NO and got.stderr == "waybill: no such thing?[31m\n"
    fake.answer(Reply({"errors": [{"message": 7}]}))
    assert ask("docs", "ls").returncode == NO


@pytest.mark.parametrize("code, exit_code", [
    ("forbidden", DENIED), ("unavailable", UNREACHABLE), ("uncertain", UNREACHABLE),
    ("internal", UNREACHABLE), ("not_found", NO), ("refused", NO), ("limit", NO), ("config", NO)])
def test_codes_of_graphql(ask, fake, code, exit_code):
    fake.answer(Reply({"data": None,
                       "errors": [{"message": "because", "extensions": {"code": code}}]}))
    got = ask("docs", "ls")
    assert got.returncode == exit_code and got.stderr.startswith("waybill: because")
    assert ("may have been done" in got.stderr) == (code == "uncertain")


def test_a_loopback_node_is_never_asked_through_a_proxy(ask, fake):
    fake.answer(page([]))
    proxies = {name: "http://127.0.0.1:1" for name in ("http_proxy", "all_proxy", "ALL_PROXY")}
    assert ask("docs", "ls", env=proxies).returncode == DONE


# -- the token

def test_where_the_token_comes_from(ask, fake, tmp_path):
    fake.answer(page([]))

    def sent():
        return fake.requests[-1].headers.get("Authorization")

    assert ask("docs", "ls").returncode == DONE and sent() is None
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text("here\n")
    ask("docs", "ls")
    assert sent() == "Bearer here"
    other = tmp_path / "other"
    other.mkdir()
    ask("docs", "ls", env={"WAYBILL_DATA": other})
    assert sent() == "Bearer here"
    (other / "token").write_text("there")
    ask("docs", "ls", env={"WAYBILL_DATA": other})
    assert sent() == "Bearer there"
    ask("docs", "ls", env={"WAYBILL_DATA": other, "WAYBILL_TOKEN": "variable"})
    assert sent() == "Bearer variable"
    ask("docs", "ls", "--token", "option", env={"WAYBILL_TOKEN": "variable"})
    assert sent() == "Bearer option"


@pytest.mark.parametrize("words", ["", "two words", "x" * 5000, "new\nline"],
                         ids=["empty", "blank", "long", "lines"])
def test_a_token_file_with_something_else_in_it(ask, fake, tmp_path, words):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text(words)
    got = ask("docs", "ls")
    assert got.returncode == USAGE and "not a token" in got.stderr and not fake.requests


def test_a_token_file_that_is_a_folder(ask, tmp_path):
    (tmp_path / "data" / "token").mkdir(parents=True)
    assert ask("docs", "ls").returncode == IO


def test_a_token_file_of_somebody_else(fake, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text("t")
    (tmp_path / "data" / "token").chmod(0)
    bounds = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # else root may read it
    got = subprocess.run([*(bounds if os.getuid() == 0 else []), BINARY, "docs", "ls", "--url",
                          fake.url], cwd=tmp_path, env=clean_environment(), capture_output=True,
                         text=True, check=False)
    assert got.returncode == DENIED and "--token" in got.stderr and not fake.requests


def test_not_allowed_says_what_to_do(ask, fake):
    fake.answer(Reply({"error": {"code": "unauthorized", "message": "no"}}, status=401))
    got = ask("docs", "ls")
    assert got.returncode == DENIED and "there is none; give --token" in got.stderr
    got = ask("docs", "ls", "--token", "very-secret")
    assert got.returncode == DENIED and "does not accept the token from --token" in got.stderr
    assert "very-secret" not in got.stderr
    fake.answer(Reply({"error": {"code": "forbidden", "message": "viewers may not"}}, status=403))
    got = ask("doctor", "--token", "t")
    assert got.returncode == DENIED and "viewers may not (403)" in got.stderr


# -- apply and config

PROBLEMS = [{"line": 3, "column": 5, "message": 'unknown key "kindd"', "hint": "did you mean kind?"},
            {"line": 9, "column": 1, "message": "no such system", "hint": None}]
WARNINGS = [{"line": 4, "column": 2, "message": "not run by this build", "hint": None}]
VERSION = {"version": 4, "made": "2026-11-15T02:52:10.123456Z", "by": "token", "note": "why",
           "sha256": "ab" * 32, "live": True}


def test_apply_sends_the_file_as_it_is(ask, fake, tmp_path):
    text = "node: { listen: 127.0.0.1:0 }\n# ü\nsystems: {}\n"
    (tmp_path / "w.yaml").write_text(text)
    fake.answer(data(configApply={"version": VERSION, "problems": [], "warnings": WARNINGS}))
    got = ask("apply", "w.yaml", "--note", "why")
    assert got.returncode == DONE and got.stdout == (
        "w.yaml:4:2: warning: not run by this build\nversion 4 is live\n")
    assert fake.requests[0].variables == {"text": text, "note": "why", "force": False}
    got = ask("apply", "-", "--json", stdin=text)
    assert objects(got.stdout) == [{"file": "-", "severity": "warning", **WARNINGS[0]}, VERSION]
    assert fake.requests[1].variables == {"text": text, "force": False}


def test_apply_prints_every_problem_with_its_place(ask, fake, tmp_path):
    (tmp_path / "w.yaml").write_text("x")
    fake.answer(data(configApply={"version": None, "problems": PROBLEMS, "warnings": []}))
    got = ask("apply", "w.yaml")
    assert got.returncode == NO and got.stdout.splitlines() == [
        'w.yaml:3:5: unknown key "kindd"', "    did you mean kind?", "w.yaml:9:1: no such system"]
    assert got.stderr == "waybill: w.yaml: 2 problems; nothing was changed\n"
    got = ask("apply", "w.yaml", "--json")
    assert objects(got.stdout) == [{"file": "w.yaml", "severity": "error", **p} for p in PROBLEMS]


def test_apply_cannot_read_the_file(ask, fake, tmp_path):
    assert ask("apply", "missing.yaml").returncode == IO
    assert ask("apply", tmp_path).returncode == IO
    (tmp_path / "latin1").write_bytes(b"\xfc")
    got = ask("apply", "latin1")
    assert got.returncode == NO and "UTF-8" in got.stderr
    with open(tmp_path / "huge", "wb") as f:
        f.truncate(9 << 20)
    assert ask("apply", "huge").returncode == NO
    assert not fake.requests


def test_config_show_and_export(ask, fake):
    fake.answer(data(config={**VERSION, "text": "systems: {}\n"}))
    assert ask("config", "show").stdout == (
        "# version 4 (live), made 2026-11-15 02:52:10.123 +00:00 by token: why\nsystems: {}\n")
    assert ask("config", "export").stdout == "systems: {}\n"
    assert objects(ask("config", "show", "4", "--json").stdout)[0]["version"] == 4
    assert [r.variables for r in fake.requests] == [{}, {}, {"version": 4}]
    fake.answer(data(config=None))
    got = ask("config", "show", "99")
    assert got.returncode == NO and "there is no version 99" in got.stderr
    assert ask("config", "export").returncode == NO


def test_config_history(ask, fake):
    older = {**VERSION, "version": 3, "live": False, "note": None}
    fake.answer(data(configHistory=[VERSION, older]))
    lines = ask("config", "history").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["VERSION", "4", "3"]
    assert "live" in lines[1] and "live" not in lines[2]
    assert objects(ask("config", "history", "--json", "--limit", "7").stdout) == [VERSION, older]
    assert fake.requests[1].variables == {"first": 7}


def test_config_diff(ask, fake, tmp_path):
    fake.answer(data(configDiff="-a\n+b\n"))
    got = ask("config", "diff", "1", "2")
    assert got.returncode == NO and got.stdout == "-a\n+b\n"
    assert fake.requests[0].variables == {"from": 1, "to": 2}
    assert objects(ask("config", "diff", "1", "2", "--json").stdout) == [
        {"differs": True, "diff": "-a\n+b\n"}]
    (tmp_path / "w.yaml").write_text("x: 1\n")
    fake.answer(data(configDiff=""))
    got = ask("config", "diff", "file", "w.yaml")
    assert got.returncode == DONE and got.stdout == "no difference\n"
    assert fake.requests[2].variables == {"text": "x: 1\n"}
    assert ask("config", "diff", "file", "missing").returncode == IO


def test_config_revert(ask, fake):
    fake.answer(data(configRevert={"version": VERSION, "problems": [], "warnings": []}))
    assert ask("config", "revert", "2").stdout == "version 4 is live\n"
    assert fake.requests[0].variables == {"version": 2, "force": False}
    fake.answer(data(configRevert={"version": None, "problems": PROBLEMS, "warnings": []}))
    got = ask("config", "revert", "2")
    assert got.returncode == NO and got.stdout.startswith("version 2:3:5: ")


# -- send

ACCEPTED = Reply({"document": "018f-1"}, status=202, headers={"Location": "/documents/018f-1"})


def test_send_a_file(ask, fake, tmp_path):
    fake.answer(ACCEPTED)
    (tmp_path / "o.xml").write_bytes(b"<Order/>")
    got = ask("send", "orders", "o.xml", "--header", "X-Sender:acme", "--header", "X-Empty:",
              "--name", "order ü.xml", "--key", "4711", "--token", "k")
    assert got.returncode == DONE and got.stdout == "018f-1\n"
    sent = fake.requests[0]
    assert (sent.method, sent.path, sent.body) == ("POST", "/in/orders", b"<Order/>")
    assert sent.headers["Content-Length"] == "8" and sent.headers["Authorization"] == "Bearer k"
    assert sent.headers["X-Sender"] == "acme" and sent.headers["X-Empty"] == ""
    assert sent.headers["Waybill-Name"].encode("latin-1").decode() == "order ü.xml"
    assert sent.headers["Idempotency-Key"] == "4711"
    assert objects(ask("send", "orders", "o.xml", "--json").stdout) == [{"id": "018f-1"}]


@pytest.mark.parametrize("stdin", [b"", b"hello", bytes(range(256)) * 1000],
                         ids=["empty", "short", "long"])
@pytest.mark.parametrize("args", [["send", "a/b ü"], ["send", "a/b ü", "-"]],
                         ids=["left out", "dash"])
def test_send_stdin(ask, fake, args, stdin):
    fake.answer(ACCEPTED)
    got = ask(*args, stdin=stdin, text=False)
    assert got.returncode == DONE
    assert fake.requests[0].body == stdin
    assert fake.requests[0].path == "/in/a%2Fb%20%C3%BC"
    assert fake.requests[0].headers["Transfer-Encoding"] == "chunked"
    assert fake.requests[0].headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize("name, content_type", [
    ("a.xml", "application/xml"), ("a.JSON", "application/json"), ("a.csv", "text/csv"),
    ("a.b.txt", "text/plain"), ("xml", "application/octet-stream"),
    ("a.edi", "application/octet-stream"), ("empty.xml", "application/xml")])
def test_send_guesses_the_content_type(ask, fake, tmp_path, name, content_type):
    fake.answer(ACCEPTED)
    (tmp_path / name).write_bytes(b"" if name.startswith("empty") else b"x")
    ask("send", "orders", name)
    assert fake.requests[0].headers.get_all("Content-Type") == [content_type]
    ask("send", "orders", name, "--header", "content-type: application/edi-x12")
    assert fake.requests[1].headers.get_all("Content-Type") == ["application/edi-x12"]
    ask("send", "orders", name, "--token", "t", "--header", "Authorization: Basic eDp5")
    assert fake.requests[2].headers.get_all("Authorization") == ["Basic eDp5"]


@pytest.mark.parametrize("status, code", [
    (400, NO), (404, NO), (413, NO), (415, NO), (422, NO), (401, DENIED), (403, DENIED),
    (429, UNREACHABLE), (503, UNREACHABLE), (507, UNREACHABLE)])
def test_send_refused(ask, fake, status, code):
    fake.answer(Reply({"error": {"code": "x", "message": "because of this"}}, status=status))
    got = ask("send", "orders", stdin="x")
    assert got.returncode == code and got.stdout == ""
    assert status == 401 or f"because of this ({status})" in got.stderr


@pytest.mark.parametrize("from_stdin", [False, True], ids=["file", "stdin"])
def test_send_refused_before_the_body_is_read(program, tmp_path, from_stdin):
    body = b"x" * (5 << 20)
    (tmp_path / "big").write_bytes(body)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def answer():
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                reply = b'{"error":{"code":"limit","message":"over 64 bytes"}}'
                peer.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: %d\r\n\r\n%s" %
                             (len(reply), reply))
        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        got = program("send", "orders", *([] if from_stdin else ["big"]), "--url", url, cwd=tmp_path,
                      stdin=body if from_stdin else b"", text=False)
        thread.join()
    assert got.returncode == NO and b"over 64 bytes (413)" in got.stderr


def test_send_needs_an_id_back(ask, fake):
    fake.answer(Reply({"something": "else"}, status=202))
    assert ask("send", "orders", stdin="x").returncode == UNREACHABLE
    fake.answer(Reply(b"ok", status=202))
    assert ask("send", "orders", stdin="x").returncode == UNREACHABLE


def test_send_cannot_read_the_file(ask, fake, tmp_path):
    assert ask("send", "orders", "missing.xml").returncode == IO
    assert not fake.requests
    got = ask("send", "orders", tmp_path)
    assert got.returncode == IO and "directory" in got.stderr


def peak_kib(*args, **options):
    """Run the program and return its exit status and peak of memory."""
    child = subprocess.Popen([BINARY, *map(str, args)], stdout=subprocess.DEVNULL, **options)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, used.ru_maxrss


def test_streams_need_little_memory(fake, tmp_path):
    size, env = 192 << 20, clean_environment()
    base = peak_kib("help")[1]
    with open(tmp_path / "big", "wb") as f:
        f.truncate(size)
    fake.keep_bodies = False
    fake.answer(ACCEPTED)
    code, used = peak_kib("send", "orders", tmp_path / "big", "--url", fake.url, env=env)
    assert code == DONE and used < base + 16384
    with open(tmp_path / "big", "rb") as f:
        with subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE) as cat:
            code, used = peak_kib("send", "orders", "--url", fake.url, env=env, stdin=cat.stdout)
    assert code == DONE and used < base + 16384
    assert [r.body for r in fake.requests] == [str(size).encode()] * 2
    fake.answer(Reply(bytes(size)))
    code, used = peak_kib("docs", "payload", "1", "-o", tmp_path / "got", "--url", fake.url, env=env)
    assert code == DONE and used < base + 16384
    assert (tmp_path / "got").stat().st_size == size


# -- keys

def test_keys(ask, fake):
    made = {"id": "k1", "gateway": "orders", "key": "wbk_k1_abc"}
    fake.answer(data(keyAdd=made))
    got = ask("key", "add", "orders", "--title", "Acme")
    assert got.returncode == DONE and got.stdout == "wbk_k1_abc\n"
    assert f"{fake.url}/in/orders" in got.stderr and "Authorization: Bearer" in got.stderr
    assert fake.requests[0].variables == {"gateway": "orders", "title": "Acme"}
    got = ask("key", "add", "orders", "--json")
    assert objects(got.stdout) == [made] and got.stderr == ""

    listed = {"id": "k1", "gateway": "orders", "title": "Acme", "systems": ["acme"], "from": [],
              "made": VERSION["made"], "expires": None, "used": None}
    fake.answer(data(keys=[listed]))
    head, line = ask("key", "ls").stdout.splitlines()
    assert head.split() == ["ID", "GATEWAY", "SYSTEMS", "FROM", "MADE", "EXPIRES", "USED", "TITLE"]
    assert line.split()[:3] == ["k1", "orders", "acme"] and "2026-11-15 02:52:10.123 +00:00" in line and line.endswith("Acme")
    assert objects(ask("key", "ls", "--json").stdout) == [listed]

    fake.answer(data(keyRemove=True))
    assert ask("key", "rm", "k1").stdout == "key k1 is removed\n"
    assert objects(ask("key", "rm", "k1", "--json").stdout) == [{"id": "k1", "removed": True}]
    fake.answer(data(keyRemove=False))
    got = ask("key", "rm", "k2")
    assert got.returncode == NO and "there is no key k2" in got.stderr


# -- docs

def test_docs_ls_filters(ask, fake):
    fake.answer(page([]))
    filters = {"state": "dead", "gateway": "g", "sender": "s", "receiver": "r", "type": "t",
               "name": "n", "error": "no_route"}
    args = [word for name, value in filters.items() for word in (f"--{name}", value)]
    got = ask("docs", "ls", *args, "--since", "2026-11-15T03:52:10+01:00", "--until", "2026-11-16")
    assert got.returncode == DONE and got.stdout.startswith("ID  STATE")
    assert fake.requests[0].variables == {"first": 50, "after": None, "filter": {
        **filters, "since": "2026-11-15T02:52:10.000000Z", "until": "2026-11-16T00:00:00.000000Z"}}


def test_docs_ls_is_a_table(ask, fake):
    dead = document(2, state="dead", sender=None, error={"code": "no_route", "message": "none"})
    fake.answer(page([document(1), dead]))
    assert ask("docs", "ls", env={"TZ": "Europe/Berlin"}).stdout.splitlines() == [
        "ID         STATE      RECEIVED                        GATEWAY  SENDER  RECEIVER  TYPE   "
        "SIZE     NAME OR ERROR",
        "018f-0001  delivered  2026-11-15 03:52:10.123 +01:00  orders   acme    hub       order  "
        "1.5 KiB  order-1.xml",
        "018f-0002  dead       2026-11-15 03:52:10.123 +01:00  orders   -       hub       order  "
        "1.5 KiB  no_route"]
    assert objects(ask("docs", "ls", "--json").stdout) == [document(1), dead]


def test_docs_ls_reads_on_until_the_limit(ask, fake):
    def answer(request):
        start = int(request.variables["after"] or 0)
        end = start + request.variables["first"]
        return page([document(n) for n in range(start, end)], str(end))
    fake.answer(answer)
    for limit, pages in ((250, [100, 100, 50]), (100, [100]), (1, [1]), (None, [50])):
        fake.requests.clear()
        args = ["--limit", limit] if limit else []
        got = ask("docs", "ls", "--json", *args)
        assert [d["id"] for d in objects(got.stdout)] == [f"018f-{n:04}" for n in range(limit or 50)]
        assert [r.variables["first"] for r in fake.requests] == pages
    got = ask("docs", "ls", "--limit", "120")
    assert len(got.stdout.splitlines()) == 121
    assert got.stderr == "the newest 120; there are more (--limit N)\n"


def test_docs_ls_stops_at_the_last_page(ask, fake):
    fake.answer(page([document(1)], "a"), page([], "b"), page([document(2)]))
    got = ask("docs", "ls", "--json")
    assert len(objects(got.stdout)) == 2 and len(fake.requests) == 3


def test_docs_ls_does_not_run_in_circles(ask, fake):
    fake.answer(page([], "same"))
    got = ask("docs", "ls")
    assert got.returncode == UNREACHABLE and "same page" in got.stderr


def test_docs_ls_takes_no_more_than_it_asked_for(ask, fake):
    fake.answer(page([document(n) for n in range(30)]))
    assert len(objects(ask("docs", "ls", "--json", "--limit", "3").stdout)) == 3


def test_names_cannot_speak_to_the_terminal(ask, fake):
    fake.answer(page([document(1, name="a\x1b]0;owned\x07\u009b31m\nb\r")]))
    out = ask("docs", "ls").stdout
    assert out.count("\n") == 2 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x80-\x9f]", out)


def test_a_nul_in_one_name_does_not_hide_the_others(ask, fake):
    odd = document(1, name="a\0b")
    fake.answer(page([odd, document(2)]))
    assert len(ask("docs", "ls").stdout.splitlines()) == 3
    assert objects(ask("docs", "ls", "--json").stdout) == [odd, document(2)]


def run_on_terminal(args, env):
    """What the program writes when its stdout is a terminal."""
    main, end = pty.openpty()
    with subprocess.Popen([BINARY, *args], stdin=subprocess.DEVNULL, stdout=end, env=env) as child:
        os.close(end)
        out = b""
        try:
            while piece := os.read(main, 65536):
                out += piece
        except OSError:  # the other end is closed
            pass
        child.wait()
    os.close(main)
    return out.decode()


def test_colour_only_on_a_terminal_and_without_no_color(ask, fake):
    fake.answer(page([document(1), document(2, state="dead")]))
    args = ["docs", "ls", "--url", fake.url]
    assert "\033[32mdelivered\033[0m" in run_on_terminal(args, clean_environment(TERM="xterm"))
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        out = run_on_terminal(args, clean_environment(**{"TERM": "xterm", **more}))
        assert "delivered" in out and "\033" not in out
    assert "\033" not in ask("docs", "ls").stdout


def test_docs_show(ask, fake):
    full = document(1, state="dead", contentType="application/xml", config=3, caller="key k1",
                    error={"code": "no_route", "message": "nothing matches"})
    fake.answer(data(document=full))
    out = ask("docs", "show", "018f-0001").stdout
    assert "state         dead\n" in out and "config        version 3\n" in out
    assert "error         no_route\n              nothing matches\n" in out
    assert "remedy        add a route" in out
    assert objects(ask("docs", "show", "018f-0001", "--json").stdout) == [full]
    fake.answer(data(document=None))
    got = ask("docs", "show", "nope")
    assert got.returncode == NO and "there is no document nope" in got.stderr


def test_docs_payload(ask, fake, tmp_path):
    body = bytes(range(256)) * 500
    fake.answer(Reply(body))
    assert ask("docs", "payload", "a/b", text=False).stdout == body
    assert (fake.requests[0].method, fake.requests[0].path) == ("GET", "/documents/a%2Fb/payload")
    got = ask("docs", "payload", "1", "-o", "out")
    assert got.returncode == DONE and got.stdout == "" and (tmp_path / "out").read_bytes() == body
    assert ask("docs", "payload", "1", "-o", "/dev/null").returncode == DONE
    assert pathlib.Path("/dev/null").is_char_device()
    fake.answer(Reply(b""))
    assert ask("docs", "payload", "1", "-o", "empty").returncode == DONE
    assert (tmp_path / "empty").read_bytes() == b""


def test_docs_payload_that_fails_leaves_no_half_file(ask, fake, tmp_path):
    fake.answer(Reply(bytes(500000), cut=300000))
    got = ask("docs", "payload", "1", "-o", "out")
    assert got.returncode == UNREACHABLE and not (tmp_path / "out").exists()
    assert "broke before the end" in got.stderr
    (tmp_path / "old").write_text("kept")
    fake.answer(Reply({"error": {"code": "not_found", "message": "there is none"}}, status=404))
    got = ask("docs", "payload", "1", "-o", "old")
    assert got.returncode == NO and (tmp_path / "old").read_text() == "kept"
    fake.answer(Reply(b"x" * 100))
    assert ask("docs", "payload", "1", "-o", "no/such/folder").returncode == IO
    got = ask("docs", "payload", "1", "-o", "/dev/full")
    assert got.returncode == IO and "No space left" in got.stderr


# -- doctor

def test_doctor(ask, fake):
    checks = [{"name": "digests", "ok": True, "message": "12 payloads", "count": 12},
              {"name": "tasks", "ok": True, "message": "3 tasks", "count": 3}]
    fake.answer(data(doctor={"ok": True, "checks": checks}))
    got = ask("doctor")
    assert got.returncode == DONE
    assert got.stdout == "ok    digests  12 payloads\nok    tasks    3 tasks\n2 checks, all ok\n"
    assert objects(ask("doctor", "--json").stdout) == checks
    checks[1].update(ok=False, message="task 7 has no document: restore it")
    fake.answer(data(doctor={"ok": False, "checks": checks}))
    got = ask("doctor")
    assert got.returncode == NO and got.stdout.splitlines()[1:] == [
        "FAIL  tasks    task 7 has no document: restore it", "2 checks, 1 failed"]
    assert ask("doctor", "--json").returncode == NO


def test_every_query_fits_the_schema(ask, fake, tmp_path):
    """What the program sends is valid against the schema, judged by another implementation."""
    graphql = pytest.importorskip("graphql")
    sdl = (ROOT / "src" / "admin" / "api" / "schema.graphql").read_text()
    sdl = re.sub(r'^\s*"[^"]*"\s*$', "", sdl, flags=re.M)  # descriptions, too new for some
    schema = graphql.build_ast_schema(
        graphql.parse(sdl + "\nschema { query: Query mutation: Mutation }"))
    (tmp_path / "w.yaml").write_text("x")
    for args in (["apply", "w.yaml"], ["config", "show"], ["config", "history"],
                 ["config", "diff", "1", "2"], ["config", "revert", "1"], ["config", "export"],
                 ["key", "add", "g"], ["key", "ls"], ["key", "rm", "1"], ["docs", "ls"],
                 ["docs", "show", "1"], ["docs", "show", "1", "--json"], ["docs", "trace", "1"],
                 ["docs", "retry", "1", "--from", "route"], ["docs", "cancel", "1"], ["dead", "ls"],
                 ["dead", "ls", "--by", "type"], ["dead", "retry", "--all"],
                 ["dead", "discard", "--type", "t"], ["send", "g", "w.yaml", "--dry"], ["doctor"]):
        ask(*args)
    assert len(fake.requests) == 21
    for request in fake.requests:
        assert (request.path, request.headers["Content-Type"]) == ("/graphql", "application/json")
        assert not graphql.validate(schema, graphql.parse(request.json["query"])), request.json
