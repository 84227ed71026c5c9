/* verify_repair.c - rows that were found to differ become what they are at the source
 * (verifying.h).
 *
 * A repair is a batch like those of replication, made of the rows as the source has them now; rows
 * that it does not have are removed.  The order makes it safe beside replication: first the mark is
 * read, then the rows, and the batch is applied only while the mark is still that one.  So a row
 * cannot become older than replication has made it, and what changes after it was read comes by
 * replication.  The mark stays where it is and moves by one batch only.
 *
 * Afterwards the rows are suspects once more, with VERIFY_REPAIRED added to their tries: looked at
 * again, they are the same or they could not be repaired.  Nothing is repaired twice in a pass.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "link/verification.h"
#include "table/batch.h"

enum {
    FETCH_KEYS = 16,   /* rows that are asked for together */
    MARK_TRIES = 20,   /* in one run, while replication moves the mark */
    ATTEMPTS_MOST = 30 /* runs */
};

struct repair {
    struct verification *p;
    struct finding *findings; /* of this batch */
    size_t count;
    int64_t gone;
    struct str *left; /* keys of those that the destination refuses, sorted */
    size_t left_count;
};

/* ---- whether ---- */

/* False: nothing is repaired, and p->ending may say why. */
static bool repair_is_wanted(struct verification *p)
{
    const struct pass *pass = &p->pass;
    const struct link_state *follower = p->v->follower;
    int64_t differ = verification_differences(p);
    bool over = differ > p->s->most || pass->segments_bad > 0;
    char *text = NULL;

    if (!pass->repair || p->mode == LINK_VERIFY_COUNT || differ + pass->segments_bad == 0)
        return false;
    if (p->v->spec->back.link.len > 0)
        text = arena_printf(p->v->arena,
                            "nothing is repaired, because the table goes both ways: waybill repl "
                            "resync takes all rows again, by the rule of `conflict`");
    else if (over)
        text = arena_printf(
            p->v->arena, "%s, because they are more than the %lld %s that a pass may repair",
            pass->dry_run ? "dry run: nothing would be repaired" : "nothing is repaired",
            (long long)p->s->most, link_rows(p->s->most));
    else if (pass->dry_run)
        text = arena_printf(p->v->arena, "dry run: a repair would write %lld %s and remove %lld %s",
                            (long long)(pass->missing + pass->different),
                            link_rows(pass->missing + pass->different), (long long)pass->extra,
                            link_rows(pass->extra));
    else if (follower != NULL && follower->stands == LINK_STOPPED)
        text = arena_printf(p->v->arena, "nothing is repaired, because replication is stopped");
    if (text != NULL)
        p->ending = text;
    return text == NULL;
}

/* Some of those that were confirmed and not repaired yet. */
static bool repair_choose(struct repair *r, struct err *err)
{
    struct verification *p = r->p;
    struct finding *page = ARENA_ARRAY(&p->turn, struct finding, VERIFY_PAGE);
    struct str after = STR("");
    size_t count;

    r->findings = ARENA_ARRAY(&p->turn, struct finding, VERIFY_PAGE);
    do {
        if (!pass_findings(p->v->store, p->pass.id, FINDING_CONFIRMED, after, VERIFY_PAGE, &p->turn,
                           page, &count, err))
            return false;
        for (size_t i = 0; i < count; i++)
            if (page[i].tries < VERIFY_REPAIRED)
                r->findings[r->count++] = page[i];
        if (count > 0)
            after = page[count - 1].key;
    } while (r->count == 0 && count == VERIFY_PAGE);
    return true;
}

/* ---- the batch ---- */

/* It cannot be repaired, and stays a difference. */
static void repair_give_up(struct finding *f)
{
    f->state = FINDING_CONFIRMED;
    f->tries = VERIFY_REPAIRED;
}

/* What the source has of some keys, and the removal of the others. */
static bool repair_fetch(struct repair *r, const struct finding *f, size_t count, struct err *err)
{
    struct verification *p = r->p;
    struct str keys[FETCH_KEYS];
    bool there[FETCH_KEYS] = { false };
    size_t before = p->batch.len;

    for (size_t i = 0; i < count; i++)
        keys[i] = f[i].key;
    if (!side_fetch(p->source, keys, count, &p->turn, &p->batch, err))
        return err_context(err, "source");
    for (struct str rest = str_from(buf_view(&p->batch), before); rest.len > 0;) {
        struct batch_entry e;

        if (!batch_take(&rest, &e, err))
            return false;
        for (size_t i = 0; i < count; i++)
            there[i] = there[i] || str_eq(keys[i], e.key);
    }
    for (size_t i = 0; i < count; i++) {
        const struct batch_entry gone = { .gone = true, .origin = STR(""), .key = keys[i] };

        if (!there[i] && !batch_put(&p->batch, &gone, err))
            return false;
        r->gone += !there[i];
    }
    return true;
}

/* The same; a row whose values cannot travel is left out. */
static bool repair_fetch_careful(struct repair *r, struct finding *f, size_t count, struct err *err)
{
    struct buf *batch = &r->p->batch;
    size_t before = batch->len;
    int64_t gone = r->gone;
    struct err why = { 0 };

    if (repair_fetch(r, f, count, &why))
        return true;
    for (size_t i = 0; i < count; i++) {
        if (why.kind != ERR_PERMANENT && why.kind != ERR_LIMIT) {
            *err = why;
            return false;
        }
        if (i == 0) {
            buf_cut(batch, before);
            r->gone = gone;
        }
        before = batch->len;
        gone = r->gone;
        if (repair_fetch(r, &f[i], 1, &why))
            continue;
        buf_cut(batch, before);
        r->gone = gone;
        if (why.kind == ERR_PERMANENT || why.kind == ERR_LIMIT)
            repair_give_up(&f[i]);
    }
    if (why.kind == ERR_NONE || why.kind == ERR_PERMANENT || why.kind == ERR_LIMIT)
        return true;
    *err = why;
    return false;
}

/* Fills the batch; r->count becomes how many are in it. */
static bool repair_fill(struct repair *r, struct err *err)
{
    struct verification *p = r->p;
    size_t done = 0;

    buf_clear(&p->batch);
    r->gone = 0;
    while (done < r->count && p->batch.len < p->v->spec->batch_bytes) {
        size_t some = r->count - done < FETCH_KEYS ? r->count - done : FETCH_KEYS;

        if (!repair_fetch_careful(r, &r->findings[done], some, err))
            return false;
        done += some;
    }
    r->count = done;
    return true;
}

/* ---- applying ---- */

static int repair_by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void repair_leave_out(struct repair *r, const struct side_applied *a)
{
    struct arena *turn = &r->p->turn;
    struct str *left = ARENA_ARRAY(turn, struct str, r->left_count + a->bad_count);

    for (size_t i = 0; i < r->left_count; i++)
        left[i] = r->left[i];
    for (size_t i = 0; i < a->bad_count; i++) {
        left[r->left_count++] = a->bad[i].key;
        for (size_t j = 0; j < r->count; j++)
            if (str_eq(r->findings[j].key, a->bad[i].key))
                repair_give_up(&r->findings[j]);
    }
    qsort(left, r->left_count, sizeof *left, repair_by_text);
    r->left = left;
}

static bool repair_apply(struct repair *r, struct side_applied *ret, struct err *err)
{
    struct verification *p = r->p;
    int64_t extra = p->pass.extra > r->gone ? p->pass.extra - r->gone : 0;
    struct side_batch b = { .batch = buf_view(&p->batch),
                            .from = p->mark,
                            .to = p->mark,
                            .deletes_limited = true,
                            .deletes_most = p->v->spec->deletes_most,
                            .deletes_share = p->v->spec->deletes_share,
                            .deletes_before = extra };

    b.to.batches++;
    b.to.at_us = clock_wall_us();
    do {
        b.leave_out = r->left;
        b.leave_count = r->left_count;
        if (!side_apply(p->dest, &b, &p->turn, ret, err))
            return err_context(err, "destination");
        if (ret->outcome == SIDE_BUSY)
            return err_set(err, ERR_TRANSIENT, 0,
                           "destination: other programs write the same rows all the time");
        if (ret->outcome == SIDE_BAD && ret->bad_count == 0)
            return err_set(err, ERR_PERMANENT, 0,
                           "the destination refuses rows without saying which");
        if (ret->outcome == SIDE_BAD)
            repair_leave_out(r, ret);
    } while (ret->outcome == SIDE_BAD);
    p->pass.bytes += (int64_t)b.batch.len;
    return true;
}

/* What was written is looked at again. */
static bool repair_leave(struct repair *r, struct err *err)
{
    struct verification *p = r->p;
    int64_t now_us = verification_now_us(p);

    for (size_t i = 0; i < r->count; i++) {
        struct finding *f = &r->findings[i];

        if (f->tries >= VERIFY_REPAIRED)
            continue;
        f->state = FINDING_SUSPECT;
        f->tries = VERIFY_REPAIRED;
        f->seen_x = 0;
        f->look_us = now_us;
        p->look_us = now_us;
        p->suspects++;
    }
    return verification_save(p, r->findings, r->count, err);
}

/* One attempt.  *ret_done false: replication has moved the mark. */
static bool repair_once(struct repair *r, bool *ret_done, bool *ret_over, struct err *err)
{
    struct verification *p = r->p;
    size_t count = r->count;
    struct side_applied a;

    if (!verify_read_mark(p, err))
        return false;
    if (!p->has_mark || p->mark.phase != MARK_FOLLOW)
        return true;
    if (!repair_fill(r, err) || !repair_apply(r, &a, err))
        return false;
    if (a.outcome == SIDE_DELETES) {
        p->ending = arena_printf(p->v->arena,
                                 "the repair was stopped: %lld %s of %lld would be removed, more "
                                 "than `deletes` allows",
                                 (long long)a.deletes, link_rows(a.deletes), (long long)a.rows);
        *ret_done = *ret_over = true;
        return true;
    }
    *ret_done = a.outcome == SIDE_APPLIED || a.outcome == SIDE_ALREADY;
    if (*ret_done)
        return repair_leave(r, err);
    r->count = count;
    return true;
}

bool verify_repair(struct verification *p, bool *ret_over, struct err *err)
{
    struct repair r = { .p = p };
    bool done = false;

    if (!repair_is_wanted(p)) {
        *ret_over = true;
        return true;
    }
    if (!repair_choose(&r, err))
        return false;
    *ret_over = r.count == 0;
    for (int i = 0; i < MARK_TRIES && !*ret_over && !done; i++)
        if (!repair_once(&r, &done, ret_over, err))
            return false;
    if (*ret_over || done) {
        p->s->attempts = 0;
        return true;
    }
    p->rest_us = verification_delay_us(p);
    if (++p->s->attempts >= ATTEMPTS_MOST) {
        p->ending = "not all was repaired: replication was busy all the time";
        *ret_over = true;
    }
    return true;
}
