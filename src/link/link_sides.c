#include "link/link_sides.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "link/shelf.h"

enum { SIDES_ARENA = 16 << 20 };

#define SIDES_FITTED_US (60 * CLOCK_S) /* then the tables are described again */

void link_kept_init(struct link_kept *k)
{
    *k = (struct link_kept){ .shelf = shelf_common() };
    (void)pthread_mutex_init(&k->mutex, NULL);
}

static void sides_free(struct link_sides *s)
{
    if (s == NULL)
        return;
    arena_done(&s->arena);
    free(s);
}

static void sides_give_back(struct link_kept *k, struct link_sides *s, bool good)
{
    shelf_put(k->shelf, s->of_source, good);
    shelf_put(k->shelf, s->of_dest, good);
    s->of_source = s->of_dest = NULL;
}

void link_kept_done(struct link_kept *k)
{
    sides_free(k->idle);
    shelf_common_end(k->shelf);
    (void)pthread_mutex_destroy(&k->mutex);
}

/* ---- fitting ---- */

static bool sides_open(struct link_kept *k, const struct link_end *end, struct call *call,
                       struct side *side, struct shelf_side **ret, enum link_reason *ret_reason,
                       struct buf *problems, struct err *err)
{
    struct err why = { 0 };

    if (shelf_take(k->shelf, end, k, call, ret, &why)) {
        side->away = (*ret)->side.away;
        side->line = (*ret)->side.line;
        side->db = (*ret)->side.db;
        return true;
    }
    if (why.kind != ERR_CONFIG) {
        *err = why;
        return err_context(err, "database %.*s", STR_ARG(str_first(end->address.name, 60)));
    }
    *ret_reason = LINK_CREDENTIAL;
    buf_printf(problems, "database %.*s: %s", STR_ARG(end->address.name), why.text);
    return true;
}

static bool sides_describe(struct side *side, const struct link_end *end, struct arena *a,
                           struct shape **ret, enum link_reason *ret_reason, struct buf *problems,
                           struct err *err)
{
    struct err why = { 0 };

    if (side_describe(side, a, ret, &why))
        return true;
    if (why.kind != ERR_CONFIG) {
        *err = why;
        return err_context(err, "database %.*s", STR_ARG(str_first(end->address.name, 60)));
    }
    *ret_reason = why.sys == SIDE_REFUSED ? LINK_CREDENTIAL : LINK_SCHEMA_DRIFT;
    buf_printf(problems, "database %.*s: %s", STR_ARG(end->address.name), why.text);
    return true;
}

/* The reason stays LINK_GOES if they fit. */
static bool sides_fit(struct link_sides *s, enum link_reason *ret_reason, struct buf *problems,
                      struct err *err)
{
    const struct link_spec *spec = s->spec;
    struct shape *source, *dest;
    struct fit *of_source, *of_dest;

    arena_reset(&s->arena);
    if (!sides_describe(&s->source, &spec->source, &s->arena, &source, ret_reason, problems, err))
        return false;
    if (*ret_reason != LINK_GOES)
        return true;
    if (!sides_describe(&s->dest, &spec->dest, &s->arena, &dest, ret_reason, problems, err))
        return false;
    if (*ret_reason != LINK_GOES)
        return true;
    if (!fit_make(source, dest, &spec->wish, &s->arena, &of_source, &of_dest, problems)) {
        *ret_reason = LINK_SCHEMA_DRIFT;
        return true;
    }
    s->source.fit = of_source;
    s->dest.fit = of_dest;
    s->fitted_us = clock_mono_us();
    return true;
}

static struct link_sides *sides_new(const struct link_spec *spec)
{
    struct link_sides *s = NEW(struct link_sides);

    *s = (struct link_sides){ .spec = spec, .arena = ARENA_INIT(SIDES_ARENA) };
    s->source = link_side_of(spec, true);
    s->dest = link_side_of(spec, false);
    return s;
}

bool link_sides_take(struct link_kept *k, const struct link_spec *spec, struct call *call,
                     struct link_sides **ret, enum link_reason *ret_reason, struct buf *problems,
                     struct err *err)
{
    (void)pthread_mutex_lock(&k->mutex);
    struct link_sides *s = k->idle;

    k->idle = NULL;
    (void)pthread_mutex_unlock(&k->mutex);
    *ret_reason = LINK_GOES;
    if (s == NULL)
        s = sides_new(spec);
    bool ok =
        sides_open(k, &spec->source, call, &s->source, &s->of_source, ret_reason, problems, err) &&
        (*ret_reason != LINK_GOES ||
         sides_open(k, &spec->dest, call, &s->dest, &s->of_dest, ret_reason, problems, err));

    if (ok && *ret_reason == LINK_GOES &&
        (s->source.fit == NULL || clock_mono_us() - s->fitted_us >= SIDES_FITTED_US))
        ok = sides_fit(s, ret_reason, problems, err);
    if (!ok || *ret_reason != LINK_GOES) {
        sides_give_back(k, s, ok);
        sides_free(s);
        *ret = NULL;
        return ok;
    }
    *ret = s;
    return true;
}

void link_sides_put(struct link_kept *k, struct link_sides *s, bool good)
{
    struct link_sides *old = s;

    good = good && !side_is_broken(&s->source) && !side_is_broken(&s->dest);
    sides_give_back(k, s, good);
    if (good) {
        (void)pthread_mutex_lock(&k->mutex);
        old = k->idle;
        k->idle = s;
        (void)pthread_mutex_unlock(&k->mutex);
    }
    sides_free(old);
}
