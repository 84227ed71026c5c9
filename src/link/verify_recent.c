/* verify_recent.c - a pass over the rows that have changed of late (verifying.h).
 *
 * The journal of the source says which: those whose last change came after the place where the last
 * such pass of the rule ended, up to the ceiling of the moment at which this one began.  Keys and
 * hashes of both sides are compared for some rows at a time, and what differs is a suspect.
 *
 * The place moves on only behind a pass that left nothing: rows that differ, that kept moving or
 * that wait for replication are looked at by the next pass as well.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "link/verification.h"
#include "table/batch.h"

enum { RECENT_BYTES = 1 << 20, RECENT_X = 8 };

/* ---- how far the pass is: x, then the key ---- */

static struct change_place recent_place(const struct verification *p)
{
    struct str next = buf_view(&p->next);
    uint64_t x = 0;

    if (next.len < RECENT_X)
        return (struct change_place){ .x = p->s->since_x, .key = STR("") };
    for (size_t i = 0; i < RECENT_X; i++)
        x = x << 8 | (unsigned char)next.ptr[i];
    return (struct change_place){ .x = (int64_t)x, .key = str_from(next, RECENT_X) };
}

static struct str recent_next(struct verification *p, const struct change_place *place)
{
    char *text = arena_alloc(&p->turn, RECENT_X + place->key.len + 1);

    for (size_t i = 0; i < RECENT_X; i++)
        text[i] = (char)((uint64_t)place->x >> (8 * (RECENT_X - 1 - i)));
    memcpy(text + RECENT_X, place->key.ptr, place->key.len);
    return str_mem(text, RECENT_X + place->key.len);
}

struct str verify_recent_key(const struct verification *p)
{
    return recent_place(p).key;
}

/* ---- some rows ---- */

/* Those that changed before the pass began; later ones are the next pass's. */
static bool recent_keys(struct verification *p, const struct side_changes *c, struct finding *f,
                        size_t *ret_count, struct err *err)
{
    struct str rest = buf_view(&c->batch);
    struct batch_entry e;
    size_t n = 0;

    for (size_t i = 0; i < c->bad_count; i++)
        if (c->bad[i].x < p->s->until_x)
            f[n++] = (struct finding){ .key = c->bad[i].key, .seen_x = c->bad[i].x };
    while (rest.len > 0) {
        if (!batch_take(&rest, &e, err))
            return false;
        if (e.x < p->s->until_x)
            f[n++] = (struct finding){ .key = arena_copy(&p->turn, e.key), .seen_x = e.x };
    }
    *ret_count = n;
    return true;
}

/* Leaves those that differ at the begin of *f. */
static bool recent_compare(struct verification *p, struct finding *f, size_t *io_count,
                           struct err *err)
{
    int64_t listed = verification_differences(p) + p->pass.moving + p->suspects;
    struct side_hash *source, *dest;
    size_t n = 0;

    if (!verify_hashes(p, p->source, f, *io_count, &source, err) ||
        !verify_hashes(p, p->dest, f, *io_count, &dest, err))
        return false;
    for (size_t i = 0; i < *io_count; i++) {
        bool at_source = source[i].key.len > 0, at_dest = dest[i].key.len > 0;

        p->pass.rows_source += at_source;
        p->pass.rows_dest += at_dest;
        if (verify_hash_same(&source[i], &dest[i]))
            continue;
        if (listed + (int64_t)n >= PASS_FINDINGS_MOST) {
            p->pass.segments_bad++;
            break;
        }
        f[n++] = (struct finding){ .pass = p->pass.id,
                                   .key = f[i].key,
                                   .kind = !at_dest     ? FINDING_MISSING
                                           : !at_source ? FINDING_EXTRA
                                                        : FINDING_DIFFERENT,
                                   .state = FINDING_SUSPECT,
                                   .hash_source = verify_hash_view(&source[i]),
                                   .hash_dest = verify_hash_view(&dest[i]),
                                   .seen_x = f[i].seen_x,
                                   .look_us = verification_now_us(p) + verification_delay_us(p) };
    }
    *io_count = n;
    return true;
}

static bool recent_some(struct verification *p, struct side_changes *c, struct err *err)
{
    const struct side_window w = { .after = recent_place(p),
                                   .bytes_most = RECENT_BYTES,
                                   .rows_most = VERIFY_PAGE };
    struct finding *f = ARENA_ARRAY(&p->turn, struct finding, VERIFY_PAGE + SIDE_BAD_MOST);
    int64_t began_us = clock_mono_us(), rate = p->v->rule->rate;
    size_t count, differ;

    if (!side_changes(p->source, &w, &p->turn, c, err))
        return err_context(err, "source");
    if (p->s->until_x == 0)
        p->s->until_x = c->ceiling.below;
    if (!recent_keys(p, c, f, &count, err))
        return err_context(err, "source");
    differ = count;
    if (!recent_compare(p, f, &differ, err))
        return false;
    if (rate > 0 && count > 0)
        p->rest_us =
            (int64_t)((double)count * CLOCK_S / (double)rate) - (clock_mono_us() - began_us);
    return verify_leave(p,
                        c->more && c->upto.x < p->s->until_x ? recent_next(p, &c->upto) : STR(""),
                        f, differ, err);
}

bool verify_recent(struct verification *p, struct err *err)
{
    struct side_changes c = { .batch = BUF_INIT(2 * SHAPE_ROW_BYTES) };
    bool ok = recent_some(p, &c, err);

    buf_done(&c.batch);
    return ok;
}

/* ---- where the next pass begins ---- */

void verify_recent_end(struct verification *p)
{
    const struct pass *pass = &p->pass;

    if (p->mode == LINK_VERIFY_RECENT && pass->moving == 0 && pass->skipped == 0 &&
        (pass->result == PASS_PARTIAL || pass->result == PASS_REPAIRED) &&
        p->s->until_x > p->s->since_x)
        p->s->since_x = p->s->until_x;
}
