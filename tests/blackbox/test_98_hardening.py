"""What an intruder in the process of a node would find: nothing to execute, and few files to reach."""
import ctypes
import os
import pathlib
import signal

import pytest
from running_node import BINARY
from test_13_start_stop import make_certificate
from wire import wait_until

LANDLOCK_CREATE_RULESET = 444
LANDLOCK_VERSION = 1


def landlock_abi():
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION)


# Builds with a sanitizer read every file, for the lines of its reports: src/app/reach.c.
reads_all = pytest.mark.skipif(BINARY.parent.name in ("asan", "tsan"), reason="a sanitizer reads everything")
needs_landlock = pytest.mark.skipif(landlock_abi() < 2, reason="this kernel has no Landlock; unit tests check the rules")


def use_certificate(node, folder):
    node.options = f'folders: ["{node.folder}"]\ntls: {{ cert: {folder}/cert.pem, key: {folder}/key.pem }}'
    node.write_config('types: { "*": {} }\n')


def status_of_threads(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        yield dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)


@pytest.mark.smoke
@pytest.mark.proves("S9")
def test_every_thread_of_a_node_is_confined(node):
    said = node.wait_event("node.confine")
    threads = list(status_of_threads(node.process.pid))
    assert len(threads) > 5
    assert {t["NoNewPrivs"] for t in threads} == {"1"}
    assert said["seccomp"] == "on" and {t["Seccomp"] for t in threads} == {"2"}
    assert len({t["Name"] for t in threads}) > 5, "names of threads are lost"
    limits = pathlib.Path(f"/proc/{node.process.pid}/limits").read_text()
    assert [line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core")] == [["0", "0"]]


def children_of(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()]


def is_gone(pid):
    """Also one that nobody has waited for."""
    try:
        return next(status_of_threads(pid), {"State": "Z"})["State"].startswith("Z")
    except OSError:
        return True


def test_the_keeper_of_cages_has_nothing_and_ends_with_its_node(node):
    """The one process that a node starts, before it can start none any more."""
    [keeper] = children_of(node.process.pid)
    proc = pathlib.Path(f"/proc/{keeper}")
    # Behind it the folders in which connections to databases may write: never the data folder.
    wait_until(lambda: (proc / "cmdline").read_bytes().startswith(b"waybill\0cage\0keep\0"), 60)
    assert os.fsencode(node.data) not in (proc / "cmdline").read_bytes().split(b"\0")
    wait_until(lambda: {t["NoNewPrivs"] for t in status_of_threads(keeper)} == {"1"}, 60)
    if os.geteuid() == 0:  # the process is not dumpable: its user cannot look
        assert (proc / "environ").read_bytes() == b""
        assert not [fd for fd in (proc / "fd").iterdir() if os.readlink(fd).startswith(str(node.folder))]
    node.kill()
    wait_until(lambda: is_gone(keeper), 60)


@reads_all
@needs_landlock
@pytest.mark.proves("S9")
def test_files_outside_are_out_of_reach(make_node, tmp_path):
    """The certificate of another folder, which the file names only after the start."""
    node = make_node()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    make_certificate(node.folder, "here")
    make_certificate(elsewhere, "there")
    use_certificate(node, node.folder)
    node.start()
    assert node.wait_event("node.confine")["landlock"] == f"abi {landlock_abi()}"

    use_certificate(node, elsewhere)
    node.process.send_signal(signal.SIGHUP)
    assert str(elsewhere) in node.wait_event("tls.refuse")["why"]
    node.wait_event("node.reload", ok=False)
    make_certificate(node.folder, "new")  # other files of the same names
    use_certificate(node, node.folder)
    node.process.send_signal(signal.SIGHUP)
    node.wait_event("node.reload", ok=True)


def test_a_node_may_be_looked_into_when_its_operator_says_so(make_node, tmp_path):
    node = make_node()
    unconfined = tmp_path / "unconfined"
    unconfined.write_text(f'#!/bin/sh\nexec {BINARY} "$@" --unconfined\n')
    unconfined.chmod(0o700)
    node.command = [str(unconfined)]
    node.start()
    said = node.wait_event("node.confine")
    assert said["level"] == "warn" and said["landlock"] == said["seccomp"] == "none"
    assert "--unconfined" in said["why"]
    assert {t["Seccomp"] for t in status_of_threads(node.process.pid)} == {"0"}


@pytest.mark.stores("sqlite", "postgres")
def test_documents_pass_a_confined_node(node):
    assert node.wait_event("node.confine")["seccomp"] == "on"
    node.accept("open", b"x" * 3_000_000)
    assert node.get("/readyz").status == 200
    node.restart()
    assert len(node.documents()) == 1
    assert os.listdir(node.data)
