/* enrich.c - adds what a record, an HTTP service or a database knows to the document.
 *
 *     - enrich: { set: customers, key: "json:/customer", into: /customer_data }
 *     - enrich: { set: customers, key: "xml:/Order/@by", into: /Order/Customer, missing: wait }
 *     - enrich: { url: "https://crm.example/customers/${customer}", into: /buyer }
 *     - enrich: { dsn: secret:crm, query: "select name from customer where id = :customer",
 *                 values: { customer: "json:/customer" }, into: /buyer }
 *
 * The record is one of a reference table (`waybill records import`), or one that a step `store`
 * keeps.  It goes into the document at a place (core/format/graft.h); all other bytes stay.
 *
 * A service is asked by the engine (engine/asking/calling.h), as that of the step `call`; words of
 * the document fill the path and the query of its address, never the host.  404, 410 and 204 mean
 * that it has nothing: `missing` says what follows.  A database is asked in the same way
 * (sql/sql_ask.h); it has nothing if there is no row.
 */
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/connector.h"
#include "core/format/graft.h"
#include "core/grammar.h"
#include "core/problem.h"
#include "core/service_call.h"
#include "core/template.h"
#include "core/web/http_client.h"
#include "sql/sql_ask.h"

enum enrich_missing { MISSING_FAIL, MISSING_WAIT, MISSING_PASS };

enum { URL_MOST = 8192, QUESTIONS_MOST = 4, SPARE_US = 5 * CLOCK_S };

struct enriching {
    struct graft_path into;
    enum enrich_missing missing;
    const struct template *url; /* NULL: no service is asked */
    struct sql_ask *sql;        /* NULL: no database is asked */
    struct http_client client;
    struct service_call call;
};

/* ---- options ---- */

static const struct option value_each = {
    .type = OPT_EXPR,
    .flags = OPT_OR_LIST,
    .help = "where it is found; a list means the first that yields"
};

static const struct option options[] = {
    OPTION("set", OPT_NAME, "a reference table, or a set of records that `store` keeps",
           .flags = OPT_ONE_OF),
    OPTION("url", OPT_URL,
           "an HTTP service that is asked; words of templates such as ${customer} may stand behind "
           "its host",
           .flags = OPT_ONE_OF | OPT_FILLED, .words = OPTION_WORDS("http", "https")),
    OPTION("dsn", OPT_SECRET, "the ODBC connection to a database that is asked",
           .flags = OPT_ONE_OF),
    OPTION("query", OPT_TEXT,
           "the statement for `dsn`; the names of `values`, :id :sender :receiver :type :name "
           ":received and attributes are bound"),
    OPTION("values", OPT_NAMED, "where the values for `query` are found in the document",
           .each = &value_each, .noun = "value"),
    OPTION("rows", OPT_WORD, "what `query` returns: one row, as an object, or all, as an array",
           .words = OPTION_WORDS("one", "all"), .fallback = "one"),
    OPTION("key", OPT_EXPR, "the key of the record in `set`", .flags = OPT_OR_LIST),
    OPTION("into", OPT_TEXT,
           "where it goes: a JSON Pointer, or the path of an element; left out: a member or "
           "element of the outermost one, with the name of the set, or `answer`"),
    OPTION("missing", OPT_WORD,
           "there is no such record: the document is a dead letter, or is tried again by `retry`, "
           "or goes on without",
           .words = OPTION_WORDS("fail", "wait", "pass"), .fallback = "fail"),
    OPTION("method", OPT_WORD, "the HTTP method; all but GET send the document",
           .words = OPTION_WORDS("GET", "POST", "PUT"), .fallback = "GET"),
    OPTIONS(grammar_headers),
    OPTIONS(grammar_login),
    OPTIONS(grammar_tls),
    OPTIONS(grammar_asking),
    { 0 },
};

static bool make_into(const struct settings *s, struct graft_path *ret, struct err *err)
{
    struct str into, set;

    if (!settings_text(s, "into", &into, err) || !settings_text(s, "set", &set, err))
        return false;
    if (into.ptr != NULL
            ? graft_path_read(into, s->arena, ret, err)
            : graft_path_of_name(set.ptr != NULL ? set : STR("answer"), s->arena, ret, err))
        return true;
    return err_context(err, "`into`");
}

/* Values of documents are percent-encoded, and may not choose who is asked. */
static bool words_in_host(struct str url)
{
    const char *host = memmem(url.ptr, url.len, "://", 3);
    struct str rest = str_from(url, host != NULL ? (size_t)(host - url.ptr) + 3 : 0), head;

    (void)str_cut(rest, '/', &head);
    return str_find(head, '$') >= 0;
}

static bool make_url(const struct settings *s, struct enriching *p, struct err *err)
{
    if (!http_client_read(s, &p->client, err) || !service_call_read(s, &p->call, err))
        return false;
    if (words_in_host(p->client.url))
        return err_set(err, ERR_CONFIG, 0,
                       "`url`: words of the document stand behind the host, in path and query");
    p->call.service = p->client.url;
    p->call.answer_most = SERVICE_RECORD_MOST;
    return template_compile(p->client.url, s->arena, &p->url, err) || err_context(err, "`url`");
}

/* A question takes a process and a thread for as long as it lasts, so there are few. */
static bool make_question(const struct settings *s, struct enriching *p, struct err *err)
{
    struct settings limits = settings_below(s, "limits");
    char key[SHA256_TEXT];

    p->sql = ARENA_NEW(s->arena, struct sql_ask);
    if (!sql_ask_read(s, p->sql, err) || !service_call_read(s, &p->call, err))
        return false;
    p->sql->line.spare_us = SPARE_US;
    if (!settings_has(&limits, "concurrency"))
        p->call.concurrency = QUESTIONS_MOST;
    p->call.service =
        str_of(arena_printf(s->arena, "sql:%s", digest_text(&p->sql->line.place.key, key)));
    p->call.answer_most = SERVICE_RECORD_MOST;
    return true;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct enriching *p = ARENA_NEW(s->arena, struct enriching);
    struct str missing;

    if (!settings_has(s, "set") && !settings_has(s, "url") && !settings_has(s, "dsn"))
        return err_set(err, ERR_CONFIG, 0, "say `set` and `key`, or `url`, or `dsn` and `query`");
    if (settings_has(s, "set") && !settings_has(s, "key"))
        return err_set(err, ERR_CONFIG, 0, "`set` needs `key`, such as `key: \"json:/customer\"`");
    if (!settings_text(s, "missing", &missing, err) || !make_into(s, &p->into, err) ||
        (settings_has(s, "url") && !make_url(s, p, err)) ||
        (settings_has(s, "dsn") && !make_question(s, p, err)))
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

/* What only a database is asked with. */
static void check_query(const struct yaml_node *map, struct problem_list *problems)
{
    static const char *const keys[] = { "query", "values", "rows" };

    if (yaml_get(map, "dsn") != NULL) {
        sql_ask_check(map, problems);
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct yaml_node *at = yaml_get(map, keys[i]);

        if (at != NULL)
            problem_add(problems, at->place, "docs/sql.md", "`%s` is for `dsn`, which is not there",
                        keys[i]);
    }
}

static void check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *set = yaml_get(map, "set"), *into = yaml_get(map, "into");
    const struct yaml_node *url = yaml_get(map, "url");
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct graft_path path;
    struct err err = { 0 };

    check_query(map, problems);
    if (set != NULL && yaml_get(map, "key") == NULL)
        problem_add(problems, set->place, "for example `key: \"json:/customer\"`",
                    "`set` needs `key`, the expression that finds the key of the record");
    if (url != NULL && words_in_host(url->text))
        problem_add(problems, url->place, "for example `https://crm.example/customers/${customer}`",
                    "`url`: words of the document stand behind the host, in path and query");
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
    (void)service_fail(ret_failure, DEAD_SERVICE_FAILED,
                       "enrich: the set `%.*s` has no record `%.*s`; `waybill records import %.*s "
                       "FILE.csv` adds records, a step `store` keeps them",
                       STR_ARG(set), STR_ARG(key), STR_ARG(set));
    ret_failure->later = p->missing == MISSING_WAIT;
    return false;
}

/* Appends the document with the value in it. */
static bool enrich_with(const struct enriching *p, struct str added, struct str document,
                        struct buf *out, struct service_failure *ret_failure)
{
    struct record_text value;
    struct err err = { 0 };

    if (record_text_read(added, &value, &err) && graft(document, &p->into, &value, out, &err))
        return true;
    return service_fail(ret_failure, err.kind == ERR_LIMIT ? DEAD_LIMIT : DEAD_SERVICE_FAILED,
                        "enrich: %s", err.text);
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf in = BUF_INIT(SERVICE_BYTES_MOST);
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
    const struct enriching *p = self;
    struct service_record r;

    if (p->url != NULL || p->sql != NULL)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "it asks another service, which is not done here");
    if (!io->record(io, &r, ret_failure) || !service_gather(io, &in, ret_failure))
        return false;
    if (!r.is_there)
        return enrich_missing(p, io, &r, buf_view(&in), ret_failure);
    return enrich_with(p, r.value, buf_view(&in), &out, ret_failure) &&
           io->put(io, buf_view(&out), ret_failure);
}

/* ---- asking a service ---- */

static bool enrich_prepare(void *self, const struct sending *s, struct arena *a,
                           struct http_out_request *ret, struct verdict *ret_failed)
{
    const struct enriching *p = self;
    struct template_values values = sending_values(s);
    AUTO(buf_done) struct buf url = BUF_INIT(URL_MOST);
    struct err err = { 0 };

    values.url = true;
    if (!template_render(p->url, &values, &url, &err)) {
        (void)verdict_say(ret_failed, VERDICT_FAILED, "enrich: the address that is asked: %s",
                          err.text);
        return false;
    }
    bool get = str_is(p->client.method, "GET");

    if (!(get ? http_client_put_fields(&p->client, s, a, ret, ret_failed)
              : http_client_prepare(&p->client, s, a, ret, ret_failed)))
        return false;
    ret->method = p->client.method;
    ret->url = str_of(arena_text(a, buf_view(&url)));
    return true;
}

static bool has_nothing(int64_t status)
{
    return status == 404 || status == 410 || status == 204;
}

static void judge_nothing(const struct enriching *p, const char *why, int64_t status,
                          struct verdict *ret)
{
    if (p->missing == MISSING_PASS)
        ret->kind = VERDICT_DELIVERED;
    else
        (void)verdict_say(ret, p->missing == MISSING_WAIT ? VERDICT_RETRY : VERDICT_FAILED,
                          "enrich: %s (%lld)", why, (long long)status);
    ret->code = p->missing == MISSING_FAIL ? dead_codes[DEAD_SERVICE_FAILED] : NULL;
}

static void enrich_judge(void *self, const struct http_out_answer *answer, struct verdict *ret)
{
    const struct enriching *p = self;

    http_client_judge(&p->client, answer, ret);
    if (has_nothing(answer->status))
        judge_nothing(p, "the service knows nothing of it", answer->status, ret);
}

static const struct http_out_options *enrich_options(void *self)
{
    const struct enriching *p = self;

    return &p->client.options;
}

static const struct service_call *enrich_call(void *self)
{
    const struct enriching *p = self;

    return &p->call;
}

static bool enrich_join(void *self, struct str in, struct str answer, int64_t status,
                        const struct service_document *d, struct buf *out,
                        struct service_failure *ret_failure)
{
    (void)d;
    if (!has_nothing(status))
        return enrich_with(self, answer, in, out, ret_failure);
    buf_put(out, in);
    return true;
}

static const struct service_http http = { .prepare = enrich_prepare,
                                          .judge = enrich_judge,
                                          .options = enrich_options,
                                          .call = enrich_call,
                                          .join = enrich_join };

static const struct service_type enrich_by_url = {
    .kind = { .name = "enrich", .keys = options },
    .make = make,
    .unmake = unmake,
    .http = &http,
};

/* ---- asking a database ---- */

#define NO_ROW "the database has no row of it"

static void enrich_ask(void *self, const struct sending *s, struct call *c, struct buf *to,
                       struct verdict *ret)
{
    struct enriching *p = self;

    sql_ask_run(p->sql, s, c, to, ret);
    if (ret->kind == VERDICT_DELIVERED && has_nothing(ret->status))
        judge_nothing(p, NO_ROW, ret->status, ret);
}

/* Of an answer that was said before (`waybill test`): 200 and rows, or 204. */
static void enrich_judge_rows(void *self, const struct http_out_answer *answer, struct verdict *ret)
{
    *ret = (struct verdict){ .status = answer->status };
    if (has_nothing(answer->status))
        judge_nothing(self, NO_ROW, answer->status, ret);
    else if (answer->status == 200)
        (void)verdict_say(ret, VERDICT_DELIVERED, "200");
    else
        (void)verdict_say(ret, VERDICT_FAILED,
                          "enrich: the answer of a database is 200 and its rows, or 204");
}

/* It keeps the time itself. */
static int64_t enrich_patience(void *self)
{
    const struct enriching *p = self;

    return p->sql->line.timeout_us + p->sql->line.spare_us;
}

static const struct sha256 *enrich_line_key(void *self)
{
    const struct enriching *p = self;

    return &p->sql->line.place.key;
}

static const struct service_http rows = { .ask = enrich_ask,
                                          .line_key = enrich_line_key,
                                          .patience_us = enrich_patience,
                                          .judge = enrich_judge_rows,
                                          .call = enrich_call,
                                          .join = enrich_join };

static const struct service_type enrich_by_query = {
    .kind = { .name = "enrich", .keys = options },
    .make = make,
    .unmake = unmake,
    .http = &rows,
};

static const struct service_type *as(const void *self)
{
    const struct enriching *p = self;

    if (p->sql != NULL)
        return &enrich_by_query;
    return p->url != NULL ? &enrich_by_url : &service_enrich;
}

const struct service_type service_enrich = {
    .kind = { .name = "enrich",
              .help = "add what a reference table, a kept record, an HTTP service or a database "
                      "knows",
              .keys = options,
              .check = check,
              .example = "- enrich: { set: customers, key: \"json:/customer\", into: /buyer }" },
    .keyed = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
    .as = as,
};
