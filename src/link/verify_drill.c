/* verify_drill.c - segments of a pass, and the rows of those that differ (verifying.h).
 *
 * Of a segment that differs the source cuts leaves of LEAF_ROWS rows, and both sides sum each of
 * them.  Of leaves that differ keys and hashes of all rows are compared.  So ten differences in a
 * segment cost the sums of its leaves and the hashes of ten leaves.
 *
 * The source is read again for that, so rows may differ that were the same a moment ago: all are
 * suspects only, and what changed is found to be the same when it is looked at again.
 */
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "core/call.h"
#include "link/verification.h"

enum {
    LEAF_ROWS = 256,
    RUN_LEAVES = 16,      /* leaves that follow each other are read together, up to so many */
    RUN_ROWS = 40000,     /* with more rows on a side a run cannot be listed */
    AGAIN_MOST = 5,       /* then a segment of which too much differs counts as bad */
    SEGMENT_FIRST = 8192, /* rows */
    SEGMENT_LEAST = 1024,
    COUNT_LOOKS = 10, /* of `count` */
    COUNT_STEADY = 3  /* looks with the same surplus: it is a difference */
};

#define SEGMENT_US (700 * CLOCK_MS) /* that reading one may take, both sides */

/* ---- drilling ---- */

/* Where a range differs: row by row. */
struct verify_found {
    struct finding *findings; /* suspects; in p->turn */
    size_t count;
    bool too_many;   /* they cannot be listed: nothing else is set */
    struct str upto; /* how far the range was looked at; empty: to the last row */
    int64_t rows_source, rows_dest;
};

struct drill {
    struct verification *p;
    const struct side_range *range;
    struct verify_found *found;
    int64_t below;
    size_t room; /* for findings */
};

static void drill_note(struct drill *d, enum finding_kind kind, const struct side_hash *source,
                       const struct side_hash *dest)
{
    struct verification *p = d->p;
    struct finding *f;

    if (d->found->count == d->room) {
        d->found->too_many = true;
        return;
    }
    f = &d->found->findings[d->found->count++];
    *f = (struct finding){ .pass = p->pass.id,
                           .key = source != NULL ? source->key : dest->key,
                           .kind = kind,
                           .state = FINDING_SUSPECT,
                           .hash_source =
                               source != NULL ? str_mem(source->hash, SIDE_HASH) : STR(""),
                           .hash_dest = dest != NULL ? str_mem(dest->hash, SIDE_HASH) : STR(""),
                           .seen_x = d->below,
                           .look_us = verification_now_us(p) + verification_delay_us(p) };
}

static void drill_merge(struct drill *d, const struct side_hash *source, size_t source_count,
                        const struct side_hash *dest, size_t dest_count)
{
    size_t i = 0, j = 0;

    while ((i < source_count || j < dest_count) && !d->found->too_many) {
        int order = i == source_count ? 1
                    : j == dest_count ? -1
                                      : str_cmp(source[i].key, dest[j].key);

        if (order < 0)
            drill_note(d, FINDING_MISSING, &source[i], NULL);
        else if (order > 0)
            drill_note(d, FINDING_EXTRA, NULL, &dest[j]);
        else if (memcmp(source[i].hash, dest[j].hash, SIDE_HASH) != 0)
            drill_note(d, FINDING_DIFFERENT, &source[i], &dest[j]);
        i += order <= 0;
        j += order >= 0;
    }
}

/* What was asked and answered, about. */
static int64_t drill_bytes(const struct side_hash *hashes, size_t count)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += (int64_t)hashes[i].key.len + SIDE_HASH;
    return bytes;
}

static bool drill_is_too_large(struct drill *d, const struct err *err)
{
    d->found->too_many = err->kind == ERR_LIMIT;
    return d->found->too_many;
}

static bool drill_run(struct drill *d, const struct side_range *run, int64_t source_rows,
                      int64_t dest_rows, struct err *err)
{
    struct verification *p = d->p;
    struct side_hash *source, *dest;
    size_t source_count, dest_count;

    if (source_rows > RUN_ROWS || dest_rows > RUN_ROWS) {
        d->found->too_many = true;
        return true;
    }
    call_alive(p->v->call);
    if (!side_hashes(p->source, run, (size_t)2 * RUN_ROWS, &p->turn, &source, &source_count, err))
        return drill_is_too_large(d, err) || err_context(err, "source");
    if (!side_hashes(p->dest, run, (size_t)2 * RUN_ROWS, &p->turn, &dest, &dest_count, err))
        return drill_is_too_large(d, err) || err_context(err, "destination");
    p->pass.bytes += drill_bytes(source, source_count) + drill_bytes(dest, dest_count);
    drill_merge(d, source, source_count, dest, dest_count);
    return true;
}

/* Leaves from `from` on that are read together: one that is the same, or some that differ. */
static size_t drill_together(const struct side_leaf *source, const struct side_leaf *dest,
                             size_t from, size_t count, struct side_sum *ret_source,
                             struct side_sum *ret_dest)
{
    bool same = row_sum_same(&source[from].sum, &dest[from].sum);
    size_t n = 0;

    *ret_source = *ret_dest = (struct side_sum){ 0 };
    do {
        row_sum_join(&ret_source->sum, &source[from + n].sum);
        row_sum_join(&ret_dest->sum, &dest[from + n].sum);
        n++;
    } while (!same && n < RUN_LEAVES && from + n < count &&
             !row_sum_same(&source[from + n].sum, &dest[from + n].sum));
    return n;
}

/* Compares the leaves, and reads the rows of those that differ.  It ends before the last one with
 * enough findings for once: the rest is the next segment. */
static bool drill_leaves(struct drill *d, const struct side_leaf *source,
                         const struct side_leaf *dest, size_t count, struct err *err)
{
    struct verify_found *found = d->found;
    struct str after = d->range->after;
    struct side_sum here, there;

    for (size_t i = 0, n; i < count; i += n) {
        size_t before = found->count;

        n = drill_together(source, dest, i, count, &here, &there);
        const struct side_range run = { .after = after, .upto = source[i + n - 1].upto };

        if (!row_sum_same(&here.sum, &there.sum)) {
            if (!drill_run(d, &run, here.sum.rows, there.sum.rows, err))
                return false;
            if (found->too_many && i > 0) {
                found->count = before;
                found->too_many = false;
                return true;
            }
        }
        after = found->upto = run.upto;
        found->rows_source += here.sum.rows;
        found->rows_dest += there.sum.rows;
        if (found->too_many || found->count >= VERIFY_SUSPECTS / 2)
            return true;
    }
    return true;
}

static bool verify_drill(struct verification *p, const struct side_range *range, int64_t below,
                         struct verify_found *ret, struct err *err)
{
    int64_t listed = verification_differences(p) + p->pass.moving + p->suspects;
    struct drill d = { .p = p, .range = range, .found = ret, .below = below };
    struct side_leaf *source, *dest;
    size_t count, dest_count;

    *ret = (struct verify_found){ .too_many = listed >= PASS_FINDINGS_MOST };
    if (ret->too_many)
        return true;
    d.room = (size_t)(PASS_FINDINGS_MOST - listed);
    ret->findings = ARENA_ARRAY(&p->turn, struct finding, d.room);
    if (!side_leaves(p->source, range, LEAF_ROWS, NULL, 0, &p->turn, &source, &count, err))
        return err_context(err, "source");
    if (!side_leaves(p->dest, range, LEAF_ROWS, source, count, &p->turn, &dest, &dest_count, err))
        return err_context(err, "destination");
    if (dest_count != count)
        return err_set(err, ERR_PERMANENT, 0, "the destination has cut a range otherwise");
    for (size_t i = 0; i < count; i++)
        p->pass.bytes += 2 * ((int64_t)source[i].upto.len + ROW_SUM_BYTES);
    return drill_leaves(&d, source, dest, count, err);
}

/* ---- a segment ---- */

/* Whether a pass that takes a sample compares a segment. */
static bool segment_is_chosen(const struct verification *p)
{
    const char *text =
        arena_printf(p->v->arena, "%lld %lld", (long long)p->pass.id, (long long)p->pass.segments);
    struct sha256 hash = digest_of(str_of(text));
    unsigned number = (unsigned)hash.bytes[0] << 16 | (unsigned)hash.bytes[1] << 8 | hash.bytes[2];

    return p->mode != LINK_VERIFY_SAMPLE || (int64_t)(number % 1000) < p->v->rule->share;
}

static int64_t segment_rows(const struct verification *p)
{
    int64_t rows = p->s->rows > 0 ? p->s->rows : SEGMENT_FIRST, rate = p->v->rule->rate;

    if (p->v->segment_rows > 0)
        return p->v->segment_rows;
    if (p->mode == LINK_VERIFY_SAMPLE)
        rows = SEGMENT_LEAST; /* many small ones make a better sample */
    return rate > 0 && rows > rate ? rate : rows;
}

/* How large the next one may be, and when it may be read. */
static void segment_pace(struct verification *p, int64_t rows, int64_t took_us)
{
    int64_t rate = p->v->rule->rate;

    if (rows == segment_rows(p)) {
        int64_t fits = took_us > 0 ? (int64_t)((double)rows * SEGMENT_US / (double)took_us) : rows;

        fits = fits > 4 * rows ? 4 * rows : fits;
        p->s->rows = fits < SEGMENT_LEAST         ? SEGMENT_LEAST
                     : fits > VERIFY_SEGMENT_MOST ? VERIFY_SEGMENT_MOST
                                                  : fits;
    }
    if (rate > 0 && rows > 0)
        p->rest_us = (int64_t)((double)rows * CLOCK_S / (double)rate) - took_us;
}

bool verify_leave(struct verification *p, struct str upto, const struct finding *findings,
                  size_t count, struct err *err)
{
    p->pass.segments++;
    p->s->again = 0;
    buf_clear(&p->next);
    buf_put(&p->next, upto);
    p->pass.next = buf_view(&p->next);
    if (!verification_save(p, findings, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (p->suspects++ == 0 || findings[i].look_us < p->look_us)
            p->look_us = findings[i].look_us;
    return true;
}

static bool segment_differs(struct verification *p, const struct side_range *range,
                            const struct side_sum *source, const struct side_sum *dest,
                            struct err *err)
{
    struct verify_found found;

    if (!verify_drill(p, range, source->below, &found, err))
        return false;
    if (found.too_many && p->s->again < AGAIN_MOST &&
        verification_differences(p) < PASS_FINDINGS_MOST) {
        /* A large change may be on its way. */
        p->s->again++;
        p->s->again_us = verification_now_us(p) + verification_delay_us(p);
        return true;
    }
    if (found.too_many) {
        p->pass.segments_bad++;
        found = (struct verify_found){ .upto = range->upto,
                                       .rows_source = source->sum.rows,
                                       .rows_dest = dest->sum.rows };
    }
    p->pass.rows_source += found.rows_source;
    p->pass.rows_dest += found.rows_dest;
    return verify_leave(p, found.upto, found.findings, found.count, err);
}

bool verify_segment(struct verification *p, struct err *err)
{
    struct side_range range = { .after = buf_view(&p->next), .rows_most = (size_t)segment_rows(p) };
    int64_t began_us = clock_mono_us();
    struct side_sum source, dest;
    bool chosen = segment_is_chosen(p);

    if (p->s->again > 0 && verification_now_us(p) < p->s->again_us) {
        p->rest_us = p->s->again_us - verification_now_us(p);
        return true;
    }
    if (!side_sum(p->source, &range, &p->turn, &source, err))
        return err_context(err, "source");
    call_alive(p->v->call);
    range.upto = source.upto;
    if (!chosen) {
        segment_pace(p, source.sum.rows, clock_mono_us() - began_us);
        p->pass.skipped++;
        return verify_leave(p, range.upto, NULL, 0, err);
    }
    range.rows_most = 0;
    if (!side_sum(p->dest, &range, &p->turn, &dest, err))
        return err_context(err, "destination");
    p->pass.bytes += (int64_t)(range.after.len + range.upto.len) + 2 * ROW_SUM_BYTES;
    segment_pace(p, source.sum.rows, clock_mono_us() - began_us);
    if (!row_sum_same(&source.sum, &dest.sum))
        return segment_differs(p, &range, &source, &dest, err);
    p->pass.rows_source += source.sum.rows;
    p->pass.rows_dest += dest.sum.rows;
    return verify_leave(p, range.upto, NULL, 0, err);
}

/* ---- only counting ---- */

/* Rows come and go while one counts, so a surplus is a difference only if it stays the same. */
bool verify_count(struct verification *p, bool *ret_over, struct err *err)
{
    struct verify_state *s = p->s;
    int64_t surplus;

    if (s->looks > 0 && verification_now_us(p) < s->again_us) {
        p->rest_us = s->again_us - verification_now_us(p);
        return true;
    }
    if (!side_count(p->source, &p->pass.rows_source, err))
        return err_context(err, "source");
    if (!side_count(p->dest, &p->pass.rows_dest, err))
        return err_context(err, "destination");
    surplus = p->pass.rows_source - p->pass.rows_dest;
    s->steady = s->looks > 0 && surplus == s->surplus ? s->steady + 1 : 1;
    s->surplus = surplus;
    s->looks++;
    s->again_us = verification_now_us(p) + verification_delay_us(p);
    *ret_over = surplus == 0 || s->steady >= COUNT_STEADY || s->looks >= COUNT_LOOKS;
    if (!*ret_over)
        return true;
    p->pass.segments = 1;
    if (surplus != 0 && s->steady < COUNT_STEADY)
        p->pass.skipped++;
    else if (surplus > 0)
        p->pass.missing = surplus;
    else
        p->pass.extra = -surplus;
    return true;
}
