/* sql_in.c - polls a database; rows become documents.
 *
 * A look asks the query again and again, each time from where the rows before ended, until it
 * returns none or the look has taken enough.  Rows are taken page by page (sql/sql_page.h), and how
 * far they were taken is stored in the commit of their documents (core/deposit.h), so that a crash
 * neither skips a row nor takes one twice.  What is read again for the sake of late commits, and
 * why that is enough, says sql/sql_progress.h.
 *
 * The connection is a process of its own (sql/sql_link.h), opened for each look. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/json.h"
#include "core/config_check.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/grammar.h"
#include "sql/sql_link.h"
#include "sql/sql_names.h"
#include "sql/sql_page.h"
#include "sql/sql_place.h"
#include "sql/sql_probe.h"
#include "sql/sql_progress.h"
#include "sql/sql_row.h"

enum {
    SET_ROWS = 5000, /* rows of one document; some more, if these have the same cursor */
    EACH_ROWS = 500,
    PAGE_BYTES = 8 << 20,
    CHUNK_BYTES = 8 << 20, /* of documents that are committed together */
    UNTOLD_MOST = 8 << 10  /* bytes of what is said of a row that cannot be told */
};

#define TOO_LARGE   "the row is larger than limits.size of the gateway"
#define UNTOLD_HINT "; change the query, or limits.size, and set `start` to take it again"

struct sql_in {
    struct sql_place place;
    struct sql_names query;
    struct sql_track track;
    size_t *which; /* for each parameter of the query: its cursor column */
    bool each;
    int64_t timeout_us;
};

/* One look. */
struct sql_look {
    const struct sql_in *in;
    const struct deposit_port *port;
    void *deposit;
    struct sql_link *link;
    struct sql_progress progress;
    struct buf stored; /* the state as it is stored */
    struct sql_page page;
    int64_t paced_us, time_us, taken;
    bool asked; /* a query was */

    /* Documents that are not committed yet. */
    struct deposit_commit list[DEPOSIT_COMMIT_MOST];
    struct sha256 keys[DEPOSIT_COMMIT_MOST];
    size_t count, bytes;
    struct sha256 *notes;
    size_t note_count;
};

static void look_done(struct sql_look *l)
{
    for (size_t i = 0; i < l->count; i++)
        l->port->abandon(l->list[i].deposit);
    sql_link_close(l->link);
    sql_page_done(&l->page);
    buf_done(&l->stored);
    free(l->notes);
}

/* The wall clock, but it never stands still or goes back within a look. */
static int64_t look_time(struct sql_look *l)
{
    int64_t now = clock_wall_us();

    l->time_us = now > l->time_us ? now : l->time_us + 1;
    return l->time_us;
}

static bool has_cursor(const struct sql_look *l)
{
    return l->in->track.count > 0;
}

/* ---- storing ---- */

static void write_state(const struct sql_look *l, struct buf *to)
{
    buf_clear(to);
    if (has_cursor(l))
        sql_progress_write(&l->progress, &l->in->track, to);
}

/* Stores the documents of the list, the notes and the progress. */
static bool look_commit(struct sql_look *l, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(2 * SQL_PROGRESS_STATE_MOST);
    struct deposit_state s = {
        .list = l->list, .count = l->count, .notes = l->notes, .note_count = l->note_count
    };

    s.noted_us = look_time(l);
    if (l->note_count > 0)
        sql_progress_note(&l->progress, s.noted_us);
    write_state(l, &text);
    s.state = buf_view(&text);
    size_t count = l->count;

    l->count = l->note_count = l->bytes = 0; /* the deposits end, whatever comes */
    fault_point(SQL_TAKEN);
    if (!l->port->commit_state(l->deposit, &s, err))
        return false;
    fault_point(SQL_STORED);
    l->taken += (int64_t)count;
    buf_clear(&l->stored);
    return buf_append(&l->stored, s.state, err);
}

/* The first n rows of the page were taken or left out: moves the cursor behind those that may not
 * come again, and stores it with their documents, if there are any. */
static bool settle_rows(struct sql_look *l, size_t n, struct err *err)
{
    size_t whole = sql_page_whole(&l->page, n);

    if (whole > 0 && has_cursor(l))
        sql_progress_reach(&l->progress, &l->in->track, &l->page.rows[whole - 1].cursor);
    /* Rows of a set that cannot be told leave no document, and must not come up again for ever. */
    return (l->count == 0 && l->note_count == 0) || look_commit(l, err);
}

static bool add_rows_document(struct sql_look *l, struct str name, struct str bytes,
                              const struct sha256 *key, struct err *err)
{
    struct deposit *d;

    if (!l->port->open(l->deposit, name, STR("application/json"), &d, err))
        return false;
    if (!l->port->put(d, bytes, err)) {
        l->port->abandon(d);
        return false;
    }
    l->keys[l->count] = *key;
    l->list[l->count] = (struct deposit_commit){ .deposit = d };
    if (has_cursor(l)) /* without one the same rows are taken at every look */
        l->list[l->count].key = str_mem(l->keys[l->count].bytes, SHA256_SIZE);
    l->count++;
    l->bytes += bytes.len;
    return true;
}

static void note_taken_row(struct sql_look *l, size_t i)
{
    if (has_cursor(l) && sql_progress_overlaps(&l->progress, &l->in->track))
        l->notes[l->note_count++] = l->page.rows[i].key;
}

/* A row that cannot be told: a dead letter says where it is and why. */
static bool add_untold_row(struct sql_look *l, size_t i, struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(UNTOLD_MOST);
    AUTO(buf_done) struct buf why = BUF_INIT(UNTOLD_MOST);
    const struct sql_page_row *r = &l->page.rows[i];
    struct json_out j = { .to = &bytes };

    buf_puts(&why, "row ");
    sql_cursor_say(&r->cursor, &why);
    json_open(&j, '{');
    json_key(&j, "row");
    json_str(&j, buf_view(&why));
    json_key(&j, "reason");
    json_str(&j, sql_page_why(&l->page, i));
    json_close(&j, '}');
    buf_puts(&why, ": ");
    buf_put(&why, sql_page_why(&l->page, i));
    buf_puts(&why, UNTOLD_HINT);
    if ((int64_t)bytes.len > l->port->size_most(l->deposit))
        buf_clear(&bytes);
    if (!add_rows_document(l, STR("row.json"), buf_view(&bytes), &r->key, err))
        return false;
    l->port->fail(l->list[l->count - 1].deposit, buf_view(&why));
    return true;
}

/* One document for each row.  When a document is refused for now (limits.rate), those before it are
 * stored first. */
static bool take_each(struct sql_look *l, struct err *err)
{
    size_t n = sql_page_rows(&l->page);

    for (size_t i = 0; i < n; i++) {
        const struct sql_page_row *r = &l->page.rows[i];

        if (r->known)
            continue;
        note_taken_row(l, i);
        if (r->untold ? !add_untold_row(l, i, err)
                      : !add_rows_document(l, STR("row.json"), sql_page_json(&l->page, i), &r->key,
                                           err)) {
            struct err other = { 0 };

            l->note_count -= l->note_count > 0; /* this row's */
            if (err->kind == ERR_LIMIT && l->count > 0)
                (void)settle_rows(l, i, &other);
            return false;
        }
        if ((l->count == DEPOSIT_COMMIT_MOST || l->bytes >= CHUNK_BYTES) &&
            !settle_rows(l, i + 1, err))
            return false;
    }
    return settle_rows(l, n, err);
}

/* Ends the document that is being made; the rows before `begun` are in those before it. */
static bool end_set(struct sql_look *l, struct buf *set, struct digest *d, size_t begun,
                    struct err *err)
{
    struct sha256 key = digest_end(d);
    struct err other = { 0 };
    bool ok;

    *d = digest_start();
    buf_puts(set, "\n]");
    if (l->count == DEPOSIT_COMMIT_MOST && !settle_rows(l, begun, err))
        return false;
    ok = add_rows_document(l, STR("rows.json"), buf_view(set), &key, err);
    if (!ok && err->kind == ERR_LIMIT && l->count > 0)
        (void)settle_rows(l, begun, &other); /* refused for now: those before it are stored */
    buf_clear(set);
    return ok;
}

/* One document of all rows, or some, if they are larger than a document may be.  A row is noted
 * when its document was added: until then rows[begun..i) wait. */
static bool take_set(struct sql_look *l, struct err *err)
{
    AUTO(buf_done) struct buf set = BUF_INIT(SQL_PAGE_BYTES_MOST + 8 * (size_t)SQL_ROW_MOST);
    size_t n = sql_page_rows(&l->page), most = (size_t)l->port->size_most(l->deposit), begun = 0;
    struct digest d = digest_start();
    bool ok = true;

    for (size_t i = 0; i <= n && ok; i++) {
        const struct sql_page_row *r = &l->page.rows[i];
        bool left_out = i < n && (r->known || r->untold);

        if (left_out)
            continue;
        if (i == n || (set.len > 0 && set.len + r->len + 4 > most)) {
            ok = set.len == 0 || end_set(l, &set, &d, begun, err);
            for (; ok && begun < i; begun++)
                if (!l->page.rows[begun].known)
                    note_taken_row(l, begun);
        }
        if (i < n && ok) {
            buf_puts(&set, set.len == 0 ? "[\n" : ",\n");
            buf_put(&set, sql_page_json(&l->page, i));
            digest_add(&d, str_mem(r->key.bytes, SHA256_SIZE));
        }
    }
    digest_drop(&d);
    return ok && settle_rows(l, n, err);
}

/* Which rows were taken before. */
static bool mark_known(struct sql_look *l, struct err *err)
{
    size_t n = sql_page_rows(&l->page);
    struct sha256 *keys = l->notes; /* free until note_taken_row() */
    bool *known;

    if (n == 0 || !has_cursor(l) || !sql_progress_overlaps(&l->progress, &l->in->track))
        return true;
    known = xcalloc(n, sizeof *known);
    for (size_t i = 0; i < n; i++)
        keys[i] = l->page.rows[i].key;
    bool ok = l->port->known(l->deposit, keys, n, known, err);

    for (size_t i = 0; i < n; i++)
        l->page.rows[i].known = known[i];
    free(known);
    return ok;
}

static void complain_of_row(struct sql_look *l, const struct sql_page_row *r, const char *why)
{
    AUTO(buf_done) struct buf name = BUF_INIT(1024);

    buf_puts(&name, "row ");
    sql_cursor_say(&r->cursor, &name);
    l->port->complain(l->deposit, buf_view(&name), why,
                      l->in->each ? "The row is a dead letter, the others go on. Change the query, "
                                    "or limits.size, and set `start` to take it again."
                                  : "The row is left out, the others go on. Change the query, or "
                                    "limits.size, and set `start` to take it again.");
}

/* A row that no document can hold is left out as one that cannot be told is. */
static void leave_out_large(struct sql_look *l)
{
    int64_t most = l->port->size_most(l->deposit);

    for (size_t i = 0; i < sql_page_rows(&l->page); i++) {
        struct sql_page_row *r = &l->page.rows[i];

        if (r->untold || r->known || (int64_t)r->len + (l->in->each ? 0 : 4) <= most)
            continue;
        sql_page_untell(&l->page, i, TOO_LARGE);
        complain_of_row(l, r, TOO_LARGE);
    }
}

static bool take_rows_page(struct sql_look *l, struct err *err)
{
    if (!mark_known(l, err))
        return false;
    leave_out_large(l);
    if (l->in->each ? !take_each(l, err) : !take_set(l, err))
        return false;
    sql_page_next(&l->page);
    return true;
}

/* ---- the database ---- */

/* `timeout` is how long the database may be silent: each answer begins it anew. */
static void look_pace(struct sql_look *l, bool anew)
{
    int64_t now = clock_mono_us();

    if (!anew && now - l->paced_us < l->in->timeout_us / 8)
        return;
    l->paced_us = now;
    if (l->link != NULL)
        sql_link_set_pace(l->link, l->port->call(l->deposit), now + l->in->timeout_us);
}

static bool ask(struct sql_look *l, struct sql_result *result, size_t *at, struct err *err)
{
    struct sql_cursor from = { 0 };
    struct datum values[SQL_PARAMETERS_MOST];
    struct sql_failure f = { 0 };
    const struct sql_in *in = l->in;

    if (has_cursor(l))
        from = sql_progress_from(&l->progress, &in->track);
    for (size_t i = 0; i < in->query.count; i++)
        values[i] = sql_cursor_value(&from, in->which[i]);
    look_pace(l, true);
    /* Each query sees what was committed until then. */
    if (l->asked && !sql_link_rollback(l->link, &f))
        return sql_failure_err(&f, err);
    l->asked = true;
    if (!sql_link_run(l->link, in->query.text, values, in->query.count, result, &f))
        return sql_failure_err(&f, err);
    if (result->column_count == 0)
        return err_set(err, ERR_CONFIG, 0, "the query returns no rows by its kind: it must SELECT");
    sql_page_begin(&l->page, &from);
    return sql_row_check(result->columns, result->column_count, err) &&
           sql_cursor_find(in->track.columns, in->track.count, result, at, err);
}

static bool look_is_over(struct sql_look *l)
{
    return l->taken >= DEPOSIT_LOOK_MOST || l->port->stopping(l->deposit);
}

/* Takes the rows of one query; *ret_rows: it returned some; *ret_over: the look should end. */
static bool take_rows(struct sql_look *l, bool *ret_rows, bool *ret_over, struct err *err)
{
    size_t at[SQL_CURSOR_COLUMNS] = { 0 };
    struct sql_result result;
    struct sql_failure f = { 0 };
    const struct datum *row;

    *ret_rows = *ret_over = false;
    if (!ask(l, &result, at, err))
        return false;
    for (;;) {
        const struct err *untold;
        bool full;

        look_pace(l, false);
        if (!sql_link_next(l->link, &row, &f))
            return sql_failure_err(&f, err);
        if (row == NULL)
            break;
        *ret_rows = true;
        if (!sql_page_add(&l->page, &result, row, l->in->track.columns, at, &full, &untold, err))
            return false;
        if (untold != NULL)
            complain_of_row(l, &l->page.rows[l->page.count - 1], untold->text);
        if (!full)
            continue;
        if (!take_rows_page(l, err))
            return false;
        if (look_is_over(l)) {
            *ret_over = true;
            return true;
        }
    }
    if (!take_rows_page(l, err))
        return false;
    *ret_over = look_is_over(l);
    return true;
}

/* The pass is over: stores where the next one begins, if that has changed. */
static bool end_pass(struct sql_look *l, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(2 * SQL_PROGRESS_STATE_MOST);
    int64_t forget_us;

    sql_progress_end(&l->progress, &l->in->track, look_time(l), &forget_us);
    write_state(l, &text);
    if (!str_eq(buf_view(&text), buf_view(&l->stored)) && !look_commit(l, err))
        return false;
    return forget_us == 0 || l->port->forget(l->deposit, forget_us, err);
}

static bool look_rows(struct sql_look *l, struct err *err)
{
    bool rows = true, over = false;

    sql_progress_begin(&l->progress, look_time(l));
    while (rows && !over) {
        if (!take_rows(l, &rows, &over, err))
            return false;
        over = over || !has_cursor(l);
    }
    return rows || !has_cursor(l) || end_pass(l, err);
}

static bool look_open(struct sql_look *l, struct err *err)
{
    const struct sql_track *t = &l->in->track;
    struct sql_failure f = { 0 };
    struct digest d = digest_start();

    for (size_t i = 0; i < t->count; i++) {
        digest_add(&d, t->columns[i]);
        digest_add(&d, STR("\n"));
        digest_add(&d, t->first[i]);
        digest_add(&d, STR("\n"));
    }
    struct sha256 seed = digest_end(&d);

    sql_page_init(&l->page, l->in->each ? EACH_ROWS : SET_ROWS, PAGE_BYTES, &seed);
    if (!l->port->state(l->deposit, &l->stored, err) ||
        (t->count > 0 &&
         !sql_progress_read(buf_view(&l->stored), t, look_time(l), &l->progress, err)))
        return false;
    return sql_link_open(&l->in->place, l->port->call(l->deposit),
                         clock_mono_us() + l->in->timeout_us, &l->link, &f) ||
           sql_failure_err(&f, err);
}

static bool sql_in_look(void *self, const struct deposit_port *port, void *deposit,
                        int64_t *ret_taken, struct err *err)
{
    struct sql_look *l = NEW(struct sql_look);

    l->in = self;
    l->port = port;
    l->deposit = deposit;
    l->stored = (struct buf)BUF_INIT(2 * SQL_PROGRESS_STATE_MOST);
    l->notes = xcalloc(SQL_PAGE_ROWS_MOST, sizeof *l->notes);
    bool ok = look_open(l, err) && look_rows(l, err);

    *ret_taken = l->taken;
    look_done(l);
    free(l);
    return ok;
}

/* ---- settings ---- */

/* `start` has a value for each column; without it all begin at 0. */
static bool fill_track(struct sql_track *t, size_t firsts, struct arena *a, struct err *err)
{
    struct sql_cursor c = { 0 };
    struct str *first;

    if (t->count > SQL_CURSOR_COLUMNS)
        return err_set(err, ERR_CONFIG, 0, "`cursor` has more than %d columns", SQL_CURSOR_COLUMNS);
    t->first_is_said = firsts > 0;
    if (t->first_is_said && firsts != t->count)
        return err_set(err, ERR_CONFIG, 0, "`start` needs a value for each column of `cursor`");
    if (!t->first_is_said) {
        first = ARENA_ARRAY(a, struct str, t->count + 1);
        for (size_t i = 0; i < t->count; i++)
            first[i] = STR("0");
        t->first = first;
    }
    for (size_t i = 0; i < t->count; i++) {
        struct datum d = { .kind = DATUM_TEXT, .bytes = t->first[i] };

        if (!sql_cursor_add(&c, t->columns[i], &d, err))
            return false;
    }
    return true;
}

/* Each parameter is a column of the cursor, and each column is a parameter. */
static bool match_parameters(const struct sql_track *t, const struct sql_names *query,
                             struct arena *a, size_t **ret, struct err *err)
{
    bool used[SQL_CURSOR_COLUMNS] = { 0 };
    size_t *which = ARENA_ARRAY(a, size_t, query->count + 1);

    for (size_t i = 0; i < query->count; i++) {
        size_t k = 0;

        while (k < t->count && !str_eq_nocase(t->columns[k], query->names[i]))
            k++;
        if (k == t->count)
            return err_set(err, ERR_CONFIG, 0, "`query` has :%.*s, which is no column of `cursor`",
                           STR_ARG(str_first(query->names[i], 60)));
        which[i] = k;
        used[k] = true;
    }
    for (size_t i = 0; i < t->count; i++)
        if (!used[i])
            return err_set(err, ERR_CONFIG, 0,
                           "`query` does not ask for rows behind the cursor: :%.*s is missing",
                           STR_ARG(str_first(t->columns[i], 60)));
    *ret = which;
    return true;
}

static bool sql_in_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct sql_in *in = ARENA_NEW(s->arena, struct sql_in);
    struct str query, rows;

    struct sql_track *t = &in->track;
    size_t firsts = 0;

    if (!sql_place_read(s, &in->place, err) || !settings_text(s, "query", &query, err) ||
        !settings_text(s, "rows", &rows, err) ||
        !settings_texts(s, "cursor", &t->columns, &t->count, err) ||
        !settings_texts(s, "start", &t->first, &firsts, err) ||
        !settings_duration(s, "overlap", &t->overlap_us, err) ||
        !settings_duration(s, "timeout", &in->timeout_us, err) ||
        !fill_track(t, firsts, s->arena, err) ||
        !sql_names_parse(query, s->arena, &in->query, err) ||
        !match_parameters(t, &in->query, s->arena, &in->which, err))
        return false;
    in->each = str_is(rows, "each");
    *ret_self = in;
    return true;
}

/* ---- probing ---- */

static bool probe_columns(const struct sql_in *in, const struct sql_result *result,
                          struct probing *p)
{
    size_t at[SQL_CURSOR_COLUMNS] = { 0 };
    struct err err = { 0 };

    if (result->column_count == 0)
        return probing_fail(p, "columns", "write a SELECT",
                            "the query returns no rows by its kind");
    if (!sql_row_check(result->columns, result->column_count, &err) ||
        !sql_cursor_find(in->track.columns, in->track.count, result, at, &err))
        return probing_fail(p, "columns", "correct `query` or `cursor`", "%s", err.text);
    return probing_pass(p, "columns", "%zu%s", result->column_count,
                        in->track.count > 0 ? ", with those of `cursor`" : "");
}

static void sql_in_probe(void *self, struct call *c, struct probing *p)
{
    const struct sql_in *in = self;
    const struct sql_probe_text query = { in->query.text, in->query.count };
    struct sql_result result = { 0 };
    struct sql_probe s;
    bool ok = sql_probe_open(&in->place, in->timeout_us, c, p, &s) &&
              sql_probe_statements(&s, "query", "correct `query`, or make what it names", &query, 1,
                                   &result) &&
              ((s.untold != NULL && result.column_count == 0) || probe_columns(in, &result, p)) &&
              sql_probe_rights(&s, false);

    sql_probe_close(&s, ok);
}

static void sql_in_unmake(void *self)
{
    (void)self; /* all of it is on the arena */
}

/* A text, or a list of texts; false: it is another mistake, or has a reference in it. */
static bool yaml_texts_at(const struct yaml_node *node, struct arena *a, const struct str **ret,
                          size_t *ret_count)
{
    const struct yaml_node *one = node != NULL && node->kind == YAML_LIST ? node->first : node;
    size_t count = node != NULL && node->kind == YAML_LIST ? node->count : node != NULL, n = 0;
    struct str *texts = ARENA_ARRAY(a, struct str, count + 1);

    for (; n < count; one = one->next) {
        if (one->kind != YAML_SCALAR || one->outside || check_has_reference(one->text))
            return false;
        texts[n++] = one->text;
    }
    *ret = texts;
    *ret_count = n;
    return true;
}

static void sql_in_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *cursor = yaml_get(map, "cursor"), *query = yaml_get(map, "query"),
                           *start = yaml_get(map, "start"), *overlap = yaml_get(map, "overlap");
    const struct yaml_node *alone = overlap != NULL ? overlap : start;
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    const struct str *texts;
    struct sql_track t = { 0 };
    struct sql_names names;
    struct err err = { 0 };
    size_t firsts, *which;

    sql_place_check(map, problems);
    if (cursor == NULL && alone != NULL)
        problem_add(problems, alone->place, "name the columns that the query is ordered by",
                    "`%s` needs `cursor`", alone == overlap ? "overlap" : "start");
    else if (query == NULL || !yaml_texts_at(cursor, &a, &t.columns, &t.count) ||
             !yaml_texts_at(start, &a, &t.first, &firsts) ||
             !yaml_texts_at(query, &a, &texts, &(size_t){ 0 }))
        return;
    else if (!fill_track(&t, firsts, &a, &err) ||
             !sql_names_parse(yaml_text(query), &a, &names, &err) ||
             !match_parameters(&t, &names, &a, &which, &err))
        problem_add(problems, query->place, NULL, "%s", err.text);
}

static const struct option sql_in_keys[] = {
    OPTIONS(grammar_sql),
    OPTION("query", OPT_TEXT, "the statement; :NAME stands for the last value of a cursor column",
           .flags = OPT_REQUIRED),
    OPTION("cursor", OPT_NAME, "the columns that say how far the last look came",
           .flags = OPT_OR_LIST),
    OPTION("start", OPT_TEXT,
           "the values of the cursor columns before the first look, 0 if it is left out; another "
           "value begins anew",
           .flags = OPT_OR_LIST),
    OPTION("rows", OPT_WORD, "one document of all rows of a look, or one for each",
           .words = OPTION_WORDS("set", "each"), .fallback = "set"),
    OPTION("overlap", OPT_DURATION,
           "how long a transaction may take to commit: so far back rows are read again, and those "
           "that were taken left out",
           .most = INT64_C(86400) * CLOCK_S, .fallback = "0s"),
    OPTIONS(grammar_every),
    OPTIONS(grammar_silence),
    { 0 },
};

const struct gateway_type gateway_sql = {
    .kind = { .name = "sql",
              .help = "rows of a database",
              .keys = sql_in_keys,
              .check = sql_in_check,
              .example = "stock: { kind: sql, dsn: \"${secret:stock}\",\n"
                         "         query: \"select * from stock where id > :id order by id\",\n"
                         "         cursor: id, overlap: 5m }" },
    .make = sql_in_make,
    .look = sql_in_look,
    .unmake = sql_in_unmake,
    .keeps_time = true,
    .probe = sql_in_probe,
};
