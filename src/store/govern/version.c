#include "store/govern/version.h"

#include <stdio.h>

#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/govern/version_file.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

static void version_read_version(struct db_rows *row, struct arena *a, void *to)
{
    *(struct version *)to = (struct version){ .number = db_get_int(row, VERSION_VERSION),
                                              .made_us = db_get_int(row, VERSION_MADE_US),
                                              .by = row_text(row, VERSION_MADE_BY, a),
                                              .note = row_text(row, VERSION_NOTE, a),
                                              .sha256 = row_sha256(row, VERSION_SHA256),
                                              .body = row_text(row, VERSION_BODY, a) };
}

bool version_newest(struct store *s, int64_t *ret_number, struct err *err)
{
    return store_one_int(s, SQL_CONFIG_NEWEST, DB_NO_ARGS, 0, ret_number, err);
}

bool version_at(struct store *s, int64_t at_us, int64_t *ret_number, struct err *err)
{
    return store_one_int(s, SQL_CONFIG_AT, DB_ARGS(db_int(at_us)), 0, ret_number, err);
}

bool version_get(struct store *s, int64_t number, struct arena *a, struct version *ret,
                 struct err *err)
{
    bool there;

    return store_one(s, SQL_CONFIG_GET, DB_ARGS(db_int(number)), version_read_version, a, ret,
                     &there, err) &&
           there;
}

bool version_list(struct store *s, size_t limit, struct arena *a, struct version *ret,
                  size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_CONFIG_PAGE, DB_ARGS(db_int(limit)),
                         ROWS_INTO(ret, limit, a, version_read_version), ret_count, err);
}

struct add_op {
    struct store_op op;
    int64_t expected;
    const struct version_draft *draft;
    bool late;
};

enum { BECAME_MOST = 100 + 2 * SHA256_TEXT };

static void note_version(struct writer *w, struct add_op *o, const struct sha256 *sha)
{
    const struct config_files *files = o->draft->files;
    char was[40] = "", became[BECAME_MOST], text[SHA256_TEXT], all[SHA256_TEXT];

    if (o->expected > 0)
        (void)snprintf(was, sizeof was, "version %lld", (long long)o->expected);
    int n = snprintf(became, sizeof became, "version %lld, sha256 %s", (long long)o->expected + 1,
                     digest_text(sha, text));

    if (files != NULL && files->count > 0) {
        struct sha256 of_files = version_files_digest(files);

        (void)snprintf(became + n, sizeof became - (size_t)n, ", files sha256 %s",
                       digest_text(&of_files, all));
    }
    audit_note(w, &o->op, STR("configuration"), str_of(was), str_of(became));
}

static bool version_add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct add_op *o = container_of(ops[0], struct add_op, op);
    const struct version_draft *v = o->draft;
    struct sha256 sha = digest_of(v->body);
    int64_t newest;

    require(count == 1);
    if (!db_one_int(w->db, SQL_CONFIG_NEWEST, DB_NO_ARGS, 0, &newest, err))
        return false;
    o->late = newest != o->expected;
    if (o->late)
        return true;
    note_version(w, o, &sha);
    return db_run(w->db, SQL_CONFIG_ADD,
                  DB_ARGS(db_int(o->expected + 1), db_text(v->by), db_text_or_null(v->note),
                          db_bytes(str_mem(sha.bytes, SHA256_SIZE)), db_text(v->body)),
                  NULL, err) &&
           version_files_add(w->db, o->expected + 1, v->files, err);
}

static const struct store_verb add_verb = { .name = "add version",
                                            .run = version_add_run,
                                            .notes = true };

bool version_add(struct store *s, int64_t expected, const struct version_draft *draft,
                 int64_t *ret_number, struct err *err)
{
    struct add_op o = { .expected = expected, .draft = draft };

    if (!writers_call(s->writers, &add_verb, &o.op, err))
        return false;
    if (o.late)
        return err_set(err, ERR_TRANSIENT, 0,
                       "another version was made meanwhile: look at it and apply again");
    *ret_number = expected + 1;
    return true;
}
