"""Every stored stage of every document is covered: by `doctor --deep`, by a backup, by its check."""
import json

import pytest

from running_node import run_program

DONE, NO = 0, 1

CONFIG = """\
systems: {{ hub: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "json:/to" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", timeout: 5s }}
routes:
  - name: all
    do:
      - {{ replace: {{ find: "as it came", with: "as it went" }} }}
      - {{ deliver: api }}
"""


@pytest.fixture
def node(make_node, receiver):  # pylint: disable=function-redefined
    one = make_node(config=CONFIG.format(url=receiver.url("")))
    one.start()
    return one


def delivered(node, count=3):
    docs = [node.accept("in", json.dumps({"to": "hub", "text": "as it came", "n": n}).encode())
            for n in range(count)]
    for doc in docs:
        node.await_state(doc, "delivered", look=lambda n, one: n.show(one, "state"))
    return docs


def damage(node, was, becomes, count):
    """Changes these bytes in the segments, in their first `count` places."""
    for segment in sorted((node.data / "payload").glob("*.seg")):
        data = segment.read_bytes()
        assert data.count(was) >= count
        segment.write_bytes(data.replace(was, becomes, count))


def test_damage_in_what_was_sent_is_found_and_named(node, tmp_path):
    docs = delivered(node)
    node.stop()
    damage(node, b"as it went", b"As it went", 2)
    node.start()
    plain = node.cli("doctor")
    assert plain.returncode == DONE and "not looked at: what steps changed, what was sent" in plain.stdout
    deep = node.cli("doctor", "--deep")
    assert deep.returncode == NO
    named = [doc for doc in docs if doc in deep.stdout]  # what was sent lies there in any order
    assert len(named) == 2  # all of it, not the first
    got = node.cli("backup", tmp_path / "backup", "--json")
    assert got.returncode == NO and json.loads(got.stdout)["damaged"] == 2
    checked = run_program("restore", tmp_path / "backup", "--check")
    assert checked.returncode == NO
    assert [doc for doc in docs if doc in checked.stderr] == named
    restored = run_program("restore", tmp_path / "backup", "--data", tmp_path / "new")
    assert restored.returncode == DONE
    assert [doc for doc in docs if doc in restored.stderr] == named


def test_a_store_without_damage_is_well(node, tmp_path):
    delivered(node)
    deep = node.cli("doctor", "--deep")
    assert deep.returncode == DONE and "not looked at" not in deep.stdout, deep.stdout
    assert node.cli("backup", tmp_path / "backup").returncode == DONE
    assert run_program("restore", tmp_path / "backup", "--check").returncode == DONE
