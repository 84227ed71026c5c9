"""docs/security.md lists what the code refuses, and the unit file of systemd is one that it takes."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
UNIT = ROOT / "examples" / "waybill.service"
EXPOSURE_MOST = 2.0


def section(title):
    return re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.S | re.M).group(1)


def words(text):
    return set(re.findall(r"`([^`]+)`", text))


def test_refused_calls_are_listed():
    code = (ROOT / "src/base/confine_calls.c").read_text(encoding="utf-8")
    refused = set(re.findall(r"^ +SYS_(\w+),$", code, re.M))
    assert len(refused) > 40
    assert refused == {w for w in words(section("System calls that are refused (seccomp)")) if re.fullmatch(r"\w+", w)}


def test_calls_of_a_cage_are_listed():
    code = (ROOT / "src/cage/lock.c").read_text(encoding="utf-8")
    allowed = set(re.findall(r"SCMP_SYS\((\w+)\)", re.sub(r"#if KEEPER_SANITIZED.*?#(?:else|endif)", "", code, flags=re.S)))
    paragraph = re.search(r"^It may call .*?\n\n", section("Cages"), re.S | re.M).group(0)
    paragraph = paragraph.split(" A library of cryptography")[0]
    assert len(allowed) > 15 and allowed == words(paragraph)


def test_folders_that_every_node_reads_are_listed():
    code = (ROOT / "src/app/reach.c").read_text(encoding="utf-8")
    always = [re.findall(r'"(/[^"]*)"', re.search(rf"{name}\[\] = {{(.*?)}};", code, re.S).group(1))
              for name in ("always_read", "always_written")]
    listed = words(section("Files that can be reached (Landlock)"))
    assert all(always) and {path for part in always for path in part} <= listed


def test_the_unit_file_gives_up_what_a_node_does_not_need():
    """For machines without systemd."""
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    for line in ("User=waybill", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "LimitCORE=0",
                 "SystemCallFilter=@system-service"):
        assert line in lines


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit_file(tmp_path):
    unit = tmp_path / "waybill.service"  # the program is not installed here
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("ExecStart=/usr/bin/waybill", "ExecStart=/bin/true"))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    if "Failed to" in verified.stderr and "manager" in verified.stderr:
        pytest.skip(f"systemd-analyze does not run here: {verified.stderr}")
    assert verified.returncode == 0 and "waybill.service" not in verified.stderr, verified.stderr
    judged = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", unit], capture_output=True,
                            text=True, check=False)
    exposure = re.search(r"exposure level for waybill.service: ([0-9.]+)", judged.stdout)
    assert exposure and float(exposure.group(1)) <= EXPOSURE_MOST, judged.stdout[-2000:] + judged.stderr
