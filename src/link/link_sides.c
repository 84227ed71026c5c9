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
    s->source.type->close(s->source.db);
    s->dest.type->close(s->dest.db);
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
    s->source.type->lend(s->source.db, call);
    s->dest.type->lend(s->dest.db, call);
}

/* ---- fitting ---- */

static bool sides_open(struct side *side, const struct link_end *end, struct call *call,
                       enum link_reason *ret_reason, struct buf *problems, struct err *err)
{
    struct database_address address = end->address;
    struct err why = { 0 };

    address.call = call;
    if (end->type->open(&address, &side->db, &why))
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

    if (end->type->describe(side->db, end->table, a, ret, &why))
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

static struct link_sides *sides_new(const struct link_spec *spec)
{
    struct link_sides *s = NEW(struct link_sides);

    *s = (struct link_sides){ .spec = spec, .arena = ARENA_INIT(SIDES_ARENA) };
    s->source = (struct side){ .type = spec->source.type,
                               .is_source = true,
                               .capture = spec->capture,
                               .link = spec->link,
                               .table = spec->table };
    s->dest = (struct side){ .type = spec->dest.type, .link = spec->link, .table = spec->table };
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

    if (good && !s->source.type->broken(s->source.db) && !s->dest.type->broken(s->dest.db)) {
        sides_lend(s, NULL);
        (void)pthread_mutex_lock(&k->mutex);
        old = k->idle;
        k->idle = s;
        (void)pthread_mutex_unlock(&k->mutex);
    }
    sides_free(old);
}
