#include "engine/intake/listened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "engine/intake/intake.h"
#include "store/people/secret.h"
#include "store/store.h"

enum { ARENA_MOST = 8 << 20, PEM_MOST = 1 << 20 };

static const struct gateway_type *listened_type(const struct listeners_options *o,
                                                const struct config_gateway *g)
{
    const struct gateway_type *t = connector_gateway(o->connectors, str_of(g->kind));

    return t != NULL && t->stream != NULL ? t : NULL;
}

bool listened_is_for(const struct listeners_options *o, const struct config_gateway *g)
{
    return listened_type(o, g) != NULL && (g->area == CONFIG_ANYWHERE || g->area == o->node->area);
}

void listened_done(struct listened *l)
{
    stream_policy_unref(l->policy);
    l->policy = NULL;
}

/* ---- the policy ---- */

struct door_of_gateway {
    struct stream_door door;
    char name[80];
};

static void *make_door(const struct listeners_options *o, const char *gateway,
                       const struct listening *in)
{
    struct door_of_gateway *d = NEW(struct door_of_gateway);

    (void)snprintf(d->name, sizeof d->name, "%s", gateway);
    d->door =
        (struct stream_door){ .intake = o->intake,
                              .port = &intake_port,
                              .gateway = str_of(d->name),
                              .silence_ms = (uint32_t)((in->silence_us + CLOCK_MS - 1) / CLOCK_MS),
                              .wait_us = in->wait_us };
    return d;
}

static struct stream_policy *make_policy(const struct listeners_options *o, const char *gateway,
                                         const struct listening *in, struct tls_context *tls)
{
    struct stream_policy *p = NEW(struct stream_policy);

    *p = (struct stream_policy){ .tls = tls, .arg = make_door(o, gateway, in), .free_arg = free };
    atomic_init(&p->refs, 1);
    if (in->allow_count > 0) {
        p->allow = xcalloc(in->allow_count, sizeof *p->allow);
        memcpy(p->allow, in->allow, in->allow_count * sizeof *p->allow);
        p->allow_count = in->allow_count;
    }
    return p;
}

/* A certificate that was renewed under its old path counts as another one. */
static void digest_pem(struct digest *d, const char *value)
{
    AUTO(buf_done) struct buf text = BUF_INIT(PEM_MOST);
    struct err err = { 0 };

    if (value != NULL && !config_is_pem(value))
        (void)file_read_whole(AT_FDCWD, value, &text, &err); /* unreadable: TLS says so */
    digest_add(d, str_of(value != NULL ? value : ""));
    digest_add(d, str_mem("", 1));
    digest_add(d, buf_view(&text));
}

static struct sha256 digest_settings(const char *gateway, const struct listening *in)
{
    struct digest d = digest_start();

    digest_add(&d, str_of(gateway));
    digest_add(&d, str_mem(&in->silence_us, sizeof in->silence_us));
    digest_add(&d, str_mem(&in->wait_us, sizeof in->wait_us));
    for (size_t i = 0; i < in->allow_count; i++) {
        digest_add(&d, str_mem(&in->allow[i].base, sizeof in->allow[i].base));
        digest_add(&d, str_mem(&in->allow[i].bits, sizeof in->allow[i].bits));
    }
    digest_pem(&d, in->cert);
    digest_pem(&d, in->key);
    digest_pem(&d, in->ca);
    return digest_end(&d);
}

/* ---- options ---- */

static bool find_secret_value(void *arg, struct str name, struct arena *a, struct str *ret,
                              struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

static bool may_listen(const struct config_node *node, uint16_t port, struct err *err)
{
    return config_allows_port(node, port) ||
           err_set(err, ERR_CONFIG, 0,
                   "this node may not listen on port %u: add it to `ports` under `node:` in the "
                   "node's own file, and start the node again",
                   port);
}

bool listened_read(const struct listeners_options *o, const struct config *config,
                   const struct config_gateway *g, struct listened *ret, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    const struct gateway_type *type = listened_type(o, g);
    struct settings s = { .node = g->node,
                          .common = grammar_gateway,
                          .own = type->kind.keys,
                          .file = config->node.file,
                          .secret = find_secret_value,
                          .secret_arg = o->store,
                          .reach = &config->node,
                          .arena = &arena };
    struct tls_context *tls = NULL;
    void *self;

    *ret = (struct listened){ 0 };
    if (!type->make(&s, &self, err))
        return false;
    const struct listening *in = type->listening(self);
    bool ok = may_listen(o->node, in->address.port, err) &&
              (in->cert == NULL || tls_context_open_for(in->cert, in->key, in->ca, &tls, err));

    if (ok)
        *ret = (struct listened){ .address = in->address,
                                  .handler = type->stream,
                                  .policy = make_policy(o, g->name, in, tls),
                                  .digest = digest_settings(g->name, in),
                                  .tls = tls != NULL };
    type->unmake(self);
    return ok;
}

/* ---- addresses ---- */

static bool is_every_address(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || strcmp(host, "*") == 0;
}

bool listened_collide(const struct units_address *a, const struct units_address *b)
{
    return a->port != 0 && a->port == b->port &&
           (strcmp(a->host, b->host) == 0 || is_every_address(a->host) ||
            is_every_address(b->host));
}

void listened_explain(const struct units_address *a, struct err *err)
{
    struct err was = *err;

    if (was.sys == EADDRINUSE)
        (void)err_set(err, ERR_CONFIG, was.sys,
                      "port %u of %s is taken: something else listens there", a->port, a->host);
    else if (was.sys == EACCES || was.sys == EPERM)
        (void)err_set(err, ERR_CONFIG, was.sys,
                      "this node may not listen on port %u: a port below 1024 needs the capability "
                      "CAP_NET_BIND_SERVICE",
                      a->port);
    else if (was.sys == EADDRNOTAVAIL)
        (void)err_set(err, ERR_CONFIG, was.sys, "%s is no address of this machine", a->host);
}
