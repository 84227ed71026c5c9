#include "engine/intake/intake.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/memory_share.h"
#include "base/require.h"
#include "core/connector.h"
#include "engine/intake/arrival.h"
#include "engine/intake/login_limit.h"
#include "engine/intake/replies.h"
#include "engine/intake/served.h"
#include "engine/road/road.h"
#include "store/people/caller.h"
#include "store/store.h"

/* When the node stops, requests that wait for receivers get this long: most receivers answer within
 * it, and the grace of the connections is longer. */
#define STOP_REPLIES_US (INT64_C(3) * CLOCK_S)

/* ---- the table ---- */

static struct intake_gateway_state *intake_state_of(struct intake *in, const char *name)
{
    struct intake_gateway_state *s = in->states;

    while (s != NULL && !str_is(str_of(s->name), name))
        s = s->next;
    if (s != NULL)
        return s;
    s = NEW(struct intake_gateway_state);
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    (void)snprintf(s->labels, sizeof s->labels, "gateway=\"%s\"", name);
    s->accepted = (struct metric){ .name = "waybill_documents_accepted_total",
                                   .help = "Documents stored and acknowledged.",
                                   .labels = s->labels };
    s->repeated = (struct metric){ .name = "waybill_documents_repeated_total",
                                   .help = "Requests answered by an earlier one with the same key.",
                                   .labels = s->labels };
    s->refused = (struct metric){ .name = "waybill_documents_refused_total",
                                  .help = "Requests to a gateway that were refused.",
                                  .labels = s->labels };
    metrics_register(&s->accepted);
    metrics_register(&s->repeated);
    metrics_register(&s->refused);
    s->next = in->states;
    in->states = s;
    return s;
}

static bool fill_gateways(struct intake *in, struct intake_table *t, struct err *err)
{
    const struct config *c = t->config;

    t->gateways = ARENA_ARRAY(&t->arena, struct intake_gateway, c->gateway_count);
    for (size_t i = 0; i < c->gateway_count; i++) {
        struct intake_gateway *g = &t->gateways[t->gateway_count];

        g->type = connector_gateway(in->options.connectors, str_of(c->gateways[i].kind));
        if (g->type == NULL || (g->type->path == NULL && g->type->stream == NULL))
            continue; /* it polls (poller.h), or this build does not have its kind */
        g->config = &c->gateways[i];
        g->here = g->config->area == CONFIG_ANYWHERE || g->config->area == in->options.area;
        g->state = intake_state_of(in, g->config->name);
        if (!name_add(in->options.store, NAME_GATEWAY, str_of(g->config->name), &g->word, err))
            return false;
        t->gateway_count++;
        if (!served_make(in->options.store, t, g, err))
            return false;
    }
    return true;
}

static bool fill_networks(struct intake_table *t, struct intake_caller *c, struct str texts,
                          struct err *err)
{
    struct network *list =
        texts.len > 0 ? ARENA_ARRAY(&t->arena, struct network, CALLER_NETWORKS_MOST) : NULL;
    struct str one;

    c->networks = list;
    while (texts.len > 0 && c->network_count < CALLER_NETWORKS_MOST) {
        texts = str_cut(texts, ' ', &one);
        if (!network_parse(one, &list[c->network_count++], err))
            return false;
    }
    return true;
}

static bool fill_callers(struct intake *in, struct intake_table *t, struct err *err)
{
    struct caller *all;
    size_t n;

    if (!caller_list(in->options.store, &t->arena, &all, &n, err))
        return false;
    t->callers = ARENA_ARRAY(&t->arena, struct intake_caller, n);
    t->caller_count = n;
    struct caller_use *uses = ARENA_ARRAY(&t->arena, struct caller_use, n);

    for (size_t i = 0; i < n; i++) {
        t->callers[i] = (struct intake_caller){ .name = all[i].name,
                                                .id = all[i].id,
                                                .gateway = all[i].gateway,
                                                .secret = all[i].secret,
                                                .systems = all[i].systems,
                                                .expires_us = all[i].expires_us,
                                                .use = &uses[i] };
        atomic_init(&uses[i].used_us, all[i].used_us);
        atomic_init(&uses[i].noted_us, all[i].used_us);
        if (!fill_networks(t, &t->callers[i], all[i].networks, err))
            return err_context(err, "key %.*s", STR_ARG(all[i].name));
    }
    return true;
}

bool intake_use(struct intake *in, struct config *config, int64_t version, struct err *err)
{
    struct intake_table *t = NEW(struct intake_table), *old;

    t->refs = 1;
    t->config = config_ref(config);
    t->version = version;
    t->admin_token = in->options.admin_token;
    t->arena = (struct arena)ARENA_INIT(256 << 20);
    if (!fill_gateways(in, t, err) || !fill_callers(in, t, err)) {
        intake_table_unref(t);
        return false;
    }
    intake_table_sort(t);
    (void)pthread_rwlock_wrlock(&in->table_lock);
    old = in->table;
    in->table = t;
    if (old != NULL)
        intake_table_carry(t, old);
    (void)pthread_rwlock_unlock(&in->table_lock);
    intake_table_unref(old);
    return true;
}

/* ---- last uses of keys ---- */

#define NOTE_US (INT64_C(60) * CLOCK_S)

static int uses_by_id(const void *a, const void *b)
{
    const struct caller_used *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* Finds uses that are newer than the store has them by a minute; all of them with `all`. */
static size_t take_uses(struct intake_table *t, bool all, struct caller_used *ret)
{
    int64_t now = clock_wall_us();
    size_t n = 0;

    for (size_t i = 0; i < t->caller_count; i++) {
        struct caller_use *u = t->callers[i].use;

        if (atomic_load_explicit(&u->lately, memory_order_relaxed) &&
            atomic_exchange(&u->lately, false))
            atomic_store(&u->used_us, now);
        int64_t used = atomic_load(&u->used_us);

        if (n == CALLER_USES_MOST || used - atomic_load(&u->noted_us) < (all ? 1 : NOTE_US))
            continue;
        atomic_store(&u->noted_us, used);
        ret[n++] = (struct caller_used){ .id = t->callers[i].id, .used_us = used };
    }
    if (n > 0) /* all nodes lock the rows in one order */
        qsort(ret, n, sizeof *ret, uses_by_id);
    return n;
}

bool intake_note_uses(struct intake *in, bool all, struct err *err)
{
    struct caller_used uses[CALLER_USES_MOST];
    size_t n;
    bool ok;

    if (intake_version(in) == 0)
        return true; /* the node never got as far as a configuration */
    struct intake_table *t = intake_port.table(in);

    do {
        n = take_uses(t, all, uses);
        ok = caller_use(in->options.store, uses, n, err);
    } while (ok && n == CALLER_USES_MOST);
    intake_port.release(t);
    return ok;
}

int64_t intake_version(struct intake *in)
{
    (void)pthread_rwlock_rdlock(&in->table_lock);
    int64_t version = in->table != NULL ? in->table->version : 0;

    (void)pthread_rwlock_unlock(&in->table_lock);
    return version;
}

void intake_why(struct intake *in, struct str gateway, struct buf *to)
{
    (void)pthread_rwlock_rdlock(&in->table_lock);
    const struct intake_gateway *g = in->table != NULL ? intake_find(in->table, gateway) : NULL;

    if (g != NULL && g->broken != NULL)
        buf_puts(to, g->broken);
    (void)pthread_rwlock_unlock(&in->table_lock);
}

/* ---- admission ---- */

void intake_note_disk(struct intake *in, int64_t free_bytes)
{
    atomic_store(&in->free_disk, free_bytes);
}

void intake_note_store(struct intake *in, const char *why_not, bool space)
{
    atomic_store(&in->store_full, space);
    atomic_store(&in->store_why_not, why_not);
}

void intake_note_paused(struct intake *in, bool paused)
{
    atomic_store(&in->paused, paused);
}

void intake_note_stopping(struct intake *in)
{
    atomic_store(&in->stopping, true);
    replies_hurry(in->replies, STOP_REPLIES_US);
}

const char *intake_shut_why(struct intake *in, bool *ret_space)
{
    const char *why = atomic_load(&in->store_why_not);

    *ret_space = false;
    if (atomic_load(&in->stopping))
        return "the node is stopping";
    if (why != NULL) {
        *ret_space = atomic_load(&in->store_full);
        return why;
    }
    *ret_space = atomic_load(&in->free_disk) < in->options.disk_reserve_bytes;
    return !*ret_space ? NULL
           : atomic_load(&in->free_disk) < 0
               ? "the disk is full"
               : "the disk has less space left than node.limits.disk_reserve";
}

const char *intake_closed_why(struct intake *in)
{
    bool space;

    if (atomic_load(&in->paused) && !atomic_load(&in->stopping))
        return "intake is paused on this node";
    return intake_shut_why(in, &space);
}

/* ---- life ---- */

struct hook_msg {
    struct loop_msg msg;
    struct intake_loop *lane;
    bool on;
};

static void hook_up(struct loop_msg *msg)
{
    struct hook_msg *m = container_of(msg, struct hook_msg, msg);

    if (m->on) {
        (void)uv_timer_init(loop_uv(m->lane->loop), &m->lane->timer);
        loop_at_round_end(m->lane->loop, &m->lane->hook);
    } else {
        loop_unhook(m->lane->loop, &m->lane->hook);
        uv_close((uv_handle_t *)&m->lane->timer, NULL);
    }
    free(m);
}

static void post_hook(struct intake_loop *lane, bool on)
{
    struct hook_msg *m = NEW(struct hook_msg);

    *m = (struct hook_msg){ .msg = { .fn = hook_up }, .lane = lane, .on = on };
    loop_post(lane->loop, &m->msg);
}

static int64_t read_bytes(void *arg)
{
    return atomic_load(&((struct intake *)arg)->options.memory->bodies);
}

static int64_t read_heads(void *arg)
{
    return atomic_load(&((struct intake *)arg)->options.memory->heads);
}

static int64_t read_commits(void *arg)
{
    return atomic_load(&((struct intake *)arg)->commits);
}

static struct metric bytes_metric = { .name = "waybill_intake_bytes",
                                      .help = "Memory reserved for bodies on their way in.",
                                      .type = METRIC_GAUGE,
                                      .read = read_bytes };
static struct metric heads_metric = {
    .name = "waybill_intake_head_bytes",
    .help = "Memory of heads of requests, and of bytes that wait behind them.",
    .type = METRIC_GAUGE,
    .read = read_heads
};
static struct metric commits_metric = { .name = "waybill_intake_committing",
                                        .help = "Documents that wait for their commit.",
                                        .type = METRIC_GAUGE,
                                        .read = read_commits };

/* On a thread of the road. */
static void intake_settled(void *arg, int64_t num)
{
    replies_told(((struct intake *)arg)->replies, num);
}

struct intake *intake_new(const struct intake_options *options)
{
    struct intake *in = NEW(struct intake);

    in->options = *options;
    in->free_disk = INT64_MAX;
    in->logins = login_limit_new();
    in->replies = replies_new(options->store, options->replies);
    road_watch_callers(options->road, intake_settled, in);
    (void)pthread_rwlock_init(&in->table_lock, NULL);
    in->lanes = xcalloc(options->loop_count, sizeof *in->lanes);
    for (size_t i = 0; i < options->loop_count; i++) {
        in->lanes[i] = (struct intake_loop){ .intake = in,
                                             .loop = options->loops[i],
                                             .hook = { .fn = arrival_hand_over } };
        post_hook(&in->lanes[i], true);
    }
    bytes_metric.arg = heads_metric.arg = commits_metric.arg = in;
    metrics_register(&bytes_metric);
    metrics_register(&heads_metric);
    metrics_register(&commits_metric);
    return in;
}

static void free_lane(struct intake_loop *lane)
{
    for (struct arrival *a = lane->idle, *next; a != NULL; a = next) {
        next = a->next_idle;
        buf_done(&a->body);
        buf_done(&a->texts);
        free(a);
    }
}

bool intake_is_empty(struct intake *in)
{
    return atomic_load(&in->open) == 0;
}

void intake_stop(struct intake *in)
{
    intake_note_stopping(in);
    while (!intake_is_empty(in))
        clock_sleep_us(1000);
    replies_stop(in->replies);
    for (size_t i = 0; i < in->options.loop_count; i++)
        post_hook(&in->lanes[i], false);
}

void intake_free(struct intake *in)
{
    if (in == NULL)
        return;
    metrics_forget(&bytes_metric);
    metrics_forget(&heads_metric);
    metrics_forget(&commits_metric);
    for (struct intake_gateway_state *s = in->states, *next; s != NULL; s = next) {
        next = s->next;
        metrics_forget(&s->accepted);
        metrics_forget(&s->repeated);
        metrics_forget(&s->refused);
        free(s);
    }
    intake_table_unref(in->table);
    for (size_t i = 0; i < in->options.loop_count; i++)
        free_lane(&in->lanes[i]);
    free(in->lanes);
    login_limit_free(in->logins);
    replies_free(in->replies);
    free(in);
}
