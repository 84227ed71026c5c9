"""waybill probe of a share that hangs: a call that cannot be interrupted."""
import re

import fuse_share
import pytest

from wire import wait_until

CONFIG = """\
systems: {{ hub: {{}} }}
endpoints: {{ hung: {{ kind: file, system: hub, path: "{path}" }} }}
"""


@pytest.mark.skipif(bool(fuse_share.missing()), reason=str(fuse_share.missing()))
def test_the_step_in_which_it_hangs_has_failed(make_node, tmp_path):
    share = fuse_share.Share(tmp_path / "root", tmp_path / "share")
    try:
        node = make_node(config=CONFIG.format(path=tmp_path / "share"))
        node.start()
        wait_until(lambda: node.cli("probe", "hung").returncode == 0, 60, "the endpoint has met its folder")
        share.stop()
        done = node.cli("probe", "hung")
        assert done.returncode == 1, done.stdout + done.stderr
        assert re.search(r"^folder +FAILED .*hangs still; look after the share", done.stdout, re.M), done.stdout
        share.go_on()
        wait_until(lambda: node.cli("probe", "hung").returncode == 0, 60, "the share is back")
        assert not list((tmp_path / "root").iterdir())
    finally:
        share.close()
