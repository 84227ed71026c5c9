#include "store/govern/version.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/store_state.h"

static struct version version_of(struct db_rows *rows, struct arena *a)
{
    struct version v = { .number = db_get_int(rows, 0), .made_us = db_get_int(rows, 1) };
    struct str sha = db_get_str(rows, 4);

    v.by = arena_copy(a, db_get_str(rows, 2));
    v.note = arena_copy(a, db_get_str(rows, 3));
    require(sha.len == SHA256_SIZE);
    memcpy(v.sha256.bytes, sha.ptr, sha.len);
    v.body = arena_copy(a, db_get_str(rows, 5));
    return v;
}

static bool read_versions(struct store *s, enum sql_id id, int64_t arg, size_t most,
                          struct arena *a, struct version *ret, size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);
    struct db_rows rows = { 0 };
    size_t n = 0;
    bool row = true;

    if (db == NULL)
        return false;
    bool ok = db_query(db, id, DB_ARGS(db_int(arg)), &rows, err);

    while (ok && n < most && (ok = db_next(&rows, &row, err)) && row)
        ret[n++] = version_of(&rows, a);
    db_rows_done(&rows);
    store_reader_back(s, db);
    *ret_count = n;
    return ok;
}

static bool read_number(struct store *s, enum sql_id id, struct db_args args, int64_t *ret_number,
                        struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = db_one_int(db, id, args, 0, ret_number, err);

    store_reader_back(s, db);
    return ok;
}

bool version_newest(struct store *s, int64_t *ret_number, struct err *err)
{
    return read_number(s, SQL_CONFIG_NEWEST, DB_NO_ARGS, ret_number, err);
}

bool version_at(struct store *s, int64_t at_us, int64_t *ret_number, struct err *err)
{
    return read_number(s, SQL_CONFIG_AT, DB_ARGS(db_int(at_us)), ret_number, err);
}

bool version_get(struct store *s, int64_t number, struct arena *a, struct version *ret,
                 struct err *err)
{
    size_t n = 0;

    return read_versions(s, SQL_CONFIG_GET, number, 1, a, ret, &n, err) && n == 1;
}

bool version_list(struct store *s, size_t limit, struct arena *a, struct version *ret,
                  size_t *ret_count, struct err *err)
{
    return read_versions(s, SQL_CONFIG_PAGE, (int64_t)limit, limit, a, ret, ret_count, err);
}

struct add_op {
    struct store_op op;
    int64_t expected;
    struct str body, by, note;
    bool late;
};

static void note_version(struct writer *w, struct add_op *o, const struct sha256 *sha)
{
    char was[40] = "", became[40 + SHA256_TEXT], text[SHA256_TEXT];

    if (o->expected > 0)
        (void)snprintf(was, sizeof was, "version %lld", (long long)o->expected);
    (void)snprintf(became, sizeof became, "version %lld, sha256 %s", (long long)o->expected + 1,
                   digest_text(sha, text));
    audit_note(w, &o->op, STR("configuration"), str_of(was), str_of(became));
}

static bool add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct add_op *o = container_of(ops[0], struct add_op, op);
    struct sha256 sha = digest_of(o->body);
    int64_t newest;

    require(count == 1);
    if (!db_one_int(w->db, SQL_CONFIG_NEWEST, DB_NO_ARGS, 0, &newest, err))
        return false;
    o->late = newest != o->expected;
    if (o->late)
        return true;
    note_version(w, o, &sha);
    return db_run(w->db, SQL_CONFIG_ADD,
                  DB_ARGS(db_int(o->expected + 1), db_text(o->by),
                          o->note.len > 0 ? db_text(o->note) : db_null(),
                          db_bytes(str_mem(sha.bytes, SHA256_SIZE)), db_text(o->body)),
                  NULL, err);
}

static const struct store_verb add_verb = { .name = "add version", .run = add_run, .notes = true };

bool version_add(struct store *s, int64_t expected, struct str body, struct str by, struct str note,
                 int64_t *ret_number, struct err *err)
{
    struct add_op o = { .expected = expected, .body = body, .by = by, .note = note };

    if (!writers_call(s->writers, &add_verb, &o.op, err))
        return false;
    if (o.late)
        return err_set(err, ERR_TRANSIENT, 0,
                       "another version was made meanwhile: look at it and apply again");
    *ret_number = expected + 1;
    return true;
}
