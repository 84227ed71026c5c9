"""Named steps: written once in `services`, named where they run."""
import hashlib

import pytest

CONFIG = """\
systems: {{ hub: {{}} }}
types: {{ "*": {{}} }}
services:
  tidy: {{ replace: {{ find: " ", with: "_" }} }}
  out: {{ deliver: api }}
gateways:
  one: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, system: hub, url: "{url}/in" }}
routes:
  - {{ name: orders, when: {{ type: order }}, do: [ tidy, replace: {{ find: a, with: b }}, tidy, out: ] }}
"""


@pytest.mark.stores("sqlite", "postgres")
def test_a_named_step_runs_as_if_it_were_written_out(make_node, receiver):
    node = make_node(config=CONFIG.format(url=receiver.url("")))
    node.start()
    doc = node.accept("one", b"a b a")
    got, = receiver.wait_for(1)
    assert got["sha256"] == hashlib.sha256(b"b_b_b").hexdigest()
    node.await_state(doc, "delivered", look=lambda n, d: n.show(d, "state"))

    got = node.cli("check", node.config_file)
    assert got.returncode == 0 and "not run by this build" not in got.stdout, got.stdout
    text = CONFIG.format(url=receiver.url("")).replace("[ tidy,", "[ tydy,")
    (node.folder / "bad.yaml").write_text(text)
    got = node.cli("apply", node.folder / "bad.yaml")
    assert got.returncode == 1 and "unknown service `tydy`" in got.stdout and "did you mean `tidy`?" in got.stdout
