"""What the black-box tests share: the program, and a node that really runs.

    def test_something(node):
        answer = node.post("open", b"hello")
        assert answer.status == 202
        assert node.cli("docs", "ls").returncode == 0

`node` is a running_node.Node on SQLite.  Marks say otherwise:

    @pytest.mark.stores("sqlite", "postgres")   run the test on each of them
    @pytest.mark.config("gateways: ...")        all but `node:`, instead of running_node.CONFIG
    @pytest.mark.node_options("area: dmz")      more lines for `node:`
    @pytest.mark.on_disk                        its files never lie in memory
    @pytest.mark.smoke                          with --smoke this one runs, not the first of its file
"""
import os
import pathlib
import shutil
import sys
import tempfile
import threading

import pytest

from running_node import BINARY, CONFIG, ROOT, Node, run_program

sys.path[:0] = [str(ROOT / "tests" / "harness"), str(ROOT / "tests")]
import postgres as harness  # noqa: E402  pylint: disable=wrong-import-position
from rig.receiver import Receiver  # noqa: E402  pylint: disable=wrong-import-position

# The longest first, as a whole run had them; what is not here takes less than a minute.
LONG_FILES = [f"test_{name}" for name in (
    "51_in_doubt", "50_holds", "42_s3", "85_backup", "29_calls", "83_batches", "80_alerts", "42_mllp_in", "42_sftp", "95_console",
    "88_login", "45_sql_out", "44_s3_in", "42_smtp", "60_hung_receivers", "86_rehearse", "10_gateway_http", "54_order",
    "43_mllp_out", "91_poison", "97_login_attack", "52_limits", "22_damage", "44_sftp_in", "44_ftp_in", "29_pgp", "29_records",
    "42_oauth2", "29_answer_documents", "55_windows", "81_retention", "43_ftp", "13_start_stop", "12_durability", "45_sql_in",
    "20_road", "27_long_chains", "41_files", "90_examples", "29_try", "14_config_versions", "97_audit_checkpoint", "19_soap")]
SANITIZERS = ("AddressSanitizer", "ThreadSanitizer", "LeakSanitizer", "runtime error:")


def pytest_configure(config):
    for line in ("stores(*names): the stores to run on: sqlite, postgres",
                 "config(text): the configuration without its node part",
                 "node_options(text): more lines for the node part",
                 "on_disk: tmp_path lies on a disk, also when other tests have their files in memory",
                 "smoke: what --smoke runs of this file instead of its first test"):
        config.addinivalue_line("markers", line)


def pytest_addoption(parser):
    parser.addoption("--smoke", action="store_true", help="one test of each file, or those that are marked so")


def pytest_collection_modifyitems(config, items):
    """The files that take longest begin first, so that the last one is not waited for alone."""
    if config.getoption("--smoke"):
        chosen = smoke(items)
        config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
        items[:] = chosen
    items.sort(key=lambda i: LONG_FILES.index(i.path.stem) if i.path.stem in LONG_FILES else len(LONG_FILES))


def smoke(items):
    """Of each file what is marked, else the first test."""
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return [test for tests in files.values()
            for test in [t for t in tests if t.get_closest_marker("smoke")] or tests[:1]]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Let fixtures know how the test itself ended; what one that passed leaves behind is removed at once, as all
    of it may lie in memory."""
    report = (yield).get_result()
    if report.when == "call":
        item.called = report
    folder = item.funcargs.get("tmp_path") if report.when == "teardown" and item.funcargs else None
    if folder is not None and report.passed and getattr(item, "called", None) and item.called.passed:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_generate_tests(metafunc):
    if "store" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("stores")
        metafunc.parametrize("store", mark.args if mark else ["sqlite"], indirect=True)


@pytest.fixture(scope="session")
def program():
    """The program without a node; fails the test when it is not built."""
    assert BINARY.exists(), f"{BINARY} is not built"
    return run_program


@pytest.fixture(scope="session")
def postgres():
    """One PostgreSQL server for all tests that want one, and for other suites: nobody stops it."""
    with harness.shared() as server:
        yield server


@pytest.fixture(scope="module")
def own_postgres():
    """A server for the tests of one file, which may stop it: such a file overrides `postgres` with it."""
    with harness.Cluster(settings=harness.UNSYNCED) as cluster:
        yield cluster


@pytest.fixture
def tmp_path(request, tmp_path):  # pylint: disable=redefined-outer-name
    """Where the run has its files, which may be memory, unless the test is marked `on_disk`."""
    if request.node.get_closest_marker("on_disk") is None:
        return tmp_path
    folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-", dir="/tmp"))
    (tmp_path / "on_disk").symlink_to(folder)
    return folder


@pytest.fixture
def store(request):
    """None for SQLite, the address of a fresh database for PostgreSQL."""
    if request.param == "sqlite":
        yield None
        return
    server = request.getfixturevalue("postgres")
    name = f"node_{os.urandom(6).hex()}"
    server.create_database(name)
    yield server.url(name)
    server.drop_database(name)


@pytest.fixture
def make_node(request, tmp_path, store):
    """Make a Node that is not started yet; all are ended after the test."""
    config = request.node.get_closest_marker("config")
    options = request.node.get_closest_marker("node_options")
    made, lock = [], threading.Lock()

    def make(**settings):
        assert BINARY.exists(), f"{BINARY} is not built"
        settings.setdefault("config", config.args[0] if config else CONFIG)
        settings.setdefault("options", options.args[0] if options else "")
        settings.setdefault("store", store)
        with lock:
            folder = tmp_path / f"node{len(made)}"
            folder.mkdir()
            one = Node(folder, **settings)
            made.append(one)
        return one

    yield make
    wrong = []
    for one in made:
        try:
            one.stop()
        except AssertionError as e:
            wrong.append(str(e))
        if any(word in line for line in one.stray for word in SANITIZERS):
            wrong.append("\n".join(one.stray))
    assert not wrong, "\n".join(wrong)
    called = getattr(request.node, "called", None)
    if called is not None and called.passed:  # a node's folder is large; a failed one is kept
        for one in made:
            shutil.rmtree(one.folder, ignore_errors=True)


@pytest.fixture
def node(make_node):
    """A node that runs."""
    one = make_node()
    one.start()
    return one


@pytest.fixture
def receiver():
    """An HTTP receiver that takes what comes, and misbehaves as it is told to."""
    with Receiver() as r:
        yield r
