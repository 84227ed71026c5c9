/* handover.c - a claimed job is handed over to another node, and taken from one.
 *
 * The problem.  A node that only schedules passes what it claims to a farm of nodes behind one
 * address. Each answer takes time, may get lost, and may come when nobody waits for it any more;
 * yet of the two nodes exactly one must have the job.
 *
 * The method.  The request names job and claim, and nothing else: all else is in the store that
 * both share.  The node that gets it takes the claim over under a new number in a commit
 * (job_take_over()), and answers 202 after that.  Who handed it over waits HANDOVER_US; without a
 * 202 it gives its own claim back.  The commits decide: of the claim's old number there is one
 * taker, the other node or the give-back, and whoever is late changes nothing and answers 409.
 *
 *     handed over    all at once, over the transfer thread; each occupies a slot until it is known
 *                    what became of it
 *     taken          a slot is reserved before the commit, so that no job waits behind others, and
 *                    a kind that this node does not run is refused; the scheduler plans and
 *                    begins it as one that it has claimed itself
 *
 * Threads: jobs_take() from any that may block; answers come on the transfer thread; all else on
 * the scheduler.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "core/config.h"
#include "core/settings.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "engine/transfer/transfer.h"
#include "engine/upkeep/controls.h"
#include "job/book.h"
#include "job/state.h"
#include "store/kernel/node.h"
#include "store/people/secret.h"

#define HANDOVER_US       (5 * CLOCK_S) /* for the 202 */
#define HANDOVER_AGAIN_US CLOCK_S       /* until it is claimed again */

enum {
    HANDOVER_ARENA = 64 << 10,
    SECRET_ARENA = 4 << 20,
    TAKEN_ARENA = 4 << 20,
    KEY_MOST = 4096,
    HTTP_ACCEPTED = 202
};

/* The farm that this node hands over to. */
struct farm {
    struct http_out_options options;
    struct str url;
    struct arena arena;
    struct buf authorization; /* empty: the key is not known */
    int64_t read_us;          /* the key; monotonic; 0: never */
    bool refused;             /* the key is to be read again */
};

struct handover {
    struct handover *next; /* in jobs.handed */
    _Atomic unsigned refs; /* the scheduler, and the transfer */
    struct jobs *jobs;
    struct arena arena;
    struct job_claim claim; /* of its texts only the name */
    int64_t until_us;       /* monotonic */
    struct facts facts;
    struct sending sending;
    struct http_out_request request;
    struct transfer transfer;

    /* under jobs.mutex */
    bool answered;
    int64_t status; /* 0: none */
    char why[200];
};

struct taken {
    struct taken *next; /* in jobs.taken */
    struct arena arena;
    struct job_claim claim;
    struct book *book; /* by which it was claimed: a reference */
};

/* ---- the farm ---- */

void handover_start(struct jobs *j)
{
    if (j->node->hand_over == NULL)
        return;
    struct farm *f = NEW(struct farm);
    struct str base = str_of(j->node->hand_over);

    while (base.len > 0 && base.ptr[base.len - 1] == '/')
        base.len--;
    *f = (struct farm){
        .arena = ARENA_INIT(HANDOVER_ARENA),
        .authorization = BUF_INIT(KEY_MOST + 16),
        .options = { .timeout_us = HANDOVER_US, .connect_timeout_us = HANDOVER_US, .verify = true }
    };
    f->url = str_of(arena_printf(&f->arena, "%.*s/work/run", STR_ARG(base)));
    j->farm = f;
}

static bool handover_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                            struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

static bool handover_read_key(struct jobs *j, struct buf *to, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(SECRET_ARENA);
    const struct yaml_node value = { .kind = YAML_SCALAR, .text = str_of(j->node->hand_over_key) };
    const struct settings s = {
        .secret = handover_secret, .secret_arg = j->store, .reach = j->node, .arena = &arena
    };
    struct str key;

    if (!settings_expand(&s, &value, &key, err))
        return err_context(err, "`node.jobs.key`");
    if (key.len == 0 || key.len > KEY_MOST || str_has_control(key))
        return err_set(err, ERR_CONFIG, 0, "`node.jobs.key` is not a key");
    buf_clear(to);
    buf_printf(to, "Bearer %.*s", STR_ARG(key));
    return true;
}

/* The key may be added or changed while the node runs: one that is missing or was refused is read
 * again, now and then. */
static bool handover_find_key(struct jobs *j, struct farm *f, struct err *err)
{
    bool due = f->read_us == 0 || clock_mono_us() >= f->read_us + HANDOVER_AGAIN_US;

    if (due && (f->authorization.len == 0 || f->refused)) {
        f->read_us = clock_mono_us();
        f->refused = false;
        if (!handover_read_key(j, &f->authorization, err)) {
            buf_clear(&f->authorization);
            return false;
        }
    }
    return f->authorization.len > 0 || err_set(err, ERR_CONFIG, 0, "`node.jobs.key` is not known");
}

/* ---- one that is handed over ---- */

static void handover_unref(struct handover *h)
{
    if (atomic_fetch_sub(&h->refs, 1) > 1)
        return;
    arena_done(&h->arena);
    free(h);
}

/* On the transfer thread. */
static void handover_answered(struct transfer *t)
{
    struct handover *h = container_of(t, struct handover, transfer);
    const struct http_out_answer *a = &t->answer;
    struct jobs *j = h->jobs;

    (void)pthread_mutex_lock(&j->mutex);
    h->answered = true;
    h->status = a->reach == HTTP_OUT_ANSWERED ? a->status : 0;
    if (h->status != 0)
        (void)snprintf(h->why, sizeof h->why, "it answered %" PRId64, h->status);
    else
        (void)snprintf(h->why, sizeof h->why, "%s", a->failure != NULL ? a->failure : "not sent");
    j->asked = true;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->mutex);
    handover_unref(h);
}

static void handover_put_field(struct handover *h, struct str name, struct str value)
{
    h->request.fields[h->request.field_count++] = (struct http_out_field){ name, value };
}

static struct handover *handover_new(struct jobs *j, const struct job_claim *c)
{
    const struct farm *f = j->farm;
    struct handover *h = NEW(struct handover);

    *h = (struct handover){ .refs = 1,
                            .jobs = j,
                            .arena = ARENA_INIT(HANDOVER_ARENA),
                            .claim = { .task = c->task },
                            .until_us = clock_mono_us() + HANDOVER_US };
    h->claim.record.name = arena_copy(&h->arena, c->record.name);
    h->sending.facts = &h->facts;
    h->sending.bytes = str_of(arena_printf(&h->arena, "{\"job\":%" PRId64 ",\"claim\":%" PRId64 "}",
                                           c->task.id, c->task.claim));
    h->sending.size = (int64_t)h->sending.bytes.len;
    h->request.method = STR("POST");
    h->request.url = f->url;
    handover_put_field(h, STR("Content-Type"), STR("application/json"));
    handover_put_field(h, STR("Authorization"), arena_copy(&h->arena, buf_view(&f->authorization)));
    h->transfer = (struct transfer){ .options = &f->options,
                                     .request = &h->request,
                                     .sending = &h->sending,
                                     .done = handover_answered };
    return h;
}

bool handover_begin(struct jobs *j, const struct job_claim *c, struct err *err)
{
    if (!handover_find_key(j, j->farm, err))
        return false;
    struct handover *h = handover_new(j, c);

    atomic_fetch_add(&h->refs, 1);
    if (!road_transfer(j->road, &h->transfer)) {
        handover_unref(h);
        handover_unref(h);
        return err_set(err, ERR_TRANSIENT, 0, "the node stops");
    }
    h->next = j->handed;
    j->handed = h;
    (void)pthread_mutex_lock(&j->mutex);
    j->handed_count++;
    (void)pthread_mutex_unlock(&j->mutex);
    return true;
}

/* ---- what became of it ---- */

void handover_say_failed(struct jobs *j, struct str job, const char *why)
{
    int64_t more;

    mishaps_note(j->mishaps, "hand_over", "job", job, why);
    if (mishaps_may_say(j->mishaps, STR("hand_over"), 0, &more))
        log_event(LOG_WARN, "job.keep", kv_str("job", job), kv_z("why", why), kv_int("more", more),
                  kv_z("hint",
                       "The farm behind `node.jobs.hand_over` has not taken it: the claim is "
                       "given back."));
}

/* 202: it is the other node's.  Everything else leaves open who has it: the give-back decides. */
static void handover_over(struct handover *h, bool answered, int64_t status)
{
    struct jobs *j = h->jobs;
    char why[sizeof h->why] = "no answer within 5 s";

    if (status == HTTP_ACCEPTED) {
        log_event(LOG_DEBUG, "job.hand_over", kv_str("job", h->claim.record.name),
                  kv_int("claim", h->claim.task.claim),
                  kv_int("took_ms", (clock_mono_us() - h->until_us + HANDOVER_US) / CLOCK_MS));
        return;
    }
    if (answered)
        (void)snprintf(why, sizeof why, "%s", h->why);
    j->farm->refused = j->farm->refused || status == 401 || status == 403;
    if (scheduler_give_back(j, &h->claim, jobs_now_us(j) + HANDOVER_AGAIN_US, NULL))
        handover_say_failed(j, h->claim.record.name, why);
    else
        log_event(LOG_DEBUG, "job.hand_over", kv_str("job", h->claim.record.name),
                  kv_int("claim", h->claim.task.claim), kv_z("unseen", why));
}

int64_t handover_look(struct jobs *j, int64_t mono_us)
{
    int64_t next = INT64_MAX;
    struct handover **at = &j->handed, *h;

    while ((h = *at) != NULL) {
        (void)pthread_mutex_lock(&j->mutex);
        bool answered = h->answered;
        int64_t status = h->status;

        (void)pthread_mutex_unlock(&j->mutex);
        if (!answered && mono_us < h->until_us) {
            next = h->until_us < next ? h->until_us : next;
            at = &h->next;
            continue;
        }
        *at = h->next;
        handover_over(h, answered, status);
        (void)pthread_mutex_lock(&j->mutex);
        j->handed_count--;
        if (j->due != 0) /* a slot is free */
            j->asked = true;
        (void)pthread_cond_broadcast(&j->rested);
        (void)pthread_mutex_unlock(&j->mutex);
        handover_unref(h);
    }
    return next;
}

/* ---- taken from another node ---- */

/* A slot, for a job that is not known yet.  False: none is free. */
static bool handover_reserve(struct jobs *j)
{
    bool rests = controls_jobs_rest(j->controls) || !node_may_act(j->store);

    (void)pthread_mutex_lock(&j->mutex);
    bool free = !rests && jobs_free_slots(j) > 0;

    if (free)
        j->taking++;
    (void)pthread_mutex_unlock(&j->mutex);
    return free;
}

/* The slot is not reserved any more. */
static void handover_release(struct jobs *j)
{
    (void)pthread_mutex_lock(&j->mutex);
    j->taking--;
    if (j->due != 0) {
        j->asked = true;
        (void)pthread_cond_signal(&j->wake);
    }
    (void)pthread_cond_broadcast(&j->rested);
    (void)pthread_mutex_unlock(&j->mutex);
}

static void handover_free_taken(struct taken *t)
{
    book_unref(t->book);
    arena_done(&t->arena);
    free(t);
}

/* Whether this node runs its kind.  A job that is not there is found to be so by the commit. */
static bool handover_fits(struct jobs *j, int64_t job, bool *ret, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(TAKEN_ARENA);
    struct job_record r;
    size_t n = 0;

    *ret = true;
    if (j->node->job_kinds.count == 0)
        return true;
    if (!job_list(j->store, job - 1, 1, &arena, &r, &n, err))
        return false;
    *ret = n == 0 || r.num != job || scheduler_has_kind(j, r.kind);
    return true;
}

/* A slot is reserved for it. */
static bool handover_take(struct jobs *j, int64_t job, int64_t claim, enum jobs_taken *ret,
                          struct err *err)
{
    bool fits, ours = false;

    if (!handover_fits(j, job, &fits, err))
        return false;
    *ret = JOBS_TAKEN_KIND;
    if (!fits)
        return true;
    struct taken *t = NEW(struct taken);

    *t = (struct taken){ .arena = ARENA_INIT(TAKEN_ARENA), .book = jobs_book(j) };
    const struct job_lease lease = scheduler_lease(j, t->book);
    bool ok = job_take_over(j->store, job, claim, &lease, &t->arena, &t->claim, &ours, err);

    if (!ok || !ours) {
        handover_free_taken(t);
        if (ok)
            log_event(LOG_INFO, "job.late", kv_int("number", job), kv_int("claim", claim),
                      kv_z("hint",
                           "It was handed over to this node too late: whoever did so has "
                           "given it back, or another node has taken it.  Nothing is done."));
        *ret = JOBS_TAKEN_LATE;
        return ok;
    }
    (void)pthread_mutex_lock(&j->mutex);
    t->next = j->taken;
    j->taken = t;
    j->asked = true;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->mutex);
    *ret = JOBS_TAKEN;
    return true;
}

bool jobs_take(struct jobs *j, int64_t job, int64_t claim, enum jobs_taken *ret, struct err *err)
{
    *ret = JOBS_TAKEN_BUSY;
    if (!handover_reserve(j))
        return true;
    bool ok = handover_take(j, job, claim, ret, err);

    if (!ok || *ret != JOBS_TAKEN)
        handover_release(j);
    return ok;
}

static struct taken *handover_next_taken(struct jobs *j)
{
    (void)pthread_mutex_lock(&j->mutex);
    struct taken *t = j->taken;

    if (t != NULL)
        j->taken = t->next;
    (void)pthread_mutex_unlock(&j->mutex);
    return t;
}

void handover_run_taken(struct jobs *j)
{
    for (struct taken *t; (t = handover_next_taken(j)) != NULL;) {
        scheduler_take(j, t->book, &t->claim, true);
        handover_release(j);
        handover_free_taken(t);
    }
}

/* ---- life ---- */

/* Claims that are still handed over, or were just taken, are taken over from this node. */
void handover_free(struct jobs *j)
{
    for (struct taken *t; (t = handover_next_taken(j)) != NULL;)
        handover_free_taken(t);
    for (struct handover *h = j->handed, *next; h != NULL; h = next) {
        next = h->next;
        handover_unref(h);
    }
    if (j->farm == NULL)
        return;
    arena_done(&j->farm->arena);
    buf_done(&j->farm->authorization);
    free(j->farm);
}
