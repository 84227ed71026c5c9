/* sql_out.c - runs a statement of a database for each document.
 *
 *     orders: { kind: sql, dsn: secret:orders, inbox: waybill_inbox,
 *               statement: "insert into orders (id, body) values (:id, :payload)" }
 *
 * The statement is the configuration's; values of the document are bound to its parameters, never
 * written into it (sql/sql_names.h).  With `each` it is run once for each item of a list in the
 * document, all in one transaction.
 *
 * With `inbox` the delivery's id is inserted into a table of that name in the same transaction. The
 * table refuses an id that it has: so the same delivery, sent again after a lost answer or a crash,
 * finds that it was done, and changes nothing.  Without it, a commit whose answer was lost is in
 * doubt.
 *
 * Nothing can be seen of a document before the commit: what fails before it was not sent.
 */
#include <errno.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/problem.h"
#include "delivery/sql_items.h"
#include "sql/sql_key.h"
#include "sql/sql_line.h"
#include "sql/sql_names.h"
#include "sql/sql_probe.h"
#include "sql/sql_words.h"

enum {
    PAYLOAD_MOST = 64 << 20,
    TABLE_MOST = 128,
    INBOX_TEXT = TABLE_MOST + 100,
    FIELDS_MOST = SQL_VALUE_MOST, /* bytes of the values of one item */
    FIELD_MORE = 1024,
    ITEMS_ARENA = SQL_ITEMS_MOST * 32
};

/* The table of `inbox`, as docs/sql.md has it; databases differ in nothing of it. */
#define INBOX_DDL                                                   \
    "CREATE TABLE %s (delivery VARCHAR(200) NOT NULL PRIMARY KEY, " \
    "received TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)"

#define ITEM_PREFIX "item_"

struct sql_out {
    struct sql_line line; /* first */
    struct sql_names statement;
    bool reads_payload;
    bool has_each;
    struct sql_items_at each;
    struct str inbox; /* the name of the table; empty: none */
    struct str insert, select;
};

/* One document being delivered. */
struct sql_job {
    struct sql_out *self;
    const struct sending *sending;
    struct call *call;
    struct sql_link *link; /* NULL: none is taken */
    bool kept;             /* it was open before */
    bool clean;            /* no transaction is open on it */
    struct str payload;
    struct str *items;
    size_t item_count;
    struct arena arena;  /* of the items */
    struct arena fields; /* of one item */
    struct buf bytes;    /* a payload that came in pieces */
    char received[SQL_WORDS_TIME];
};

/* ---- connections ---- */

static void sql_out_drop(struct sql_job *j)
{
    sql_line_give(&j->self->line, j->call, j->link, j->clean);
    j->link = NULL;
}

static bool sql_out_take(struct sql_job *j, struct sql_failure *f)
{
    j->clean = sql_line_take(&j->self->line, j->call, &j->link, &j->kept, f);
    return j->clean;
}

/* Runs a statement; above 1 MiB the time counts from its beginning. */
static bool sql_out_run(struct sql_job *j, struct str statement, const struct datum *values,
                        size_t count, struct sql_failure *f)
{
    struct sql_result result;

    if (call_is_over(j->call) && !call_is_given_up(j->call))
        return sql_fail(f, SQL_FAULT_LATER, "the node is stopping");
    j->clean = false;
    sql_link_set_pace(j->link, j->call, sql_line_until(&j->self->line, j->call));
    return sql_link_run(j->link, statement, values, count, &result, f);
}

/* Ends a transaction that failed; *f stays what it was. */
static void sql_out_undo(struct sql_job *j)
{
    struct sql_failure ignored = { 0 };

    j->clean = !sql_link_is_lost(j->link) && sql_link_rollback(j->link, &ignored);
}

/* ---- values ---- */

/* A field of the item, else an attribute of the document; NULL when there is neither. */
static struct datum sql_out_other(struct sql_job *j, struct str name, const struct str *item)
{
    struct str prefix = STR(ITEM_PREFIX);
    struct datum d = { .kind = DATUM_NULL };

    if (item != NULL && str_starts(name, prefix)) {
        (void)sql_items_field(*item, str_from(name, prefix.len), &j->fields, &d);
        return d;
    }
    if (item != NULL && sql_items_field(*item, name, &j->fields, &d))
        return d;
    return sql_words_text(facts_attribute(j->sending->facts, name));
}

static struct datum sql_out_value(struct sql_job *j, struct str name, const struct str *item)
{
    enum sql_word_of word = sql_words_find(name);

    if (word == OF_PAYLOAD)
        return (struct datum){ DATUM_BYTES, j->payload };
    if (word != OF_OTHER)
        return sql_words_value(j->sending, word, j->received);
    return sql_out_other(j, name, item);
}

static bool sql_out_execute(struct sql_job *j, const struct str *item, struct sql_failure *f)
{
    const struct sql_names *n = &j->self->statement;
    struct datum values[SQL_PARAMETERS_MOST];

    arena_reset(&j->fields);
    for (size_t i = 0; i < n->count; i++) {
        if (item != NULL && j->fields.used + item->len + FIELD_MORE > FIELDS_MOST)
            return sql_fail(f, SQL_FAULT_LIMIT, "its values have more than %d MiB together",
                            FIELDS_MOST >> 20);
        values[i] = sql_out_value(j, n->names[i], item);
    }
    return sql_out_run(j, n->text, values, n->count, f);
}

static bool sql_out_execute_all(struct sql_job *j, struct sql_failure *f)
{
    if (!j->self->has_each)
        return sql_out_execute(j, NULL, f);
    for (size_t i = 0; i < j->item_count; i++)
        if (!sql_out_execute(j, &j->items[i], f)) {
            char why[SQL_TEXT_MOST];

            memcpy(why, f->text, sizeof why);
            (void)snprintf(f->text, sizeof f->text, "item %zu: %.280s", i + 1, why);
            return false;
        }
    return true;
}

/* ---- the bytes of the document ---- */

static bool sql_out_read_payload(struct sql_job *j, struct err *err)
{
    const struct sending *s = j->sending;
    struct str piece;

    if (s->size > PAYLOAD_MOST)
        return err_set(err, ERR_PERMANENT, 0,
                       "the document has more than %d MiB, the most that is sent to a database",
                       PAYLOAD_MOST >> 20);
    j->payload = s->bytes;
    if (s->next == NULL || s->bytes.ptr != NULL)
        return true;
    do {
        if (call_is_over(j->call))
            return err_set(err, ERR_TRANSIENT, EINTR, "the node is stopping");
        if (!s->next(s->next_arg, &piece, err))
            return err_context(err, "the bytes of the document");
        if (!buf_append(&j->bytes, piece, err))
            return false;
        call_alive(j->call);
    } while (piece.len > 0);
    j->payload = buf_view(&j->bytes);
    return true;
}

static bool sql_out_prepare(struct sql_job *j, struct err *err)
{
    struct sql_out *self = j->self;

    sql_words_time(j->sending->received_us, j->received);
    if ((self->reads_payload || self->has_each) && !sql_out_read_payload(j, err))
        return false;
    return !self->has_each ||
           sql_items_find(&self->each, j->payload, &j->arena, &j->items, &j->item_count, err);
}

/* ---- the inbox ---- */

/* Whether the table has the delivery; the transaction is over then. */
static bool sql_out_look(struct sql_job *j, bool *ret, struct sql_failure *f)
{
    const struct datum id = { DATUM_TEXT, j->sending->delivery };
    const struct datum *row = NULL;

    if (!sql_out_run(j, j->self->select, &id, 1, f) || !sql_link_next(j->link, &row, f))
        return false;
    *ret = row != NULL;
    sql_out_undo(j);
    return true;
}

static bool sql_out_no_inbox(struct sql_job *j, const char *why, struct sql_failure *f)
{
    char text[SQL_TEXT_MOST / 3];

    (void)snprintf(text, sizeof text, "%s", why);
    return sql_fail(f, SQL_FAULT_CONFIG, "the table of `inbox`: %s; it is made by: " INBOX_DDL,
                    text, j->self->inbox.ptr);
}

/* *ret_known: the delivery was done before. */
static bool sql_out_enter(struct sql_job *j, bool *ret_known, struct sql_failure *f)
{
    const struct datum id = { DATUM_TEXT, j->sending->delivery };
    char why[SQL_TEXT_MOST];

    *ret_known = false;
    if (j->self->inbox.len == 0 || sql_out_run(j, j->self->insert, &id, 1, f))
        return true;
    if (f->kind != SQL_FAULT_STATEMENT)
        return false;
    /* It has the id already, or something is wrong with the table. */
    memcpy(why, f->text, sizeof why);
    sql_out_undo(j);
    if (!sql_out_look(j, ret_known, f))
        return f->kind == SQL_FAULT_STATEMENT ? sql_out_no_inbox(j, why, f) : false;
    return *ret_known || sql_out_no_inbox(j, why, f);
}

/* ---- delivering ---- */

static bool sql_out_commit(struct sql_job *j, struct sql_failure *f)
{
    fault_point(SQL_EXECUTED);
    if (!call_commit(j->call)) /* another attempt may be under way */
        return sql_fail(f, SQL_FAULT_LATER, "the call was given up");
    if (!sql_link_commit(j->link, f))
        return false;
    j->clean = true;
    fault_point(SQL_COMMITTED);
    return true;
}

/* For a control of the crash tests: the row of the inbox gets a transaction of its own, and the
 * process is killed behind it, which must be found out. */
static bool sql_out_is_inbox_apart(void)
{
    return fault_switch("WAYBILL_TEST_INBOX_APART") != NULL;
}

static bool sql_out_transact(struct sql_job *j, bool *ret_known, struct sql_failure *f)
{
    if (!sql_out_enter(j, ret_known, f))
        return false;
    if (*ret_known)
        return true;
    if (sql_out_is_inbox_apart() && !sql_link_commit(j->link, f))
        return false;
    fault_point(SQL_ENTERED);
    return sql_out_execute_all(j, f) && sql_out_commit(j, f);
}

/* A connection that was kept may be closed although it looked open: nothing was committed over it,
 * so another one is taken. */
static bool sql_out_deliver(struct sql_job *j, bool *ret_known, struct sql_failure *f)
{
    for (;;) {
        if (!sql_out_take(j, f))
            return false;
        if (sql_out_transact(j, ret_known, f))
            return true;
        if (!sql_link_is_lost(j->link))
            sql_out_undo(j);
        if (!j->kept || f->kind != SQL_FAULT_LOST)
            return false;
        sql_out_drop(j);
    }
}

/* The answer to the commit was lost: the table tells over another connection that it was done. That
 * it was not cannot be told yet. */
static bool sql_out_settle(struct sql_job *j)
{
    struct sql_failure f = { 0 };
    bool known = false;

    if (j->self->inbox.len == 0 || call_is_over(j->call))
        return false;
    sql_out_drop(j);
    return sql_out_take(j, &f) && sql_out_look(j, &known, &f) && known;
}

/* ---- verdicts ---- */

static void sql_out_judge(struct verdict *v, const struct sql_failure *f, const char *before)
{
    static const enum verdict_kind kinds[] = {
        [SQL_FAULT_NONE] = VERDICT_RETRY,       [SQL_FAULT_STATEMENT] = VERDICT_REJECTED,
        [SQL_FAULT_LATER] = VERDICT_RETRY,      [SQL_FAULT_LOGIN] = VERDICT_CREDENTIAL,
        [SQL_FAULT_CONFIG] = VERDICT_UNREACHED, [SQL_FAULT_LOST] = VERDICT_UNREACHED,
        [SQL_FAULT_TIME] = VERDICT_UNREACHED,   [SQL_FAULT_LIMIT] = VERDICT_FAILED,
        [SQL_FAULT_DOUBT] = VERDICT_DOUBT,
    };

    v->hung = f->hung;
    (void)verdict_say(v, kinds[f->kind], "%s%s", before, f->text);
    if (f->kind == SQL_FAULT_LIMIT)
        v->code = dead_codes[DEAD_REJECTED];
}

static struct sql_job sql_out_job(void *self, const struct sending *s, struct call *c)
{
    return (struct sql_job){ .self = self,
                             .sending = s,
                             .call = c,
                             .arena = ARENA_INIT(ITEMS_ARENA),
                             .fields = ARENA_INIT(FIELDS_MOST),
                             .bytes = BUF_INIT(PAYLOAD_MOST + 1) };
}

static void sql_out_done(struct sql_job *j)
{
    sql_out_drop(j);
    arena_done(&j->arena);
    arena_done(&j->fields);
    buf_done(&j->bytes);
}

static void sql_out_send(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    struct sql_job j = sql_out_job(self, s, c);
    struct sql_failure f = { 0 };
    struct err err = { 0 };
    bool known = false;

    *ret = (struct verdict){ 0 };
    if (!sql_out_prepare(&j, &err)) {
        bool never = err.kind == ERR_PERMANENT || err.kind == ERR_LIMIT;

        (void)verdict_say(ret, never ? VERDICT_FAILED : VERDICT_RETRY, "%s", err.text);
        if (never)
            ret->code = dead_codes[DEAD_REJECTED];
    } else if (sql_out_deliver(&j, &known, &f)) {
        if (known)
            (void)verdict_say(ret, VERDICT_DELIVERED, "the inbox has this delivery already");
        else if (j.self->has_each)
            (void)verdict_say(ret, VERDICT_DELIVERED, "committed, %zu items", j.item_count);
        else
            (void)verdict_say(ret, VERDICT_DELIVERED, "committed");
    } else if (f.kind == SQL_FAULT_DOUBT && sql_out_settle(&j)) {
        (void)verdict_say(ret, VERDICT_DELIVERED,
                          "committed: its answer was lost, and the inbox has it");
    } else {
        sql_out_judge(ret, &f, "");
    }
    sql_out_done(&j);
}

static void sql_out_ask(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    struct sql_job j = sql_out_job(self, s, c);
    struct sql_failure f = { 0 };
    bool known = false;

    *ret = (struct verdict){ 0 };
    if (j.self->inbox.len == 0)
        (void)verdict_say(ret, VERDICT_DOUBT,
                          "asked: nothing tells whether it was committed; the endpoint has no "
                          "`inbox`");
    else if (!sql_out_take(&j, &f) || !sql_out_look(&j, &known, &f))
        sql_out_judge(ret, &f, "asked: ");
    else if (known)
        (void)verdict_say(ret, VERDICT_DELIVERED, "asked: the inbox has this delivery");
    else
        (void)verdict_say(ret, VERDICT_RETRY,
                          "asked: the inbox does not have it; it is sent again");
    if (ret->kind == VERDICT_REJECTED) /* the table is not there: that says nothing */
        ret->kind = VERDICT_UNREACHED;
    sql_out_done(&j);
}

/* ---- probing ---- */

static bool sql_out_probe_inbox(const struct sql_out *self, struct sql_probe *s)
{
    const struct sql_probe_text both[] = { { self->insert, 1 }, { self->select, 1 } };
    struct sql_result ignored;
    char remedy[PROBING_TEXT];

    if (self->inbox.len == 0)
        return true;
    (void)snprintf(remedy, sizeof remedy, "it is made by: " INBOX_DDL, self->inbox.ptr);
    return sql_probe_statements(s, "inbox", remedy, both, 2, &ignored) &&
           sql_key_probe(s, self->inbox);
}

static void sql_out_probe(void *arg, struct call *c, struct probing *p)
{
    const struct sql_out *self = arg;
    const struct sql_probe_text statement = { self->statement.text, self->statement.count };
    struct sql_result ignored;
    struct sql_probe s;
    bool ok = sql_probe_open(&self->line.place, self->line.timeout_us, c, p, &s) &&
              sql_probe_statements(&s, "statement", "correct `statement`, or make what it names",
                                   &statement, 1, &ignored) &&
              sql_out_probe_inbox(self, &s) && sql_probe_rights(&s, true);

    sql_probe_close(&s, ok);
}

/* ---- options ---- */

static const struct option options[] = {
    OPTIONS(grammar_sql),
    OPTION("statement", OPT_TEXT,
           "the statement; :id :delivery :sender :receiver :type :name :received :payload and "
           "attributes are bound",
           .flags = OPT_REQUIRED),
    OPTION("each", OPT_TEXT,
           "a list in the document, such as json:/items: the statement is run for each item, whose "
           "fields are bound, all in one transaction"),
    OPTION("inbox", OPT_TEXT,
           "a table that keeps the ids of deliveries, in the same transaction: each takes effect "
           "once"),
    OPTION_CONNECTIONS("4"),
    { 0 },
};

/* The one name that is written into a statement: letters, digits and _, with a schema before it. */
static bool sql_out_is_table(struct str name)
{
    bool first = true;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (first ? !letter : !letter && (c < '0' || c > '9') && c != '.')
            return false;
        first = c == '.';
    }
    return name.len > 0 && name.len <= TABLE_MOST && !first;
}

static bool sql_out_make_inbox(const struct settings *s, struct sql_out *self, struct err *err)
{
    if (!settings_text(s, "inbox", &self->inbox, err))
        return false;
    if (self->inbox.len == 0)
        return true;
    if (!sql_out_is_table(self->inbox))
        return err_set(err, ERR_CONFIG, 0,
                       "`inbox` is the name of a table: letters, digits and _, with a schema and a "
                       "dot before it if need be");
    self->insert =
        str_of(arena_printf(s->arena, "INSERT INTO %s (delivery) VALUES (?)", self->inbox.ptr));
    self->select = str_of(
        arena_printf(s->arena, "SELECT delivery FROM %s WHERE delivery = ?", self->inbox.ptr));
    return true;
}

static bool sql_out_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct sql_out *self = ARENA_NEW(s->arena, struct sql_out);
    struct str statement, each;

    if (!sql_place_read(s, &self->line.place, err) ||
        !settings_text(s, "statement", &statement, err) || !settings_text(s, "each", &each, err) ||
        !sql_out_make_inbox(s, self, err) ||
        !settings_duration(s, "timeout", &self->line.timeout_us, err))
        return false;
    if (!sql_names_parse(statement, s->arena, &self->statement, err))
        return err_context(err, "`statement`");
    for (size_t i = 0; i < self->statement.count; i++)
        self->reads_payload =
            self->reads_payload || sql_words_find(self->statement.names[i]) == OF_PAYLOAD;
    self->has_each = each.len > 0;
    if (self->has_each && !sql_items_at_read(each, s->arena, &self->each, err))
        return false;
    *ret_self = self;
    return true;
}

static void sql_out_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

static void sql_out_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *statement = yaml_get(map, "statement"), *each = yaml_get(map, "each");
    const struct yaml_node *inbox = yaml_get(map, "inbox");
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_items_at at;
    struct sql_names names;
    struct err err = { 0 };

    sql_place_check(map, problems);
    if (statement != NULL && statement->kind == YAML_SCALAR && statement->text.len > 0 &&
        !sql_names_parse(statement->text, &a, &names, &err))
        problem_add(problems, statement->place, "docs/sql.md", "%s", err.text);
    if (each != NULL && each->kind == YAML_SCALAR && each->text.len > 0 &&
        !sql_items_at_read(each->text, &a, &at, &err))
        problem_add(problems, each->place, NULL, "%s", err.text);
    if (inbox != NULL && inbox->kind == YAML_SCALAR && inbox->text.len > 0 &&
        !sql_out_is_table(inbox->text))
        problem_add(
            problems, inbox->place, "for example `inbox: waybill_inbox`",
            "`inbox` is the name of a table: letters, digits and _, with a schema and a dot "
            "before it if need be");
}

const struct endpoint_type endpoint_sql = {
    .kind = { .name = "sql",
              .help = "a statement on a database",
              .keys = options,
              .check = sql_out_check },
    .make = sql_out_make,
    .unmake = sql_out_unmake,
    .send = sql_out_send,
    .keeps_time = true,
    .line = &sql_line_type,
    .ask = sql_out_ask,
    .probe = sql_out_probe,
};
