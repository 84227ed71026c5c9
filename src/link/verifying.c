#include "link/verifying.h"

#include <jansson.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"
#include "core/call.h"
#include "link/verification.h"

enum {
    VERIFY_TURN_ARENA = 1 << 30,
    BACKLOG_WAITS = 20000 /* with so many changes waiting, a pass waits for replication */
};

#define VERIFY_SLICE_US (1 * CLOCK_S)   /* then the slot is for others */
#define VERIFY_REST_US  (5 * CLOCK_S)   /* the longest that a run rests */
#define VERIFY_LOOK_US  (50 * CLOCK_MS) /* how often a run that rests asks whether to end */
#define PAUSED_MOST_US  (24 * 3600 * (int64_t)CLOCK_S)

/* ---- which pass ---- */

static enum link_verify_mode verification_mode(struct str name)
{
    enum link_verify_mode mode = LINK_VERIFY_FULL;

    while (mode < LINK_VERIFY_MODES && !str_is(name, link_verify_modes[mode]))
        mode++;
    return mode;
}

/* The state at the begin of a pass, with what outlives it. */
static struct verify_state verification_fresh(const struct verify_state *s, int64_t pass,
                                              int64_t most)
{
    return (struct verify_state){
        .pass = pass, .most = most, .since_x = s->since_x, .history = s->history
    };
}

/* Goes on with a pass that the store has. */
static void verification_take(struct verification *p, const struct pass *pass)
{
    p->pass = *pass;
    p->mode = verification_mode(pass->mode);
    buf_clear(&p->next);
    buf_put(&p->next, pass->next);
    p->pass.next = buf_view(&p->next);
    if (p->s->pass != pass->id)
        *p->s = verification_fresh(p->s, pass->id, pass->by.len > 0 ? 0 : p->v->rule->most);
}

static bool verification_find_order(struct verification *p, struct err *err)
{
    return replica_order_get(p->v->store, REPLICA_VERIFY, p->v->spec->link, p->v->spec->table,
                             p->v->arena, &p->has_order, &p->order, err);
}

static bool verification_find(struct verification *p, struct err *err)
{
    const struct link_spec *spec = p->v->spec;
    struct arena *a = p->v->arena;
    struct pass pass;
    size_t count = 0;
    bool has = false;

    if (p->s->pass != 0 && !pass_find(p->v->store, p->s->pass, a, &has, &pass, err))
        return false;
    if (!has || pass.result != PASS_RUNNING) {
        if (!pass_list(p->v->store, spec->link, spec->table, p->v->rule_name, 0, 1, a, &pass,
                       &count, err))
            return false;
        has = count > 0;
    }
    if (has && pass.result == PASS_RUNNING) {
        verification_take(p, &pass);
        return true;
    }
    return verification_find_order(p, err);
}

static bool verify_order_read(const struct replica_order *order, struct pass *pass,
                              int64_t *io_most)
{
    json_t *root = json_loadb(order->detail.ptr, order->detail.len, 0, NULL);
    const json_t *mode = json_object_get(root, "mode"), *most = json_object_get(root, "most");
    bool ok = root != NULL || order->detail.len == 0;

    if (mode != NULL) {
        enum link_verify_mode m =
            verification_mode(str_mem(json_string_value(mode), json_string_length(mode)));

        ok = ok && json_is_string(mode) && m < LINK_VERIFY_MODES;
        if (ok)
            pass->mode = str_of(link_verify_modes[m]);
    }
    pass->repair = json_is_true(json_object_get(root, "repair"));
    pass->dry_run = json_is_true(json_object_get(root, "dry_run"));
    if (json_is_integer(most) && json_integer_value(most) >= 0)
        *io_most = json_integer_value(most);
    json_decref(root);
    return ok;
}

/* A new pass, as the order says if there is one. */
static bool verification_begin(struct verification *p, struct err *err)
{
    const struct verifying *v = p->v;
    const struct replica_order *order = p->has_order ? &p->order : NULL;
    struct verify_state s = verification_fresh(p->s, 0, v->rule->most);
    struct pass pass = { .link = v->spec->link,
                         .table = v->spec->table,
                         .rule = v->rule_name,
                         .mode = str_of(link_verify_modes[v->rule->mode]),
                         .repair = v->rule->repair,
                         .began_us = v->now_us,
                         .next = STR(""),
                         .message = STR(""),
                         .by = STR("") };

    if (order != NULL) {
        pass.by = order->by.len > 0 ? order->by : STR("somebody");
        if (!verify_order_read(order, &pass, &s.most))
            return replica_order_drop(v->store, order->id, err) &&
                   err_set(err, ERR_PERMANENT, 0, "the order of a pass says nothing known");
    }
    p->pass = pass;
    if (!verification_save(p, NULL, 0, err))
        return false;
    s.pass = p->pass.id;
    *p->s = s;
    verification_take(p, &p->pass);
    p->has_order = false;
    return order == NULL || replica_order_drop(v->store, order->id, err);
}

/* ---- waiting for replication ---- */

/* Why nothing is compared now, or NULL. */
static const char *verification_waits(const struct verification *p, bool ordered)
{
    const struct link_state *f = p->v->follower;

    if (!p->has_mark || (f != NULL && f->stands == LINK_NEW))
        return "replication has not begun";
    if (p->mark.phase != MARK_FOLLOW || (f != NULL && f->stands == LINK_LOADING))
        return "replication loads the table";
    if (f == NULL)
        return NULL;
    /* Whoever orders a pass wants to know what replication has left. */
    if (f->stands == LINK_STOPPED && !ordered)
        return arena_printf(p->v->arena, "replication is stopped: %.500s", f->message);
    if (f->stands == LINK_BEHIND && f->backlog >= BACKLOG_WAITS)
        return arena_printf(p->v->arena, "replication is behind by %lld changes",
                            (long long)f->backlog);
    return NULL;
}

static void verification_say(struct verification *p, const char *what, const char *why)
{
    (void)snprintf(p->done->message, sizeof p->done->message, "%s%s", what, why);
}

static bool verification_end_as(struct verification *p, enum pass_result result, struct err *err)
{
    p->pass.result = result;
    p->pass.ended_us = verification_now_us(p);
    p->pass.message = arena_copy(p->v->arena, str_of(p->done->message));
    if (!verification_save(p, NULL, 0, err))
        return false;
    verify_recent_end(p);
    *p->s = verification_fresh(p->s, 0, 0);
    p->done->ended = true;
    return true;
}

/* Nothing can be compared now.  A pass that is under way waits; what a person has ordered is told
 * not to be possible; a time of the schedule is left out. */
static bool verification_pause(struct verification *p, const char *why, struct err *err)
{
    bool under_way = p->pass.id != 0;

    if (!under_way && p->has_order && !verification_begin(p, err))
        return false;
    verification_say(p, under_way ? "waits: " : "not compared: ", why);
    if (!under_way)
        return p->pass.id == 0 || verification_end_as(p, PASS_ABORTED, err);
    if (p->s->paused_us == 0)
        p->s->paused_us = p->v->now_us;
    p->rest_us = VERIFY_REST_US;
    if (p->v->now_us - p->s->paused_us < PAUSED_MOST_US)
        return true;
    verification_say(p, "given up after a day: ", why);
    return verification_end_as(p, PASS_ABORTED, err);
}

/* ---- the steps ---- */

static bool verification_finish(struct verification *p, struct err *err)
{
    verify_end(p);
    return verification_end_as(p, p->pass.result, err);
}

static bool verification_step(struct verification *p, struct err *err)
{
    int64_t now_us = verification_now_us(p);
    bool over = false;

    if (p->mode == LINK_VERIFY_COUNT) {
        if (!verify_count(p, &over, err))
            return false;
        return !over || verification_finish(p, err);
    }
    if (p->sweeping || (p->suspects > 0 && now_us >= p->look_us))
        return verify_recheck(p, err);
    if (!verification_scan_is_over(p) && p->suspects < VERIFY_SUSPECTS)
        return p->mode == LINK_VERIFY_RECENT ? verify_recent(p, err) : verify_segment(p, err);
    if (p->suspects > 0) {
        p->rest_us = p->look_us - now_us;
        return true;
    }
    if (!verify_repair(p, &over, err))
        return false;
    return !over || p->suspects > 0 || verification_finish(p, err);
}

static void verification_rest(struct verification *p)
{
    int64_t end_us = clock_mono_us() + (p->rest_us < VERIFY_REST_US ? p->rest_us : VERIFY_REST_US);

    for (int64_t left_us; (left_us = end_us - clock_mono_us()) > 0 && !call_is_over(p->v->call);)
        clock_sleep_us(left_us < VERIFY_LOOK_US ? left_us : VERIFY_LOOK_US);
}

/* Nothing is known of its suspects when a run begins. */
static bool verification_sweep(struct verification *p, struct err *err)
{
    do {
        call_alive(p->v->call);
        arena_reset(&p->turn);
        if (!verify_recheck(p, err))
            return false;
    } while (p->sweeping && !p->lost && !call_is_over(p->v->call));
    return true;
}

static bool verification_go(struct verification *p, struct err *err)
{
    p->s->paused_us = 0;
    if (p->mode != LINK_VERIFY_COUNT && !verification_sweep(p, err))
        return false;
    do {
        p->rest_us = 0;
        call_alive(p->v->call);
        arena_reset(&p->turn);
        if (!verification_step(p, err))
            return false;
        if (p->rest_us > 0 && !p->done->ended)
            verification_rest(p);
    } while (!p->done->ended && !p->lost && !call_is_over(p->v->call) &&
             clock_mono_us() - p->began_mono_us < VERIFY_SLICE_US);
    if (!p->done->ended)
        verify_say_progress(p);
    return true;
}

/* ---- before ---- */

/* Places in the journal of another source mean nothing. */
static void verification_know(struct verification *p, const struct capture_look *look)
{
    struct digest d = digest_start();
    struct sha256 is;
    int64_t history = 0;

    digest_add(&d, look->epoch);
    digest_add(&d, look->life);
    is = digest_end(&d);
    for (size_t i = 0; i < 7; i++)
        history = history << 8 | is.bytes[i];
    if (history == p->s->history)
        return;
    p->s->history = history;
    p->s->since_x = p->s->until_x = 0;
    if (p->mode == LINK_VERIFY_RECENT && p->pass.id != 0)
        buf_clear(&p->next);
}

/* Whether the journal of the source can be asked what the destination has applied. */
static bool verification_look(struct verification *p, struct err *err)
{
    struct capture_look look = { .epoch = STR(""), .life = STR("") };
    struct side *s = p->source;
    struct err why = { 0 };

    if (!verify_read_mark(p, &why)) {
        if (why.kind != ERR_CONFIG) {
            *err = why;
            return false;
        }
        p->has_mark = false; /* nothing is installed yet */
    }
    if (!side_look(s, p->v->arena, &look, err))
        return err_context(err, "source");
    p->by_journal = s->capture.kind == CAPTURE_JOURNAL && look.state == CAPTURE_IS_FINE &&
                    p->has_mark && str_eq(look.epoch, p->mark.epoch) &&
                    str_eq(look.life, p->mark.life);
    if (p->by_journal)
        verification_know(p, &look);
    return true;
}

/* Where the pass goes on is a key of the table as it is now. */
static bool verification_has_place(struct verification *p)
{
    struct str at = p->mode == LINK_VERIFY_RECENT ? verify_recent_key(p) : buf_view(&p->next);
    struct cell *key = ARENA_ARRAY(&p->turn, struct cell, p->source->fit->key_count);
    struct err why = { 0 };

    return at.len == 0 || (side_key(p->source, at, &p->turn, key, &why) &&
                           side_key(p->dest, at, &p->turn, key, &why));
}

static bool verification_with(struct verification *p, struct err *err)
{
    const char *why;

    if (!verification_look(p, err))
        return false;
    why = verification_waits(p, p->pass.by.len > 0 || p->has_order);
    if (why != NULL)
        return verification_pause(p, why, err);
    if (p->pass.id == 0 && !verification_begin(p, err))
        return false;
    if (p->mode == LINK_VERIFY_RECENT && !p->by_journal)
        return verification_pause(p, "changes are not captured by a journal", err);
    if (p->mode == LINK_VERIFY_MODES || !verification_has_place(p)) {
        verification_say(p, "the table has another key now", "");
        return verification_end_as(p, PASS_ABORTED, err);
    }
    return verification_go(p, err);
}

/* ---- all of it ---- */

static bool verification_open(struct verification *p, struct err *err)
{
    struct buf problems = BUF_INIT(64 << 10);
    struct link_sides *sides;
    enum link_reason reason;
    bool ok = link_sides_take(p->v->kept, p->v->spec, p->v->call, &sides, &reason, &problems, err);

    if (ok && reason != LINK_GOES) {
        ok = verification_pause(p, arena_text(p->v->arena, str_first(buf_view(&problems), 500)),
                                err);
    } else if (ok) {
        p->source = &sides->source;
        p->dest = &sides->dest;
        ok = verification_with(p, err);
        link_sides_put(p->v->kept, sides, ok);
    }
    buf_done(&problems);
    return ok;
}

bool verifying_run(const struct verifying *v, struct verify_state *s, struct verified *ret,
                   struct err *err)
{
    struct verification p = { .v = v,
                              .s = s,
                              .done = ret,
                              .next = BUF_INIT(SHAPE_KEY_BYTES + 8), /* of `recent` with x */
                              .swept = BUF_INIT(SHAPE_KEY_BYTES),
                              .turn = ARENA_INIT(VERIFY_TURN_ARENA),
                              .batch = BUF_INIT(4 * (size_t)SHAPE_ROW_BYTES),
                              .began_mono_us = clock_mono_us() };

    *ret = (struct verified){ 0 };
    bool ok = verification_find(&p, err) && verification_open(&p, err);

    /* An order that came while a pass was under way begins another one. */
    if (ok && (ret->ended || p.lost))
        ok = verification_find_order(&p, err);

    if (ok && p.lost) {
        *s = verification_fresh(s, 0, 0);
        p.pass.result = PASS_ABORTED;
        verification_say(&p, "the pass was ended from outside", "");
    }
    if (ok) {
        ret->more = (p.pass.id != 0 && !ret->ended && !p.lost) || p.has_order;
        ret->pass = p.pass;
        ret->pass.next = arena_copy(v->arena, buf_view(&p.next));
        if (ret->more && p.s->paused_us != 0)
            verification_rest(&p);
    }
    buf_done(&p.next);
    buf_done(&p.swept);
    buf_done(&p.batch);
    arena_done(&p.turn);
    return ok;
}
