/* asking.c - a side that is away asks by messages (away.h). */
#include "table/away/away.h"
#include "table/away/line.h"
#include "table/away/message.h"

enum { SMALL_MOST = 1 << 20 /* bytes of an answer with few texts */ };

static struct away_line *asking_line(const struct side *s)
{
    return s->line;
}

static bool asking_put(struct side *s, enum side_what what, const void *question, struct err *err)
{
    struct away_line *l = asking_line(s);
    const struct fit *fit = s->fit;
    struct arena columns = ARENA_INIT(1 << 20);
    struct message m = { .what = what,
                         .database = l->address.database,
                         .at = s->at,
                         .link = s->link,
                         .table = s->table,
                         .is_source = s->is_source,
                         .capture = s->capture,
                         .answer_most = l->most };
    void *q = (void *)(uintptr_t)question;

    if (fit != NULL && what != SIDE_DESCRIBE) {
        m.columns = ARENA_ARRAY(&columns, struct message_column, fit->count);
        m.column_count = fit->count;
        m.key_count = fit->key_count;
        for (size_t i = 0; i < fit->count; i++)
            m.columns[i] =
                (struct message_column){ fit->columns[i].name, fit->columns[i].travels,
                                         fit->columns[i].digits, fit->columns[i].padded };
    }
    bool ok = envelope_begin(&l->out, ENVELOPE_WHOLE, err);

    if (ok) {
        struct wire w = wire_put(&l->out);

        message_head(&w, &m);
        message_question(&w, what, &q);
        ok = wire_end(&w, err) && envelope_end(&l->out, err);
    }
    arena_done(&columns);
    return ok;
}

/* What an answer lends from its bytes lives in `a`, and that has a limit of its own. */
static bool asking_is_large(enum side_what what)
{
    return what == SIDE_CHANGES || what == SIDE_ROWS || what == SIDE_APPLY || what == SIDE_LEAVES ||
           what == SIDE_HASHES || what == SIDE_HASHES_OF || what == SIDE_CHANGES_OF;
}

static bool asking_take_error(struct side *s, struct str content, struct err *err)
{
    struct wire w = wire_take(content, NULL);
    struct err why = { .kind = ERR_TRANSIENT };

    envelope_error(&w, &why);
    if (!wire_end(&w, err))
        return false;
    if (why.kind == ERR_NONE)
        why.kind = ERR_TRANSIENT;
    *err = why;
    return err_context(err, "peer %.64s", asking_line(s)->address.peer.ptr);
}

static bool asking_take(struct side *s, enum side_what what, struct arena *a, void *answer,
                        struct err *err)
{
    struct away_line *l = asking_line(s);
    enum envelope_what frame;
    struct str content;

    if (!envelope_take(buf_view(&l->in), &frame, &content, err))
        return err_context(err, "peer %.64s", l->address.peer.ptr);
    if (frame == ENVELOPE_ERROR)
        return asking_take_error(s, content, err);
    if (frame != ENVELOPE_WHOLE ||
        (!asking_is_large(what) && what != SIDE_FETCH && content.len > SMALL_MOST))
        return err_set(err, ERR_PERMANENT, 0, "peer %.64s answers something else",
                       l->address.peer.ptr);
    if (a != NULL && what != SIDE_FETCH)
        content = arena_copy(a, content);
    if (what == SIDE_CHANGES)
        buf_clear(&((struct side_changes *)answer)->batch);
    if (what == SIDE_ROWS)
        buf_clear(&((struct side_rows *)answer)->batch);
    struct wire w = wire_take(content, a);

    message_answer(&w, what, answer);
    return wire_end(&w, err) || err_context(err, "peer %.64s", l->address.peer.ptr);
}

static bool away_ask(struct side *s, enum side_what what, const void *question, struct arena *a,
                     void *answer, struct err *err)
{
    return asking_put(s, what, question, err) && away_line_exchange(asking_line(s), err) &&
           asking_take(s, what, a, answer, err);
}

static void away_close(struct side *s)
{
    away_line_close(asking_line(s));
    s->line = NULL;
}

static bool away_is_broken(const struct side *s)
{
    return asking_line(s)->broken;
}

static void away_lend(struct side *s, struct call *call)
{
    asking_line(s)->call = call;
}

bool side_away_open(struct side *s, const struct away_address *address, struct call *call,
                    struct err *err)
{
    static const struct side_away_type asking = {
        .ask = away_ask, .close = away_close, .broken = away_is_broken, .lend = away_lend
    };
    struct away_line *l = NULL;

    if (!away_line_open(address, call, &l, err))
        return false;
    s->line = l;
    s->away = &asking;
    return true;
}
