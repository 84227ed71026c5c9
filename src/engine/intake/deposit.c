#include "engine/intake/deposit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/require.h"
#include "core/head.h"
#include "engine/road/road.h"
#include "engine/run/birth.h"
#include "store/govern/gateway_state.h"
#include "store/govern/ledger.h"
#include "store/payload/payload.h"
#include "store/road/accept.h"
#include "store/store.h"

_Static_assert(DEPOSIT_WAIT == EAGAIN && DEPOSIT_DIFFERS == EEXIST, "numbers of the system");

_Static_assert((int)DEPOSIT_STATE_MOST == (int)GATEWAY_STATE_MOST &&
                   (int)DEPOSIT_COMMIT_MOST == (int)GATEWAY_DOCS_MOST &&
                   (int)DEPOSIT_NOTES_MOST == (int)GATEWAY_NOTES_MOST,
               "limits of the store");

enum { TEXTS_MOST = 4 << 10 };

struct deposit {
    struct accept_op accept;
    struct depositor *owner;
    struct buf body, texts, head;
    struct upload *upload; /* set once the body has outgrown memory */
    struct digest digest;
    int64_t size, began_us;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_done;
};

static void deposit_end(struct deposit *d)
{
    digest_drop(&d->digest);
    if (d->upload != NULL)
        upload_close(d->upload);
    buf_done(&d->body);
    buf_done(&d->texts);
    buf_done(&d->head);
    (void)pthread_mutex_destroy(&d->mutex);
    (void)pthread_cond_destroy(&d->changed);
    free(d);
}

static struct str deposit_keep_text(struct deposit *d, struct str s)
{
    const char *at = d->texts.ptr + d->texts.len;

    buf_put(&d->texts, s);
    return (struct str){ at, s.len };
}

/* ---- admission ---- */

static bool deposit_admit(struct depositor *o, struct err *err)
{
    const char *closed = o->closed != NULL ? o->closed(o->arg) : NULL;
    int64_t wait_us;

    if (closed != NULL)
        return err_set(err, ERR_LIMIT, 0, "%s", closed);
    if (o->road != NULL && road_is_busy(o->road))
        return err_set(err, ERR_LIMIT, DEPOSIT_WAIT, "the node has enough to do");
    if (!rate_pass(o->rate, o->limit.count, o->limit.per_us, o->burst, clock_mono_us(), &wait_us))
        return err_set(err, ERR_LIMIT, DEPOSIT_WAIT, "the gateway is at its limits.rate");
    if (!rate_pass(o->rate_total, o->total.count, o->total.per_us, units_rate_burst(o->total),
                   clock_mono_us(), &wait_us))
        return err_set(err, ERR_LIMIT, DEPOSIT_WAIT, "the gateway is at its limits.total");
    return o->hold(o->arg, err);
}

static bool open_deposit(void *arg, struct str name, struct str ctype, struct deposit **ret,
                         struct err *err)
{
    struct depositor *o = arg;

    if (name.len + ctype.len > TEXTS_MOST)
        return err_set(err, ERR_PERMANENT, 0, "its name is too long");
    bool admitted = call_own_begin(o->call, err) && deposit_admit(o, err);

    call_alive(o->call);
    if (!admitted)
        return false;
    struct deposit *d = NEW(struct deposit);

    d->owner = o;
    d->body = (struct buf)BUF_INIT(SEGMENT_PAYLOAD_MOST);
    d->texts = (struct buf)BUF_INIT(TEXTS_MOST + 1);
    d->head = (struct buf)BUF_INIT(HEAD_FAILURE_MOST);
    d->digest = digest_start();
    d->began_us = clock_mono_us();
    (void)pthread_mutex_init(&d->mutex, NULL);
    (void)pthread_cond_init(&d->changed, NULL);
    require(buf_reserve(&d->texts, name.len + ctype.len, err)); /* so the texts never move */
    d->accept = (struct accept_op){ .op = { .verb = &accept_verb },
                                    .gateway = o->word,
                                    .config = o->config,
                                    .name = deposit_keep_text(d, name),
                                    .ctype = deposit_keep_text(d, ctype) };
    *ret = d;
    return true;
}

/* ---- the body ---- */

static bool to_upload(struct deposit *d, struct str bytes, struct err *err)
{
    if (d->upload == NULL) {
        if (!upload_open(d->owner->store, &d->upload, err) ||
            !upload_add(d->upload, buf_view(&d->body), err))
            return false;
        buf_done(&d->body);
        d->body = (struct buf)BUF_INIT(SEGMENT_PAYLOAD_MOST);
    }
    return d->owner->hold(d->owner->arg, err) && upload_add(d->upload, bytes, err);
}

static bool keep_bytes(struct deposit *d, struct str bytes, struct err *err)
{
    d->size += (int64_t)bytes.len;
    if (d->size > d->owner->size_most)
        return err_set(err, ERR_PERMANENT, 0, "it is larger than limits.size of the gateway");
    digest_add(&d->digest, bytes);
    if (d->upload != NULL || d->body.len + bytes.len > SEGMENT_PAYLOAD_MOST)
        return to_upload(d, bytes, err);
    return buf_append(&d->body, bytes, err);
}

static bool put(struct deposit *d, struct str bytes, struct err *err)
{
    bool ok = call_own_begin(d->owner->call, err) && keep_bytes(d, bytes, err);

    call_alive(d->owner->call);
    return ok;
}

static void fail_deposit(struct deposit *d, struct str why)
{
    buf_clear(&d->head);
    head_put_failure(&d->head, why);
    d->accept.head = buf_view(&d->head);
}

/* ---- commit ---- */

/* On the writer's thread: a claimed document goes onto the road, any other waits in the store. */
static void deposit_go_on(struct deposit *d)
{
    struct accept_op *o = &d->accept;
    struct road *road = d->owner->road;
    bool stored = o->op.ok && o->result == ACCEPT_STORED;

    if (stored && o->claimed)
        road_born(road, o, &d->body);
    else if (o->claim_wanted)
        road_unreserve(road, o->size);
    if (stored && !o->claimed && road != NULL)
        road_note_backlog(road);
}

static void deposit_on_committed(struct store_op *op)
{
    struct deposit *d = container_of(op, struct deposit, accept.op);

    deposit_go_on(d);
    (void)pthread_mutex_lock(&d->mutex);
    d->is_done = true;
    (void)pthread_cond_signal(&d->changed);
    (void)pthread_mutex_unlock(&d->mutex);
}

static void deposit_date(struct deposit *d)
{
    struct accept_op *o = &d->accept;

    o->received_us = clock_wall_us();
    o->claim_wanted =
        !o->is_spooled && d->owner->road != NULL && road_reserve(d->owner->road, o->size);
}

/* Queues the operation behind `*io_last`, or as the first one. */
static void deposit_queue(struct deposit *d, struct store_op **io_first, struct store_op **io_last)
{
    struct accept_op *o = &d->accept;

    o->op.done = deposit_on_committed;
    o->op.next = NULL;
    deposit_date(d);
    if (*io_last != NULL)
        (*io_last)->next = &o->op;
    else
        *io_first = &o->op;
    *io_last = &o->op;
}

static void deposit_wait(struct deposit *d)
{
    (void)pthread_mutex_lock(&d->mutex);
    while (!d->is_done)
        (void)pthread_cond_wait(&d->changed, &d->mutex);
    (void)pthread_mutex_unlock(&d->mutex);
}

/* A key is unique only within its gateway. */
static struct sha256 deposit_key_digest(int64_t gateway, struct str key)
{
    struct digest d = digest_start();

    digest_add(&d, STR("deposit"));
    digest_add(&d, str_mem(&gateway, sizeof gateway));
    digest_add(&d, key);
    return digest_end(&d);
}

static bool finish_body(struct deposit *d, struct err *err)
{
    struct accept_op *o = &d->accept;

    o->sha256 = digest_end(&d->digest);
    o->size = d->size;
    o->body = buf_view(&d->body);
    if (d->upload == NULL)
        return true;
    if (!upload_finish(d->upload, &o->spooled, err))
        return false;
    o->is_spooled = true;
    return true;
}

static void deposit_key(struct deposit *d, struct str key)
{
    struct accept_op *o = &d->accept;

    o->has_key = key.len > 0;
    o->key = deposit_key_digest(d->owner->word, key);
    o->key_period_us = DEPOSIT_KEY_PERIOD_US;
}

static void deposit_note_stored(const struct deposit *d)
{
    const struct accept_op *o = &d->accept;
    char id[ID_TEXT];

    if (o->result == ACCEPT_REPEATED) {
        metric_add(d->owner->repeated, 1);
        return;
    }
    metric_add(d->owner->accepted, 1);
    if (!o->claimed) /* else the log line of its run has all of this */
        log_event(LOG_INFO, "document.accept", kv_z("document", id_text(&o->id, id)),
                  kv_z("gateway", d->owner->gateway), kv_int("size", o->size),
                  kv_int("us", clock_mono_us() - d->began_us));
}

/* The operation is done: what became of it. */
static void deposit_answer(struct deposit_commit *c)
{
    struct deposit *d = c->deposit;
    const struct accept_op *o = &d->accept;

    c->ok = o->op.ok && o->result != ACCEPT_KEY_DIFFERS;
    c->id = o->id;
    if (c->ok) {
        deposit_note_stored(d);
        c->repeated = o->result == ACCEPT_REPEATED;
    } else if (o->op.ok) {
        (void)err_set(&c->err, ERR_PERMANENT, DEPOSIT_DIFFERS, "its key was used for other bytes");
    } else {
        c->err = o->op.err;
    }
    /* Delete a large body without a document now; else it would stay until the next start. */
    if (o->is_spooled && (o->op.ok ? o->result != ACCEPT_STORED : c->err.kind != ERR_UNCERTAIN))
        upload_drop(d->owner->store, o->spooled);
}

/* All operations are queued at once, so they are one group of the writer, unless it has more to do
 * than fits.  Nothing is under way when this returns: the poll may hang later, and be given up. */
static void commit_all(struct deposit_commit *list, size_t count)
{
    struct depositor *owner = list[0].deposit->owner;
    struct store_op *first = NULL, *last = NULL;
    bool queued[DEPOSIT_COMMIT_MOST] = { 0 };
    size_t n = 0;

    require(count > 0 && count <= DEPOSIT_COMMIT_MOST);
    for (size_t i = 0; i < count; i++) {
        struct deposit *d = list[i].deposit;

        list[i].ok = list[i].repeated = false;
        list[i].err = (struct err){ 0 };
        require(list[i].key.len > 0);
        deposit_key(d, list[i].key);
        queued[i] = call_own_begin(owner->call, &list[i].err) && finish_body(d, &list[i].err);
        if (queued[i])
            deposit_queue(d, &first, &last);
        n += queued[i];
    }
    if (n > 0)
        writers_submit_always(store_writers(owner->store), first, last, n);
    for (size_t i = 0; i < count; i++) {
        if (queued[i]) {
            deposit_wait(list[i].deposit);
            deposit_answer(&list[i]);
        }
        deposit_end(list[i].deposit);
        list[i].deposit = NULL;
    }
    call_alive(owner->call);
}

static bool commit(struct deposit *d, struct str key, struct id *ret_id, bool *ret_repeated,
                   struct err *err)
{
    struct deposit_commit c = { .deposit = d, .key = key };

    commit_all(&c, 1);
    *ret_id = c.id;
    if (c.ok)
        *ret_repeated = c.repeated;
    else
        *err = c.err;
    return c.ok;
}

/* ---- documents with a state ---- */

static bool state(void *arg, struct buf *to, struct err *err)
{
    struct depositor *o = arg;
    bool ok = call_own_begin(o->call, err) &&
              gateway_state_get(o->store, o->word, to, &o->state_version, err);

    call_alive(o->call);
    return ok;
}

/* A commit that waits for the writer. */
struct state_commit {
    struct gateway_state_op op;
    struct deposit_state *what;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_done;
};

/* On the writer's thread.  The documents share the outcome of the operation. */
static void state_on_committed(struct store_op *op)
{
    struct state_commit *c = container_of(op, struct state_commit, op.op);

    for (size_t i = 0; i < c->what->count; i++) {
        struct deposit *d = c->what->list[i].deposit;

        d->accept.op.ok = op->ok && !c->op.overtaken;
        d->accept.op.err = op->err;
        deposit_go_on(d);
    }
    (void)pthread_mutex_lock(&c->mutex);
    c->is_done = true;
    (void)pthread_cond_signal(&c->changed);
    (void)pthread_mutex_unlock(&c->mutex);
}

static bool finish_bodies(struct deposit_state *s, struct err *err)
{
    bool ok = true;

    for (size_t i = 0; i < s->count && ok; i++) {
        ok = finish_body(s->list[i].deposit, err);
        deposit_key(s->list[i].deposit, s->list[i].key);
    }
    for (size_t i = 0; i < s->count && !ok; i++)
        if (s->list[i].deposit->accept.is_spooled)
            upload_drop(s->list[i].deposit->owner->store, s->list[i].deposit->accept.spooled);
    return ok;
}

static bool submit_state(struct depositor *o, struct deposit_state *s, struct err *err)
{
    struct store_op *docs[DEPOSIT_COMMIT_MOST];
    struct state_commit c = { .op = { .op = { .verb = &gateway_state_verb,
                                              .done = state_on_committed },
                                      .gateway = o->word,
                                      .state = s->state,
                                      .before = o->state_version,
                                      .docs = docs,
                                      .doc_count = s->count,
                                      .notes = s->notes,
                                      .note_count = s->note_count,
                                      .noted_us = s->noted_us },
                              .what = s };

    for (size_t i = 0; i < s->count; i++) {
        deposit_date(s->list[i].deposit);
        docs[i] = &s->list[i].deposit->accept.op;
    }
    (void)pthread_mutex_init(&c.mutex, NULL);
    (void)pthread_cond_init(&c.changed, NULL);
    writers_submit_always(store_writers(o->store), &c.op.op, &c.op.op, 1);
    (void)pthread_mutex_lock(&c.mutex);
    while (!c.is_done)
        (void)pthread_cond_wait(&c.changed, &c.mutex);
    (void)pthread_mutex_unlock(&c.mutex);
    (void)pthread_mutex_destroy(&c.mutex);
    (void)pthread_cond_destroy(&c.changed);
    for (size_t i = 0; i < s->count; i++)
        deposit_answer(&s->list[i]);
    if (!c.op.op.ok) {
        *err = c.op.op.err;
        return false;
    }
    if (c.op.overtaken)
        return err_set(err, ERR_TRANSIENT, 0, "another node took over and has moved the cursor");
    o->state_version = c.op.version;
    return true;
}

static bool commit_state(void *arg, struct deposit_state *s, struct err *err)
{
    struct depositor *o = arg;

    require(s->count <= DEPOSIT_COMMIT_MOST && s->note_count <= DEPOSIT_NOTES_MOST);
    for (size_t i = 0; i < s->count; i++) {
        s->list[i].ok = s->list[i].repeated = false;
        s->list[i].err = (struct err){ 0 };
    }
    bool ok = (s->state.len <= DEPOSIT_STATE_MOST ||
               err_set(err, ERR_LIMIT, 0, "the state of the gateway is too large")) &&
              call_own_begin(o->call, err) && o->hold(o->arg, err) && finish_bodies(s, err) &&
              submit_state(o, s, err);

    for (size_t i = 0; i < s->count; i++) {
        deposit_end(s->list[i].deposit);
        s->list[i].deposit = NULL;
    }
    call_alive(o->call);
    return ok;
}

static bool known(void *arg, const struct sha256 *keys, size_t count, bool *ret, struct err *err)
{
    const struct depositor *o = arg;
    bool ok = call_own_begin(o->call, err) &&
              gateway_state_known(o->store, o->word, keys, count, ret, err);

    call_alive(o->call);
    return ok;
}

static bool forget(void *arg, int64_t before_us, struct err *err)
{
    const struct depositor *o = arg;
    bool ok = call_own_begin(o->call, err) && ledger_sweep(o->store, o->word, before_us, err);

    call_alive(o->call);
    return ok;
}

/* ---- the rest of the port ---- */

static bool seen(void *arg, struct str key, bool *ret, struct err *err)
{
    const struct depositor *o = arg;
    struct sha256 sha = deposit_key_digest(o->word, key);

    bool ok = call_own_begin(o->call, err) && ledger_seen(o->store, o->word, &sha, ret, err);

    call_alive(o->call);
    return ok;
}

static bool note_seen(void *arg, struct str key, struct err *err)
{
    const struct depositor *o = arg;
    struct sha256 sha = deposit_key_digest(o->word, key);

    bool ok = call_own_begin(o->call, err) && ledger_note(o->store, o->word, &sha, err);

    call_alive(o->call);
    return ok;
}

static bool stopping(void *arg)
{
    const struct depositor *o = arg;

    call_alive(o->call);
    return call_is_given_up(o->call) || o->stopping(o->arg);
}

static bool alive(void *arg, struct err *err)
{
    const struct depositor *o = arg;
    bool ok = call_own_begin(o->call, err) && o->hold(o->arg, err);

    call_alive(o->call);
    return ok;
}

static struct call *deposit_call_of(void *arg)
{
    return ((const struct depositor *)arg)->call;
}

static int64_t size_most(void *arg)
{
    return ((const struct depositor *)arg)->size_most;
}

static void complain(void *arg, struct str name, const char *why, const char *hint)
{
    const struct depositor *o = arg;

    o->complain(o->arg, name, why, hint);
}

const struct deposit_port deposit_port = { .open = open_deposit,
                                           .put = put,
                                           .fail = fail_deposit,
                                           .commit = commit,
                                           .commit_all = commit_all,
                                           .abandon = deposit_end,
                                           .state = state,
                                           .commit_state = commit_state,
                                           .known = known,
                                           .forget = forget,
                                           .seen = seen,
                                           .note_seen = note_seen,
                                           .stopping = stopping,
                                           .alive = alive,
                                           .size_most = size_most,
                                           .call = deposit_call_of,
                                           .complain = complain };
