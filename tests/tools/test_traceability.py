"""The table of failures and the tests that prove it stay tied together."""
import pathlib

import pytest
import traceability

HERE = pathlib.Path(__file__).parents[2]
SAY = "prov" + "es: "  # split, or this file would claim the rows below

PAGE = """# Failures
## Proven today
AA1 AA2

## Rows
| AA1 | x |
| AA2 | x |
| BB1 | x |
"""


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path
    write({"docs/failures.md": PAGE})
    return write


# proves: XC7
def test_a_promised_row_without_a_test_is_found(tree):
    root = tree({"tests/unit/base/test_a.c": f"/* {SAY}AA1 */\nTEST(one)\n{{\n}}\n"})
    problems, table = traceability.check(root, strict=False)
    assert problems == [] and table["AA1"] == ["tests/unit/base/test_a.c::one"]
    assert traceability.unproven(root, table) == ["AA2"]
    problems, _ = traceability.check(root, strict=True)
    assert [p[2] for p in problems] == ["AA2 is said to be proven and has no test of its own"]


def test_a_row_that_shares_its_only_test_with_many_is_found(tree):
    together = "AA1 AA2 BB1 BB2"
    page = PAGE.replace("## Rows\n", "## Rows\n| BB2 | x |\n")
    root = tree({"docs/failures.md": page, "tests/test_a.c": f"/* {SAY}{together} */\nTEST(x)\n{{\n}}\n"})
    assert traceability.unproven(root, traceability.check(root)[1]) == ["AA1", "AA2"]
    tree({"tests/test_b.c": f"/* {SAY}AA1 */\nTEST(x)\n{{\n}}\n", "tests/test_c.py": f'"""Words. {SAY}AA2"""\n'})
    assert traceability.unproven(root, traceability.check(root)[1]) == ["AA2"], "a file is no test"


def test_rules_of_security_are_rows_too(tree):
    root = tree({"docs/security.md": "## Proven today\nS1 S2\n## Rules\n| S1 | x |\n| S2 | x |\n",
                 "tests/test_a.c": f"/* {SAY}AA1 AA2 S1 */\nTEST(x)\n{{\n}}\n"})
    problems, _ = traceability.check(root)
    assert [(p[0].name, p[2]) for p in problems] == [
        ("security.md", "S2 is said to be proven and has no test of its own")]


def test_an_unknown_row_is_found(tree):
    root = tree({"tests/test_a.py": f"\n# {SAY}AA1, ZZ9\ndef test_x():\n    pass\n"})
    problems, _ = traceability.check(root, strict=False)
    assert [(p[1], p[2]) for p in problems] == [(2, 'proves "ZZ9": no such row')]


FORMS = {
    "tests/test_a.py": [
        (f"# {SAY}AA1\ndef test_x():\n    pass\n", "test_x"),
        (f"def test_x():\n    pass\n    # {SAY}AA1\n\ndef test_y():\n    pass\n", "test_x"),
        (f'def test_x():\n    """Words.  {SAY}AA1"""\n', "test_x"),
        ('@pytest.mark.pro' 'ves("BB1", "AA1")\n@other\ndef test_x():\n    pass\n', "test_x"),
        ('@pytest.mark.pro' 'ves("AA1")\n@other([\n    (1, 2),\n    3])\ndef test_x():\n    pass\n', "test_x"),
        ("@pytest.mark.pro" "ves('AA1')\nclass TestX:\n    def test_x(self):\n        pass\n", None),
        (f"# {SAY}AA1\n\nx = 1\n", None),
    ],
    "tests/test_a.c": [
        (f"/* {SAY}AA1 */\nTEST(x)\n{{\n}}\n", "x"),
        (f"/* Words.\n * {SAY}AA1 BB1\n */\nTEST(x)\n{{\n}}\n", "x"),
        (f"TEST(x)\n{{\n    /* {SAY}AA1 */\n    CHECK(1);\n}}\nTEST(y)\n", "x"),
    ],
}


@pytest.mark.parametrize("name,text,test", [(n, *f) for n, forms in FORMS.items() for f in forms])
def test_forms(tree, name, text, test):
    root = tree({name: text})
    problems, table = traceability.check(root, strict=False)
    assert problems == []
    assert table["AA1"] == [name + (f"::{test}" if test else "")]


def test_rows_stand_once_and_promises_exist(tree):
    root = tree({"docs/failures.md": PAGE.replace("AA1 AA2", "AA1 QQ1") + "| BB1 | x |\n",
                 "tests/x.py": ""})
    problems, _ = traceability.check(root, strict=False)
    assert [p[2] for p in problems] == ["row BB1 stands there twice",
                                        "proven today names QQ1, which is no row"]


def test_our_own_page_is_complete():
    known, promised = traceability.rows(HERE / "docs/failures.md")
    assert len(known) == len(set(known)) >= 239
    assert len(promised) >= 140 and set(promised) <= set(known)
    known, promised = traceability.rows(HERE / "docs/security.md")
    assert known == [f"S{n}" for n in range(1, 19)] and len(promised) >= 16
