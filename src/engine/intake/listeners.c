#include "engine/intake/listeners.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/require.h"
#include "core/connector.h"
#include "engine/intake/listened.h"
#include "engine/tally/mishaps.h"
#include "store/govern/failing.h"
#include "store/store.h"

enum {
    GRACE_MS = 5000,          /* for messages under way, when a port is closed */
    STOP_GRACE_MS = 20000,    /* ... when the node stops */
    AGAIN_FIRST_US = CLOCK_S, /* from one try to open a port to the next; it doubles */
    AGAIN_MOST_US = 30 * CLOCK_S,
    REBIND_TRIES = 50, /* while our own socket on the same port is being closed */
    REBIND_US = 10 * CLOCK_MS,
    REFUSALS_US = 60 * CLOCK_S, /* between two log lines about refused connections */
};

/* A gateway that listens, or should. */
struct listener {
    struct listener *next;
    char name[80], labels[128];
    int64_t word;                 /* name id; 0: not known yet */
    bool wanted;                  /* the configuration has it */
    struct stream_server *server; /* NULL: its port is not open */
    struct units_address address; /* of the server */
    const struct stream_handler *handler;
    struct sha256 settings; /* digest of what its policy was made of */
    struct listened fresh;  /* what the configuration wants, while it is looked at */
    char error[200];        /* why it does not listen; "": it does */
    int64_t due_us, wait_us;
    uint64_t refused_seen, refused_told;
    int64_t refused_at_us;
    struct metric connections, refused;
};

/* A server whose last connections end. */
struct leaver {
    struct leaver *next;
    struct stream_server *server;
};

struct listeners {
    struct listeners_options o;
    pthread_mutex_t mutex;
    bool running;
    struct config *config; /* in force */
    struct listener *list;
    struct leaver *leavers;
};

/* ---- one listener ---- */

static struct listener *listeners_find(struct listeners *l, const char *name)
{
    struct listener *one = l->list;

    while (one != NULL && strcmp(one->name, name) != 0)
        one = one->next;
    if (one != NULL)
        return one;
    one = NEW(struct listener);
    (void)snprintf(one->name, sizeof one->name, "%s", name);
    (void)snprintf(one->labels, sizeof one->labels, "gateway=\"%s\"", one->name);
    one->connections = (struct metric){ .name = "waybill_gateway_connections",
                                        .help = "Connections to a gateway's own port.",
                                        .labels = one->labels,
                                        .type = METRIC_GAUGE };
    one->refused = (struct metric){ .name = "waybill_gateway_connections_refused_total",
                                    .help = "Connections that were refused or cut off.",
                                    .labels = one->labels };
    metrics_register(&one->connections);
    metrics_register(&one->refused);
    one->next = l->list;
    l->list = one;
    return one;
}

static void listener_free(struct listener *one)
{
    metrics_forget(&one->connections);
    metrics_forget(&one->refused);
    listened_done(&one->fresh);
    free(one);
}

static bool learn_word(struct listeners *l, struct listener *one)
{
    return one->word != 0 || name_find(l->o.store, NAME_GATEWAY, str_of(one->name), &one->word);
}

/* The first failure is logged, and each other reason; a store that fails does not matter here: it
 * is told elsewhere. */
static void listener_fails(struct listeners *l, struct listener *one, const struct err *why)
{
    bool told = strcmp(one->error, why->text) == 0;
    struct err ignored = { 0 };

    one->wait_us = one->error[0] == '\0'              ? AGAIN_FIRST_US
                   : one->wait_us * 2 < AGAIN_MOST_US ? one->wait_us * 2
                                                      : AGAIN_MOST_US;
    one->due_us = clock_mono_us() + one->wait_us;
    (void)snprintf(one->error, sizeof one->error, "%s", why->text);
    mishaps_note(l->o.mishaps, "gateway_failing", "gateway", str_of(one->name), why->text);
    if (told)
        return;
    if (learn_word(l, one))
        (void)failing_put(l->o.store, one->word, str_of(one->error), &ignored);
    log_event(LOG_WARN, "gateway.fail", kv_z("gateway", one->name), kv_z("why", why->text),
              kv_z("where", why->where != NULL ? why->where : ""));
}

static void listener_works(struct listeners *l, struct listener *one)
{
    struct err ignored = { 0 };

    if (one->error[0] == '\0')
        return;
    one->error[0] = '\0';
    if (learn_word(l, one))
        (void)failing_drop(l->o.store, one->word, &ignored);
    log_event(LOG_INFO, "gateway.recover", kv_z("gateway", one->name), kv_int("failures", 1));
}

/* ---- ports ---- */

static bool is_same_address(const struct units_address *a, const struct units_address *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static void say_listens(const struct listener *one, bool tls)
{
    char address[UNITS_HOST_MOST + 16];
    bool six = strchr(one->address.host, ':') != NULL;

    (void)snprintf(address, sizeof address, "%s%s%s:%u", six ? "[" : "", one->address.host,
                   six ? "]" : "", stream_server_port(one->server));
    log_event(LOG_INFO, "gateway.listen", kv_z("gateway", one->name), kv_z("address", address),
              kv_bool("tls", tls));
}

/* Nobody waits for the last connections: listeners_look() does. */
static void close_port(struct listeners *l, struct listener *one, uint32_t grace_ms)
{
    struct leaver *out = NEW(struct leaver);

    log_event(LOG_INFO, "gateway.close", kv_z("gateway", one->name));
    stream_server_close(one->server, grace_ms);
    *out = (struct leaver){ .next = l->leavers, .server = one->server };
    l->leavers = out;
    one->server = NULL;
}

/* Its port is not the one that the configuration wants from it. */
static bool is_loose(const struct listener *one)
{
    return one->server != NULL &&
           (!one->wanted ||
            (one->fresh.policy != NULL && !is_same_address(&one->address, &one->fresh.address)));
}

/* A gateway that was renamed, or two that change their ports: the socket stays open. */
static bool take_over(struct listeners *l, struct listener *one)
{
    for (struct listener *from = l->list; from != NULL; from = from->next) {
        if (from == one || !is_loose(from) || from->handler != one->fresh.handler ||
            !is_same_address(&from->address, &one->fresh.address))
            continue;
        struct stream_server *mine = one->server;
        struct units_address address = one->address;

        one->server = from->server;
        one->address = from->address;
        one->handler = from->handler;
        from->server = mine;
        from->address = address;
        from->settings = one->settings; /* of the policy that this server has */
        return true;
    }
    return false;
}

static bool open_port(struct listeners *l, struct listener *one, struct err *err)
{
    struct stream_server_options o = { .host = one->fresh.address.host,
                                       .port = one->fresh.address.port,
                                       .handler = one->fresh.handler,
                                       .loops = l->o.loops,
                                       .loop_count = l->o.loop_count,
                                       .limits = STREAM_LIMITS_DEFAULT };
    struct stream_server *server;
    int tries = 0;
    bool ok, again;

    /* Our own socket on another address of the same port may be in the way. */
    for (struct listener *other = l->list; other != NULL; other = other->next)
        if (is_loose(other) && listened_collide(&other->address, &one->fresh.address))
            close_port(l, other, GRACE_MS);
    do {
        *err = (struct err){ 0 };
        atomic_fetch_add(&one->fresh.policy->refs, 1);
        ok = stream_server_open(&o, one->fresh.policy, &server, err);
        again = !ok && err->sys == EADDRINUSE && l->leavers != NULL && ++tries < REBIND_TRIES;
        if (again)
            clock_sleep_us(REBIND_US);
    } while (again);
    if (!ok) {
        listened_explain(&one->fresh.address, err);
        return false;
    }
    if (one->server != NULL)
        close_port(l, one, GRACE_MS);
    one->server = server;
    one->address = one->fresh.address;
    one->handler = one->fresh.handler;
    return true;
}

/* Brings one gateway to what the configuration wants; what it has stays when that fails. */
static void settle_listener(struct listeners *l, struct listener *one)
{
    bool has = one->server != NULL && is_same_address(&one->address, &one->fresh.address);
    struct err err = { 0 };

    if (one->fresh.policy == NULL)
        return; /* its options could not be read */
    if (has || take_over(l, one)) {
        if (!has || !digest_same(&one->settings, &one->fresh.digest)) {
            atomic_fetch_add(&one->fresh.policy->refs, 1);
            stream_server_use(one->server, one->fresh.policy);
            say_listens(one, one->fresh.tls);
        }
    } else if (open_port(l, one, &err)) {
        say_listens(one, one->fresh.tls);
    } else {
        listener_fails(l, one, &err);
        return;
    }
    one->settings = one->fresh.digest;
    listener_works(l, one);
}

/* With the mutex held: everything as the configuration in force wants it. */
static void listeners_settle(struct listeners *l)
{
    const struct config *c = l->config;

    for (struct listener *one = l->list; one != NULL; one = one->next)
        one->wanted = false;
    for (size_t i = 0; i < c->gateway_count; i++) {
        if (!listened_is_for(&l->o, &c->gateways[i]))
            continue;
        struct listener *one = listeners_find(l, c->gateways[i].name);
        struct err err = { 0 };

        one->wanted = true;
        if (!listened_read(&l->o, c, &c->gateways[i], &one->fresh, &err))
            listener_fails(l, one, &err);
    }
    for (struct listener *one = l->list; one != NULL; one = one->next)
        if (one->wanted)
            settle_listener(l, one);
    for (struct listener *one = l->list; one != NULL; one = one->next) {
        if (!one->wanted && one->server != NULL)
            close_port(l, one, GRACE_MS);
        if (!one->wanted)
            listener_works(l, one); /* what is not wanted does not fail */
        listened_done(&one->fresh);
    }
}

/* ---- life ---- */

struct listeners *listeners_new(const struct listeners_options *options)
{
    struct listeners *l = NEW(struct listeners);

    l->o = *options;
    (void)pthread_mutex_init(&l->mutex, NULL);
    return l;
}

void listeners_use(struct listeners *l, struct config *config)
{
    (void)pthread_mutex_lock(&l->mutex);
    config_unref(l->config);
    l->config = config_ref(config);
    if (l->running)
        listeners_settle(l);
    (void)pthread_mutex_unlock(&l->mutex);
}

void listeners_run(struct listeners *l)
{
    (void)pthread_mutex_lock(&l->mutex);
    l->running = true;
    listeners_settle(l);
    (void)pthread_mutex_unlock(&l->mutex);
}

void listeners_renew(struct listeners *l)
{
    (void)pthread_mutex_lock(&l->mutex);
    if (l->running)
        listeners_settle(l);
    (void)pthread_mutex_unlock(&l->mutex);
}

void listeners_stop(struct listeners *l)
{
    if (l == NULL)
        return;
    (void)pthread_mutex_lock(&l->mutex);
    l->running = false;
    for (struct listener *one = l->list; one != NULL; one = one->next)
        if (one->server != NULL)
            close_port(l, one, STOP_GRACE_MS);
    while (l->leavers != NULL) {
        struct leaver *out = l->leavers;

        l->leavers = out->next;
        stream_server_free(out->server);
        free(out);
    }
    (void)pthread_mutex_unlock(&l->mutex);
}

void listeners_free(struct listeners *l)
{
    if (l == NULL)
        return;
    require(l->leavers == NULL);
    while (l->list != NULL) {
        struct listener *one = l->list;

        l->list = one->next;
        listener_free(one);
    }
    config_unref(l->config);
    free(l);
}

/* ---- looking ---- */

static void free_closed(struct listeners *l)
{
    for (struct leaver **at = &l->leavers; *at != NULL;) {
        struct leaver *out = *at;

        if (!stream_server_is_closed(out->server)) {
            at = &out->next;
            continue;
        }
        *at = out->next;
        stream_server_free(out->server);
        free(out);
    }
}

/* Who is refused without a word would not know why: one line a minute names the last one. */
static void tell_refused_connections(struct listener *one, const struct stream_stats *stats)
{
    char address[NETWORK_ADDRESS_TEXT];
    int64_t now = clock_mono_us();

    if (stats->refused_all <= one->refused_told ||
        (one->refused_at_us != 0 && now - one->refused_at_us < REFUSALS_US))
        return;
    log_event(LOG_WARN, "gateway.refuse", kv_z("gateway", one->name),
              kv_z("address", network_address_text(&stats->from, address)),
              kv_z("why", stream_refusal_name(stats->why)),
              kv_int("count", (int64_t)(stats->refused_all - one->refused_told)));
    one->refused_told = stats->refused_all;
    one->refused_at_us = now;
}

static void look_at_server(struct listener *one)
{
    struct stream_stats stats = { 0 };

    if (one->server != NULL)
        stream_server_stats(one->server, &stats);
    metric_set(&one->connections, (int64_t)stats.open);
    if (stats.refused_all < one->refused_seen) /* another server */
        one->refused_seen = one->refused_told = 0;
    metric_add(&one->refused, (int64_t)(stats.refused_all - one->refused_seen));
    one->refused_seen = stats.refused_all;
    tell_refused_connections(one, &stats);
}

void listeners_look(struct listeners *l)
{
    int64_t now = clock_mono_us();
    bool due = false;

    (void)pthread_mutex_lock(&l->mutex);
    free_closed(l);
    for (struct listener *one = l->list; one != NULL; one = one->next) {
        look_at_server(one);
        due = due || (one->error[0] != '\0' && one->wanted && one->due_us <= now);
    }
    if (due && l->running)
        listeners_settle(l);
    (void)pthread_mutex_unlock(&l->mutex);
}

void listeners_why(struct listeners *l, struct str gateway, struct buf *to)
{
    (void)pthread_mutex_lock(&l->mutex);
    for (const struct listener *one = l->list; one != NULL; one = one->next)
        if (one->wanted && one->error[0] != '\0' && str_is(gateway, one->name))
            buf_puts(to, one->error);
    (void)pthread_mutex_unlock(&l->mutex);
}

void listeners_troubles(struct listeners *l, struct buf *to)
{
    (void)pthread_mutex_lock(&l->mutex);
    for (const struct listener *one = l->list; one != NULL; one = one->next)
        if (one->wanted && one->error[0] != '\0' && to->len + 500 < to->cap)
            buf_printf(to, "gateway %s does not listen: %s\n", one->name, one->error);
    (void)pthread_mutex_unlock(&l->mutex);
}

/* ---- trying ---- */

/* With the mutex held: this node has the port already, and would move the socket or close it. */
static bool is_own_port(const struct listeners *l, const struct units_address *a)
{
    for (const struct listener *one = l->list; one != NULL; one = one->next)
        if (one->server != NULL &&
            (is_same_address(&one->address, a) || listened_collide(&one->address, a)))
            return true;
    return false;
}

/* Two gateways of one configuration with the same port: the first one has it. */
static bool collides_before(const struct config *c, const struct listened *all, size_t n,
                            struct problem_list *problems)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].policy != NULL && listened_collide(&all[i].address, &all[n].address)) {
            problem_add(problems, c->gateways[n].place, "give it a port of its own",
                        "gateway `%s` listens on port %u, as `%s` does", c->gateways[n].name,
                        all[n].address.port, c->gateways[i].name);
            return true;
        }
    return false;
}

void listeners_try(struct listeners *l, struct config *config, struct problem_list *problems)
{
    struct listened *all = xcalloc(config->gateway_count + 1, sizeof *all);

    (void)pthread_mutex_lock(&l->mutex);
    for (size_t i = 0; i < config->gateway_count; i++) {
        const struct config_gateway *g = &config->gateways[i];
        struct err err = { 0 };

        if (!listened_is_for(&l->o, g))
            continue;
        bool ok = listened_read(&l->o, config, g, &all[i], &err);

        if (ok && !collides_before(config, all, i, problems) && !is_own_port(l, &all[i].address)) {
            ok = stream_server_try(all[i].address.host, all[i].address.port, &err);
            if (!ok)
                listened_explain(&all[i].address, &err);
        }
        if (!ok && err.kind == ERR_CONFIG)
            problem_add(problems, g->place, NULL, "gateway `%s`: %s", g->name, err.text);
    }
    (void)pthread_mutex_unlock(&l->mutex);
    for (size_t i = 0; i < config->gateway_count; i++)
        listened_done(&all[i]);
    free(all);
}
