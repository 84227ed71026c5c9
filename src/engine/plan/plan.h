/* plan.h - a configuration, ready to run: everything compiled, one immutable snapshot.
 *
 * Extractors of gateways, the routing table, the steps of routes, endpoints with their
 * connectors.  A document is walked with the plan of the version under which it was
 * accepted; settings of endpoints and systems are always those of the newest plan
 * (dispatch.h).
 *
 * What cannot be used (a secret that is missing now) does not keep the node from starting:
 * the endpoint says why in `broken`, and its deliveries wait.
 *
 * Threads: never changed after plan_build(); ref and unref from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/batch_rule.h"
#include "core/config.h"
#include "core/connector.h"
#include "core/doubt.h"
#include "core/join.h"
#include "core/problem.h"
#include "core/rate.h"
#include "core/retry.h"
#include "core/template.h"
#include "core/window.h"
#include "engine/plan/plan_alert.h"
#include "extract/extract.h"
#include "router/router.h"
#include "store/road/retain_days.h"

struct store;

/* What order_by finds is the attribute of this name. */
#define PLAN_KEY STR("key")

enum plan_order { ORDER_NONE, ORDER_RECEIVER, ORDER_KEY };
enum plan_on_dead { ORDER_STOP, ORDER_SKIP };

struct plan_system {
    struct str name;
    int64_t word;
    int64_t concurrency;
    enum doubt_policy in_doubt;
    const struct window_set *windows; /* NULL: always open */
    struct rate_rule rate;            /* interval_ns 0: no limit */
    enum plan_order order;
    struct extractor *order_by; /* ORDER_KEY; NULL: every document is without a key */
    enum plan_on_dead on_dead;
};

struct plan_endpoint {
    struct str name;
    int64_t word;
    const struct endpoint_type *type; /* NULL: this build cannot run it */
    void *self;                       /* NULL: broken */
    const struct plan_system *system; /* NULL: the document's receiver */
    struct retry_rule retry;
    struct breaker_rule breaker;
    const char *broken; /* why it cannot be used; NULL: it can */
};

enum plan_step_kind { STEP_SERVICE, STEP_DELIVER, STEP_ROUTE, STEP_DROP, STEP_BATCH };

struct plan_step {
    enum plan_step_kind kind;
    struct str name;
    const struct service_type *service; /* SERVICE */
    void *self;
    const struct plan_endpoint **endpoints; /* DELIVER */
    size_t endpoint_count;
    struct extractor *extractor;    /* ROUTE */
    struct str reason;              /* DROP; may be empty */
    const struct plan_batch *batch; /* BATCH */
    const struct template *by;      /* one batch for each value; NULL: no more than usual */
};

/* How a document of a route or type is handled; 0: not said. */
struct plan_handling {
    int64_t prio;
    int64_t expires_us, delay_us; /* since it was received */
};

struct plan_type {
    struct str name;
    struct plan_handling handling;
    struct extractor *search; /* attributes by which its documents are found; NULL: none */
};

struct plan_route {
    struct str name;
    int64_t word;
    struct plan_handling handling;
    const struct plan_step *steps;
    size_t step_count;
    const char *broken; /* a step this build cannot run; NULL: none */
};

/* What documents are gathered into. */
struct plan_batch {
    struct str name;
    int64_t word;
    const struct batch_schedule *at;             /* NULL: no times */
    int64_t members_most, bytes_most, age_us;    /* age_us 0: any */
    const struct template *by, *header, *footer; /* NULL: none */
    struct str separator, root, type;
    enum join_kind join;
    int64_t receiver; /* of an empty one; a word, 0: none */
    bool empty_send, missed_each, bad_all;
    struct plan_route chain; /* of what it becomes; under its name and word */
};

struct plan_gateway {
    struct str name;
    int64_t word;
    struct extractor *extractor; /* NULL: nothing is extracted */
    const char *broken;
};

/* How long documents are kept (store/retention/retain.h). */
struct plan_retention {
    struct retain_rules rules;
    int64_t dead_us;    /* dead letters; 0: for ever */
    int64_t audit_us;   /* lines of the audit log; 0: for ever */
    struct str archive; /* a folder; empty: none */
};

/* Found by their words: places plus one, 0 is empty. */
struct plan_index {
    uint32_t *at;
    size_t slots;
};

struct plan {
    _Atomic unsigned refs;
    struct config *config;
    int64_t version;
    struct router *router;
    struct plan_system *systems;
    struct plan_endpoint *endpoints;
    struct plan_route *routes;
    struct plan_gateway *gateways;
    struct plan_type *types; /* by name; none when no type says how it is handled or found */
    struct plan_batch *batches;
    size_t batch_count;
    size_t type_count;
    size_t system_count, endpoint_count, route_count, gateway_count;
    struct plan_retention retention;
    bool ordered; /* some system is: documents are numbered */
    struct plan_alerts alerts;
    struct plan_index systems_by_word, endpoints_by_word, gateways_by_word;
    struct arena arena;
};

/* Blocks on the store (words, secrets).  Problems of the configuration itself are added to
 * `problems` when it is given; else they make parts broken.  False: the store failed, or
 * there were problems. */
bool plan_build(struct config *config, int64_t version, const struct connectors *connectors,
                struct store *store, struct problem_list *problems, struct plan **ret,
                struct err *err);
/* As plan_build(), of a configuration that is only asked and never in force: nothing is
 * stored.  Names that are new have words below zero; its version is 0. */
bool plan_build_apart(struct config *config, const struct connectors *connectors,
                      struct store *store, struct problem_list *problems, struct plan **ret,
                      struct err *err);
struct plan *plan_ref(struct plan *p);
void plan_unref(struct plan *p); /* NULL is fine */

/* Nothing is routed: documents rest as received. */
static inline bool plan_is_idle(const struct plan *p)
{
    return p->route_count == 0;
}

/* How a document of this type is handled on this route: the route's own wins. */
struct plan_handling plan_handling_of(const struct plan *p, const struct plan_route *r,
                                      struct str type);

/* What finds the search attributes of documents of this type; NULL: it has none. */
const struct extractor *plan_search_of(const struct plan *p, struct str type);

/* NULL: this configuration has none of that word. */
const struct plan_system *plan_system_find(const struct plan *p, int64_t word);
const struct plan_system *plan_system_named(const struct plan *p, struct str name); /* slower */
const struct plan_endpoint *plan_endpoint_find(const struct plan *p, int64_t word);
const struct plan_gateway *plan_gateway_find(const struct plan *p, int64_t word);
const struct plan_batch *plan_batch_find(const struct plan *p, int64_t word);
