#include "link/replicating.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/call.h"
#include "link/replication.h"
#include "table/batch.h"
#include "table/tombstone.h"

enum {
    TURN_ARENA = 1 << 30,
    ROW_BYTES = 200,       /* taken for a row until one was seen */
    BACKLOG_MOST = 100000, /* changes that wait are counted so far */
    DECIDED_MOST = 3 /* times that conflicts of a batch are decided before it becomes smaller */
};

#define SLICE_US (1 * CLOCK_S)  /* then the slot is for others */
#define STALL_US (60 * CLOCK_S) /* a source that is kept back so long is told */

bool replication_stopped(const struct replication *p)
{
    return p->s->stands == LINK_STOPPED;
}

/* ---- the mark ---- */

static struct str replication_copy(struct buf *b, struct str text)
{
    if (text.ptr != b->ptr) {
        buf_clear(b);
        buf_put(b, text);
    }
    return buf_view(b);
}

void replication_reach(struct replication *p, struct change_place place)
{
    p->reached =
        (struct change_place){ .x = place.x, .key = replication_copy(&p->reached_key, place.key) };
}

/* It is the mark now. */
static void replication_hold(struct replication *p, const struct mark *mark)
{
    struct str epoch = p->mark.epoch, life = p->mark.life;

    p->mark = *mark;
    p->mark.place.key = replication_copy(&p->place_key, mark->place.key);
    p->mark.load_key = replication_copy(&p->load_key, mark->load_key);
    p->mark.epoch =
        p->has_mark && str_eq(epoch, mark->epoch) ? epoch : arena_copy(p->r->arena, mark->epoch);
    p->mark.life =
        p->has_mark && str_eq(life, mark->life) ? life : arena_copy(p->r->arena, mark->life);
    p->has_mark = true;
}

struct mark replication_next(const struct replication *p)
{
    struct mark to = p->mark;

    to.batches++;
    to.fence = p->r->fence;
    to.at_us = clock_wall_us();
    return to;
}

/* ---- writing a batch ---- */

static int replication_by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void replication_stop_deletes(struct replication *p, const struct side_applied *a)
{
    link_state_stop(p->s, LINK_DELETES, p->r->now_us,
                    "%lld %s of %lld would be removed at the destination, more than `deletes` "
                    "allows. If that is right: waybill repl go-on %.*s/%.*s",
                    (long long)a->deletes, link_rows(a->deletes), (long long)a->rows,
                    STR_ARG(str_first(p->r->spec->link, 100)),
                    STR_ARG(str_first(p->r->spec->table, 100)));
}

static bool replication_busy(struct err *err)
{
    return err_set(err, ERR_TRANSIENT, 0,
                   "destination: other programs write the same rows all the time");
}

/* A batch takes its locks one after the other, and programs that take the same in another order
 * make a deadlock of it.  One row waits for its lock, and is in nobody's way. */
static bool replication_fewer_rows(struct replication *p, struct err *err)
{
    int64_t rows = p->s->rows_most > 0 ? p->s->rows_most : (int64_t)replication_rows_most(p);

    if (rows <= 1)
        return replication_busy(err);
    p->s->rows_most = rows / 4 > 0 ? rows / 4 : 1;
    return true;
}

static void replication_more_rows(struct replication *p)
{
    if (p->s->rows_most > 0)
        p->s->rows_most += p->s->rows_most / 4 + 1;
    if (p->s->rows_most > BATCH_ROWS)
        p->s->rows_most = 0;
}

bool replication_took(struct replication *p, const struct side_applied *a, struct mark *to,
                      struct str batch, bool *ret_put, struct err *err)
{
    switch (a->outcome) {
    case SIDE_APPLIED:
        replication_more_rows(p);
        p->done->written += a->written;
        p->done->removed += a->removed;
        p->s->deletes += a->removed;
        p->done->bytes += (int64_t)batch.len;
        p->done->batches++;
        /* fall through */
    case SIDE_ALREADY:
        replication_hold(p, to);
        *ret_put = true;
        return true;
    case SIDE_ELSEWHERE:
        p->has_mark = a->has_mark;
        if (a->has_mark)
            replication_hold(p, &a->mark);
        return true;
    case SIDE_STALE:
        return err_set(err, ERR_TRANSIENT, 0,
                       "another node has this table since; its mark is newer than this run");
    case SIDE_DELETES:
        replication_stop_deletes(p, a);
        return true;
    case SIDE_BUSY:
        return replication_fewer_rows(p, err);
    case SIDE_BAD:
    case SIDE_CONFLICTS:
        break;
    }
    return err_set(err, ERR_PERMANENT, 0, "the destination refuses rows without saying which");
}

bool replication_put(struct replication *p, struct str batch, struct mark *to,
                     const struct side_bad_row *bad, size_t bad_count, bool *ret_put,
                     struct err *err)
{
    struct str *left = NULL;
    size_t left_count = 0;
    int decided = 0;
    struct side_applied a;
    struct side_batch b = { .batch = batch,
                            .from = p->mark,
                            .to = *to,
                            .first = !p->has_mark,
                            .origin = replication_goes_back(p) ? p->look.identity : STR(""),
                            .rule = replication_goes_back(p) ? &p->rule : NULL,
                            .deletes_limited = p->s->deletes_allowed == 0,
                            .deletes_most = p->r->spec->deletes_most,
                            .deletes_share = p->r->spec->deletes_share,
                            .deletes_before = p->s->deletes };

    *ret_put = false;
    if (bad_count > 0 &&
        (!replication_set_aside(p, "source", bad, bad_count, err) || replication_stopped(p)))
        return replication_stopped(p);
    for (;;) {
        b.to.rows = to->rows;
        if (!side_apply(p->dest, &b, &p->turn, &a, err))
            return err_context(err, "destination");
        if (a.outcome == SIDE_CONFLICTS) {
            if (!replication_keep_losers(p, &a, err) || replication_stopped(p))
                return replication_stopped(p);
            if (++decided >= DECIDED_MOST) /* rows are changed faster than they are decided about */
                return replication_fewer_rows(p, err);
            continue;
        }
        if (a.outcome != SIDE_BAD || a.bad_count == 0)
            break;
        if (!replication_set_aside(p, "refused", a.bad, a.bad_count, err) || replication_stopped(p))
            return replication_stopped(p);
        struct str *more = ARENA_ARRAY(&p->turn, struct str, left_count + a.bad_count);

        if (left_count > 0)
            memcpy(more, left, left_count * sizeof *left);
        for (size_t i = 0; i < a.bad_count; i++)
            more[left_count + i] = a.bad[i].key;
        left = more;
        left_count += a.bad_count;
        qsort(left, left_count, sizeof *left, replication_by_text);
        b.leave_out = left;
        b.leave_count = left_count;
    }
    to->rows = b.to.rows;
    if (!replication_took(p, &a, to, batch, ret_put, err))
        return false;
    return !*ret_put || p->s->set_aside == 0 ||
           replication_resolve(p, batch, left, left_count, err);
}

/* ---- following ---- */

/* The journal has the change that the mark stands at, or a later one of that key; a source that was
 * put back to an older copy has not. */
static bool replication_check_place(struct replication *p, struct err *err)
{
    struct side *s = p->source;
    struct side_change *last;

    if (s->capture.kind != CAPTURE_JOURNAL || p->mark.place.key.len == 0)
        return true;
    if (!side_changes_of(s, &p->mark.place.key, 1, p->r->arena, &last, err))
        return false;
    bool forgotten = !last->has && p->look.pruned >= p->mark.place.x;

    if (!forgotten && (!last->has || last->x < p->mark.place.x))
        link_state_stop(p->s, LINK_SRC_REWOUND, p->r->now_us,
                        "the source does not know the change any more that the destination has "
                        "seen last: it was put back to an older copy. Look at both (waybill repl "
                        "verify), then: waybill repl resync");
    return true;
}

static void replication_note_ceiling(struct replication *p, const struct ceiling *c)
{
    if (c->now_x < p->reached.x)
        link_state_stop(p->s, LINK_SRC_REWOUND, p->r->now_us,
                        "the source is at %lld, behind %lld where the destination is: it was put "
                        "back to an older copy. Look at both (waybill repl verify), then: waybill "
                        "repl resync",
                        (long long)c->now_x, (long long)p->reached.x);
}

/* Deletions behind the place are in the journal, or were made before loading began.  A destination
 * that was put back to an older copy knows less than the state says. */
static void replication_check_pruned(struct replication *p, int64_t pruned)
{
    const struct change_place *at = &p->reached;
    struct link_state *s = p->s;

    if (at->x == 0 && at->key.len == 0 && s->known_x <= pruned) {
        s->known_x = pruned + 1; /* it begins: what was pruned before is in no journal anyway */
        s->known_batches = p->mark.batches;
    }
    if ((pruned < s->known_x && p->mark.batches >= s->known_batches) || pruned < at->x ||
        (pruned == at->x && (pruned == 0 || (at->key.len > 0 && !p->look.groups))))
        return;
    link_state_stop(p->s, LINK_SRC_REWOUND, p->r->now_us,
                    "the destination is more than %lld days behind, and what was removed at the "
                    "source so long ago is not known any more. Then: waybill repl resync",
                    (long long)(tombstone_age_us() / TOMBSTONE_DAY_US));
}

static void replication_stop_group(struct replication *p)
{
    link_state_stop(p->s, LINK_GROUP, p->r->now_us,
                    "a transaction of the source has more rows than are written at once: more than "
                    "%zu kB, or very many. Nothing of it was written. A larger `group_most` of the "
                    "link takes it, up to 16 MiB; `atomic: batch` takes it in parts",
                    p->r->spec->group_most / 1000);
}

static void replication_say_stall(struct replication *p, const struct ceiling *c)
{
    if (!replication_stopped(p) && c->held_by[0] != '\0' && c->held_us >= STALL_US)
        (void)snprintf(p->s->message, sizeof p->s->message,
                       "changes behind an open transaction of the source wait for it: %s",
                       c->held_by);
}

size_t replication_rows_most(const struct replication *p)
{
    size_t rows = p->r->spec->batch_bytes / p->row_bytes * 5 / 4 + 16;

    if (p->s->rows_most > 0 && rows > (size_t)p->s->rows_most)
        rows = (size_t)p->s->rows_most;
    return rows < BATCH_ROWS ? rows : BATCH_ROWS;
}

/* One window. */
static bool replication_follow(struct replication *p, struct side_changes *c, bool *ret_over,
                               struct err *err)
{
    const struct side_window w = { .after = p->reached,
                                   .bytes_most = p->r->spec->batch_bytes,
                                   .rows_most = replication_rows_most(p),
                                   .written_x = p->mark.place.x,
                                   .group_most = p->r->spec->group_most,
                                   .back = replication_back(p) };
    bool put = true;
    int64_t batches = p->mark.batches;

    if (!side_changes(p->source, &w, &p->turn, c, err))
        return err_context(err, "source");
    replication_note_ceiling(p, &c->ceiling);
    if (!replication_stopped(p))
        replication_check_pruned(p, c->pruned);
    if (!replication_stopped(p))
        replication_check_clock(p, c->newest_us);
    if (!replication_stopped(p) && c->too_large)
        replication_stop_group(p);
    if (replication_stopped(p))
        return true;
    if (c->rows > 0)
        p->row_bytes = c->batch.len / (size_t)c->rows + 1;
    if (c->rows > 0 || c->bad_count > 0) {
        struct mark to = replication_next(p);

        to.place = c->last;
        to.rows += c->rows;
        replication_rule(p, c->has_seen, &c->seen);
        if (!replication_put(p, buf_view(&c->batch), &to, c->bad, c->bad_count, &put, err))
            return false;
    }
    if (put)
        replication_reach(p, c->upto);
    else if (p->mark.batches != batches) /* the mark is another one */
        replication_reach(p, p->mark.place);
    *ret_over = put && !c->more;
    return true;
}

static bool replication_count_backlog(struct replication *p, struct err *err)
{
    return p->source->capture.kind != CAPTURE_JOURNAL ||
           side_backlog(p->source, &p->reached, BACKLOG_MOST, &p->s->backlog, err);
}

static void replication_current(struct replication *p)
{
    link_state_stand(p->s, LINK_CURRENT, p->r->now_us);
    p->s->backlog = 0;
    p->s->deletes = 0;
    p->s->deletes_allowed = 0;
    p->s->clock_allowed = 0;
}

/* Batch after batch, until it is current, the time of the run is over, or somebody wants it to end.
 */
static bool replication_go(struct replication *p, struct err *err)
{
    int64_t until_us = clock_mono_us() + SLICE_US;
    struct side_changes c = { .batch = BUF_INIT(2 * SHAPE_ROW_BYTES) };
    bool over = false, ok = true;

    while (ok && !over && !replication_stopped(p) && p->has_mark && !call_is_over(p->r->call)) {
        arena_reset(&p->turn);
        if (p->mark.phase == MARK_FOLLOW)
            ok = replication_follow(p, &c, &over, err);
        else
            ok = replication_load(p, err);
        if (clock_mono_us() >= until_us)
            break;
    }
    buf_done(&c.batch);
    p->done->more = !over;
    if (!ok || replication_stopped(p))
        return ok;
    if (over)
        replication_current(p);
    else if (p->has_mark && p->mark.phase != MARK_FOLLOW)
        link_state_stand(p->s, LINK_LOADING, p->r->now_us);
    else
        link_state_stand(p->s, LINK_BEHIND, p->r->now_us);
    replication_say_stall(p, &c.ceiling);
    return over || p->s->stands != LINK_BEHIND || replication_count_backlog(p, err);
}

/* ---- before ---- */

static bool replication_look(struct replication *p, struct err *err)
{
    if (!side_look(p->source, p->r->arena, &p->look, err))
        return err_context(err, "source");
    if (p->r->spec->group_most > 0 && !p->look.groups) {
        p->unready = true;
        link_state_stop(p->s, LINK_GROUP, p->r->now_us, LINK_NO_GROUPS);
        return true;
    }
    if (p->look.state == CAPTURE_IS_OTHER)
        link_state_stop(p->s, LINK_SCHEMA_DRIFT, p->r->now_us,
                        "%s. Look at waybill repl plan %.*s, then install it", p->look.why,
                        STR_ARG(str_first(p->r->spec->link, 100)));
    else if (p->look.state != CAPTURE_IS_FINE)
        link_state_stop(p->s, LINK_TRIGGER, p->r->now_us,
                        "%s. Look at waybill repl plan %.*s, then install it", p->look.why,
                        STR_ARG(str_first(p->r->spec->link, 100)));
    return p->look.state != CAPTURE_IS_FINE || replication_look_there(p, err);
}

static bool replication_read_mark(struct replication *p, struct err *err)
{
    struct mark mark;
    struct err why = { 0 };
    bool has;

    if (!side_mark(p->dest, p->r->arena, &has, &mark, &why)) {
        if (why.kind != ERR_CONFIG) {
            *err = why;
            return err_context(err, "destination");
        }
        link_state_stop(p->s, LINK_TRIGGER, p->r->now_us,
                        "the destination is not prepared: %s. Look at waybill repl plan %.*s, then "
                        "install it",
                        why.text, STR_ARG(str_first(p->r->spec->link, 100)));
        return true;
    }
    if (has)
        replication_hold(p, &mark);
    return true;
}

/* The source is the one that the mark knows. */
static bool replication_check_history(struct replication *p, struct err *err)
{
    if (!str_eq(p->mark.epoch, p->look.epoch))
        link_state_stop(p->s, LINK_SRC_REWOUND, p->r->now_us,
                        "the source has another history than the destination has followed: it was "
                        "made anew, or another server has taken over. Look at both (waybill repl "
                        "verify), then: waybill repl resync, or waybill repl go-on if nothing was "
                        "lost");
    else if (!str_eq(p->mark.life, p->look.life))
        link_state_stop(p->s, LINK_TRUNCATED, p->r->now_us,
                        "the table was emptied as a whole, or made anew, at the source; nothing is "
                        "removed at the destination. Then: waybill repl resync");
    return replication_stopped(p) || replication_check_place(p, err);
}

static bool replication_with(struct replication *p, struct err *err)
{
    struct link_state *s = p->s;
    bool begun;

    if (!replication_look(p, err))
        return false;
    if (replication_stopped(p) && p->look.state != CAPTURE_IS_FINE)
        return true;
    if (p->unready)
        return true;
    s->stands = s->stands == LINK_STOPPED ? LINK_BEHIND : s->stands;
    if (!replication_read_mark(p, err))
        return false;
    if (replication_stopped(p))
        return true;
    if (!replication_take_orders(p, err))
        return false;
    if (!p->has_mark ? !replication_load_begin(p, &begun, err) : !replication_check_history(p, err))
        return false;
    if (replication_stopped(p))
        return true;
    if (s->reached.x > p->mark.place.x && s->batches == p->mark.batches &&
        p->mark.phase == MARK_FOLLOW)
        replication_reach(p, s->reached);
    else
        replication_reach(p, p->mark.place);
    if (!replication_retry(p, err) || !replication_tell(p, err) ||
        (!replication_stopped(p) && !replication_go(p, err)))
        return false;
    if (!replication_stopped(p))
        replication_prune(p);
    return true;
}

static void replication_leave(struct replication *p)
{
    struct link_state *s = p->s;

    s->written += p->done->written;
    s->removed += p->done->removed;
    s->bytes += p->done->bytes;
    p->done->moved = p->done->batches > 0;
    if (!p->has_mark)
        return;
    s->batches = p->mark.batches;
    s->reached =
        (struct change_place){ .x = p->reached.x, .key = arena_copy(p->r->arena, p->reached.key) };
}

bool replicating_run(const struct replicating *r, struct link_state *s, struct replicated *ret,
                     struct err *err)
{
    enum link_reason reason;
    struct link_sides *sides;
    struct buf problems = BUF_INIT(64 << 10);

    *ret = (struct replicated){ 0 };
    bool ok = link_sides_take(r->kept, r->spec, r->call, &sides, &reason, &problems, err);

    if (ok && reason != LINK_GOES) {
        link_state_stop(s, reason, r->now_us, "%.*s",
                        STR_ARG(str_first(buf_view(&problems), LINK_MESSAGE_MOST)));
    } else if (ok) {
        struct replication p = { .r = r,
                                 .s = s,
                                 .done = ret,
                                 .source = &sides->source,
                                 .dest = &sides->dest,
                                 .place_key = BUF_INIT(SHAPE_KEY_BYTES),
                                 .load_key = BUF_INIT(SHAPE_KEY_BYTES),
                                 .reached_key = BUF_INIT(SHAPE_KEY_BYTES),
                                 .turn = ARENA_INIT(TURN_ARENA),
                                 .batch = BUF_INIT(2 * SHAPE_ROW_BYTES),
                                 .there = { .identity = STR("") },
                                 .row_bytes = ROW_BYTES };

        ok = replication_with(&p, err) && replication_end_orders(&p, err);
        if (!ok && err->kind == ERR_CONFIG && err->sys == SIDE_REFUSED) {
            link_state_stop(s, LINK_CREDENTIAL, r->now_us, "%s", err->text);
            ok = true;
        }
        replication_leave(&p);
        link_sides_put(r->kept, sides, ok && !replication_stopped(&p));
        buf_done(&p.place_key);
        buf_done(&p.load_key);
        buf_done(&p.reached_key);
        buf_done(&p.batch);
        arena_done(&p.turn);
    }
    buf_done(&problems);
    return ok;
}
