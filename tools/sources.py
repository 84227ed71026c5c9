"""What the checkers in this folder share: finding source files and reading C."""
import pathlib
import re

# Comments and literals of C, longest first.
_SKIP = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def files(root, *folders, suffixes=(".c", ".h", ".py")):
    """Source files below the folders, sorted: those with one of the suffixes, and Python
    scripts without any."""
    found = []
    for folder in folders:
        for path in sorted(pathlib.Path(root, folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and (
                    path.suffix in suffixes or (".py" in suffixes and is_python(path))):
                found.append(path)
    return found


def is_python(path):
    """A script without suffix whose first line names python."""
    if path.suffix:
        return path.suffix == ".py"
    with open(path, "rb") as f:
        first = f.readline(100)
    return first.startswith(b"#!") and b"python" in first


def read(path):
    """The text of a file; what is not UTF-8 is replaced."""
    return path.read_text(encoding="utf-8", errors="replace")


def strip_c(text, strings=True):
    """C without comments (and without the insides of literals), lines kept in place."""
    def blank(m):
        found = m.group()
        if found[0] in "\"'":
            return found if not strings else found[0] * 2
        return "\n" * found.count("\n") or " "
    return _SKIP.sub(blank, text)


def line_of(text, at):
    """The line number of an offset."""
    return text.count("\n", 0, at) + 1
