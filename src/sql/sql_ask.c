#include "sql/sql_ask.h"

#include <stdio.h>

#include "base/auto.h"
#include "core/config_check.h"
#include "core/problem.h"
#include "core/state.h"
#include "sql/sql_row.h"
#include "sql/sql_words.h"

enum { STATUS_ROWS = 200, STATUS_NONE = 204 };

/* One question. */
struct asked_rows {
    struct sql_ask *self;
    const struct sending *sending;
    struct call *call;
    struct sql_link *link; /* NULL: none is taken */
    bool kept, clean;
    struct buf *to;
    size_t count;
    struct verdict *verdict;
};

/* ---- values ---- */

static bool finds_itself(const struct sql_ask *self, struct str name)
{
    for (size_t i = 0; i < self->value_count; i++)
        if (str_eq(self->values[i], name))
            return true;
    return false;
}

static struct datum asked_value(const struct asked_rows *q, struct str name, const char *received)
{
    enum sql_word_of word = finds_itself(q->self, name) ? OF_OTHER : sql_words_find(name);

    return word != OF_OTHER ? sql_words_value(q->sending, word, received)
                            : sql_words_text(facts_attribute(q->sending->facts, name));
}

/* ---- failures ---- */

static bool asked_never(struct asked_rows *q, const char *remedy, const char *why)
{
    (void)verdict_say(q->verdict, VERDICT_FAILED, "enrich: %s; %s", why, remedy);
    q->verdict->code = dead_codes[DEAD_SERVICE_FAILED];
    return false;
}

static bool asked_failed(struct asked_rows *q, const struct sql_failure *f)
{
    static const enum verdict_kind kinds[] = {
        [SQL_FAULT_NONE] = VERDICT_RETRY,       [SQL_FAULT_STATEMENT] = VERDICT_FAILED,
        [SQL_FAULT_LATER] = VERDICT_RETRY,      [SQL_FAULT_LOGIN] = VERDICT_CREDENTIAL,
        [SQL_FAULT_CONFIG] = VERDICT_UNREACHED, [SQL_FAULT_LOST] = VERDICT_UNREACHED,
        [SQL_FAULT_TIME] = VERDICT_UNREACHED,   [SQL_FAULT_LIMIT] = VERDICT_FAILED,
        [SQL_FAULT_DOUBT] = VERDICT_RETRY,
    };

    if (kinds[f->kind] == VERDICT_FAILED)
        return asked_never(q, "correct `query`, or make what it names, and replay the document",
                           f->text);
    q->verdict->hung = f->hung;
    (void)verdict_say(q->verdict, kinds[f->kind], "enrich: the database: %s", f->text);
    return false;
}

/* ---- rows ---- */

static bool take_asked_row(struct asked_rows *q, const struct sql_result *result,
                           const struct datum *row)
{
    struct err err = { 0 };
    char why[120];

    if (q->count > 0 && !q->self->all)
        return asked_never(q, "ask for one (`limit 1`), or say `rows: all`",
                           "the query returns more than one row");
    if (q->count == SQL_ASK_ROWS_MOST) {
        (void)snprintf(why, sizeof why, "the query returns more than %d rows", SQL_ASK_ROWS_MOST);
        return asked_never(q, "ask for fewer", why);
    }
    if (q->self->all)
        buf_puts(q->to, q->count == 0 ? "[" : ",");
    q->count++;
    bool told = sql_row_json(result->columns, row, result->column_count, q->to, &err);

    if (!told && err.kind != ERR_LIMIT)
        return asked_never(q, "leave it out of `query`, or convert it there", err.text);
    if (told && q->to->len <= SQL_ASK_BYTES_MOST)
        return true;
    (void)snprintf(why, sizeof why, "the answer has more than %d bytes", SQL_ASK_BYTES_MOST);
    return asked_never(q, "ask for fewer rows or columns", why);
}

static bool take_asked_rows(struct asked_rows *q, const struct sql_result *result,
                            struct sql_failure *f)
{
    const struct datum *row = NULL;
    struct err err = { 0 };

    if (result->column_count == 0)
        return asked_never(q, "write a SELECT", "the query returns no rows by its kind");
    if (!sql_row_check(result->columns, result->column_count, &err))
        return asked_never(q, "correct `query`", err.text);
    do {
        if (!sql_link_next(q->link, &row, f))
            return asked_failed(q, f);
        if (row != NULL && !take_asked_row(q, result, row))
            return false;
    } while (row != NULL);
    if (q->self->all && q->count > 0)
        buf_puts(q->to, "]");
    q->verdict->status = q->count > 0 ? STATUS_ROWS : STATUS_NONE;
    (void)verdict_say(q->verdict, VERDICT_DELIVERED, "%zu rows", q->count);
    return true;
}

static bool ask_once(struct asked_rows *q, struct sql_failure *f)
{
    const struct sql_names *query = &q->self->query;
    struct datum values[SQL_PARAMETERS_MOST];
    struct sql_failure ignored = { 0 };
    char received[SQL_WORDS_TIME];
    struct sql_result result;

    if (!sql_line_take(&q->self->line, q->call, &q->link, &q->kept, f))
        return asked_failed(q, f);
    sql_words_time(q->sending->received_us, received);
    for (size_t i = 0; i < query->count; i++)
        values[i] = asked_value(q, query->names[i], received);
    bool ok = sql_link_run(q->link, query->text, values, query->count, &result, f)
                  ? take_asked_rows(q, &result, f)
                  : asked_failed(q, f);

    q->clean = !sql_link_is_lost(q->link) && sql_link_rollback(q->link, &ignored);
    sql_line_give(&q->self->line, q->call, q->link, q->clean);
    q->link = NULL;
    return ok;
}

void sql_ask_run(struct sql_ask *self, const struct sending *s, struct call *c, struct buf *to,
                 struct verdict *ret)
{
    struct asked_rows q = { .self = self, .sending = s, .call = c, .to = to, .verdict = ret };
    struct sql_failure f;

    /* A connection that was kept may be closed although it looked open. */
    do {
        *ret = (struct verdict){ 0 };
        f = (struct sql_failure){ 0 };
        q.count = 0;
        q.kept = false;
        buf_clear(to);
    } while (!ask_once(&q, &f) && q.kept && f.kind == SQL_FAULT_LOST);
}

/* ---- settings ---- */

static bool refuse_payload(const struct sql_names *query, struct err *err)
{
    for (size_t i = 0; i < query->count; i++)
        if (sql_words_find(query->names[i]) == OF_PAYLOAD)
            return err_set(err, ERR_CONFIG, 0,
                           "`query` has :payload: a document is not sent with a question; take "
                           "values of it by `values`");
    return true;
}

bool sql_ask_read(const struct settings *s, struct sql_ask *ret, struct err *err)
{
    const struct yaml_node *values = yaml_get(s->node, "values");
    struct str query, rows;

    if (!sql_place_read(s, &ret->line.place, err) || !settings_text(s, "query", &query, err) ||
        !settings_text(s, "rows", &rows, err) ||
        !settings_duration(s, "timeout", &ret->line.timeout_us, err))
        return false;
    if (query.len == 0)
        return err_set(err, ERR_CONFIG, 0, "`dsn` needs `query`");
    if (!sql_names_parse(query, s->arena, &ret->query, err) || !refuse_payload(&ret->query, err))
        return false;
    size_t count = values != NULL ? values->count : 0;
    struct str *names = ARENA_ARRAY(s->arena, struct str, count + 1);

    ret->value_count = 0;
    for (const struct yaml_node *v = values != NULL ? values->first : NULL; v != NULL; v = v->next)
        names[ret->value_count++] = arena_copy(s->arena, v->key->text);
    ret->values = names;
    ret->all = str_is(rows, "all");
    return true;
}

static bool query_has(const struct sql_names *names, struct str name)
{
    for (size_t i = 0; i < names->count; i++)
        if (str_eq(names->names[i], name))
            return true;
    return false;
}

static void check_values(const struct yaml_node *values, const struct sql_names *names,
                         struct problem_list *problems)
{
    if (values == NULL || values->kind != YAML_MAP)
        return;
    for (const struct yaml_node *v = values->first; v != NULL; v = v->next)
        if (!query_has(names, v->key->text))
            problem_add(problems, v->place, "write it into `query`, or leave it out",
                        "`query` has no :%.*s", STR_ARG(str_first(v->key->text, 60)));
}

void sql_ask_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *dsn = yaml_get(map, "dsn"), *query = yaml_get(map, "query");
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_names names;
    struct err err = { 0 };

    sql_place_check(map, problems);
    if (dsn != NULL && query == NULL)
        problem_add(problems, dsn->place, "for example `query: \"select * from t where id = :id\"`",
                    "`dsn` needs `query`");
    if (query == NULL || query->kind != YAML_SCALAR || query->outside ||
        check_has_reference(query->text))
        return;
    if (!sql_names_parse(query->text, &a, &names, &err) || !refuse_payload(&names, &err))
        problem_add(problems, query->place, "docs/sql.md", "%s", err.text);
    else
        check_values(yaml_get(map, "values"), &names, problems);
}
