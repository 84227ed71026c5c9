#include "link/link_sides.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { SIDES_ARENA = 16 << 20 };

#define SIDES_FITTED_US (60 * CLOCK_S) /* then the tables are described again */

void link_kept_init(struct link_kept *k)
{
    *k = (struct link_kept){ 0 };
    (void)pthread_mutex_init(&k->mutex, NULL);
}

static void sides_free(struct link_sides *s)
{
    if (s == NULL)
        return;
    side_close(&s->source);
    side_close(&s->dest);
    arena_done(&s->arena);
    free(s);
}

void link_kept_done(struct link_kept *k)
{
    sides_free(k->idle);
    (void)pthread_mutex_destroy(&k->mutex);
}

static void sides_lend(struct link_sides *s, struct call *call)
{
    side_lend(&s->source, call);
    side_lend(&s->dest, call);
}

/* ---- fitting ---- */

bool link_side_open(struct side *side, const struct link_end *end, struct call *call,
                    struct err *err)
{
    struct database_address address = end->address;

    if (end->away != NULL)
        return side_away_open(side, end->away, call, err);
    address.call = call;
    return end->type->open(&address, &side->db, err);
}

static bool sides_open(struct side *side, const struct link_end *end, struct call *call,
                       enum link_reason *ret_reason, struct buf *problems, struct err *err)
{
    struct err why = { 0 };

    if (link_side_open(side, end, call, &why))
        return true;
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
    *ret_reason = LINK_SCHEMA_DRIFT;
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

struct side link_side_of(const struct link_spec *spec, bool is_source)
{
    const struct link_end *end = is_source ? &spec->source : &spec->dest;

    return (struct side){ .type = end->type,
                          .at = end->table,
                          .is_source = is_source,
                          .capture = spec->capture,
                          .link = spec->link,
                          .table = spec->table };
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
    bool ok = true;

    (void)pthread_mutex_lock(&k->mutex);
    struct link_sides *s = k->idle;

    k->idle = NULL;
    (void)pthread_mutex_unlock(&k->mutex);
    *ret_reason = LINK_GOES;
    if (s == NULL) {
        s = sides_new(spec);
        ok = sides_open(&s->source, &spec->source, call, ret_reason, problems, err) &&
             (*ret_reason != LINK_GOES ||
              sides_open(&s->dest, &spec->dest, call, ret_reason, problems, err));
    } else {
        sides_lend(s, call);
    }
    if (ok && *ret_reason == LINK_GOES &&
        (s->source.fit == NULL || clock_mono_us() - s->fitted_us >= SIDES_FITTED_US))
        ok = sides_fit(s, ret_reason, problems, err);
    if (!ok || *ret_reason != LINK_GOES) {
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

    if (good && !side_is_broken(&s->source) && !side_is_broken(&s->dest)) {
        sides_lend(s, NULL);
        (void)pthread_mutex_lock(&k->mutex);
        old = k->idle;
        k->idle = s;
        (void)pthread_mutex_unlock(&k->mutex);
    }
    sides_free(old);
}
