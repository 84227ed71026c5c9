"""Links whose one end is a database of another location: its node is asked, and gives what it lets the peer have."""
import random

import pytest

from links import TABLE, Databases, PeerLink
from tables import Writers, row

ROWS = 2000


@pytest.fixture(scope="module")
def databases(postgres, tmp_path_factory):
    made = Databases(postgres, tmp_path_factory.mktemp("bases"))
    yield made
    made.close()


def pair(databases, source, dest, rows=ROWS, seed=1):
    chance = random.Random(seed)
    made = databases.of(source), databases.of(dest)
    for one in made:
        one.make(TABLE)
    made[0].fill(TABLE, [row(chance, n) for n in range(rows)])
    return made


@pytest.mark.parametrize("source,dest,away", [("postgres", "postgres", "dest"), ("postgres", "sqlite", "source"),
                                              ("sqlite", "mariadb", "dest"), ("mariadb", "postgres", "source")])
def test_rows_go_there_and_come_from_there(databases, make_node, source, dest, away):
    source, dest = pair(databases, source, dest)
    link = PeerLink(make_node, source, dest, away)
    link.await_state("stopped", "TRIGGER")     # until its triggers are there
    link.install()
    assert len(link.await_equal()) == ROWS
    link.await_state("current")

    writers = Writers(source, TABLE).start()
    writers.await_changes(1500)
    writers.stop()
    link.await_equal()
    assert link.await_state("current")["setAside"] == 0
