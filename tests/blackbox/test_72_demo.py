"""`waybill demo`: starts with nothing, says what runs where, and leaves nothing behind."""
import pathlib
import re
import signal
import subprocess
import time

import pytest

from running_node import BINARY, clean_environment, run_program


class Demo:
    """A demo that runs; its temporary folder is below the test's own."""

    def __init__(self, folder, *words):
        self.temp = folder
        self.output = folder / "output"
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(
                [str(BINARY), "demo", *map(str, words)], env=clean_environment(TMPDIR=folder),
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=folder)
        self.wait("a status line", lambda: re.search(r"sent \d+", self.text()))

    def text(self):
        return self.output.read_text()

    def wait(self, what, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not (got := condition()):
            assert self.process.poll() is None, f"the demo ended:\n{self.text()}"
            assert time.monotonic() < deadline, f"no {what} after {seconds} s:\n{self.text()}"
            time.sleep(0.05)
        return got

    def place(self, name):
        """What stands behind a word of the table."""
        return re.search(rf"^  {name} +(\S.*?)(?:   |$)", self.text(), re.M)[1]

    @property
    def dir(self):
        return pathlib.Path(self.place("token")).parents[1]

    def commands(self):
        """The lines that are there to be pasted."""
        return re.findall(r"^     (\S.*)$", self.text().split("Three things to try")[1], re.M)

    def paste(self, command):
        return subprocess.run(["sh", "-c", command], env=clean_environment(), cwd=self.temp,
                              capture_output=True, text=True, timeout=60, check=False)

    def end(self, signo=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(signo)
        return self.process.wait(60)


@pytest.fixture
def demo(tmp_path):
    made = []

    def make(*words):
        assert BINARY.exists(), f"{BINARY} is not built"
        folder = tmp_path / f"demo {len(made)}"     # a blank in the path is nothing special
        folder.mkdir()
        made.append(Demo(folder, *words))
        return made[-1]

    yield make
    for one in made:
        one.end(signal.SIGTERM)


def gone(pid):
    """True when the process has ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_starts_with_nothing_and_leaves_nothing(demo):
    one = demo()
    folder, pid = one.dir, int((one.dir / "node.pid").read_text())
    assert folder.parent == one.temp
    assert run_program("check", folder / "waybill.yaml").returncode == 0
    visits = one.wait("visit that went over MLLP", lambda: [
        path for path in (folder / "archive" / "visit").rglob("[!.]*") if path.is_file()])
    assert visits[0].read_bytes().startswith(b"MSH|^~\\&|FIRSTAID|")
    ran = one.wait("job that asked the mock", lambda: [
        line for line in (folder / "node.log").read_text().splitlines() if '"job.' in line])
    assert not any('"job.fail"' in line for line in ran), ran
    list_jobs = one.commands()[1].replace("docs ls --limit 5", "jobs log close-tills")
    one.wait("line of the log of runs", lambda: "the tills are closed" in one.paste(list_jobs).stdout)
    assert one.end() == 0
    assert not folder.exists()
    assert gone(pid)


def test_the_commands_work_when_pasted(demo):
    one = demo()
    send, look, dead, kill = one.commands()
    sent = one.paste(send)
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout.strip() in one.paste(look).stdout
    assert one.paste(dead).returncode == 0
    pid = int((one.dir / "node.pid").read_text())
    assert one.paste(kill).returncode == 0
    one.wait("new start", lambda: "starting it again" in one.text())
    one.wait("new process", lambda: int((one.dir / "node.pid").read_text()) != pid)
    url = one.place("node")
    one.wait("answer", lambda: one.paste(f"curl -sf {url}/readyz").returncode == 0)
    assert sent.stdout.strip() in one.paste(look.replace("--limit 5", "--limit 1000")).stdout


def test_a_given_folder_is_kept_and_used_again(demo, tmp_path):
    folder = tmp_path / "kept"
    for _ in range(2):
        one = demo("--dir", folder)
        assert one.dir == folder
        assert one.end(signal.SIGTERM) == 0
    assert (folder / "data/token").exists()
    log = (folder / "node.log").read_text()
    assert log.count('"node.ready"') == 2


def test_the_node_goes_with_a_killed_demo(demo):
    one = demo()
    pid = int((one.dir / "node.pid").read_text())
    one.process.kill()
    one.process.wait()
    deadline = time.monotonic() + 30
    while not gone(pid):
        assert time.monotonic() < deadline, "the node outlives the demo"
        time.sleep(0.05)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    got = run_program("demo", "--dir", tmp_path / "no" / "such")
    assert got.returncode == 1
    assert "no/such" in got.stderr
