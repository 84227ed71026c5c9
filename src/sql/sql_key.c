#include "sql/sql_key.h"

#include <stdio.h>
#include <string.h>

#define COLUMN "delivery"
#define ENGINE "engine " /* before its name */

enum { VALUES_MOST = 6, ANSWER_MOST = 80 };

/* Each has one row with one text: `yes`, `no`, `engine NAME` for a table without transactions, or
 * nothing for what is no table. */
static const char of_postgres[] =
    "select case when c.relkind not in ('r', 'p') then '' "
    "when exists (select 1 from pg_catalog.pg_index i "
    "join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] "
    "where i.indrelid = c.oid and i.indisunique and i.indimmediate and i.indisvalid "
    "and i.indnkeyatts = 1 and i.indpred is null and i.indexprs is null "
    "and a.attname = '" COLUMN "') then 'yes' else 'no' end "
    "from pg_catalog.pg_class c where c.oid = to_regclass(?)::oid";

static const char of_mariadb[] =
    "select case when t.engine is null then '' "
    "when coalesce(e.transactions, 'NO') <> 'YES' then concat('" ENGINE "', t.engine) "
    "when exists (select 1 from information_schema.statistics s "
    "where s.table_schema = ifnull(?, database()) and s.table_name = ? and s.non_unique = 0 "
    "and s.seq_in_index = 1 and s.column_name = '" COLUMN "' and s.sub_part is null "
    "and not exists (select 1 from information_schema.statistics o "
    "where o.table_schema = ifnull(?, database()) and o.table_name = ? "
    "and o.index_name = s.index_name and o.seq_in_index = 2)) then 'yes' else 'no' end "
    "from information_schema.tables t "
    "left join information_schema.engines e on e.engine = t.engine "
    "where t.table_schema = ifnull(?, database()) and t.table_name = ?";

static const char of_sqlite[] =
    "select case when exists (select 1 from sqlite_master "
    "where type = 'view' and name = ? collate nocase) then '' "
    "when exists (select 1 from pragma_index_list(?, ?) l where l.\"unique\" = 1 "
    "and l.partial = 0 and (select count(*) from pragma_index_info(l.name, ?)) = 1 "
    "and (select lower(i.name) from pragma_index_info(l.name, ?) i) = '" COLUMN "') "
    "then 'yes' else 'no' end";

/* values: what is bound, in this order: the name as it is (n), its schema (s), NULL without one,
 * and the table in it (t). */
static const struct {
    const char *query, *values;
} questions[] = { [SQL_PROBE_OTHER] = { NULL, "" },
                  [SQL_PROBE_POSTGRES] = { of_postgres, "n" },
                  [SQL_PROBE_MARIADB] = { of_mariadb, "ststst" },
                  [SQL_PROBE_SQLITE] = { of_sqlite, "ttsss" } };

/* *ret_schema: NULL, there is none. */
static struct str name_parts(struct str table, struct datum *ret_schema)
{
    size_t at = table.len;

    while (at > 0 && table.ptr[at - 1] != '.')
        at--;
    *ret_schema = at == 0 ? (struct datum){ .kind = DATUM_NULL }
                          : (struct datum){ DATUM_TEXT, str_first(table, at - 1) };
    return str_from(table, at);
}

static bool ask_key(struct sql_probe *s, struct str table, char answer[static ANSWER_MOST])
{
    const char *order = questions[s->family].values;
    struct datum values[VALUES_MOST], schema;
    struct str name = name_parts(table, &schema);
    size_t count = 0;

    if (questions[s->family].query == NULL)
        return false;
    for (; order[count] != '\0'; count++)
        values[count] = order[count] == 's'
                            ? schema
                            : (struct datum){ DATUM_TEXT, order[count] == 'n' ? table : name };
    return sql_probe_ask(s, questions[s->family].query, values, count, 0, answer, ANSWER_MOST);
}

/* The statement that gives it a key.  In SQLite the schema belongs to the index. */
static void key_remedy(const struct sql_probe *s, struct str table, char *to, size_t size)
{
    struct datum schema;
    struct str name = name_parts(table, &schema);
    bool apart = s->family == SQL_PROBE_SQLITE && schema.kind != DATUM_NULL;

    (void)snprintf(to, size,
                   "it gets one by: CREATE UNIQUE INDEX %.*s%s%.*s_" COLUMN " ON %.*s (" COLUMN
                   "); rows that it has twice go before that",
                   STR_ARG(apart ? schema.bytes : STR("")), apart ? "." : "", STR_ARG(name),
                   STR_ARG(apart ? name : table));
}

bool sql_key_probe(struct sql_probe *s, struct str table)
{
    char answer[ANSWER_MOST] = "", remedy[PROBING_TEXT];
    struct probing *p = s->probing;

    probing_begin(p, "key");
    bool told = ask_key(s, table, answer);

    if (told && strcmp(answer, "yes") == 0)
        return probing_pass(p, "key", "%.*s takes a delivery once", STR_ARG(table));
    if (told && strcmp(answer, "no") == 0) {
        key_remedy(s, table, remedy, sizeof remedy);
        return probing_fail(p, "key", remedy,
                            "%.*s has no unique index over " COLUMN
                            " alone: it takes a delivery twice",
                            STR_ARG(table));
    }
    if (told && strncmp(answer, ENGINE, strlen(ENGINE)) == 0) {
        (void)snprintf(remedy, sizeof remedy, "it gets them by: ALTER TABLE %.*s ENGINE=InnoDB",
                       STR_ARG(table));
        return probing_fail(p, "key", remedy,
                            "%.*s has no transactions (%s): a delivery that failed stays in it and "
                            "counts as done",
                            STR_ARG(table), answer + strlen(ENGINE));
    }
    probing_leave(p, "key", "not told: make sure that %.*s has one over " COLUMN " alone",
                  STR_ARG(table));
    return true;
}
