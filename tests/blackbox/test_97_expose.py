"""What a configuration may take from its machine: variables and files that the node lists, and nothing else."""
import pytest

from fake_api import FakeApi, Reply
from running_node import run_program
from test_97_folders import apply, await_state

BOTH = pytest.mark.stores("sqlite", "postgres")
DONE, NO = 0, 1

CONFIG = """\
systems: { acme: {}, hub: {} }
types: { "*": {} }
gateways:
  web:
    kind: http
    auth: none
    extract: { sender: "value:acme", receiver: "value:hub", type: "value:order" }
endpoints:
  out:
    kind: http
    system: hub
    url: "URL"
    headers: { X-Taken: "VALUE" }
    retry: { first: 20ms, most: 50ms }
routes:
  - { name: all, do: [ { deliver: out } ] }
"""


@pytest.fixture
def far():
    """A receiver that takes everything and remembers it."""
    api = FakeApi()
    api.answer(*[Reply(status=200)] * 50)
    yield api
    api.close()


def config(far, value="plain"):
    return CONFIG.replace("URL", f"{far.url}/in").replace("VALUE", value)


def taken(far):
    return [r.headers.get("X-Taken") for r in far.requests]


@BOTH
@pytest.mark.proves("S13")
@pytest.mark.smoke
def test_the_token_of_the_node_is_not_brought_to_a_receiver(make_node, far):
    """With `configure` alone a header took the admin token along."""
    node = make_node(config=config(far))
    node.start()
    for value in ("${file:data/token}", "${file:./data//token}", f"${{file:{node.data}/token}}", "${env:HOME}", "x${env:PATH}y"):
        got = apply(node, config(far, value))
        assert got.returncode == NO and "this node does not expose it" in got.stdout, got.stdout
        kind = "files" if "file:" in value else "env"
        assert f"`expose: {{ {kind}: [" in got.stdout, got.stdout
    await_state(node, node.accept("web", b"x"), "delivered")
    assert taken(far) == ["plain"] and node.graphql("{ config { version } }")["config"]["version"] == 1


def test_no_answer_tells_whether_a_file_is_there(make_node, far):
    node = make_node(config=config(far))
    node.start()
    said = {apply(node, config(far, f"${{file:{path}}}")).stdout.replace(path, "PATH")
            for path in ("/etc/passwd", "/etc/shadow", "/no/such/file", "/etc", "/dev/zero")}
    assert len(said) == 1, said


@BOTH
def test_what_the_node_lists_is_taken(make_node, far):
    node = make_node(config=config(far, "${env:FAR_NAME}-${file:pass/word}"), environment={"FAR_NAME": "me"},
                     options="expose: { env: [FAR_NAME], files: [./pass/word] }")
    (node.folder / "pass").mkdir()
    (node.folder / "pass" / "word").write_text("sesame\n")
    node.start()
    await_state(node, node.accept("web", b"x"), "delivered")
    assert taken(far) == ["me-sesame"]
    got = apply(node, config(far, "${file:pass/other}"))
    assert got.returncode == NO and "expose" in got.stdout
    assert apply(node, config(far, f"${{file:{node.folder}/pass/../pass/word}}")).returncode == NO  # by its text
    assert node.cli("secret", "add", "hub", stdin="hush").returncode == DONE  # a secret need not be listed
    assert apply(node, config(far, "${secret:hub}")).returncode == DONE
    await_state(node, node.accept("web", b"x"), "delivered")
    assert taken(far) == ["me-sesame", "hush"]


def test_check_names_the_line_that_is_missing(tmp_path, far):
    file = tmp_path / "waybill.yaml"
    text = config(far, "${env:HOME} ${file:pass}")
    file.write_text("node: {}\n" + text)
    got = run_program("check", file)
    assert got.returncode == NO and "2 problems" in got.stdout
    assert "`expose: { env: [HOME] }`" in got.stdout and "`expose: { files: [pass] }`" in got.stdout, got.stdout
    file.write_text("node: { expose: { env: [HOME], files: [pass] } }\n" + text)
    assert run_program("check", file).returncode == DONE
    file.write_text(text)  # which node will run it is not known
    got = run_program("check", file)
    assert got.returncode == DONE and got.stdout.count("warning: `${") == 2


def test_the_section_of_the_node_is_its_own(make_node, far):
    """What the node takes for itself need not be listed: whoever writes its file has the machine."""
    node = make_node(config=config(far), options='name: "${env:NODE_NAME}"', environment={"NODE_NAME": "alpha"})
    node.start()
    assert node.graphql("{ nodes { name } }")["nodes"][0]["name"] == "alpha"


def test_the_first_version_is_asked_as_well(make_node, far):
    node = make_node(config=config(far, "${file:data/token}"))
    code, said = node.refuse()
    assert code == NO and "does not expose it" in said, said


@BOTH
def test_a_version_from_before_stays_and_waits(make_node, far):
    """The node starts with a version that it would refuse today; what needs the value is held and goes on later."""
    node = make_node(config=config(far, "${env:FAR_NAME}"), environment={"FAR_NAME": "me"},
                     options="expose: { env: [FAR_NAME] }")
    node.start()
    await_state(node, node.accept("web", b"x"), "delivered")
    node.stop()
    node.options = ""
    node.write_config(config(far, "${env:FAR_NAME}"))
    seen = len(node.events)
    node.start()
    assert any("`${env:FAR_NAME}`: this node does not expose it" in e["what"] for e in node.events[seen:]
               if e["event"] == "config.warn")
    doc = node.accept("web", b"y")
    assert await_state(node, doc, "held")["deliveries"][0]["held"] == ["endpoint"]
    assert "expose: { env: [FAR_NAME] }" in node.graphql("{ endpoints { broken } }")["endpoints"][0]["broken"]
    node.stop()
    node.options = "expose: { env: [FAR_NAME] }"
    node.write_config(config(far, "${env:FAR_NAME}"))
    node.start()
    await_state(node, doc, "delivered")
    assert taken(far) == ["me", "me"]
