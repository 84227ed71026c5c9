#include "engine/probes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/dial.h"
#include "base/egress.h"
#include "base/require.h"
#include "base/tls.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/probing/probing_folder.h"
#include "core/probing/probing_net.h"
#include "engine/plan/folders.h"
#include "engine/plan/plan.h"
#include "engine/threads/crew.h"
#include "store/people/secret.h"

enum {
    LOST_MOST = 8,
    ARENA_MOST = 8 << 20,
    SPARE_US = 3 * CLOCK_S, /* for one that ends by itself */
    DIAL_US = 3 * CLOCK_S,
    STOP_US = CLOCK_S, /* for probes when the node stops */
};

struct probes {
    struct probes_options o;
    struct crew *crew;
    _Atomic bool stopping;
    atomic_int running;
};

/* One probe, with everything that it may touch: whoever waits for it may be gone. */
struct probe_run {
    struct crew_call call;
    struct probes_options o;
    struct plan *plan; /* a reference */
    bool gateway;
    struct str name;
    struct arena arena;
    struct probing probing;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool over, hung;
    int refs; /* the crew's and the waiter's */
};

/* ---- making the connector ---- */

static bool probe_find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                              struct err *err)
{
    struct probe_run *r = arg;

    if (!call_own_begin(&r->call.call, err))
        return false;
    bool ok = secret_get(r->o.store, name, a, ret, err);

    call_alive(&r->call.call);
    return ok;
}

static struct settings probe_settings(struct probe_run *r, const struct yaml_node *node,
                                      const struct option *common, const struct option *own)
{
    const struct config *config = r->plan->config;
    const char *name = arena_text(&r->arena, r->name);

    return (struct settings){ .node = node,
                              .common = common,
                              .own = own,
                              .secret = probe_find_secret,
                              .secret_arg = r,
                              .reach = &config->node,
                              .files = &config->files,
                              .folders = folders_port(r->o.store, config,
                                                      r->gateway ? NAME_GATEWAY : NAME_ENDPOINT,
                                                      name, true, &r->call.call, &r->arena),
                              .arena = &r->arena };
}

typedef bool probe_make(const struct settings *s, void **ret_self, struct err *err);

/* A connector that cannot be made for a reason outside has a folder that is not there. */
static bool probe_made(struct probe_run *r, probe_make *make, const struct settings *s,
                       void **ret_self)
{
    struct err err = { 0 };

    probing_begin(&r->probing, "settings");
    if (make == NULL || make(s, ret_self, &err))
        return probing_pass(&r->probing, "settings", "complete, with their secrets");
    if (err.kind != ERR_CONFIG) {
        (void)probing_pass(&r->probing, "settings", "complete, with their secrets");
        return probing_fail(&r->probing, "folder", probing_folder_remedy(&err), "%s", err.text);
    }
    return probing_fail(&r->probing, "settings",
                        "correct the configuration; a secret that is missing is set by `waybill "
                        "secret add NAME`",
                        "%s", err.text);
}

/* Whether this node runs it. */
static bool probe_is_ours(struct probe_run *r, enum config_area area)
{
    return area == CONFIG_ANYWHERE || area == r->o.node->area ||
           probing_fail(&r->probing, "settings", "ask one of those nodes, with --url",
                        "only nodes of area %s run it, and this one is none", grammar_areas[area]);
}

static void probe_no_way(struct probe_run *r, const char *kind)
{
    probing_leave(&r->probing, "connect", "not tried: this build has no probe for kind %s", kind);
}

/* ---- gateways that listen ---- */

static const char *probe_own_host(const char *host)
{
    if (host[0] == '\0' || strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0)
        return "127.0.0.1";
    return strcmp(host, "::") == 0 ? "::1" : host;
}

static bool probe_port(struct probe_run *r, const char *host, uint16_t port)
{
    struct dial_wait wait = { .until_us = clock_mono_us() + DIAL_US };
    struct err err = { 0 };
    int fd;

    probing_begin(&r->probing, "connect");
    if (!dial(probe_own_host(host), port, NULL, &wait, &fd, &err))
        return probing_fail(&r->probing, "connect",
                            "see what `waybill doctor` and the log say of this gateway: another "
                            "program may have the port",
                            "its port is not open: %s", err.text);
    (void)close(fd);
    return probing_pass(&r->probing, "connect", "port %u is open here", (unsigned)port);
}

static void probe_certificate(struct probe_run *r, const char *cert, const char *key,
                              const char *ca)
{
    struct tls_context *tls = NULL;
    struct err err = { 0 };
    char text[CLOCK_TEXT];
    int64_t until_us = 0;

    probing_begin(&r->probing, "TLS");
    if (cert == NULL)
        probing_leave(&r->probing, "TLS", "not used: no certificate is configured");
    else if (!tls_certificate_end(cert, &until_us, &err) ||
             !tls_context_open_for(cert, key, ca, &tls, &err))
        (void)probing_fail(&r->probing, "TLS", "correct `cert`, `key` and `ca` under `tls`", "%s",
                           err.text);
    else if (until_us < clock_wall_us())
        (void)probing_fail(&r->probing, "TLS", "renew it: senders refuse to connect",
                           "our certificate has expired, on %.10s", clock_utc_text(until_us, text));
    else
        (void)probing_pass(&r->probing, "TLS", "our certificate is valid until %.10s",
                           clock_utc_text(until_us, text));
    tls_context_close(tls);
}

static void probe_served(struct probe_run *r)
{
    const struct config_node *node = r->o.node;
    uint16_t port = r->o.egress != NULL
                        ? atomic_load_explicit(&r->o.egress->own_port, memory_order_relaxed)
                        : 0;

    if (probe_port(r, node->listen.host, port != 0 ? port : node->listen.port))
        probe_certificate(r, node->tls_cert, node->tls_key, NULL);
}

static void probe_listening(struct probe_run *r, const struct listening *in)
{
    if (probe_port(r, in->address.host, in->address.port))
        probe_certificate(r, in->cert, in->key, in->ca);
}

/* ---- on a thread of the crew ---- */

static void probe_the_gateway(struct probe_run *r)
{
    const struct config_gateway *c = config_gateway_find(r->plan->config, r->name);
    const struct gateway_type *type = connector_gateway(r->o.connectors, str_of(c->kind));
    void *self = NULL;

    if (!probe_is_ours(r, c->area))
        return;
    if (type == NULL) {
        probe_no_way(r, c->kind);
        return;
    }
    struct settings s = probe_settings(r, c->node, grammar_gateway, type->kind.keys);

    s.file = type->stream != NULL ? r->plan->config->node.file : NULL;
    if (!probe_made(r, type->make, &s, &self))
        return;
    if (type->listening != NULL)
        probe_listening(r, type->listening(self));
    else if (type->path != NULL)
        probe_served(r);
    else if (type->probe != NULL)
        type->probe(self, &r->call.call, &r->probing);
    else
        probe_no_way(r, c->kind);
    if (self != NULL)
        type->unmake(self);
}

static const struct config_endpoint *probe_find_endpoint(const struct config *c, struct str name)
{
    size_t i = 0;

    while (i < c->endpoint_count && !str_is(name, c->endpoints[i].name))
        i++;
    require(i < c->endpoint_count);
    return &c->endpoints[i];
}

static void probe_the_endpoint(struct probe_run *r)
{
    const struct config_endpoint *c = probe_find_endpoint(r->plan->config, r->name);
    const struct endpoint_type *type = connector_endpoint(r->o.connectors, str_of(c->kind));
    void *self = NULL;

    if (!probe_is_ours(r, c->area))
        return;
    if (type == NULL) {
        probe_no_way(r, c->kind);
        return;
    }
    struct settings s = probe_settings(r, c->node, grammar_endpoint, type->kind.keys);

    if (!probe_made(r, type->make, &s, &self))
        return;
    if (type->probe != NULL)
        type->probe(self, &r->call.call, &r->probing);
    else
        probe_no_way(r, c->kind);
    type->unmake(self);
}

static void probe_run(struct crew_call *call)
{
    struct probe_run *r = container_of(call, struct probe_run, call);

    (r->gateway ? probe_the_gateway : probe_the_endpoint)(r);
}

static void probe_unref(struct probe_run *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool last = --r->refs == 0;

    (void)pthread_mutex_unlock(&r->mutex);
    if (!last)
        return;
    probing_done(&r->probing);
    (void)pthread_cond_destroy(&r->changed);
    (void)pthread_mutex_destroy(&r->mutex);
    arena_done(&r->arena);
    plan_unref(r->plan);
    free(r);
}

static void probe_tell(struct probe_run *r, bool hung)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->over = true;
    r->hung = hung;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->mutex);
}

static void probe_done(struct crew_call *call)
{
    struct probe_run *r = container_of(call, struct probe_run, call);

    probe_tell(r, false);
    probe_unref(r);
}

static void probe_lost(struct crew_call *call, bool committed)
{
    (void)committed; /* there is nothing to commit */
    probe_tell(container_of(call, struct probe_run, call), true);
}

static void probe_back(struct crew_call *call)
{
    probe_unref(container_of(call, struct probe_run, call));
}

/* ---- the one who waits ---- */

static struct probe_run *probe_new(struct probes *s, struct plan *plan, bool gateway,
                                   struct str name)
{
    struct probe_run *r = NEW(struct probe_run);

    *r = (struct probe_run){ .call = { .call = { .stop = &s->stopping, .egress = s->o.egress },
                                       .patience_us = PROBES_TIME_US + SPARE_US,
                                       .whole = true,
                                       .run = probe_run,
                                       .done = probe_done,
                                       .lost = probe_lost,
                                       .back = probe_back },
                             .o = s->o,
                             .plan = plan_ref(plan),
                             .gateway = gateway,
                             .arena = ARENA_INIT(ARENA_MOST),
                             .refs = 2 };
    r->name = arena_copy(&r->arena, name);
    probing_init(&r->probing, clock_mono_us() + PROBES_TIME_US);
    require(pthread_mutex_init(&r->mutex, NULL) == 0 && pthread_cond_init(&r->changed, NULL) == 0);
    return r;
}

static bool probe_await(struct probe_run *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    while (!r->over)
        (void)pthread_cond_wait(&r->changed, &r->mutex);
    bool hung = r->hung;

    (void)pthread_mutex_unlock(&r->mutex);
    return !hung;
}

/* The lines of one that hangs still may become more meanwhile: what is copied counts. */
static size_t probe_copy(struct probe_run *r, bool ended, struct probing_line *to)
{
    const char *at = NULL;
    size_t count = probing_read(&r->probing, to, &at);

    if (ended || count == PROBING_LINES)
        return count;
    struct probing hung;

    probing_init(&hung, 0);
    (void)probing_fail(&hung, at != NULL ? at : "settings",
                       "look after the share or the server behind it",
                       "it does not answer within %lld s, and hangs still",
                       (long long)(r->call.patience_us / CLOCK_S));
    to[count] = hung.lines[0];
    probing_done(&hung);
    return count + 1;
}

/* There is a thread for each that runs. */
static bool probes_admit(struct probes *s, struct err *err)
{
    struct crew_look look;

    crew_look(s->crew, &look);
    if (look.lost >= LOST_MOST)
        return err_set(err, ERR_LIMIT, 0,
                       "%zu probes hang in shares or servers that do not answer: look after those "
                       "first",
                       look.lost);
    if (atomic_fetch_add(&s->running, 1) < PROBES_MOST)
        return true;
    (void)atomic_fetch_sub(&s->running, 1);
    return err_set(err, ERR_LIMIT, 0, "%d probes are under way on this node: try again in a moment",
                   PROBES_MOST);
}

bool probes_run(struct probes *s, struct plan *plan, bool gateway, struct str name, struct arena *a,
                struct probing_line **ret, size_t *ret_count, struct err *err)
{
    if (!probes_admit(s, err))
        return false;
    struct probe_run *r = probe_new(s, plan, gateway, name);

    crew_submit(s->crew, &r->call);
    bool ended = probe_await(r);

    *ret = ARENA_ARRAY(a, struct probing_line, PROBING_LINES);
    *ret_count = probe_copy(r, ended, *ret);
    probe_unref(r);
    (void)atomic_fetch_sub(&s->running, 1);
    return true;
}

/* ---- life ---- */

struct probes *probes_new(const struct probes_options *o)
{
    struct probes *s = NEW(struct probes);

    s->o = *o;
    s->crew = crew_new("probe", PROBES_MOST, LOST_MOST);
    return s;
}

void probes_hurry(struct probes *s)
{
    if (s == NULL)
        return;
    atomic_store(&s->stopping, true);
    crew_hurry(s->crew, STOP_US);
}

size_t probes_free(struct probes *s)
{
    if (s == NULL)
        return 0;
    size_t lost = crew_free(s->crew);

    if (lost == 0) /* one that hangs may still look whether the node stops */
        free(s);
    return lost;
}
