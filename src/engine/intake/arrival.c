#include "engine/intake/arrival.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/memory_share.h"
#include "base/require.h"
#include "core/head.h"
#include "engine/intake/key_search.h"
#include "engine/intake/replies.h"
#include "engine/intake/sender_login.h"
#include "engine/road/road.h"
#include "engine/run/birth.h"
#include "engine/tally/refusals.h"
#include "store/store.h"

enum {
    TEXTS_MOST = 48 << 10,
    CHUNKED_RESERVE = 64 << 10,
    PUT_OFF_US = 20 * CLOCK_MS,
    PAUSED_S = 10, /* Retry-After of a paused node */
    WAITING_S = 5, /* ... and of one with too many requests that wait for receivers */
};

/* ---- objects ---- */

static struct intake_loop *lane_of(struct intake *in, struct loop *loop)
{
    for (size_t i = 0; i < in->options.loop_count; i++)
        if (in->lanes[i].loop == loop)
            return &in->lanes[i];
    unreachable("an arrival comes from a loop of the server");
}

static struct arrival *arrival_make(struct intake_loop *lane)
{
    struct arrival *a = lane->idle;
    struct buf body = BUF_INIT(SEGMENT_PAYLOAD_MOST), texts = BUF_INIT(TEXTS_MOST);

    if (a != NULL) { /* reused with its buffers */
        lane->idle = a->next_idle;
        lane->idle_count--;
        body = a->body;
        texts = a->texts;
        buf_clear(&body);
        buf_clear(&texts);
    } else {
        a = xmalloc(sizeof *a);
    }
    *a = (struct arrival){
        .magic = ARRIVAL_MAGIC, .intake = lane->intake, .lane = lane, .body = body, .texts = texts
    };
    return a;
}

static void release_memory(struct arrival *a)
{
    memory_share_give_body(a->intake->options.memory, a->reserved);
    a->reserved = 0;
}

static void arrival_forget(struct arrival *a)
{
    struct intake_loop *lane = a->lane;

    if (a->reply != NULL) /* nobody waits for it */
        replies_leave(a->reply);
    release_memory(a);
    intake_table_unref(a->table);
    atomic_fetch_sub(&a->intake->open, 1);
    a->magic = 0;
    if (a->body.size > ARRIVAL_KEEP)
        buf_done(&a->body);
    if (a->texts.size > ARRIVAL_KEEP)
        buf_done(&a->texts);
    if (lane->idle_count < ARRIVALS_KEPT) {
        a->next_idle = lane->idle;
        lane->idle = a;
        lane->idle_count++;
        return;
    }
    buf_done(&a->body);
    buf_done(&a->texts);
    free(a);
}

/* ---- the answer ---- */

static int retry_after(struct intake *in)
{
    int64_t group_us = writers_group_us(store_writers(in->options.store));

    return group_us > CLOCK_S ? (int)(group_us / CLOCK_S) + 1 : 1;
}

static struct intake_answer answer_of_error(struct intake *in, const struct err *err)
{
    struct intake_answer a = { .status = 503,
                               .code = "unavailable",
                               .retry_after_s = retry_after(in),
                               .message = "The document could not be stored. Send it again." };

    if (err->kind == ERR_LIMIT && err->sys == ENOSPC) {
        a.status = 507;
        a.code = "no_space";
        a.message = "There is no space left to store documents. Send it again later.";
        a.retry_after_s = 30;
    } else if (err->kind == ERR_UNCERTAIN) {
        a.code = "uncertain";
        a.message = "The document may or may not have been stored. Send it again with the same "
                    "Idempotency-Key.";
    } else if (err->kind == ERR_PERMANENT) {
        a.status = 500;
        a.code = "failed";
        a.message = "The document could not be stored; sending it again will not help.";
        a.retry_after_s = 0;
    }
    return a;
}

static void log_accepted(const struct arrival *a)
{
    char id[ID_TEXT];

    log_event(LOG_INFO, "document.accept", kv_z("document", id_text(&a->accept.id, id)),
              kv_z("gateway", a->gateway->config->name), kv_int("caller", a->accept.caller),
              kv_int("size", a->accept.size), kv_int("us", clock_mono_us() - a->began_us));
}

static struct intake_answer answer_of(struct arrival *a)
{
    struct intake_answer answer = { .status = 202, .id = a->accept.id };

    if (!a->accept.op.ok) {
        log_event(LOG_WARN, "document.refuse", kv_z("gateway", a->gateway->config->name),
                  kv_z("why", a->accept.op.err.text), kv_z("where", a->accept.op.err.where));
        return answer_of_error(a->intake, &a->accept.op.err);
    }
    switch (a->accept.result) {
    case ACCEPT_STORED:
        metric_add(&a->gateway->state->accepted, 1);
        if (!a->accept.claimed) /* else the log line of its run has all of this */
            log_accepted(a);
        break;
    case ACCEPT_REPEATED:
        metric_add(&a->gateway->state->repeated, 1);
        answer.repeated = true;
        break;
    case ACCEPT_KEY_DIFFERS:
        answer =
            (struct intake_answer){ .status = 422,
                                    .code = "key_reused",
                                    .message = "This Idempotency-Key was used for another body." };
        break;
    }
    return answer;
}

/* Deletes a large body without a document now; else it would stay until the next start. */
static void arrival_drop_unused(const struct arrival *a)
{
    const struct accept_op *o = &a->accept;
    bool used = o->op.ok ? o->result == ACCEPT_STORED : o->op.err.kind == ERR_UNCERTAIN;

    if (o->is_spooled && !used)
        spool_drop(a->intake->options.spool, o->spooled);
}

static void arrival_tell(struct arrival *a, const struct intake_answer *answer)
{
    const struct arrival_calls *calls = a->calls;
    void *user = a->user;
    bool aborted = a->aborted;
    struct intake_answer told = *answer;

    fault_point(ACK_SEND);
    if (a->reply != NULL && !aborted && answer->status == 202) {
        replies_listen(a->reply, calls->replied, user);
        told.waits = a->reply;
        a->reply = NULL;
    }
    arrival_forget(a);
    if (!aborted)
        calls->done(user, &told);
}

static void on_answered(struct loop_msg *msg)
{
    struct arrival *a = container_of(msg, struct arrival, answered);
    struct intake_answer answer;

    require(a->magic == ARRIVAL_MAGIC);
    atomic_fetch_sub(&a->intake->commits, 1);
    answer = answer_of(a);
    arrival_drop_unused(a);
    arrival_tell(a, &answer);
}

/* On the writer's thread: a claimed document goes onto the road, any other waits in the store. */
static void arrival_on_committed(struct store_op *op)
{
    struct arrival *a = container_of(op, struct arrival, accept.op);
    struct accept_op *o = &a->accept;
    struct road *road = a->intake->options.road;
    bool stored = op->ok && o->result == ACCEPT_STORED;

    if (a->reply != NULL && op->ok && o->result != ACCEPT_KEY_DIFFERS)
        replies_expect(a->reply, &o->id, o->result == ACCEPT_REPEATED);
    if (stored && o->claimed)
        road_born(road, o, &a->body);
    else if (o->claim_wanted)
        road_unreserve(road, o->size);
    if (stored && !o->claimed)
        road_note_backlog(road);

    loop_post(a->lane->loop, &a->answered);
}

/* ---- to the writer ---- */

static void arrival_on_timer(uv_timer_t *t)
{
    (void)t; /* the end of this round checks again */
}

/* Holds operations back briefly while the road is busy: accepting more would only move documents to
 * the store and back.  A slow receiver does not count as busy, and the hold is short. */
static bool put_off(struct intake_loop *lane)
{
    int64_t now = clock_mono_us();

    if (!road_is_busy(lane->intake->options.road) ||
        (lane->held_us != 0 && now - lane->held_us > PUT_OFF_US)) {
        lane->held_us = 0;
        return false;
    }
    if (lane->held_us == 0)
        lane->held_us = now;
    (void)uv_timer_start(&lane->timer, arrival_on_timer, 1, 0);
    return true;
}

/* All operations of a round are submitted at once. */
void arrival_hand_over(struct loop_hook *hook)
{
    struct intake_loop *lane = container_of(hook, struct intake_loop, hook);
    struct store_op *op = lane->first;

    if (op == NULL || put_off(lane))
        return;
    bool taken = writers_submit(store_writers(lane->intake->options.store), lane->first, lane->last,
                                lane->count);

    lane->first = lane->last = NULL;
    lane->count = 0;
    while (!taken && op != NULL) {
        struct arrival *a = container_of(op, struct arrival, accept.op);

        op = op->next;
        if (a->accept.claim_wanted)
            road_unreserve(lane->intake->options.road, a->accept.size);
        a->accept.op.ok = false;
        (void)err_set(&a->accept.op.err, ERR_LIMIT, 0, "the commit queue is full");
        loop_post(lane->loop, &a->answered);
    }
}

/* The digests of the name and of the bytes, one behind the other, are the text of the key. */
static void arrival_make_key(struct arrival *a)
{
    struct sha256 both[2] = { a->name, a->accept.sha256 };

    a->accept.has_key = true;
    a->accept.key =
        key_search_digest(a->accept.gateway, a->accept.caller, STR(""), str_mem(both, sizeof both));
    a->accept.key_period_us = a->gateway->config->idempotency_us;
}

static void arrival_commit(struct arrival *a)
{
    struct intake_loop *lane = a->lane;
    struct accept_op *o = &a->accept;

    if (a->named)
        arrival_make_key(a);
    o->op.verb = &accept_verb;
    o->op.done = arrival_on_committed;
    o->op.next = NULL;
    o->received_us = clock_wall_us();
    o->claim_wanted = !o->is_spooled && road_reserve(a->intake->options.road, o->size);
    a->answered = (struct loop_msg){ .fn = on_answered };
    a->committing = true;
    atomic_fetch_add(&a->intake->commits, 1);
    if (lane->last != NULL)
        lane->last->next = &o->op;
    else
        lane->first = &o->op;
    lane->last = &o->op;
    lane->count++;
}

/* ---- admission ---- */

static bool arrival_refuse(struct intake_answer *ret, int status, const char *code,
                           const char *message, int retry_after_s)
{
    *ret = (struct intake_answer){
        .status = status, .code = code, .message = message, .retry_after_s = retry_after_s
    };
    return false;
}

static bool arrival_admit(struct intake *in, const struct arrival_head *h,
                          struct intake_answer *ret)
{
    const struct config_gateway *g = h->gateway->config;
    int64_t length = h->content_length > 0 ? h->content_length : 0;
    int64_t wait_us;

    if (atomic_load(&in->stopping))
        return arrival_refuse(ret, 503, "stopping",
                              "This node is stopping. Send to another, or later.", 2);
    if (atomic_load(&in->paused))
        return arrival_refuse(ret, 503, "paused", "This node takes nothing in now. Send it later.",
                              PAUSED_S);
    if (atomic_load(&in->store_why_not) != NULL && !atomic_load(&in->store_full))
        return arrival_refuse(ret, 503, "store_unreachable",
                              "The store cannot be reached. Send it later.", 2);
    if (atomic_load(&in->store_full) ||
        atomic_load(&in->free_disk) - length < in->options.disk_reserve_bytes)
        return arrival_refuse(ret, 507, "no_space",
                              "There is no space left to store documents. Send it again later.",
                              30);
    if (atomic_load(&in->commits) >= (int64_t)in->options.commit_queue)
        return arrival_refuse(ret, 503, "busy", "This node has too much to do. Send it again.",
                              retry_after(in));
    if (g->rate.count > 0 &&
        !rate_pass(intake_gate(h->gateway->state, h->caller, h->user), g->rate.count,
                   g->rate.per_us, g->burst, clock_mono_us(), &wait_us))
        return arrival_refuse(ret, 429, "rate_limit",
                              "This gateway takes no more from you at the moment.",
                              (int)(wait_us / CLOCK_S) + 1);
    if (!rate_pass(&h->gateway->state->total, g->total.count, g->total.per_us,
                   units_rate_burst(g->total), clock_mono_us(), &wait_us))
        return arrival_refuse(ret, 503, "total_limit",
                              "This gateway takes no more at the moment, from anybody.",
                              (int)(wait_us / CLOCK_S) + 1);
    return true;
}

/* Bodies in memory share one part of the memory.  A body that finds no room is spooled when it is
 * large, and refused when it is small. */
static bool arrival_reserve(struct arrival *a, int64_t length, struct intake_answer *ret)
{
    struct intake *in = a->intake;
    int64_t need = length < 0                      ? CHUNKED_RESERVE
                   : length > SEGMENT_PAYLOAD_MOST ? 2 * SPOOL_PIPE
                                                   : length;

    if (!memory_share_take_body(in->options.memory, need))
        return arrival_refuse(ret, 503, "busy", "This node has too much to do. Send it again.",
                              retry_after(in));
    a->reserved = need;
    return true;
}

static struct str arrival_keep_text(struct arrival *a, struct str s)
{
    const char *at = a->texts.ptr + a->texts.len;

    buf_put(&a->texts, s);
    return (struct str){ at, s.len };
}

static struct str arrival_keep_head(struct arrival *a, struct str head)
{
    size_t at = a->texts.len;

    if (a->reply == NULL)
        return arrival_keep_text(a, head);
    head_put_caller(&a->texts, head, store_node(a->intake->options.store));
    return str_from(buf_view(&a->texts), at);
}

/* The request's texts end with its head: copy them into one buffer. */
static void keep_texts(struct arrival *a, const struct arrival_head *h)
{
    struct err err;

    require(
        buf_reserve(&a->texts, h->ctype.len + h->name.len + h->head.len + HEAD_CALLER_MOST, &err));
    a->accept.ctype = arrival_keep_text(a, h->ctype);
    a->accept.name = arrival_keep_text(a, h->name);
    a->accept.head = arrival_keep_head(a, h->head);
}

/* A sender that waits for the receiver needs a place, before anything is read of its document. */
static bool arrival_wait(struct arrival *a, const struct arrival_head *h, struct intake_answer *ret)
{
    if (h->wait_us == 0)
        return true;
    a->reply = replies_begin(a->intake->replies, h->loop, h->wait_us);
    return a->reply != NULL ||
           arrival_refuse(ret, 503, "too_many_waiting",
                          "Too many requests wait for the answers of receivers. Send it later.",
                          WAITING_S);
}

static struct arrival *begin(struct intake *in, const struct arrival_head *h,
                             const struct arrival_calls *calls, void *user,
                             struct intake_answer *ret)
{
    if (!arrival_admit(in, h, ret))
        return NULL;
    struct arrival *a = arrival_make(lane_of(in, h->loop));
    struct accept_op *o = &a->accept;

    atomic_fetch_add(&in->open, 1);
    if (!arrival_wait(a, h, ret) || !arrival_reserve(a, h->content_length, ret)) {
        arrival_forget(a);
        return NULL;
    }
    a->table = intake_table_ref(h->table);
    a->gateway = h->gateway;
    a->calls = calls;
    a->user = user;
    a->began_us = clock_mono_us();
    o->gateway = h->gateway->word;
    o->caller = h->caller;
    o->config = a->table->version;
    keep_texts(a, h);
    o->has_key = h->has_key;
    if (h->has_key) {
        o->key = key_search_digest(o->gateway, o->caller, h->user, h->key);
        o->key_period_us = h->gateway->config->idempotency_us;
    }
    if (h->content_length > 0 && h->content_length <= SEGMENT_PAYLOAD_MOST) {
        struct err err;

        require(buf_reserve(&a->body, (size_t)h->content_length, &err));
    }
    return a;
}

/* ---- the body ---- */

static void arrival_on_drained(void *user)
{
    struct arrival *a = user;

    a->calls->more(a->user);
}

static void arrival_on_spooled(void *user, const struct spool_result *r)
{
    struct arrival *a = user;
    struct intake_answer answer;

    a->spool = NULL;
    if (!r->ok) {
        log_event(LOG_WARN, "document.refuse", kv_z("gateway", a->gateway->config->name),
                  kv_z("why", r->err.text), kv_z("where", r->err.where));
        answer = answer_of_error(a->intake, &r->err);
        arrival_tell(a, &answer);
        return;
    }
    a->accept.is_spooled = true;
    a->accept.spooled = r->place;
    a->accept.sha256 = r->sha256;
    a->accept.size = r->size;
    arrival_commit(a);
}

static const struct spool_calls spool_calls = { .drained = arrival_on_drained,
                                                .done = arrival_on_spooled };

/* The body has outgrown memory: spool the bytes so far, then these. */
static bool to_spool(struct arrival *a, struct str bytes)
{
    if (a->spool == NULL) {
        a->spool = spool_begin(a->intake->options.spool, a->lane->loop, &spool_calls, a);
        if (a->body.len > 0)
            (void)spool_add(a->spool, buf_view(&a->body));
        buf_done(&a->body);
    }
    return spool_add(a->spool, bytes);
}

/* A body of unknown length reserves more of the share as it grows. */
static bool grows_in_memory(struct arrival *a, size_t more)
{
    struct intake *in = a->intake;
    int64_t need = (int64_t)(a->body.len + more) - a->reserved;

    if (a->body.len + more > SEGMENT_PAYLOAD_MOST)
        return false;
    if (need <= 0)
        return true;
    need += CHUNKED_RESERVE;
    if (!memory_share_take_body(in->options.memory, need))
        return false;
    a->reserved += need;
    return true;
}

static bool add(struct arrival *a, struct str bytes)
{
    require(a->magic == ARRIVAL_MAGIC && !a->committing);
    if (a->spool != NULL || !grows_in_memory(a, bytes.len))
        return to_spool(a, bytes);
    buf_put(&a->body, bytes);
    return true;
}

static void name(struct arrival *a, struct str key)
{
    require(a->magic == ARRIVAL_MAGIC && !a->committing && !a->accept.has_key);
    a->named = true;
    a->name = digest_of(key);
}

static void describe(struct arrival *a, struct str ctype, struct str name, struct str head)
{
    require(a->magic == ARRIVAL_MAGIC && !a->committing);
    buf_clear(&a->texts);
    keep_texts(a, &(struct arrival_head){ .ctype = ctype, .name = name, .head = head });
}

static void end(struct arrival *a)
{
    require(a->magic == ARRIVAL_MAGIC && !a->committing);
    if (a->spool != NULL) {
        spool_end(a->spool);
        return;
    }
    a->accept.body = buf_view(&a->body);
    a->accept.size = (int64_t)a->body.len;
    a->accept.sha256 = digest_of(a->accept.body);
    arrival_commit(a);
}

static void abort_arrival(struct arrival *a)
{
    require(a->magic == ARRIVAL_MAGIC && !a->aborted);
    a->aborted = true;
    if (a->committing)
        return; /* the commit goes on; the client is gone */
    if (a->spool != NULL)
        spool_abort(a->spool);
    arrival_forget(a);
}

/* ---- the port ---- */

static struct intake_table *table(struct intake *in)
{
    (void)pthread_rwlock_rdlock(&in->table_lock);
    struct intake_table *t = intake_table_ref(in->table);

    (void)pthread_rwlock_unlock(&in->table_lock);
    return t;
}

static void count_refusal(const struct intake_gateway *g, int status)
{
    (void)status;
    metric_add(&g->state->refused, 1);
}

static void note_refusal(struct intake *in, const struct intake_gateway *g, struct str who,
                         struct str address, const char *why)
{
    refusals_note(in->options.refusals, &(struct refusal){ .action = "keyRefused",
                                                           .actor = who,
                                                           .kind = STR("caller"),
                                                           .address = address,
                                                           .object = str_of(g->config->name),
                                                           .why = why });
}

const struct intake_port intake_port = {
    .table = table,
    .release = intake_table_unref,
    .find = intake_find,
    .check_key = intake_check_key,
    .begin = begin,
    .add = add,
    .name = name,
    .describe = describe,
    .end = end,
    .abort = abort_arrival,
    .leave = replies_leave,
    .verify = sender_login_verify,
    .count_refusal = count_refusal,
    .note_refusal = note_refusal,
};
