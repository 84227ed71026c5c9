/* enrich.c - adds what a record knows to the document.
 *
 *     - enrich: { set: customers, key: "json:/customer", into: /customer_data }
 *     - enrich: { set: customers, key: "xml:/Order/@by", into: /Order/Customer, missing: wait }
 *
 * The record is one of a reference table (`waybill records import`), or one that a step `store`
 * keeps.  It goes into the document at a place (core/format/graft.h); all other bytes stay.
 */
#include <stdio.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/format/graft.h"
#include "core/grammar.h"
#include "core/problem.h"

enum enrich_missing { MISSING_FAIL, MISSING_WAIT, MISSING_PASS };

struct enriching {
    struct graft_path into;
    enum enrich_missing missing;
};

/* ---- options ---- */

static const struct option options[] = {
    OPTION("set", OPT_NAME, "a reference table, or a set of records that `store` keeps",
           .flags = OPT_ONE_OF),
    OPTION("url", OPT_URL, "an HTTP service that is asked", .flags = OPT_ONE_OF | OPT_PLANNED,
           .words = OPTION_WORDS("http", "https")),
    OPTION("dsn", OPT_SECRET, "an ODBC connection that is asked",
           .flags = OPT_ONE_OF | OPT_PLANNED),
    OPTION("query", OPT_TEXT, "the statement for `dsn`", .flags = OPT_PLANNED),
    OPTION("key", OPT_EXPR, "the key of the record in `set`", .flags = OPT_OR_LIST),
    OPTION("into", OPT_TEXT,
           "where it goes: a JSON Pointer, or the path of an element; left out: a member or "
           "element of the outermost one, with the name of the set"),
    OPTION("missing", OPT_WORD,
           "there is no such record: the document is a dead letter, or is tried again by `retry`, "
           "or goes on without",
           .words = OPTION_WORDS("fail", "wait", "pass"), .fallback = "fail"),
    OPTION("retry", OPT_MAP, "how often `missing: wait` looks again", .keys = grammar_retry),
    OPTION("method", OPT_WORD, "the HTTP method", .words = OPTION_WORDS("GET", "POST", "PUT"),
           .flags = OPT_PLANNED, .fallback = "GET"),
    OPTIONS(grammar_headers),
    OPTION("timeout", OPT_DURATION, "how long it may take", .least = 1, .flags = OPT_PLANNED,
           .fallback = "30s"),
    { 0 },
};

static bool make_into(const struct settings *s, struct graft_path *ret, struct err *err)
{
    struct str into, set;

    if (!settings_text(s, "into", &into, err) || !settings_text(s, "set", &set, err))
        return false;
    if (into.ptr != NULL ? graft_path_read(into, s->arena, ret, err)
                         : graft_path_of_name(set, s->arena, ret, err))
        return true;
    return err_context(err, "`into`");
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct enriching *p = ARENA_NEW(s->arena, struct enriching);
    struct str missing;

    if (!settings_has(s, "set"))
        return err_set(err, ERR_CONFIG, 0,
                       "this build asks sets of records only: say `set` and `key`");
    if (!settings_has(s, "key"))
        return err_set(err, ERR_CONFIG, 0, "`set` needs `key`, such as `key: \"json:/customer\"`");
    if (!settings_text(s, "missing", &missing, err) || !make_into(s, &p->into, err))
        return false;
    p->missing = str_is(missing, "wait")   ? MISSING_WAIT
                 : str_is(missing, "pass") ? MISSING_PASS
                                           : MISSING_FAIL;
    *ret_self = p;
    return true;
}

static void unmake(void *self)
{
    (void)self;
}

static void check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *set = yaml_get(map, "set"), *into = yaml_get(map, "into");
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct graft_path path;
    struct err err = { 0 };

    if (set != NULL && yaml_get(map, "key") == NULL)
        problem_add(problems, set->place, "for example `key: \"json:/customer\"`",
                    "`set` needs `key`, the expression that finds the key of the record");
    if (into != NULL && into->kind == YAML_SCALAR && !graft_path_read(into->text, &a, &path, &err))
        problem_add(problems, into->place, NULL, "`into`: %s", err.text);
}

/* ---- running ---- */

static bool enrich_missing(const struct enriching *p, struct service_io *io,
                           const struct service_record *r, struct str document,
                           struct service_failure *ret_failure)
{
    struct str key = str_first(r->key, 100), set = str_first(r->set, 100);
    char line[SERVICE_NOTE_BYTES];

    if (p->missing == MISSING_PASS) {
        (void)snprintf(line, sizeof line, "no record %.*s in %.*s: it goes on without",
                       STR_ARG(str_first(key, 60)), STR_ARG(str_first(set, 60)));
        io->note(io, str_of(line));
        return io->put(io, document, ret_failure);
    }
    ret_failure->later = p->missing == MISSING_WAIT;
    return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                        "enrich: the set `%.*s` has no record `%.*s`; `waybill records import %.*s "
                        "FILE.csv` adds records, a step `store` keeps them",
                        STR_ARG(set), STR_ARG(key), STR_ARG(set));
}

static bool enrich_with(const struct enriching *p, struct service_io *io,
                        const struct service_record *r, struct str document,
                        struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
    struct record_text value;
    struct err err = { 0 };

    if (record_text_read(r->value, &value, &err) && graft(document, &p->into, &value, &out, &err))
        return io->put(io, buf_view(&out), ret_failure);
    return service_fail(ret_failure, err.kind == ERR_LIMIT ? DEAD_LIMIT : DEAD_SERVICE_FAILED,
                        "enrich: %s", err.text);
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf in = BUF_INIT(SERVICE_BYTES_MOST);
    struct service_record r;

    if (!io->record(io, &r, ret_failure) || !service_gather(io, &in, ret_failure))
        return false;
    return r.is_there ? enrich_with(self, io, &r, buf_view(&in), ret_failure)
                      : enrich_missing(self, io, &r, buf_view(&in), ret_failure);
}

const struct service_type service_enrich = {
    .kind = { .name = "enrich",
              .help = "add what a reference table or a kept record knows",
              .keys = options,
              .check = check,
              .example = "- enrich: { set: customers, key: \"json:/customer\", into: /buyer }" },
    .keyed = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
