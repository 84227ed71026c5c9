"""The page *Links* of the console, in a browser: tests/console/links.mjs says what somebody does there."""
import random

import pytest

from links import LINK, Databases
from tables import row
from test_95_console import browse
from wire import wait_until

SECONDS = 120
TABLES = {"item": "", "emptied": "", "later": "",
          "priced": ", constraint cheap check (price < 1000000000), constraint quiet check (note <> 'loud')"}

CONFIG = """\
databases:
  source: {source}
  dest: {dest}
links:
  {link}:
    from: source
    to: dest
    every: 200ms
    tables: {{ item: {{}}, emptied: {{}}, priced: {{}} }}
    verify: [ {{ mode: full, every: 1h }} ]
  spare: {{ from: source, to: dest, every: 200ms, tables: {{ later: {{}} }}, verify: [] }}
"""


@pytest.fixture
def scene(make_node, postgres, tmp_path):
    """A node with a table that is current and differs, one that is stopped, one with rows set aside, one that is not installed."""
    databases = Databases(postgres, tmp_path)
    source, dest = databases.of("postgres"), databases.of("postgres")
    chance = random.Random(4)
    for table, more in TABLES.items():
        source.make(table)
        dest.make(table, more=more)
        source.fill(table, [row(chance, n) for n in range(1, 40)])
    node = make_node(config=CONFIG.format(link=LINK, source=source.settings(), dest=dest.settings()))
    node.start()

    def tables():
        shown = node.graphql("{ links { tables { table stands reason setAside } } }")["links"]
        return {t["table"]: t for link in shown for t in link["tables"]}

    def await_state(table, **wanted):
        wait_until(lambda: {k: tables()[table][k] for k in wanted} == wanted, SECONDS, f"{table} becomes {wanted}")

    def await_rows(table):
        wait_until(lambda: source.rows(table) == dest.rows(table), SECONDS, f"{table} is the same")

    assert node.cli("repl", "install", LINK, "--yes").returncode == 0
    for table in ("item", "emptied", "priced"):
        await_rows(table)
        await_state(table, stands="current")
    source.run("truncate emptied")
    await_state("emptied", stands="stopped", reason="TRUNCATED")
    source.run("update priced set price = 2000000000 where id = 7", "update priced set note = 'loud' where id = 8")
    await_state("priced", stands="current", setAside=2)
    rows = node.graphql(f'{{ linkQuarantine(link: "{LINK}", table: "priced") {{ items {{ id key }} }} }}')["linkQuarantine"]["items"]
    asked, = (r["id"] for r in rows if r["key"] == "7")
    assert node.cli("repl", "quarantine", "discard", asked).returncode == 0     # so that nobody but the browser tries it again
    await_state("priced", setAside=1)
    dest.run("alter table priced drop constraint cheap",
             "update item set name = 'somebody else' where id = 3", "delete from item where id = 4",
             "insert into item (id, name) values (1000, 'extra')")
    await_state("later", stands="stopped")
    node.source, node.dest = source, dest
    yield node
    databases.close()


def test_somebody_looks_after_links(scene):
    browse("links.mjs", scene)
    source, dest = scene.source, scene.dest
    for table in ("item", "emptied", "later"):
        assert dest.rows(table) == source.rows(table), table
    released, unwanted = dest.rows("priced"), source.rows("priced")
    assert released[7] == unwanted[7] and released[8] != unwanted[8]
