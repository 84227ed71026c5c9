#include "engine/walk/copies.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/part.h"
#include "core/route_when.h"
#include "engine/flight/bytes.h"
#include "engine/flight/step_io.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/walk/parts.h"
#include "store/payload/payload.h"
#include "store/road/offspring.h"
#include "store/store.h"

_Static_assert((int)PART_COPIES_MOST <= (int)OFFSPRING_PARTS_MOST, "one commit makes them");

/* ---- who gets one ---- */

static int copies_by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static size_t drop_doubles(struct str *names, size_t count)
{
    size_t n = 0;

    if (count > 1)
        qsort(names, count, sizeof *names, copies_by_name);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || !str_eq(names[n - 1], names[i]))
            names[n++] = names[i];
    return n;
}

size_t copies_receivers(const struct plan_step *s, const struct facts *f, struct arena *a,
                        const struct str **ret)
{
    size_t most = 0, count = 0;

    for (size_t i = 0; i < s->subscription_count; i++)
        most += route_value_count(s->subscriptions[i]->to);
    struct str *names = ARENA_ARRAY(a, struct str, most);

    for (size_t i = 0; i < s->subscription_count; i++) {
        const struct yaml_node *to = s->subscriptions[i]->to, *n;

        if (!route_when_fits(s->subscriptions[i]->when, f))
            continue;
        for (n = route_value_first(to); n != NULL; n = route_value_next(to, n))
            names[count++] = n->text;
    }
    *ret = names;
    return drop_doubles(names, count);
}

/* ---- bytes ---- */

/* How many copies have their bytes in the commit: all, or as many as there is room for. */
static size_t count_inline(const struct flight *f)
{
    int64_t size = variant_size(f->walk.bytes);

    if (size > SEGMENT_PAYLOAD_MOST || !variant_is_in_memory(f->walk.bytes))
        return 0;
    return size == 0 || f->copies.count <= OFFSPRING_BYTES_MOST / (size_t)size
               ? f->copies.count
               : OFFSPRING_BYTES_MOST / (size_t)size;
}

/* It is the store that failed, not the payload that is damaged: it is tried again. */
static bool copies_not_written(struct step_io *x)
{
    if (x->err.kind == ERR_PERMANENT)
        x->err.kind = ERR_TRANSIENT;
    return false;
}

static bool put_copy(void *upload, struct str piece, struct err *err)
{
    return upload_add(upload, piece, err);
}

static bool copy_bytes(struct step_io *x, struct upload *u)
{
    struct err err = { 0 };

    if (step_io_each(x, put_copy, u, &err))
        return true;
    if (err.kind == ERR_NONE)
        return false;
    x->err = err;
    return copies_not_written(x);
}

/* False, x->err: the bytes could not be read or written. */
static bool upload_copy(struct step_io *x, struct payload_ref *ret)
{
    struct upload *u;

    if (!upload_open(x->flight->road->store, &u, &x->err))
        return copies_not_written(x);
    bool ok = copy_bytes(x, u) && (upload_finish(u, ret, &x->err) || copies_not_written(x));

    upload_close(u);
    return ok;
}

/* *ret_count: those that are made, also if it fails. */
static bool upload_copies(struct flight *f, const struct plan_step *s, struct payload_ref *ret,
                          size_t count, size_t *ret_count, struct err *err)
{
    AUTO(step_io_done) struct step_io x;

    step_io_init(&x, f, s, 0, NULL);
    for (*ret_count = 0; *ret_count < count; ++*ret_count)
        if (!upload_copy(&x, &ret[*ret_count])) {
            *err = x.err;
            return false;
        }
    return true;
}

/* ---- the step ---- */

static enum way nobody_wants_it(struct flight *f, const struct plan_step *s)
{
    f->step_count++;
    flight_note(f, TIMELINE_STEP, TIMELINE_DROPPED, s->name, -1,
                "no subscription of this step is for it: nobody gets a copy");
    return WAY_ENDS;
}

/* Their names are not in the line: who sees the document may not see all systems. */
static void note_copies(struct flight *f, const struct plan_step *s, int64_t from_us)
{
    f->step_count++;
    (void)snprintf(f->message, sizeof f->message, "a copy for each of %zu subscriber%s",
                   f->copies.count, f->copies.count == 1 ? "" : "s");
    flight_note(f, TIMELINE_STEP, TIMELINE_NOTED, s->name, clock_mono_us() - from_us, f->message);
    f->message[0] = '\0';
}

static enum way make_copies(struct flight *f, const struct plan_step *s, int64_t from_us)
{
    size_t whole = count_inline(f), uploads = f->copies.count - whole;
    struct parts_copies c = { .receivers = f->copies.receivers,
                              .count = f->copies.count,
                              .bytes = whole > 0 ? buf_view(&f->walk.bytes->buf) : STR(""),
                              .size = variant_size(f->walk.bytes),
                              .sha256 = variant_sha256(f, f->walk.bytes) };
    struct payload_ref *places = ARENA_ARRAY(&f->arena, struct payload_ref, uploads);
    struct err err = { 0 };

    if (uploads > 0 && !upload_copies(f, s, places, uploads, &c.upload_count, &err)) {
        for (size_t i = 0; i < c.upload_count; i++)
            upload_drop(f->road->store, places[i]);
        outcome_read_failed(f, &err);
        return WAY_DEAD;
    }
    c.uploads = places;
    parts_copy(f, &c);
    note_copies(f, s, from_us);
    return WAY_ENDS;
}

enum way copies_make(struct flight *f, const struct plan_step *s)
{
    int64_t from = clock_mono_us();

    f->copies.count = copies_receivers(s, &f->facts, &f->arena, &f->copies.receivers);
    f->copies.bytes = f->walk.bytes;
    if (f->copies.count == 0)
        return nobody_wants_it(f, s);
    if (f->dry) {
        note_copies(f, s, from);
        return WAY_ENDS;
    }
    if (f->copies.count > PART_COPIES_MOST) { /* the check of the configuration refuses it */
        outcome_dead(f, TIMELINE_STEP, s->name, DEAD_LIMIT, -1, "too many subscribers");
        return WAY_DEAD;
    }
    if (!f->may_block && count_inline(f) < f->copies.count) {
        f->walk.need = WALK_NEEDS_THREAD;
        return WAY_WAITS;
    }
    return make_copies(f, s, from);
}
