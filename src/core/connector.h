/* connector.h - what a user can plug in: gateways, services, endpoints, kinds of jobs.
 *
 * A connector is one .c file that exports one const struct, and one line in
 * src/connectors.def.  It sees base/, core/ and what is passed to it: never the store,
 * never another connector, never global configuration.  Its options are a table in its own file
 * (core/option.h), which feeds checks, defaults, help, docs and forms; it reads them through
 * core/settings.h.
 *
 * CONTRIBUTING.md, "Add a connector in ten minutes", shows one of each.
 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "base/http_server.h"
#include "base/stream_server.h"
#include "core/call.h"
#include "core/facts.h"
#include "core/intake.h"
#include "core/job_type.h"
#include "core/option.h"
#include "core/service.h"
#include "core/settings.h"
#include "core/state.h"
#include "core/units.h"
#include "core/verdict.h"

/* ---- gateways: documents come in ---- */

struct database_type; /* table/database.h */
struct deposit_port;
struct line_type;
struct probing;

struct gateway_type {
    struct option_kind kind; /* its name, summary and options */

    /* Either a gateway on the HTTP server of the node, which handles the requests below `path`.
     * Its options include grammar_senders; open() returns `self`. */
    const char *path;
    const struct http_handler *handler;
    void *(*open)(struct intake *in, const struct intake_port *port);
    void (*close)(void *self);
    /* It may have make() and unmake(), too: what make() makes of the options of one gateway, on
     * s->arena, is intake_gateway.self.  NULL: nothing is needed. */

    /* Or a gateway that polls, on a thread that may block.  make() reads the options; look() is
     * one poll: it hands in the documents that it finds, through the port (core/deposit.h), and
     * returns how many.  At most one poll of a gateway runs at a time, over all nodes. */
    bool (*make)(const struct settings *s, void **ret_self, struct err *err);
    bool (*look)(void *self, const struct deposit_port *port, void *deposit, int64_t *ret_taken,
                 struct err *err);
    void (*unmake)(void *self);
    /* Of a gateway that polls: it ends by itself when the other side is silent for `timeout`, and
     * is given up only some seconds after that. */
    bool keeps_time;
    /* Its connections are kept from one poll to the next (core/line/line.h).  NULL: it has none. */
    const struct line_type *line;

    /* Or a gateway that listens on a port of its own: make() and unmake() as above, listening()
     * says what they read, and `stream` talks with each connection on a loop; its open() gets a
     * struct stream_door. */
    const struct listening *(*listening)(void *self);
    const struct stream_handler *stream;

    /* `waybill probe` of a gateway that polls, as of an endpoint below; of the others the engine
     * looks at the port and its certificate. */
    void (*probe)(void *self, struct call *c, struct probing *p);
};

/* What a gateway that listens was told.  It lives as long as `self`. */
struct listening {
    struct units_address address;
    const char *cert, *key, *ca; /* PEM texts or paths; cert NULL: no TLS; ca NULL: any client */
    const struct network *allow; /* who may connect */
    size_t allow_count;          /* 0: everybody */
    int64_t silence_us;          /* how long the other side may be silent within a message */
    int64_t wait_us;             /* how long it waits for the receiver; 0: it does not */
};

/* Where a connection of a listening gateway leads to.  It outlives the connection. */
struct stream_door {
    struct intake *intake;
    const struct intake_port *port;
    struct str gateway; /* its name */
    uint32_t silence_ms;
    int64_t wait_us; /* `reply: receiver`; else 0 */
};

/* ---- services: documents are changed: core/service.h ---- */

/* ---- jobs: work that recurs: core/job_type.h ---- */

/* ---- endpoints: documents go out ---- */

/* One document on its way to one endpoint; everything is lent for the call. */
struct template_values;

struct sending {
    struct str document; /* its id as text */
    struct str delivery; /* the delivery's id: the same in every attempt */
    const struct facts *facts;
    struct str name, ctype, gateway, endpoint; /* name, ctype: may be empty */
    struct str traceparent;
    struct str token; /* to log in with, for an endpoint with oauth2; else empty */
    int64_t received_us;
    int64_t attempt; /* from 1 */

    int64_t size;
    struct str bytes; /* the whole payload; ptr NULL: read it piece by piece with next() */
    bool (*next)(void *arg, struct str *ret, struct err *err); /* *ret empty: the end */
    /* Of a call that may block: next() begins again with the first piece. */
    bool (*rewind)(void *arg, struct err *err);
    void *next_arg;
    const struct sha256 *sha256; /* of what next() reads; NULL for `bytes` */

    /* What the attempt before left for this one, and what this one leaves for the next: a line for
     * people, kept with the delivery unless the call is given up.  NULL: nothing is kept. */
    struct buf *note;

    /* Of a call that may block: what the receiver answered, up to the cap of `bytes`, and the
     * content type of that.  NULL: nobody wants it. */
    struct sending_answer {
        struct buf bytes;
        const char *ctype;
    } * answer;
};

/* The values that templates of an endpoint are filled with. */
struct template_values sending_values(const struct sending *s);

/* An HTTP request in plain words: the client below it can change. */
struct http_out_field {
    struct str name, value;
};

enum { HTTP_OUT_FIELDS = 64 };

struct http_out_request {
    struct str method, url; /* terminated */
    struct http_out_field fields[HTTP_OUT_FIELDS];
    size_t field_count;
    /* Sent around the bytes of the document, of which the first `skip` are left out. */
    struct str before, after;
    size_t skip;
};

/* The settings of an endpoint that are the same for all its requests. */
struct http_out_options {
    int64_t timeout_us, connect_timeout_us;
    struct str user, password; /* basic; empty: none */
    struct str ca, cert, key;  /* paths or PEM texts (config_is_pem); empty: none */
    bool verify;
};

/* A login by a token of another server (core/web/oauth2.h). */
struct oauth2 {
    struct str token_url, client_id, client_secret, scope; /* terminated; scope: may be empty */
    bool in_form; /* id and secret are in the form, not in Authorization */
};

enum http_out_reach {
    HTTP_OUT_ANSWERED, /* a whole answer came */
    HTTP_OUT_NOT_SENT, /* failed before the first byte of the request was sent */
    HTTP_OUT_UNCLEAR,  /* bytes were sent, and no whole answer came */
    HTTP_OUT_BAD_BODY  /* our own payload could not be read: see `failure` */
};

struct http_out_answer {
    enum http_out_reach reach;
    int64_t status;
    struct str retry_after, ctype; /* fields of the answer; empty: none */
    struct str body;               /* its first VERDICT_ANSWER_MOST bytes */
    int64_t came;                  /* its size as far as it was read; more than the body: cut */
    bool is_drained;               /* a sink has all of it (engine/transfer) */
    bool is_too_large;             /* all was sent, and it was cut: a sink takes less */
    const char *failure;           /* for people, unless ANSWERED */
    int64_t now_us;                /* for a Retry-After that is a date */
};

struct endpoint_http {
    /* Builds the request of one attempt; its strings live in the arena. */
    bool (*prepare)(void *self, const struct sending *s, struct arena *a,
                    struct http_out_request *ret, struct verdict *ret_failed);
    void (*judge)(void *self, const struct http_out_answer *answer, struct verdict *ret);
    /* prepare() reads the bytes of the document: where they are not in memory, it is called on a
     * thread that may block, and they are read again to be sent.  NULL: it does not. */
    bool (*reads)(void *self);
    const struct http_out_options *(*options)(void *self);
    /* The engine gets a token with these settings and lends it to prepare() and ask(), as
     * sending.token.  NULL, or returns NULL: none is needed. */
    const struct oauth2 *(*oauth2)(void *self);
    /* Both or none: query the receiver whether a delivery in doubt arrived, without sending it.
     * ask() builds the query, hear() judges the answer:
     *   DELIVERED              the receiver has the document
     *   RETRY                  it does not; the document may be sent again under the same id
     *   UNREACHED, CREDENTIAL  the receiver could not be queried now
     *   DOUBT                  the answer is unclear
     *   FAILED                 the query can never be made */
    bool (*ask)(void *self, const struct sending *s, struct arena *a, struct http_out_request *ret,
                struct verdict *ret_failed);
    void (*hear)(void *self, const struct http_out_answer *answer, struct verdict *ret);
};

struct endpoint_type {
    struct option_kind kind;
    /* On s->arena.  It waits for nothing outside. */
    bool (*make)(const struct settings *s, void **ret_self, struct err *err);
    void (*unmake)(void *self);

    /* Either over HTTP, by the client of the engine: */
    const struct endpoint_http *http;
    /* or by a call that may block, on a thread of its own.  It may be given up when it hangs: it
     * calls call_commit() before the receiver can see anything of the document (core/call.h). */
    void (*send)(void *self, const struct sending *s, struct call *c, struct verdict *ret);
    /* It ends by itself within `timeout`: it is given up only some seconds after that. */
    bool keeps_time;
    /* Its connections are kept from one call to the next (core/line/line.h).  NULL: none are.  Of a
     * kind that has the key `connections` no more calls run at once. */
    const struct line_type *line;
    /* The query of endpoint_http.ask as a call that may block; may be NULL. */
    void (*ask)(void *self, const struct sending *s, struct call *c, struct verdict *ret);
    /* Cleans up what a crash may have left half written; called at start and when the endpoint is
     * new in the configuration, beside sends.  May be NULL. */
    void (*recover)(void *self, struct call *c);

    /* `waybill probe`: a call that may block and reports which steps of the way to the other side
     * work (core/probing/probing.h).  It sends no document, takes none and leaves nothing behind;
     * it has a `self` of its own, and opens its own connections.  core/probing/probing_net.h,
     * probing_folder.h and sftp_probe.h have the steps that are common.  NULL: it cannot be
     * probed. */
    void (*probe)(void *self, struct call *c, struct probing *p);
};

#define GATEWAY(name)  extern const struct gateway_type gateway_##name;
#define SERVICE(name)  extern const struct service_type service_##name;
#define ENDPOINT(name) extern const struct endpoint_type endpoint_##name;
#define JOB(name)      extern const struct job_type job_##name;
#define DATABASE(name) extern const struct database_type database_##name;
#include "connectors.def"
#undef GATEWAY
#undef SERVICE
#undef ENDPOINT
#undef JOB
#undef DATABASE

/* All connectors of this build, each list ending with NULL; app/registry.c builds it from
 * connectors.def. */
struct connectors {
    const struct gateway_type *const *gateways;
    const struct service_type *const *services;
    const struct endpoint_type *const *endpoints;
    const struct job_type *const *jobs;
    /* Databases whose tables are replicated: the drivers stand above this room, so that here only
     * the kind of each is known, in the same order. */
    const struct database_type *const *databases;
    const struct option_kind *const *database_kinds;
};

/* NULL: this build has no connector of that name. */
const struct gateway_type *connector_gateway(const struct connectors *all, struct str kind);
const struct service_type *connector_service(const struct connectors *all, struct str kind);
const struct endpoint_type *connector_endpoint(const struct connectors *all, struct str kind);
const struct job_type *connector_job(const struct connectors *all, struct str kind);
const struct database_type *connector_database(const struct connectors *all, struct str kind);

/* ---- kinds: what a configuration may name ---- */

/* The kinds of a role, from 0: first the connectors of this build, in the order of connectors.def,
 * then the steps of the engine itself, then the planned ones (planned.h).  NULL at the end. */
const struct option_kind *kind_at(const struct connectors *all, enum option_role role, size_t i);
const struct option_kind *kind_find(const struct connectors *all, enum option_role role,
                                    struct str name);
/* The keys that every kind of the role has; NULL: none. */
const struct option *kind_common(enum option_role role);
/* A key of a kind, or NULL.  A kind may override a common key. */
const struct option *kind_key(enum option_role role, const struct option_kind *kind,
                              struct str name);
