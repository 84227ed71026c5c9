/* plan.h - a compiled configuration: one immutable snapshot.
 *
 * Holds the extractors of gateways, the routing table, the steps of routes, and endpoints with
 * their connectors.  A document runs with the plan of the version under which it was accepted;
 * settings of endpoints and systems are always those of the newest plan (dispatch.h).
 *
 * An endpoint that cannot be used (a secret is missing) does not keep the node from starting:
 * `broken` says why, and its deliveries wait.
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

struct cage;
struct store;

/* The attribute under which the result of order_by or `answers` is found. */
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

/* Which answers of a receiver are kept (`keep: { answers: ... }`). */
enum plan_answers { ANSWERS_OF_FAILURES, ANSWERS_ALL, ANSWERS_NONE };

/* An answer that becomes a document (`answer` of an endpoint or of a step that asks for one). */
struct plan_answer {
    struct plan_answer *next;
    struct str name; /* of the endpoint or step: in facts and alerts */
    int64_t word;
    struct str type;                  /* ptr NULL: none */
    struct extractor *extract;        /* NULL: none */
    int64_t most, within_us;          /* bytes; 0: nobody waits for a later answer */
    const struct plan_system *system; /* of a step: who answers; NULL: nobody says */
};

/* A step that asks a service. */
struct plan_asking {
    struct plan_asking *next;
    struct str name; /* ROUTE:N, in alerts */
    int64_t word;
    struct str service;            /* by which callees are told apart (asking/calling.h) */
    const struct sha256 *line_key; /* of connections that are kept for it; NULL: none are */
};

struct plan_endpoint {
    struct str name;
    int64_t word;
    const struct endpoint_type *type; /* NULL: this build cannot run it */
    enum config_area area;            /* only nodes of this area send */
    void *self;                       /* NULL: broken */
    const struct plan_system *system; /* NULL: the document's receiver */
    int64_t timeout_us;               /* of one attempt: over all up to 1 MiB, of silence above */
    int64_t connections;              /* how many calls run at once on a node; 0: no limit */
    struct retry_rule retry;
    struct breaker_rule breaker;
    enum plan_answers answers;
    struct plan_answer *answer; /* NULL: answers become no documents */
    const char *broken;         /* why it cannot be used; NULL: it can */
};

enum plan_step_kind {
    STEP_SERVICE,
    STEP_DELIVER,
    STEP_ROUTE,
    STEP_DROP,
    STEP_BATCH,
    STEP_SUBSCRIBE
};

/* Who gets copies of which documents; `when` and `to` as in the configuration. */
struct plan_subscription {
    struct str name;
    const struct yaml_node *when, *to; /* when NULL: of all (core/route_when.h) */
};

struct plan_step {
    enum plan_step_kind kind;
    struct str name;
    const struct service_type *service;     /* SERVICE */
    void *self;                             /* NULL if it is caged */
    struct cage *cage;                      /* it runs in processes of its own; NULL: here */
    int64_t concurrency, output_most;       /* of these: how many; bytes that may come out of one;
                                             * 0: as many as may come in */
    int64_t time_us;                        /* of these: processor time of one document */
    const struct plan_endpoint **endpoints; /* DELIVER */
    size_t endpoint_count;
    struct extractor *extractor; /* ROUTE; SERVICE: of its parts, or of its key, NULL: none */
    struct str set;              /* SERVICE that is keyed; empty: the document's type */
    struct retry_rule retry;     /* SERVICE that may fail for now (service_failure.later) */
    const struct plan_answer
        *answer;                    /* SERVICE that asks: its answer is a document as well; NULL */
    struct str reason;              /* DROP; may be empty */
    const struct plan_batch *batch; /* BATCH */
    const struct template *by;      /* splits the batch by value; NULL: not split */
    const struct plan_subscription **subscriptions; /* SUBSCRIBE */
    size_t subscription_count;
};

/* How a document of a route or type is handled; 0: not set. */
struct plan_handling {
    int64_t prio;
    int64_t expires_us, delay_us; /* since the document was received */
};

struct plan_type {
    struct str name;
    struct plan_handling handling;
    struct extractor *search; /* extracts search attributes; NULL: none */
};

struct plan_route {
    struct str name;
    int64_t word;
    struct plan_handling handling;
    const struct plan_step *steps;
    size_t step_count;
    bool keeps_stages;  /* what each step made is stored */
    const char *broken; /* why a step cannot run; NULL: all can */
    bool lacks_secret;  /* ... because of a secret that cannot be read now: its documents wait */
};

/* A kind of batch. */
struct plan_batch {
    struct str name;
    int64_t word;
    const struct batch_schedule *at;             /* NULL: no schedule */
    int64_t members_most, bytes_most, age_us;    /* age_us 0: no limit */
    const struct template *by, *header, *footer; /* NULL: none */
    struct str separator, root, type;
    enum join_kind join;
    int64_t receiver; /* of an empty batch; a name id, 0: none */
    bool empty_send, missed_each, bad_all;
    struct plan_route chain; /* the steps of the batch's document; with the batch's name and id */
};

struct plan_gateway {
    struct str name;
    int64_t word;
    struct extractor *extractor; /* NULL: nothing is extracted */
    struct extractor *answers;   /* as PLAN_KEY: what a document answers; NULL: nothing */
    enum config_area area;       /* only nodes of this area run it */
    const char *broken;
};

/* How long documents are kept (store/retention/retain.h). */
struct plan_retention {
    struct retain_rules rules;
    int64_t dead_us;            /* dead letters; 0: for ever */
    int64_t audit_us;           /* lines of the audit log; 0: for ever */
    bool by_job;                /* it works in the runs of a job only */
    struct str archive;         /* a folder; empty: none */
    const char *archive_broken; /* why it cannot be used; NULL: it can */
};

/* A hash table by name id; entries are positions plus one, 0: empty. */
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
    struct plan_type *types; /* sorted by name; empty when no type is handled or searched */
    struct plan_batch *batches;
    struct plan_answer *answers; /* all of them */
    struct plan_asking *asking;  /* the same */
    size_t asking_count;
    struct str *attributes; /* by which a document is found that is answered; NULL: no gateway
                             * asks */
    size_t attribute_count;
    size_t batch_count;
    struct plan_subscription *subscriptions; /* sorted by name */
    size_t subscription_count;
    size_t type_count;
    size_t system_count, endpoint_count, route_count, gateway_count;
    struct plan_retention retention;
    bool ordered;      /* a system is ordered: documents get sequence numbers */
    bool lacks_secret; /* a route does; another plan of the version may have it */
    struct plan_alerts alerts;
    struct plan_index systems_by_word, endpoints_by_word, gateways_by_word;
    struct arena arena;
};

/* Blocks on the store (name ids, secrets).  Problems are added to `problems` if given; else they
 * make parts broken.  False: the store failed, or there were problems. */
bool plan_build(struct config *config, int64_t version, const struct connectors *connectors,
                struct store *store, struct problem_list *problems, struct plan **ret,
                struct err *err);
/* As plan_build(), for a configuration that never comes into force: nothing is stored.  New names
 * get negative ids; the version is 0.  Whoever proposes it sees what its steps do, so a secret in a
 * step is its name, unless a step of the configuration `in_force` (NULL: none) has it already. */
bool plan_build_apart(struct config *config, const struct connectors *connectors,
                      struct store *store, const struct config *in_force,
                      struct problem_list *problems, struct plan **ret, struct err *err);
struct plan *plan_ref(struct plan *p);
void plan_unref(struct plan *p); /* NULL is fine */

/* No routes: documents stay as they were received. */
static inline bool plan_is_idle(const struct plan *p)
{
    return p->route_count == 0;
}

/* How a document of this type is handled on this route: the route overrides the type. */
struct plan_handling plan_handling_of(const struct plan *p, const struct plan_route *r,
                                      struct str type);

/* Extracts the search attributes of documents of this type; NULL: none. */
const struct extractor *plan_search_of(const struct plan *p, struct str type);

/* Lookup by name id; NULL: not in this configuration. */
const struct plan_system *plan_system_find(const struct plan *p, int64_t word);
const struct plan_system *plan_system_named(const struct plan *p, struct str name); /* slower */
const struct plan_endpoint *plan_endpoint_find(const struct plan *p, int64_t word);
const struct plan_gateway *plan_gateway_find(const struct plan *p, int64_t word);
const struct plan_batch *plan_batch_find(const struct plan *p, int64_t word);
/* By its name; NULL: none. */
const struct plan_answer *plan_answer_find(const struct plan *p, struct str name);
const struct plan_asking *plan_asking_find(const struct plan *p, struct str name);
