"""Databases of the scene `peers`: an endpoint with `inbox`, and a gateway that polls rows.

Both are exactly once (docs/sql.md, docs/sql-polling.md).  `not_once` counts documents that are not in the table of the
endpoint exactly once with their own bytes, `rows_not_once` rows that are not exactly one document.  Neither table
keeps anybody from writing a thing twice.
"""

import collections
import hashlib
import json

from crash.peer_kinds import Kind, payloads
from rig.process import RigError

# The harness is a folder of modules; peer_kinds put it on the path.
import mariadb  # pylint: disable=wrong-import-order
import postgres  # pylint: disable=wrong-import-order

ROWS = 4                # for each kill
TABLES = ("create table docs (name varchar(100), body {binary})",
          "create table waybill_inbox (delivery varchar(200) not null primary key, "
          "received timestamp default current_timestamp not null)",
          "create table items (scene varchar(60), id bigint, what varchar(10))")
LAST = """query($gateway: String!) { documents(filter: { gateway: $gateway, type: "last" }, first: 1) { items { id } } }"""


def not_once(expected, found):
    """Of things that must be there once each, and of others that were found."""
    found = collections.Counter(found)
    return sum(found[thing] != 1 for thing in expected) + sum(thing not in expected for thing in found)


class Sql(Kind):
    """PostgreSQL."""
    name, points, bad = "sql", ("sql.",), ("not_once", "rows_not_once")
    binary = "bytea"

    def __init__(self, folder):
        super().__init__(folder)
        self.server = self.start_server()
        self.sql("; ".join(TABLES).format(binary=self.binary))
        self.scene, self.rounds, self.written = "", 0, 0

    def start_server(self):
        return postgres.Cluster(tcp=True, settings=postgres.UNSYNCED)

    def dsn(self):
        return (f"Driver=PostgreSQL Unicode;Server=127.0.0.1;Port={self.server.port};Database=postgres;"
                f"UID={postgres.OWNER}")

    def sql(self, text):
        return self.server.sql(text)

    # ---- documents that become rows

    def endpoint(self, scene):
        return (f"kind: sql, dsn: {json.dumps(self.dsn())}, inbox: waybill_inbox, "
                'statement: "insert into docs (name, body) values (:name, :payload)"')

    def judge(self, scene, numbers):
        expected = {(name, hashlib.md5(body).hexdigest()) for name, body in self.expected(scene, numbers).items()}
        found = self.sql(f"select name, md5(body) from docs where name like '{self.title(scene)}-%'")
        return {"not_once": not_once(expected, [tuple(line.split("\t")) for line in found.splitlines()])}

    # ---- rows that become documents

    def rows_gateway(self):
        return f"{self.name}_rows"

    def gateway(self, scene):
        query = f"select id, what from items where scene = '{scene}' and id > :id order by id"
        return (f"  {self.rows_gateway()}: {{ kind: sql, dsn: {json.dumps(self.dsn())}, query: {json.dumps(query)}, "
                "cursor: id, overlap: 5m, rows: each, every: 200ms, "
                'extract: { sender: "value:near", receiver: "value:near", type: "json:/what" } }\n')

    def begin(self, scene, rounds):
        self.scene, self.rounds, self.written = scene, rounds, 0

    def allow(self, rounds):
        """The last row of all is told apart: a look that took it has seen all before it."""
        first, self.written, last = self.written + 1, rounds * ROWS, self.rounds * ROWS
        values = ", ".join(f"('{self.scene}', {n}, '{'last' if n == last else 'row'}')"
                           for n in range(first, self.written + 1))
        if values:
            self.sql(f"insert into items values {values}")

    def left(self, api):
        return 0 if api.graphql(LAST, {"gateway": self.rows_gateway()})["documents"]["items"] else 1

    def acked(self):
        return self.written

    def judge_store(self, scene, api):
        found = [json.loads(body)["id"] for body in payloads(api, self.rows_gateway())]
        return {"rows_not_once": not_once(set(range(1, self.rounds * ROWS + 1)), found)}

    def line(self, counts):
        return f"sql not_once={counts['not_once'] + counts['rows_not_once']}"

    def close(self):
        self.server.close()


class SqlMaria(Sql):
    """MariaDB."""
    name, points, binary = "sql_maria", (), "longblob"

    def start_server(self):
        try:
            return mariadb.Server()
        except (mariadb.MariaError, OSError) as problem:
            raise RigError(f"MariaDB: {problem}") from problem

    def dsn(self):
        return self.server.dsn()
