"""Documents made of documents, as GraphQL and the CLI show them."""
import contextlib
import json
import sqlite3

import psycopg
import pytest

from test_84_edit import CONFIG, await_state, send
from test_87_rights import Somebody, make_role, somebody

BOTH = pytest.mark.stores("sqlite", "postgres")


def change(node, statements):
    """Behind the back of a node that is stopped."""
    if node.store:
        with psycopg.connect(node.store, autocommit=True) as c:
            for text in statements:
                c.execute(text)
        return
    with contextlib.closing(sqlite3.connect(node.data / "waybill.db")) as c:
        for text in statements:
            c.execute(text)
        c.commit()


@pytest.fixture
def family(make_node, receiver):
    """A node, and a parent with two parts, a copy and an answer."""
    node = make_node(config=CONFIG.format(url=receiver.url("")))
    node.start()
    docs = [send(node, type="letter", n=n) for n in range(5)]
    for doc in docs:
        await_state(node, doc, "dead")
    assert node.stop() == 0
    nums = "(SELECT num FROM doc ORDER BY num LIMIT 1 OFFSET {})"
    change(node, [f"INSERT INTO link(parent, kind, child) VALUES ({nums.format(0)}, {kind}, {nums.format(n)})"
                  for n, kind in ((1, 5), (2, 5), (3, 3), (4, 4))]
           + [f"INSERT INTO offspring(doc, made, total, config) VALUES ({nums.format(0)}, 2, 0, 1)"])
    node.start()
    return node, docs


def shown(who, doc):
    return who.data("query($id: ID!) { document(id: $id) { parts { made total } parent { id } copyOf { id }"
                    " answerOf { id } } }", id=doc)["document"]


@BOTH
def test_a_document_shows_its_parts_and_they_their_parent(family):
    node, (parent, first, second, copy, answer) = family
    admin = Somebody(node, node.token)
    assert shown(admin, parent) == {"parts": {"made": 2, "total": None}, "parent": None, "copyOf": None,
                                    "answerOf": None}
    none = {"parts": None, "parent": None, "copyOf": None, "answerOf": None}
    assert shown(admin, second) == {**none, "parent": {"id": parent}}
    assert shown(admin, copy) == {**none, "copyOf": {"id": parent}}
    assert shown(admin, answer) == {**none, "answerOf": {"id": parent}}
    for doc, line in ((parent, "parts 2 so far"), (first, f"part of {parent}"), (copy, f"copy of {parent}"),
                      (answer, f"answer to {parent}")):
        lines = [" ".join(text.split()) for text in node.cli("docs", "show", doc).stdout.splitlines()]
        assert line in lines, lines
    listed = node.cli("docs", "ls", "--parent", parent, "--json").stdout.splitlines()
    assert {json.loads(line)["id"] for line in listed} == {first, second, copy, answer}


@BOTH
@pytest.mark.proves("ME5")
def test_how_many_parts_there_are_is_for_those_who_see_all(family):
    node, (parent, *_) = family
    make_role(node, "desk", {"see"}, ["acme"])
    assert shown(somebody(node, "desk"), parent)["parts"] is None
