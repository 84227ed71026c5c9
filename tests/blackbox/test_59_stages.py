"""What steps made of a document, and so what was sent, when the store no longer has it."""
import json
import pathlib
import sys
import time

import pytest

from moved_clock import MovedClock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig.receiver import Receiver  # noqa: E402

BOTH = pytest.mark.stores("sqlite", "postgres")
DAY = 86400

CONFIG = """\
systems: {{ hub: {{}} }}
types: {{ order: {{}} }}
gateways:
  in: {{ kind: http, auth: none, extract: {{ receiver: "value:hub", type: "value:order" }} }}
endpoints:
  api: {{ kind: http, url: "{url}/in", keep: {{ answers: all }} }}
routes:
  - name: orders
    when: {{ type: order }}
    do: [ {{ replace: {{ find: "a", with: "b" }} }}, {{ deliver: api }} ]
retention: {{ default: 45d, archive: {folder} }}
"""


def wait_for(node, true, seconds=60):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, node.tail()
        time.sleep(0.05)


@pytest.mark.proves("RE2")
@BOTH
def test_what_was_sent_is_in_the_archive(make_node, tmp_path):
    """Beside what was received: read by its stage, as from the store; a stage that never was is not there."""
    clock, folder = MovedClock(tmp_path), tmp_path / "archive"
    with Receiver() as receiver:
        receiver.behave("/in", "status", 200, None, "booked as 8842")
        node = make_node(config=CONFIG.format(url=receiver.url(""), folder=json.dumps(str(folder))),
                         environment={**clock.environment, "WAYBILL_TEST_ARCHIVE_AT_ONCE": "1"})
        clock.by(-50 * DAY)
        node.start()
        docs = [node.accept("in", f"a banana {n}") for n in range(3)]
        wait_for(node, lambda: all(node.show(d, "state")["state"] == "delivered" for d in docs))
        assert node.cli("docs", "payload", docs[1], "--stage", "1").stdout == "b bbnbnb 1"
        assert node.stop() == 0
    clock.by(0)
    node.start()
    assert node.cli("retention", "run").returncode == 0
    wait_for(node, lambda: all(node.show(d, "state") is None for d in docs))
    for n, doc in enumerate(docs):
        assert node.cli("docs", "payload", doc).stdout == f"a banana {n}"
        assert node.cli("docs", "payload", doc, "--stage", "1").stdout == f"b bbnbnb {n}"
        assert node.get(f"/documents/{doc}/payload?stage=2").status == 404
    (files,) = folder.glob("*.docs")
    assert files.read_bytes().count(b"\nanswer api 14 ") == len(docs)
