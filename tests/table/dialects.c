/* dialects.c - the tables of the checks of drivers, as each database makes them. */
#include "scene.h"

const struct dialect dialects[] = {
    { .kind = "sqlite",
      .types = "CREATE TABLE driver_types (id INTEGER PRIMARY KEY, c_int INTEGER, c_dec DECIMAL "
               "TEXT, c_float REAL, c_text TEXT, c_bytes BLOB, c_bool BOOLEAN, c_instant "
               "TIMESTAMPTZ, c_local DATETIME, c_date DATE, c_time TIME, c_uuid UUID, c_json JSON, "
               "c_short NUMERIC)",
      .pairs = "CREATE TABLE driver_pairs (a INTEGER, b TEXT, v TEXT, PRIMARY KEY (a, b)) WITHOUT "
               "ROWID",
      .bytes = "CREATE TABLE driver_bytes (k BLOB NOT NULL PRIMARY KEY, v TEXT)",
      .uuids = "CREATE TABLE driver_uuids (k UUID NOT NULL PRIMARY KEY, v TEXT)",
      .rows = "CREATE TABLE driver_rows (id INTEGER PRIMARY KEY, v TEXT)",
      .notes = "CREATE TABLE driver_notes (id INTEGER PRIMARY KEY, v TEXT)",
      .strict = "CREATE TABLE driver_strict (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, u TEXT "
                "UNIQUE)",
      .hostile = "CREATE TABLE \"dri'v\"\"er`s [x]; drop table driver_notes --\" (id INTEGER "
                 "PRIMARY KEY, \"select \"\"'`]; -- \xc3\xa4\xf0\x9d\x84\x9e\" TEXT)",
      .quoted = "\"dri'v\"\"er`s [x]; drop table driver_notes --\"",
      .view = "CREATE VIEW driver_view AS SELECT * FROM driver_notes",
      .keyless = "CREATE TABLE driver_keyless (v TEXT)",
      .cut = NULL },
    { .kind = "postgres",
      .types = "CREATE TABLE driver_types (id bigint PRIMARY KEY, c_int bigint, c_dec numeric, "
               "c_float double precision, c_text text, c_bytes bytea, c_bool boolean, c_instant "
               "timestamptz, c_local timestamp, c_date date, c_time time, c_uuid uuid, c_json "
               "jsonb, c_short numeric(12,2))",
      .pairs = "CREATE TABLE driver_pairs (a bigint, b text COLLATE \"C\", v text, PRIMARY KEY (a, "
               "b))",
      .bytes = "CREATE TABLE driver_bytes (k bytea PRIMARY KEY, v text)",
      .uuids = "CREATE TABLE driver_uuids (k uuid PRIMARY KEY, v text)",
      .times = "CREATE TABLE driver_times (d date, a timestamptz, t time, v text, PRIMARY KEY (d, "
               "a, t))",
      .rows = "CREATE TABLE driver_rows (id bigint PRIMARY KEY, v text)",
      .retype = "ALTER TABLE driver_rows ALTER v TYPE double precision USING 1.5",
      .notes = "CREATE TABLE driver_notes (id bigint PRIMARY KEY, v text)",
      .strict = "CREATE TABLE driver_strict (id bigint PRIMARY KEY, n bigint NOT NULL, u text "
                "UNIQUE)",
      .hostile =
          "CREATE TABLE \"dri'v\"\"er`s [x]; drop table driver_notes --\" (id bigint PRIMARY "
          "KEY, \"select \"\"'`]; -- \xc3\xa4\xf0\x9d\x84\x9e\" text)",
      .quoted = "\"dri'v\"\"er`s [x]; drop table driver_notes --\"",
      .view = "CREATE VIEW driver_view AS SELECT * FROM driver_notes",
      .keyless = "CREATE TABLE driver_keyless (v text)",
      .cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
             "pg_backend_pid() AND datname = current_database()",
      .endless = true },
    { .kind = "mariadb",
      .types = "CREATE TABLE driver_types (id bigint PRIMARY KEY, c_int bigint, c_dec "
               "decimal(65,20), c_float double, c_text longtext CHARACTER SET utf8mb4, c_bytes "
               "longblob, c_bool boolean, c_instant timestamp(6) NULL, c_local datetime(6), c_date "
               "date, c_time time(6), c_uuid uuid, c_json json, c_short decimal(12,2)) "
               "ENGINE=InnoDB",
      .pairs = "CREATE TABLE driver_pairs (a bigint, b varchar(200) CHARACTER SET utf8mb4 COLLATE "
               "utf8mb4_nopad_bin, v longtext CHARACTER SET utf8mb4, PRIMARY KEY (a, b)) "
               "ENGINE=InnoDB",
      .bytes = "CREATE TABLE driver_bytes (k varbinary(200) PRIMARY KEY, v text CHARACTER SET "
               "utf8mb4) ENGINE=InnoDB",
      .uuids = "CREATE TABLE driver_uuids (k uuid PRIMARY KEY, v text CHARACTER SET utf8mb4) "
               "ENGINE=InnoDB",
      .times = "CREATE TABLE driver_times (d date, a timestamp(6) NOT NULL DEFAULT "
               "CURRENT_TIMESTAMP(6), t time(6), v text CHARACTER SET utf8mb4, PRIMARY KEY (d, a, "
               "t)) ENGINE=InnoDB",
      .rows = "CREATE TABLE driver_rows (id bigint PRIMARY KEY, v longtext CHARACTER SET utf8mb4) "
              "ENGINE=InnoDB",
      .notes = "CREATE TABLE driver_notes (id bigint PRIMARY KEY, v text CHARACTER SET utf8mb4) "
               "ENGINE=InnoDB",
      .strict = "CREATE TABLE driver_strict (id bigint PRIMARY KEY, n bigint NOT NULL, u "
                "varchar(100) CHARACTER SET utf8mb4 UNIQUE) ENGINE=InnoDB",
      .hostile = "CREATE TABLE `dri'v\"er``s [x]; drop table driver_notes --` (id bigint PRIMARY "
                 "KEY, `select \"'``]; -- \xc3\xa4` text CHARACTER SET utf8mb4) ENGINE=InnoDB",
      .quoted = "`dri'v\"er``s [x]; drop table driver_notes --`",
      .view = "CREATE VIEW driver_view AS SELECT * FROM driver_notes",
      .keyless = "CREATE TABLE driver_keyless (v text) ENGINE=InnoDB",
      .cut = "KILL USER hub" },
    { 0 }
};
