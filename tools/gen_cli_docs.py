#!/usr/bin/python3
"""Write docs/cli.md from the program's own help.

    tools/gen_cli_docs.py [--check] [BINARY]

The help comes from the tables in src/app; this page is the same text.  With --check
nothing is written and the exit status is 1 when the page is out of date.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cli.md"
TEST_BUILDS_ONLY = {"fault-points"}

HEAD = """\
# The command line

Written by `tools/gen_cli_docs.py` from the program's own help: change the tables in
`src/app` and run it again.

"""


def ask(binary, *words):
    return subprocess.run([binary, "help", *words], check=True, capture_output=True,
                          text=True).stdout


def verbs_of(overview):
    """The names in the table of `waybill help`."""
    return [v for v in re.findall(r"^  ([a-z-]+)  +\S", overview, re.M) if v not in TEST_BUILDS_ONLY]


def page(binary):
    overview = ask(binary)
    kept = [line for line in overview.splitlines()
            if not any(line.startswith(f"  {v} ") for v in TEST_BUILDS_ONLY)]
    parts = [HEAD, "```\n", "\n".join(kept), "\n```\n"]
    for verb in verbs_of(overview):
        parts += [f"\n## waybill {verb}\n\n```\n", ask(binary, verb), "```\n"]
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("binary", nargs="?", default=str(ROOT / "build" / "debug" / "waybill"))
    args = parser.parse_args()
    text = page(args.binary)
    if not args.check:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is out of date: run tools/gen_cli_docs.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
