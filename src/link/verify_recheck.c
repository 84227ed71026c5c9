/* verify_recheck.c - suspects are looked at again: was the change only on its way? (verifying.h)
 *
 * With a journal the order of the reads is the proof.  For some rows together:
 *
 *     1  the newest change x of each row in the journal of the source, then the hash of the row
 *     2  the mark of the destination
 *     3  the hash of the row at the destination
 *     4  again the newest change of each row
 *
 * Where 1 and 4 are the same change, nothing was committed to the row at the source in between.
 * Where the mark of 2 is at or behind (x, key), the destination had applied that change, and
 * therefore the row as it is: the image of a change is read when it is applied.  If 3 differs from
 * 1 then, it is a difference and no lag.
 *
 * Of a table that goes both ways the same is asked of the destination: its newest change of each
 * row, and the mark of the link back at the source.  A change that came from the other side is on
 * its way no more.
 */
#include <stdlib.h>
#include <string.h>

#include "link/verification.h"

struct recheck {
    bool has, has_again;
    int64_t x, x_again; /* of the newest change in the journal */
    bool came;          /* ... which was made by the link back */

    /* Both ways: of the destination. */
    bool back_has, back_came, back_stable, back_passed;
    int64_t back_x;
};

/* ---- reading ---- */

static int recheck_by_key(const void *a, const void *b)
{
    return str_cmp(((const struct side_hash *)a)->key, ((const struct side_hash *)b)->key);
}

bool verify_hashes(struct verification *p, struct side *side, const struct finding *f, size_t count,
                   struct side_hash **ret, struct err *err)
{
    struct str *keys = ARENA_ARRAY(&p->turn, struct str, count + 1);
    struct side_hash *there;
    size_t there_count;

    for (size_t i = 0; i < count; i++)
        keys[i] = f[i].key;
    *ret = ARENA_ARRAY(&p->turn, struct side_hash, count + 1);
    if (!side_hashes_of(side, keys, count, &p->turn, &there, &there_count, err))
        return err_context(err, side->is_source ? "source" : "destination");
    qsort(there, there_count, sizeof *there, recheck_by_key);
    for (size_t i = 0; i < count; i++) {
        const struct side_hash key = { .key = keys[i] };
        const struct side_hash *one =
            there_count == 0 ? NULL
                             : bsearch(&key, there, there_count, sizeof *there, recheck_by_key);

        (*ret)[i] = one != NULL ? *one : (struct side_hash){ .key = STR("") };
        p->pass.bytes += (int64_t)keys[i].len + (one != NULL ? SIDE_HASH : 0);
    }
    return true;
}

static bool recheck_changes(struct verification *p, const struct finding *f, size_t count,
                            bool again, struct recheck *r, struct err *err)
{
    struct str *keys = ARENA_ARRAY(&p->turn, struct str, count + 1);
    struct side_change *last;

    if (!p->by_journal)
        return true;
    for (size_t i = 0; i < count; i++)
        keys[i] = f[i].key;
    if (!side_changes_of(p->source, keys, count, &p->turn, &last, err))
        return err_context(err, "source");
    for (size_t i = 0; i < count; i++) {
        *(again ? &r[i].has_again : &r[i].has) = last[i].has;
        *(again ? &r[i].x_again : &r[i].x) = last[i].x;
    }
    return true;
}

/* ---- both ways ---- */

struct recheck_back {
    bool on, has_mark;
    struct capture_look source, dest;
    struct mark mark; /* of the link back, at the source */
};

static bool recheck_back_begin(struct verification *p, struct recheck_back *b, struct err *err)
{
    *b = (struct recheck_back){ .on = p->by_journal && p->v->spec->back.link.len > 0 };
    return !b->on ||
           ((side_look(p->source, &p->turn, &b->source, err) || err_context(err, "source")) &&
            (side_look(p->dest, &p->turn, &b->dest, err) || err_context(err, "destination")));
}

static bool recheck_back_changes(struct verification *p, const struct recheck_back *b,
                                 const struct finding *f, size_t count, bool again,
                                 struct recheck *r, struct err *err)
{
    struct str *keys = ARENA_ARRAY(&p->turn, struct str, count + 1);
    struct side_change *source, *dest;

    if (!b->on)
        return true;
    for (size_t i = 0; i < count; i++)
        keys[i] = f[i].key;
    if (!side_changes_of(p->source, keys, count, &p->turn, &source, err))
        return err_context(err, "source");
    if (!side_changes_of(p->dest, keys, count, &p->turn, &dest, err))
        return err_context(err, "destination");
    for (size_t i = 0; i < count; i++) {
        if (again) {
            r[i].back_stable = dest[i].has == r[i].back_has && dest[i].x == r[i].back_x;
            continue;
        }
        r[i].came = source[i].has && str_eq(source[i].origin, b->dest.identity);
        r[i].back_has = dest[i].has;
        r[i].back_x = dest[i].x;
        r[i].back_came = dest[i].has && str_eq(dest[i].origin, b->source.identity);
    }
    return true;
}

static bool recheck_back_mark(struct verification *p, struct recheck_back *b,
                              const struct finding *f, size_t count, struct recheck *r,
                              struct err *err)
{
    struct side other = *p->source;

    if (!b->on)
        return true;
    other.link = p->v->spec->back.link;
    other.table = p->v->spec->back.table;
    if (!side_mark(&other, &p->turn, &b->has_mark, &b->mark, err))
        return err_context(err, "source");
    b->has_mark = b->has_mark && str_eq(b->mark.epoch, b->dest.epoch);
    for (size_t i = 0; i < count; i++)
        r[i].back_passed = !r[i].back_has || r[i].back_came ||
                           (b->has_mark && side_covers(&b->mark, r[i].back_x, f[i].key));
    return true;
}

bool verify_read_mark(struct verification *p, struct err *err)
{
    return side_mark(p->dest, &p->turn, &p->has_mark, &p->mark, err) ||
           err_context(err, "destination");
}

/* ---- judging ---- */

bool verify_hash_same(const struct side_hash *a, const struct side_hash *b)
{
    return (a->key.len > 0) == (b->key.len > 0) &&
           (a->key.len == 0 || memcmp(a->hash, b->hash, SIDE_HASH) == 0);
}

struct str verify_hash_view(const struct side_hash *h)
{
    return h->key.len > 0 ? str_mem(h->hash, SIDE_HASH) : STR("");
}

static bool place_covers(const struct change_place *place, int64_t x, struct str key)
{
    return place->x > x || (place->x == x && str_cmp(place->key, key) >= 0);
}

/* The destination has applied the newest change of a row. */
static bool recheck_has_passed(const struct verification *p, const struct finding *f,
                               const struct recheck *r)
{
    const struct link_state *follower = p->v->follower;

    if (!p->has_mark || p->mark.phase != MARK_FOLLOW)
        return false;
    return !r->has || r->came || place_covers(&p->mark.place, r->x, f->key) ||
           (follower != NULL && follower->batches == p->mark.batches &&
            place_covers(&follower->reached, r->x, f->key));
}

static void recheck_confirm(struct verification *p, struct finding *f, bool at_source, bool at_dest)
{
    f->state = FINDING_CONFIRMED;
    if (f->tries >= VERIFY_REPAIRED) /* it is counted already */
        return;
    f->kind = !at_dest ? FINDING_MISSING : !at_source ? FINDING_EXTRA : FINDING_DIFFERENT;
    p->pass.missing += f->kind == FINDING_MISSING;
    p->pass.extra += f->kind == FINDING_EXTRA;
    p->pass.different += f->kind == FINDING_DIFFERENT;
}

static void recheck_repaired(struct verification *p, struct finding *f)
{
    f->state = FINDING_REPAIRED;
    p->pass.repaired++;
}

/* It has changed since one looked last. */
static void recheck_moves(struct verification *p, struct finding *f)
{
    bool repaired = f->tries >= VERIFY_REPAIRED;

    f->tries++;
    if (f->tries % VERIFY_REPAIRED < VERIFY_TRIES)
        return;
    if (repaired) { /* as it was then; replication has brought newer images since */
        recheck_repaired(p, f);
        return;
    }
    f->state = FINDING_MOVING;
    p->pass.moving++;
}

/* By the journal. */
static void recheck_judge(struct verification *p, struct finding *f, const struct recheck *r,
                          bool source_same, bool at_source, bool at_dest)
{
    const struct link_state *follower = p->v->follower;
    bool stable = r->has == r->has_again && r->x == r->x_again;
    bool moved = !source_same || (f->tries % VERIFY_REPAIRED > 0 && r->has && r->x != f->seen_x);

    if (stable && recheck_has_passed(p, f, r)) {
        if (p->v->spec->back.link.len > 0 && !(r->back_stable && r->back_passed))
            recheck_moves(p, f); /* the link back will bring it */
        else
            recheck_confirm(p, f, at_source, at_dest);
        return;
    }
    if (!stable || moved) {
        recheck_moves(p, f);
        f->seen_x = r->x_again;
    } else if (follower != NULL && follower->stands == LINK_STOPPED) {
        /* Nobody will apply it. */
        f->state = FINDING_MOVING;
        p->pass.moving++;
        p->pass.skipped++;
    }
}

/* Without a journal: nothing about it has changed in two looks. */
static void recheck_judge_looks(struct verification *p, struct finding *f, bool same,
                                bool at_source, bool at_dest)
{
    if (!same) {
        f->seen_x = 0;
        recheck_moves(p, f);
    } else if (f->seen_x == -1) {
        recheck_confirm(p, f, at_source, at_dest);
    } else {
        f->seen_x = -1;
    }
}

static void recheck_one(struct verification *p, struct finding *f, const struct recheck *r,
                        const struct side_hash *source, const struct side_hash *dest)
{
    bool source_same = str_eq(f->hash_source, verify_hash_view(source));
    bool dest_same = str_eq(f->hash_dest, verify_hash_view(dest));

    f->hash_source = verify_hash_view(source);
    f->hash_dest = verify_hash_view(dest);
    f->look_us = verification_now_us(p) + verification_delay_us(p);
    if (verify_hash_same(source, dest)) {
        if (f->tries >= VERIFY_REPAIRED)
            recheck_repaired(p, f);
        else
            f->state = FINDING_GONE;
    } else if (p->by_journal) {
        recheck_judge(p, f, r, source_same, source->key.len > 0, dest->key.len > 0);
    } else {
        recheck_judge_looks(p, f, source_same && dest_same, source->key.len > 0, dest->key.len > 0);
    }
}

/* ---- some of them ---- */

static bool recheck_some(struct verification *p, struct finding *f, size_t count, struct err *err)
{
    struct recheck *r = ARENA_ARRAY(&p->turn, struct recheck, count + 1);
    struct side_hash *source, *dest;
    struct recheck_back back;

    if (!recheck_back_begin(p, &back, err) || !recheck_changes(p, f, count, false, r, err) ||
        !recheck_back_changes(p, &back, f, count, false, r, err) ||
        !verify_hashes(p, p->source, f, count, &source, err) || !verify_read_mark(p, err) ||
        !recheck_back_mark(p, &back, f, count, r, err) ||
        !verify_hashes(p, p->dest, f, count, &dest, err) ||
        !recheck_changes(p, f, count, true, r, err) ||
        !recheck_back_changes(p, &back, f, count, true, r, err))
        return false;
    for (size_t i = 0; i < count; i++)
        recheck_one(p, &f[i], &r[i], &source[i], &dest[i]);
    return verification_save(p, f, count, err);
}

static void recheck_sweep_note(struct verification *p, const struct finding *f)
{
    if (f->state == FINDING_SUSPECT && (p->sweep_count++ == 0 || f->look_us < p->sweep_look_us))
        p->sweep_look_us = f->look_us;
}

/* One page of a sweep over all suspects; those whose time has not come stay. */
bool verify_recheck(struct verification *p, struct err *err)
{
    struct finding *all = ARENA_ARRAY(&p->turn, struct finding, VERIFY_PAGE);
    struct finding *due = ARENA_ARRAY(&p->turn, struct finding, VERIFY_PAGE);
    int64_t now_us = verification_now_us(p);
    size_t count, due_count = 0;

    if (!p->sweeping) {
        p->sweeping = true;
        p->sweep_count = 0;
        buf_clear(&p->swept);
    }
    if (!pass_findings(p->v->store, p->pass.id, FINDING_SUSPECT, buf_view(&p->swept), VERIFY_PAGE,
                       &p->turn, all, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (all[i].look_us <= now_us)
            due[due_count++] = all[i];
        else
            recheck_sweep_note(p, &all[i]);
    if (due_count > 0 && !recheck_some(p, due, due_count, err))
        return false;
    for (size_t i = 0; i < due_count; i++)
        recheck_sweep_note(p, &due[i]);
    if (count > 0) {
        buf_clear(&p->swept);
        buf_put(&p->swept, all[count - 1].key);
    }
    if (count < VERIFY_PAGE) {
        p->sweeping = false;
        p->suspects = p->sweep_count;
        p->look_us = p->sweep_look_us;
    }
    return true;
}
