"""Ports and processes, on which the servers of other tests stand."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig import process  # noqa: E402  pylint: disable=wrong-import-position

BUSY = """
import threading
for _ in range(4):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""


@pytest.fixture(name="ports_of")
def fixture_ports_of(monkeypatch):
    def ports(worker):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        return set(process.own_ports())
    return ports


def test_no_two_that_run_beside_each_other_draw_from_the_same_ports(ports_of):
    slices = [ports_of(worker) for worker in ("", *(f"gw{n}" for n in range(8)))]
    assert all(len(s) >= 500 for s in slices) and len(set.union(*slices)) == sum(map(len, slices))
    assert max(map(max, slices)) < 32768


def test_a_port_is_given_once_as_long_as_there_are_others(ports_of):
    ports = ports_of("gw7")
    first, second = process.free_ports(100), process.free_ports(100)
    assert set(first + second) <= ports and len(set(first + second)) == 200


def test_what_is_stopped_as_a_whole_uses_no_more_time():
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as child:
        try:
            child.stdout.readline()
            process.stop_whole(child.pid)
            assert process.threads_stopped(child.pid)
        finally:
            child.kill()
