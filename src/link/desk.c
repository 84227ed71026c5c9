#include "link/desk_inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/yaml.h"
#include "link/link_settings.h"
#include "link/pruning.h"
#include "link/shelf.h"
#include "table/away/away.h"
#include "table/away/parts.h"
#include "table/tombstone.h"

enum { DESK_ARENA = 1 << 30, DESK_HASHES_MOST = 100000 };

const char *const desk_methods[DESK_METHODS] = {
    [DESK_ASK] = "ask",
    [DESK_PUT] = "put",
    [DESK_GET] = "get",
};

struct desk {
    struct shelf *shelf;
    struct parts *parts;
    struct prunings *prunings;
};

struct desk *desk_new(void)
{
    struct desk *d = NEW(struct desk);

    d->shelf = shelf_new();
    d->parts = parts_new();
    d->prunings = prunings_new();
    return d;
}

void desk_free(struct desk *d)
{
    if (d == NULL)
        return;
    shelf_free(d->shelf);
    parts_free(d->parts);
    prunings_free(d->prunings);
    free(d);
}

/* ---- who may ---- */

static unsigned desk_words(const struct yaml_node *list)
{
    static const struct {
        const char *word;
        unsigned right;
    } words[] = { { "read", ANSWERING_READ },
                  { "apply", ANSWERING_APPLY },
                  { "install", ANSWERING_INSTALL } };
    unsigned rights = 0;

    if (list == NULL || list->kind != YAML_LIST)
        return 0;
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next)
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (str_is(yaml_text(n), words[i].word))
                rights |= words[i].right;
    return rights;
}

/* The rights of the peer over a table: those over its database, and over the table itself. */
static unsigned desk_rights(const struct desk_visit *v, const struct message *m, struct arena *a)
{
    const struct yaml_node *peers = yaml_get(v->settings->node, "peers");
    const struct yaml_node *may = yaml_get(yaml_get(peers, arena_text(a, v->peer)), "may");
    const char *table = arena_printf(a, "%.*s/%.*s", STR_ARG(m->database), STR_ARG(m->at));

    return desk_words(yaml_get(may, arena_text(a, m->database))) | desk_words(yaml_get(may, table));
}

static bool desk_admits(const struct desk_visit *v, const struct message *m, struct arena *a,
                        struct err *err)
{
    static const char *const words[] = { "read", "apply", "install" };
    unsigned rights = desk_rights(v, m, a), needs = answering_needs(m->what);
    size_t i = 0;

    if ((rights & needs) != 0)
        return true;
    if (rights == 0)
        return err_set(err, ERR_CONFIG, SIDE_REFUSED, "it has no database %.*s for %.*s",
                       STR_ARG(str_first(m->database, 60)), STR_ARG(str_first(v->peer, 60)));
    while (i < 2 && (needs & 1U << i) == 0)
        i++;
    return err_set(err, ERR_CONFIG, SIDE_REFUSED,
                   "%.*s may not %s there: add it to `may` of that peer at its location",
                   STR_ARG(str_first(v->peer, 60)), words[i]);
}

/* ---- one question ---- */

/* Limits that a question may have, and that hold here. */
static void desk_limit(enum side_what what, void *question)
{
    if (what == SIDE_HASHES) {
        struct side_hashing *h = question;

        h->most = h->most < DESK_HASHES_MOST ? h->most : DESK_HASHES_MOST;
    }
}

static struct side desk_side(const struct shelf_side *d, const struct message *m)
{
    return (struct side){ .type = d->side.type,
                          .db = d->side.db,
                          .at = m->at,
                          .is_source = m->is_source,
                          .capture = m->capture,
                          .link = m->link,
                          .table = m->table };
}

/* Whoever takes rows from here has a link, and we have none: the journal is ours to look after, as
 * far as that link has written what was in it. */
static void desk_prune(struct desk *d, struct side *s, const struct message *m,
                       const struct side_window *w)
{
    struct err ignored = { 0 }; /* we may not: then the journal stays as it is */
    bool over = true;

    if (w->written_x > 0 && prunings_due(d->prunings, m->database, m->at) &&
        side_prune(s, w->written_x, &over, &ignored) && !over)
        prunings_again(d->prunings, m->database, m->at);
}

static bool desk_ask_table(struct desk *desk, struct shelf_side *d, const struct message *m,
                           const void *question, struct arena *a, struct buf *to, struct err *err)
{
    struct side s = desk_side(d, m);
    struct shape *shape;
    struct fit *fit;

    if (m->what != SIDE_DESCRIBE) {
        if (!shelf_describe(d, m->at, &shape, err) || !answering_fit(m, shape, a, &fit, err)) {
            shelf_forget(d);
            answering_put_error(to, err);
            return false;
        }
        s.fit = fit;
    }
    if (!answering_put(&s, m->what, question, a, to, err))
        return false;
    if (m->what == SIDE_CHANGES)
        desk_prune(desk, &s, m, question);
    return true;
}

static bool desk_is_good(const struct err *err)
{
    return err->kind == ERR_NONE || err->kind == ERR_PERMANENT || err->kind == ERR_LIMIT;
}

static void desk_note(struct desk_visit *v, const struct message *m)
{
    if (m->what == SIDE_RUN)
        (void)snprintf(v->installed, sizeof v->installed, "%.*s/%.*s",
                       STR_ARG(str_first(m->database, 80)), STR_ARG(str_first(m->at, 100)));
}

static bool desk_ask(struct desk *d, struct desk_visit *v, const struct message *m, void *question,
                     struct arena *a, struct buf *to, struct err *err)
{
    struct shelf_side *db;
    struct link_end end;
    struct err why = { 0 };

    if (!desk_admits(v, m, a, err)) {
        answering_put_error(to, err);
        return false;
    }
    if (m->what == SIDE_KEEP || m->what == SIDE_PAIR)
        return desk_share(v, m, question, a, to, err);
    if (!link_settings_database(v->settings, arena_copy(a, m->database), &end, err) ||
        !shelf_take(d->shelf, &end, NULL, v->call, &db, err)) {
        answering_put_error(to, err);
        return false;
    }
    desk_limit(m->what, question);
    bool ok = desk_ask_table(d, db, m, question, a, to, &why);

    if (ok)
        desk_note(v, m);
    shelf_put(d->shelf, db, ok || desk_is_good(&why));
    return ok;
}

/* ---- messages ---- */

static size_t desk_most(const struct desk_visit *v, size_t asked)
{
    size_t most = asked < v->most ? asked : v->most;

    return most < AWAY_MESSAGE_LEAST ? AWAY_MESSAGE_LEAST : most;
}

/* An answer that is larger than a message goes in parts. */
static bool desk_give(struct desk *d, struct desk_visit *v, struct buf *whole, size_t most,
                      struct err *err)
{
    struct envelope_part part;
    int64_t now_us = clock_mono_us();

    if (whole->len <= most)
        return buf_append(&v->frame, buf_view(whole), err);
    return parts_keep(d->parts, v->peer, buf_view(whole), now_us, &part, err) &&
           parts_get(d->parts, v->peer, &part, most, now_us, &v->frame, err);
}

static bool desk_whole(struct desk *d, struct desk_visit *v, struct str frame, struct err *err)
{
    struct arena a = ARENA_INIT(DESK_ARENA);
    struct buf whole = BUF_INIT(AWAY_WHOLE_MOST);
    struct message m;
    void *question;
    struct err why = { 0 };
    bool ok = message_take(frame, &a, &m, &question, err);

    if (ok) {
        (void)desk_ask(d, v, &m, question, &a, &whole, &why);
        if (!desk_give(d, v, &whole, desk_most(v, m.answer_most), &why))
            answering_put_error(&v->frame, &why);
    }
    buf_done(&whole);
    arena_done(&a);
    return ok;
}

static bool desk_read_part(struct str message, enum envelope_what wanted, struct envelope_part *ret,
                           struct str *ret_bytes, struct err *err)
{
    enum envelope_what what;
    struct str content;

    *ret = (struct envelope_part){ 0 };
    if (!envelope_take(message, &what, &content, err))
        return false;
    if (what != wanted)
        return err_set(err, ERR_PERMANENT, 0, "another kind of message is expected here");
    struct wire w = wire_take(content, NULL);

    envelope_part(&w, ret);
    *ret_bytes = w.rest;
    w.rest = STR("");
    return wire_end(&w, err);
}

static bool desk_put(struct desk *d, struct desk_visit *v, struct str message, struct err *err)
{
    struct buf whole = BUF_INIT(AWAY_WHOLE_MOST);
    struct envelope_part part;
    struct str bytes;
    struct err why = { 0 };
    bool is_whole = false, ok = desk_read_part(message, ENVELOPE_PART, &part, &bytes, err);

    if (ok && !parts_put(d->parts, v->peer, &part, bytes, clock_mono_us(), &whole, &is_whole, &why))
        answering_put_error(&v->frame, &why);
    else if (ok && is_whole)
        ok = desk_whole(d, v, buf_view(&whole), err);
    else if (ok)
        ok = envelope_begin(&v->frame, ENVELOPE_TOOK, err) && envelope_end(&v->frame, err);
    buf_done(&whole);
    return ok;
}

static bool desk_get(struct desk *d, struct desk_visit *v, struct str message, struct err *err)
{
    struct envelope_part part;
    struct str bytes;
    struct err why = { 0 };

    if (!desk_read_part(message, ENVELOPE_GET, &part, &bytes, err))
        return false;
    if (!parts_get(d->parts, v->peer, &part, v->most, clock_mono_us(), &v->frame, &why))
        answering_put_error(&v->frame, &why);
    return true;
}

bool desk_answer(struct desk *d, struct desk_visit *v, enum desk_method method, struct str message,
                 struct err *err)
{
    switch (method) {
    case DESK_ASK:
        return desk_whole(d, v, message, err);
    case DESK_PUT:
        return desk_put(d, v, message, err);
    default:
        return desk_get(d, v, message, err);
    }
}
