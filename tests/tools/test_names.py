"""Names that are shared are found, and only those."""
import names
import pytest


def found(check, root, files):
    for name, text in files.items():
        path = root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [f"{p.relative_to(root)}:{n}: {t}" for p, n, t in check(root)]


SHARED = [
    ("static void take(void)\n{\n}\n", True),
    ("static struct str take(struct x *a,\n                      int b)\n{\n}\n", True),
    ("static bool take(void) __attribute__((cold));\n", False),  # no body
    ("/* static void take(void)\n{\n} */\n", False),
    ("static const struct verb v = { .run = f(take) };\n", False),
    ("static void take(void)\n{\n}\nstruct t t = { .take = take };\n", False),  # a slot says which one
    ("void take(void)\n{\n}\n", False),
]


@pytest.mark.parametrize("text,bad", SHARED)
def test_static_functions(tmp_path, text, bad):
    bad_lines = found(names.shared_statics, tmp_path, {
        "base/a.c": "static void take(void)\n{\n}\n", "core/b.c": text})
    assert bad_lines == (["src/core/b.c:1: static take() is also in src/base/a.c"] if bad else [])


def test_struct_tags(tmp_path):
    assert found(names.shared_tags, tmp_path, {
        "base/a.h": "struct x {\n};\nenum y { Y };\nstruct z;\n", "core/b.h": "\nstruct x {\n};\nstruct z *z;\n",
        "core/c.c": "struct x {\n};\n"}) == ["src/core/b.h:2: x is also defined in src/base/a.h"]


def test_files_without_a_header_say_what_they_are(tmp_path):
    assert found(names.silent_files, tmp_path, {
        "base/a.c": '#include "x.h"\n', "base/b.c": "/* b.c - what it is. */\n", "base/c.c": "", "base/c.h": ""}) \
        == ["src/base/a.c:1: has no header of its own: its first line says what it is"]
