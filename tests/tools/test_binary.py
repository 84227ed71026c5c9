"""A program that was built with less is found, on whichever machine this runs."""
import pathlib
import re
import subprocess

import check_binary
import pytest

# Copies an argument to a local array: an overrun that both checks watch.
SOURCE = """\
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char name[64];
    strncpy(name, argv[argc - 1], sizeof name - 1);
    name[sizeof name - 1] = 0;
    return printf("%s\\n", name) < 0;
}
"""
CMAKE = pathlib.Path(__file__).parents[2] / "CMakeLists.txt"


def options():
    """Those of CMakeLists.txt for this machine: what the compiler gets, what the linker gets."""
    text = re.search(r"if\(WAYBILL_HARDEN\).*?\nendif\(\)", CMAKE.read_text(), re.S).group()
    text = re.sub(r"#.*", "", text)
    machine = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    arm, intel = re.findall(r"set\(branch (\S+)\)", text)
    branch = {"aarch64": arm, "x86_64": intel}.get(machine.partition("-")[0], "")
    lists = [re.search(rf"{name}\(hardening INTERFACE(.*?)\)\n", text, re.S).group(1).replace("${branch}", branch).split()
             for name in ("target_compile_options", "target_link_options")]
    return lists


def build(folder, without=(), more=()):
    compiling, linking = [[o for o in part if o not in without] for part in options()]
    (folder / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", *compiling, *linking, *more, "p.c", "-o", "p"], cwd=folder, check=True)
    return check_binary.Program(folder / "p")


def problems(program):
    return [p for check in check_binary.CHECKS for p in check(program)]


@pytest.mark.proves("S5")
def test_built_as_the_release_is(tmp_path):
    assert not problems(build(tmp_path))


@pytest.mark.parametrize("without,more,found", [
    (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"], "not position-independent"),
    (["-Wl,-z,relro,-z,now"], ["-Wl,-z,lazy"], "bound late"),
    (["-Wl,-z,relro,-z,now"], ["-Wl,-z,norelro"], "no GNU_RELRO"),
    (["-Wl,-z,noexecstack"], ["-Wl,-z,execstack"], "GNU_STACK is writable and executable"),
    (["-fstack-protector-strong"], ["-fno-stack-protector"], "no function checks its stack"),
    (["-D_FORTIFY_SOURCE=3"], [], "no copy is checked"),
    (["-fstack-clash-protection"], [], "p.c: compiled without -fstack-clash-protection"),
    (["-ftrivial-auto-var-init=zero"], [], "p.c: compiled without -ftrivial-auto-var-init=zero"),
    ([], ["-Wl,-rpath,/tmp"], "says where libraries are"),
    ([], ["-g0"], "no debug information"),
])
def test_what_is_missing_is_named(tmp_path, without, more, found):
    assert any(found in p for p in problems(build(tmp_path, without, more)))


def test_unmarked_functions_are_found(tmp_path):
    program = build(tmp_path)
    if program.branches is None:
        pytest.skip("no branch protection is known for this machine")
    program = build(tmp_path, [program.branches.option])
    found = problems(program)
    assert any("main() begins without a mark" in p for p in found)
    assert any(f"p.c: compiled without {program.branches.option}" in p for p in found)
