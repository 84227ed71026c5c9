#include "sql/sql_progress.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/json.h"

/* Cursors are noted this many times in an overlap. */
enum { NOTES_IN_OVERLAP = 16 };

_Static_assert((int)SQL_HISTORY_MOST > (int)NOTES_IN_OVERLAP, "a note ends with the overlap");

/* ---- passes ---- */

bool sql_progress_overlaps(const struct sql_progress *p, const struct sql_track *t)
{
    return t->overlap_us > 0 || p->start.count > 0; /* until a pass has ended without an overlap */
}

/* A number is bound as one: a database compares texts with numbers in its own ways. */
static struct datum first_value(struct str text)
{
    int64_t n;

    return (struct datum){ .kind = str_to_i64(text, &n) ? DATUM_INTEGER : DATUM_TEXT,
                           .bytes = text };
}

static struct sql_cursor first_cursor(const struct sql_track *t)
{
    struct sql_cursor c = { 0 };
    struct err err = { 0 };

    for (size_t i = 0; i < t->count; i++) {
        struct datum d = first_value(t->first[i]);

        (void)sql_cursor_add(&c, t->columns[i], &d, &err); /* the gateway has checked them */
    }
    return c;
}

struct sql_cursor sql_progress_from(const struct sql_progress *p, const struct sql_track *t)
{
    if (p->at.count > 0)
        return p->at;
    if (p->start.count > 0)
        return p->start;
    return p->last.count > 0 ? p->last : first_cursor(t);
}

void sql_progress_begin(struct sql_progress *p, int64_t now_us)
{
    if (p->at.count == 0)
        p->begun_us = now_us;
}

void sql_progress_reach(struct sql_progress *p, const struct sql_track *t,
                        const struct sql_cursor *row)
{
    if (!sql_progress_overlaps(p, t)) {
        p->last = *row;
        return;
    }
    if (p->start.count == 0) /* the first pass with an overlap */
        p->start = sql_progress_from(p, t);
    p->at = *row;
}

void sql_progress_note(struct sql_progress *p, int64_t now_us)
{
    p->noted_us = now_us;
}

/* Notes the end of a pass.  Leaving one out is safe: `start` stays behind for longer. */
static void note_pass_end(struct sql_progress *p, const struct sql_track *t, int64_t now_us)
{
    const struct sql_noted *newest =
        p->history_count > 0 ? &p->history[p->history_count - 1] : NULL;

    if (p->at.count == 0 || sql_cursor_same(&p->at, newest != NULL ? &newest->cursor : &p->start))
        return;
    if (newest != NULL && (p->history_count == SQL_HISTORY_MOST ||
                           now_us - newest->us < t->overlap_us / NOTES_IN_OVERLAP))
        return;
    p->history[p->history_count++] = (struct sql_noted){ .us = now_us, .cursor = p->at };
}

void sql_progress_end(struct sql_progress *p, const struct sql_track *t, int64_t now_us,
                      int64_t *ret_forget_us)
{
    bool idle = p->at.count == 0 && p->history_count == 0; /* nothing is behind `start` */
    size_t n = 0;

    *ret_forget_us = 0;
    if (!sql_progress_overlaps(p, t))
        return;
    if (p->at.count > 0)
        p->last = p->at;
    if (idle && p->noted_us != 0) {
        *ret_forget_us = p->noted_us + 1;
        p->noted_us = 0;
    }
    if (t->overlap_us == 0) { /* the key was taken away: from now on `last` alone counts */
        p->start = (struct sql_cursor){ 0 };
        p->history_count = 0;
        p->noted_us = 0;
        *ret_forget_us = now_us + 1;
    } else {
        note_pass_end(p, t, now_us);
        while (n < p->history_count && p->history[n].us <= p->begun_us - t->overlap_us)
            n++;
        if (n > 0) {
            p->start = p->history[n - 1].cursor;
            *ret_forget_us = p->history[n - 1].us + 1;
            p->history_count -= n;
            memmove(p->history, p->history + n, p->history_count * sizeof p->history[0]);
        }
    }
    p->at = (struct sql_cursor){ 0 };
}

/* ---- the text ---- */

static void progress_put_texts(struct json_out *j, const struct str *list, size_t count)
{
    json_open(j, '[');
    for (size_t i = 0; i < count; i++)
        json_str(j, list[i]);
    json_close(j, ']');
}

static void put_cursor(struct json_out *j, const struct sql_cursor *c)
{
    json_raw(j, STR(""));
    sql_cursor_put(c, j->to);
}

void sql_progress_write(const struct sql_progress *p, const struct sql_track *t, struct buf *to)
{
    struct json_out j = { .to = to };

    json_open(&j, '{');
    json_key(&j, "columns");
    progress_put_texts(&j, t->columns, t->count);
    json_key(&j, "first");
    progress_put_texts(&j, t->first, t->count);
    json_key(&j, "last");
    put_cursor(&j, &p->last);
    json_key(&j, "start");
    put_cursor(&j, &p->start);
    json_key(&j, "at");
    put_cursor(&j, &p->at);
    json_key(&j, "begun");
    json_int(&j, p->at.count > 0 ? p->begun_us : 0); /* so that it stays the same while idle */
    json_key(&j, "noted");
    json_int(&j, p->noted_us);
    json_key(&j, "history");
    json_open(&j, '[');
    for (size_t i = 0; i < p->history_count; i++) {
        json_int(&j, p->history[i].us);
        put_cursor(&j, &p->history[i].cursor);
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static struct str progress_text_of(const json_t *v)
{
    return json_is_string(v) ? str_mem(json_string_value(v), json_string_length(v))
                             : (struct str){ 0 };
}

static bool are_texts(const json_t *list, const struct str *want, size_t count)
{
    if (json_array_size(list) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!str_eq(progress_text_of(json_array_get(list, i)), want[i]))
            return false;
    return true;
}

static bool take_cursor(const json_t *list, const struct sql_track *t, struct sql_cursor *ret)
{
    size_t n = json_array_size(list) / 2;
    struct err err = { 0 };

    *ret = (struct sql_cursor){ 0 };
    if (!json_is_array(list) || (n != 0 && n != t->count) || json_array_size(list) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct datum d = { .bytes = progress_text_of(json_array_get(list, 2 * i + 1)) };

        if (!sql_cursor_kind(progress_text_of(json_array_get(list, 2 * i)), &d.kind) ||
            d.bytes.ptr == NULL || !sql_cursor_add(ret, t->columns[i], &d, &err))
            return false;
    }
    return true;
}

static bool take_history(const json_t *list, const struct sql_track *t, int64_t now_us,
                         struct sql_progress *p)
{
    size_t n = json_array_size(list) / 2;

    if (!json_is_array(list) || n > SQL_HISTORY_MOST || json_array_size(list) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct sql_noted *h = &p->history[i];

        if (!json_is_integer(json_array_get(list, 2 * i)) ||
            !take_cursor(json_array_get(list, 2 * i + 1), t, &h->cursor) || h->cursor.count == 0)
            return false;
        h->us = json_integer_value(json_array_get(list, 2 * i));
        if (h->us > now_us) /* the clock was set back */
            h->us = now_us;
    }
    p->history_count = n;
    return true;
}

static bool take_all(const json_t *top, const struct sql_track *t, int64_t now_us,
                     struct sql_progress *ret)
{
    const json_t *begun = json_object_get(top, "begun"), *noted = json_object_get(top, "noted");

    *ret = (struct sql_progress){ 0 };
    if (!take_cursor(json_object_get(top, "last"), t, &ret->last) ||
        !take_cursor(json_object_get(top, "start"), t, &ret->start) ||
        !take_cursor(json_object_get(top, "at"), t, &ret->at) || !json_is_integer(begun) ||
        !json_is_integer(noted) || !take_history(json_object_get(top, "history"), t, now_us, ret))
        return false;
    ret->begun_us = json_integer_value(begun);
    ret->noted_us = json_integer_value(noted);
    if (ret->begun_us > now_us)
        ret->begun_us = now_us;
    return true;
}

bool sql_progress_read(struct str state, const struct sql_track *t, int64_t now_us,
                       struct sql_progress *ret, struct err *err)
{
    bool ok = true;

    *ret = (struct sql_progress){ 0 };
    if (state.len == 0)
        return true;
    json_t *top = json_loadb(state.ptr, state.len, JSON_REJECT_DUPLICATES, NULL);

    if (!json_is_object(top))
        ok = err_set(err, ERR_PERMANENT, 0, "the stored cursor of the gateway is damaged");
    else if (t->first_is_said && !are_texts(json_object_get(top, "first"), t->first, t->count))
        ok = true; /* somebody says where to begin anew */
    else if (!are_texts(json_object_get(top, "columns"), t->columns, t->count))
        ok = err_set(err, ERR_CONFIG, 0,
                     "the stored cursor is of other columns than `cursor` names now: say with "
                     "`start` where to begin");
    else
        ok = take_all(top, t, now_us, ret) ||
             err_set(err, ERR_PERMANENT, 0, "the stored cursor of the gateway is damaged");
    json_decref(top);
    return ok;
}
