#!/usr/bin/python3
"""Was this program built to withstand memory errors?

    tools/check_binary.py [--tap] PROGRAM

Reads the ELF file and its debug information with readelf, on x86-64 and on arm64.  Prints what is missing;
with --tap one test per rule, for tools/run_tests.

The mark "every jump lands where it may" (BTI, IBT) counts for a whole program: the linker sets it only if
all objects have it, also the start files of the C library.  Where those have none, as on Debian 12 for arm64,
a program cannot have it honestly; then only the instructions are asked for.
"""
import collections
import pathlib
import re
import subprocess
import sys

# In the debug information of every unit that was compiled from C: the options that leave no other trace.
UNIT_OPTIONS = ("-fstack-protector-strong", "-fstack-clash-protection", "-ftrivial-auto-var-init=zero")
START_FILES = ("Scrt1.o", "crti.o", "crtbeginS.o", "crtendS.o", "crtn.o")

# What a machine calls it: the option, the first instructions of a function, the name of the mark, and functions
# that surely begin so.  On x86-64 a function that is only called directly, as most are after the optimisation at
# link time, needs no mark.
Branches = collections.namedtuple("Branches", "option marks note sure")
BRANCHES = {
    "AArch64": Branches("-mbranch-protection=standard",
                        (bytes.fromhex("3f2303d5"), bytes.fromhex("5f2403d5")), "BTI",  # paciasp, bti c
                        ("main", "llhttp_execute")),
    "X86-64": Branches("-fcf-protection=full", (bytes.fromhex("f30f1efa"),), "IBT", ("main",)),  # endbr64
}


def readelf(*options):
    done = subprocess.run(["readelf", "--wide", *map(str, options)], capture_output=True, text=True, check=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    return done.stdout


class Program:
    """What readelf tells about a program, read once."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.bytes = self.path.read_bytes()
        self.head = readelf("-h", path)
        self.segments = readelf("-l", path)
        self.dynamic = readelf("-d", path)
        self.symbols = readelf("-s", path)
        machine = re.search(r"Machine:\s*(.*)", self.head).group(1)
        self.branches = next((b for name, b in BRANCHES.items() if name in machine), None)

    def units(self):
        """name -> how it was compiled, of each unit in C."""
        text = readelf("--debug-dump=info", "--dwarf-depth=1", self.path)
        found = {}
        for part in text.split("DW_TAG_compile_unit")[1:]:
            producer = re.search(r"DW_AT_producer\s*:(?: \(.*?\):)? (.*)", part)
            name = re.search(r"DW_AT_name\s*:(?: \(.*?\):)? (.*)", part)
            # The optimisation at link time makes a unit that only joins others.
            if producer and name and "GNU C" in producer.group(1) and name.group(1) != "<artificial>":
                found[name.group(1).strip()] = producer.group(1)
        return found

    def offset(self, address):
        """Where in the file a virtual address is."""
        for at, virtual, size in re.findall(r"^\s+LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", self.segments, re.M):
            if int(virtual, 16) <= address < int(virtual, 16) + int(size, 16):
                return address - int(virtual, 16) + int(at, 16)
        return None

    def functions(self):
        """name -> its first four bytes."""
        found = {}
        for m in re.finditer(r"^\s+\d+: ([0-9a-f]+)\s+\w+ FUNC\s+\w+\s+\w+\s+\d+ (\S+)$", self.symbols, re.M):
            at = self.offset(int(m.group(1), 16))
            if at is not None:
                found[m.group(2)] = self.bytes[at:at + 4]
        return found


def check_pie(program):
    """its addresses are chosen at each start"""
    if not re.search(r"FLAGS_1\).*\bPIE\b", program.dynamic):
        yield "not position-independent (-fPIE -pie)"


def check_relro(program):
    """the tables of the linker are read-only"""
    if "GNU_RELRO" not in program.segments:
        yield "no GNU_RELRO segment (-z relro)"
    if not re.search(r"\(BIND_NOW\)|FLAGS\).*\bBIND_NOW\b|FLAGS_1\).*\bNOW\b", program.dynamic):
        yield "symbols are bound late, so their table stays writable (-z now)"


def check_pages(program):
    """no page is writable and executable, none is changed by the loader"""
    for name, flags in re.findall(r"^\s+(GNU_STACK|LOAD)\s+(?:0x\w+ ){5}(\S[ RWE]{0,3}?)\s+0x", program.segments, re.M):
        if "W" in flags and "E" in flags:
            yield f"{name} is writable and executable"
    if "GNU_STACK" not in program.segments:
        yield "no GNU_STACK segment: the stack is executable"
    if "TEXTREL" in program.dynamic:
        yield "the loader changes code (TEXTREL)"


def check_libraries(program):
    """libraries come from the system's own folders"""
    for name in re.findall(r"\((RPATH|RUNPATH)\)", program.dynamic):
        yield f"a {name} says where libraries are"


def check_overruns(program):
    """overruns of arrays are found"""
    if "__stack_chk_fail" not in program.symbols:
        yield "no function checks its stack (-fstack-protector-strong)"
    if not re.search(r"\b__(?!stack)\w+_chk\b", program.symbols):
        yield "no copy is checked (-D_FORTIFY_SOURCE)"


def check_units(program):
    """every unit was compiled so, those of others too"""
    units = program.units()
    if not units:
        yield "no debug information: how its units were compiled cannot be seen"
    wanted = [*UNIT_OPTIONS, *([program.branches.option] if program.branches else [])]
    for name, how in sorted(units.items()):
        for option in wanted:
            if option not in how:
                yield f"{name}: compiled without {option}"


def check_branches(program):
    """jumps and returns land where they may"""
    if program.branches is None:
        return
    functions = program.functions()
    for name in program.branches.sure:
        if name in functions and not functions[name].startswith(program.branches.marks):
            yield f"{name}() begins without a mark ({program.branches.option})"
    if not any(f.startswith(program.branches.marks) for f in functions.values()):
        yield f"no function begins with a mark ({program.branches.option})"
    if start_files_have(program.branches.note) and program.branches.note not in readelf("-n", program.path):
        yield f"no property {program.branches.note}, although the C library has it"


def start_files_have(note):
    for name in START_FILES:
        path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True,
                              check=True).stdout.strip()
        if not pathlib.Path(path).exists() or note not in readelf("-n", path):
            return False
    return True


CHECKS = [check_pie, check_relro, check_pages, check_libraries, check_overruns, check_units, check_branches]


def main(arguments):
    tap = "--tap" in arguments
    paths = [a for a in arguments if a != "--tap"]
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    program = Program(paths[0])
    bad = 0
    if tap:
        print(f"1..{len(CHECKS)}")
    for n, check in enumerate(CHECKS, 1):
        problems = list(check(program))
        bad += bool(problems)
        for problem in problems:
            print(f"# {problem}" if tap else f"{program.path}: {problem}")
        if tap:
            print(f"{'not ' if problems else ''}ok {n} - {check.__doc__}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
