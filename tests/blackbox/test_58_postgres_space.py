"""PostgreSQL: space that payloads took comes back, and a stopped store can be checked."""
import os

import pytest

from aged import Aged, doctor, run, wait_for

pytestmark = pytest.mark.stores("postgres")
BODY, LARGE = 250_000, 1_250_000
COUNT = 80

# As if the payloads had come ten days earlier: the server's clock cannot be moved.
TEN_DAYS_AGO = """
DO $$ DECLARE r record; BEGIN
    FOR r IN SELECT slot FROM part WHERE family = 4 AND slot > 0 LOOP
        EXECUTE format('ALTER TABLE payload_%s RENAME TO payload_%s', r.slot, r.slot - 10);
        EXECUTE format('ALTER TABLE payload_piece_%s RENAME TO payload_piece_%s', r.slot, r.slot - 10);
        EXECUTE format('UPDATE payload_piece_%s SET upload = upload + (10::bigint << 44)', r.slot - 10);
    END LOOP;
    FOR r IN SELECT tablename AS name FROM pg_tables WHERE tablename ~ '^(doc|done_[0-9]+)$' LOOP
        EXECUTE format('UPDATE %I SET pos = pos - 10 WHERE seg = -1 AND pos > 0', r.name);
        EXECUTE format('UPDATE %I SET pos = pos + (10::bigint << 44) WHERE seg = -2', r.name);
    END LOOP;
    UPDATE part SET slot = slot - 10 WHERE family IN (4, 5) AND slot > 0;
END $$"""


def payload_bytes(server, database):
    """What the tables of payloads take on the disk."""
    return int(server.sql("SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
                          " WHERE relkind = 'r' AND relname ~ '^payload(_piece)?(_[0-9]+)?$'", database))


@pytest.mark.parametrize("size", [BODY, LARGE])
@pytest.mark.proves("RE6")
def test_space_of_purged_payloads_comes_back(make_node, tmp_path, postgres, store, size):
    """Also while a document that is kept longer lies behind them; nobody runs VACUUM FULL."""
    database = store.rpartition("/")[2]
    aged = Aged(make_node, tmp_path)
    node = aged.node
    count = COUNT * BODY // size
    for _ in range(count):
        aged.send(os.urandom(size))
    body = os.urandom(size)
    deed = aged.send(body, kind="deed")
    full = payload_bytes(postgres, database)
    assert full > count * size
    assert int(postgres.sql("SELECT count(*) FROM part WHERE family IN (4, 5)", database)) > 0  # from the start on
    assert node.stop() == 0
    postgres.sql(TEN_DAYS_AGO, database)
    aged.clock.by(0)
    node.start()
    run(node, count)

    def is_back():
        assert node.cli("retention", "run").returncode == 0
        return payload_bytes(postgres, database) < full / 5
    wait_for(node, is_back)
    assert node.get(f"/documents/{deed}/payload").body == body
    doctor(node)


def test_doctor_looks_at_a_stopped_store(node, program, store):
    """It says what a running node says; without the address it does not make a second store."""
    ident = node.accept("open", b"x")
    assert node.documents() == [ident]
    assert node.stop() == 0
    got = program("doctor", "--data", node.data, "--store", store)
    assert got.returncode == 0 and "checks, all ok" in got.stdout, got.stdout + got.stderr
    got = program("doctor", "--data", node.data)
    assert got.returncode != 0 and "--store" in got.stderr
    assert not (node.data / "waybill.db").exists()
    node.start()
    assert node.documents() == [ident]
