"""The counting itself: nothing that failed may look as if it had passed."""
import importlib.machinery
import importlib.util
import pathlib
import threading

import pytest

PROGRAM = pathlib.Path(__file__).parents[2] / "tools" / "run_tests"
loader = importlib.machinery.SourceFileLoader("run_tests", str(PROGRAM))
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
loader.exec_module(run_tests)

TAP = [
    ("ok 1 - a\nok 2 - b\n1..2\n", 0, 2, 0),
    ("ok 1 - a\nnot ok 2 - b\n1..2\n", 1, 1, 1),
    ("ok 1 - a\n", -11, 1, 1),            # crashed
    ("ok 1 - a\n", 0, 1, 1),              # left without a plan
    ("ok 1 - a\n1..2\n", 0, 1, 1),        # ran fewer than planned
    ("ok 1 - a\n1..1\n", 1, 1, 1),        # failed afterwards, a leak for example
    ("ok 1 - a\n1..1\n", None, 1, 1),     # took too long
    ("", 127, 0, 1),
    ("ok 1 - a\nok 2 - b # SKIP needs root\n1..2\n", 0, 1, 0),  # skipped is not passed
    ("# not ok to count\nok 1 - a\n1..1\n", 0, 1, 0),
]


@pytest.mark.parametrize("text,code,passed,failed", TAP)
def test_judge_tap(text, code, passed, failed):
    result = run_tests.judge_tap("x", code, text)
    assert (result.passed, result.failed) == (passed, failed)


LINE = "crash: kills=20 cuts=5 acked=1000 lost=0 doubled=0\n"
CRASH = [
    ("crash sqlite: kills=20 cuts=5 acked=1\n" + LINE, 0, 25, 0),
    ("FAILED kill 3: lost\nFAILED cut 1\n" + LINE, 1, 23, 2),
    (LINE, 1, 24, 1),
    (LINE, None, 24, 1),
    ("no rig\n", 1, 0, 1),
    ("", 0, 0, 1),
]


@pytest.mark.parametrize("text,code,passed,failed", CRASH)
def test_judge_crash(text, code, passed, failed):
    result = run_tests.judge_crash(code, text)
    assert (result.passed, result.failed) == (passed, failed)


@pytest.fixture(name="runner")
def fixture_runner(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    return run_tests.Runner("debug")


def test_a_program_that_hangs_is_ended(runner, tmp_path):
    code, text = runner.run(["sh", "-c", "echo begun; sleep 60 & sleep 60"], tmp_path / "log", 5)
    assert code is None and "begun" in text and "took longer" in text


def test_what_runs_for_another_build_is_ended_with_ours(runner, tmp_path):
    other = runner.beside("tsan")
    assert other.build.name == "tsan" and other.logs == tmp_path / "tsan" and runner.build.name == "debug"
    code, text = other.run(["nice"], tmp_path / "log", 60)
    assert code == 0 and int(text) > 0, "with less priority than ours"
    runner.end()
    with pytest.raises(run_tests.Ended):
        other.run(["true"], tmp_path / "log", 60)


def test_every_program_that_starts_a_thread_runs_under_the_sanitizer():
    files = {folder: {p.stem.replace("test_", prefix, 1): p for p in run_tests.ROOT.glob(f"tests/{folder}/**/test_*.c")}
             for folder, prefix in (("unit", "test_"), ("store", "store_"))}
    programs = {**files["unit"], **files["store"]}
    listed = run_tests.threaded()
    assert len(listed) == len(set(listed)) and set(listed) <= programs.keys()
    assert not [name for name, path in programs.items()
                if name not in listed and "pthread_create(" in path.read_text(encoding="utf-8")]


def test_pytest_is_counted(runner, tmp_path):
    (tmp_path / "test_a.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n"
        "@pytest.fixture\n"
        "def broken(): raise ValueError\n"
        "def test_error(broken): pass\n")
    result = runner.run_pytest("x", tmp_path, 60)
    assert (result.passed, result.failed, result.skipped) == (1, 2, 1)


def test_files_beside_each_other_are_counted_too(runner, tmp_path):
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text("def test_good(): pass\ndef test_bad(): assert False\n")
    result = runner.run_pytest("x", tmp_path, 60, beside=2)
    assert (result.passed, result.failed, result.skipped) == (2, 2, 0)


def test_pytest_that_cannot_start_has_failed(runner, tmp_path):
    (tmp_path / "conftest.py").write_text("import nothing_of_that_name\n")
    result = runner.run_pytest("x", tmp_path, 60)
    assert (result.passed, result.failed) == (0, 1)


def test_the_files_of_a_test_stay_only_if_it_failed(runner, tmp_path):
    (tmp_path / "test_a.py").write_text("def test_good(tmp_path): (tmp_path / 'small').touch()\n")
    assert runner.run_pytest("x", tmp_path, 60).passed == 1
    assert not (tmp_path / "x.files").exists()
    (tmp_path / "test_a.py").write_text("def test_bad(tmp_path): (tmp_path / 'small').touch(); assert False\n")
    assert runner.run_pytest("x", tmp_path, 60).failed == 1
    place = (tmp_path / "x.files").resolve()
    assert list(place.rglob("small")) and place.parent in (pathlib.Path("/tmp"), pathlib.Path("/dev/shm"))
    run_tests.remove_place("x")
    assert not place.exists() and not (tmp_path / "x.files").is_symlink()


WOBBLY = """\
import pathlib
import pytest

@pytest.mark.parametrize("word", ["a", "b - c::d"])
def test_wobbly(word):
    mark = pathlib.Path(__file__).with_name("mark" + word[0])
    if not mark.exists():
        mark.touch()
        assert False
"""


def test_what_wobbles_is_run_once_more_and_named(runner, tmp_path):
    (tmp_path / "test_a.py").write_text(WOBBLY + "def test_good(): pass\n")
    first = runner.run_pytest("x", tmp_path, 60)
    assert (first.passed, first.failed) == (1, 2)
    result = runner.run_again(first, tmp_path, 60)
    assert (result.passed, result.failed, len(result.second)) == (3, 0, 2)


def test_what_fails_twice_has_failed(runner, tmp_path):
    (tmp_path / "test_a.py").write_text(WOBBLY + "def test_bad(): assert False\n")
    first = runner.run_pytest("x", tmp_path, 60)
    result = runner.run_again(first, tmp_path, 60)
    assert (result.passed, result.failed, len(result.second)) == (2, 1, 2)


def test_what_looks_for_losses_gets_no_second_try(runner, tmp_path):
    (tmp_path / "test_12_durability.py").write_text(WOBBLY)
    first = runner.run_pytest("x", tmp_path, 60)
    assert first.failed == 2 and runner.run_again(first, tmp_path, 60) == first


@pytest.mark.parametrize("text", [
    "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_bad(n): assert False\n",  # many
    "import nothing_of_that_name\n",
    "import pytest\n@pytest.fixture\ndef node():\n    yield\n    assert False, 'it ended badly'\n"
    "def test_good(node): pass\n",
    "import os\ndef test_dies(): os._exit(1)\n",
])
def test_what_is_broken_gets_no_second_try(runner, tmp_path, text):
    (tmp_path / "test_a.py").write_text(text)
    first = runner.run_pytest("x", tmp_path, 60)
    assert first.failed > 0 and runner.run_again(first, tmp_path, 60) == first


UNIT = """\
#!/bin/sh
echo "ok 1 - good"
if [ -e "$0.mark" ]; then echo "ok 2 - wobbly"; echo 1..2; exit 0; fi
touch "$0.mark"
%s
"""


@pytest.mark.parametrize("text,passed,failed,second", [
    ("echo 'not ok 2 - wobbly'; echo 1..2; exit 1", 2, 0, ("test_x",)),
    ("echo 'not ok 2 - wobbly'; rm $0.mark; echo 1..2; exit 1", 1, 1, ()),  # twice
    ("kill -SEGV $$", 1, 1, ()),
    ("echo 1..2; exit 1", 1, 1, ()),
])
def test_a_unit_program_that_wobbles_is_run_once_more_and_named(runner, tmp_path, text, passed, failed, second):
    program = tmp_path / "test_x"
    program.write_text(UNIT % text)
    program.chmod(0o755)
    runner.build = tmp_path
    first = runner.run_tap("unit.test_x", [program], tmp_path / "log", 60)
    assert (first.passed, first.failed) == (1, 1)
    result, = runner.run_units_again([first], 60)
    assert (result.passed, result.failed, result.second) == (passed, failed, second)
    many = [first._replace(name=f"unit.test_{i}") for i in range(4)]
    assert runner.run_units_again(many, 60) == many


def suites_that(monkeypatch, **bodies):
    monkeypatch.setattr(run_tests, "SUITES", bodies)
    monkeypatch.setattr(run_tests, "NEEDS_RELEASE", set())


def passed(name):
    return run_tests.Result(name, 1, 0, "")


def test_what_waits_runs_beside_the_rest_and_crash_alone(runner, monkeypatch):
    meet, order = threading.Barrier(2, timeout=30), []

    def suite(name, meets):
        def run(_):
            if meets:
                meet.wait()
            order.append(name)
            yield passed(name)
        return run

    suites_that(monkeypatch, unit=suite("unit", True), blackbox=suite("blackbox", True), crash=suite("crash", False))
    assert run_tests.run_all(["unit", "blackbox", "crash"], runner) == (3, 0)
    assert sorted(order[:2]) == ["blackbox", "unit"] and order[2] == "crash"


def test_a_suite_that_breaks_down_has_failed(runner, monkeypatch):
    def broken(_):
        yield passed("unit")
        raise ValueError("no more")

    suites_that(monkeypatch, unit=broken, blackbox=lambda _: iter([passed("blackbox")]))
    assert run_tests.run_all(["unit", "blackbox"], runner) == (2, 1)


def test_nothing_runs_on_when_the_run_is_ended(runner, tmp_path):
    threading.Timer(0.3, runner.end).start()
    code, _ = runner.run(["sleep", "60"], tmp_path / "log", 60)
    assert code == -9
    with pytest.raises(run_tests.Ended):
        runner.run(["true"], tmp_path / "log", 60)
