/* intake.h - how a gateway hands a document in: the engine's port, as gateways see it.
 *
 * A gateway knows who is sending and how the bytes arrive; admission, memory, spooling and the
 * commit are behind this port.  The life of an arrival:
 *
 *     begin ──► add* ──► end ──► done(answer)
 *       │         └────────────► abort (the sender is gone)
 *       └ refused: the answer says why, and no body was read
 *
 * Invariants
 *   (1) done is called exactly once after end(), unless abort() came first; an aborted
 *       arrival that was already committed stays committed.
 *   (2) an answer of 202 means: bytes, digest and record are on stable storage.
 *   (3) after an answer with `waits`, replied is called exactly once, unless leave() came first.
 *
 * Threads: all calls for an arrival are made on its loop.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/loop.h"
#include "base/network.h"
#include "base/str.h"
#include "core/config.h"

/* ---- the table of gateways and callers: one immutable snapshot ---- */

struct intake_gateway_state; /* outlives a snapshot: rate, counters */

struct gateway_type;

struct intake_gateway {
    const struct gateway_type *type;
    const struct config_gateway *config;
    int64_t word; /* name id */
    bool here;    /* this node is of its area */
    struct intake_gateway_state *state;
    void *self;         /* what its type has made of its options; NULL: nothing */
    const char *broken; /* why it cannot be used; NULL: it can */
};

/* The last use of a key, kept in memory: a sender only sets the flag, the housekeeper reads the
 * clock and writes to the store now and then. */
struct caller_use {
    _Atomic bool lately;               /* used since the housekeeper looked */
    _Atomic int64_t used_us, noted_us; /* noted_us: as the store has it */
};

struct intake_caller {
    struct str name;
    int64_t id, gateway; /* gateway: name id */
    struct sha256 secret;
    struct str systems;             /* whose documents it may send: head.h; empty: any's */
    const struct network *networks; /* where it works from; none: everywhere */
    size_t network_count;
    int64_t expires_us;     /* 0: never */
    struct caller_use *use; /* NULL: not kept */
};

enum { CALLER_NONE = 0, CALLER_ADMIN = -1, CALLER_BASIC = -2 };

struct intake_table; /* refcounted */

enum intake_auth { AUTH_OK, AUTH_MISSING, AUTH_WRONG, AUTH_OTHER_GATEWAY, AUTH_EXPIRED };

/* `address` as text.  Not asked for a key that works everywhere. */
static inline bool intake_is_from(const struct intake_caller *c, struct str address)
{
    struct network_address from;

    return network_address_parse(address, &from) &&
           network_any_has(c->networks, c->network_count, &from);
}

static inline void intake_note_use(const struct intake_caller *c)
{
    if (c->use != NULL && !atomic_load_explicit(&c->use->lately, memory_order_relaxed))
        atomic_store_explicit(&c->use->lately, true, memory_order_relaxed);
}

/* ---- the port ---- */

struct intake;
struct arrival;
struct reply_wait;

struct intake_answer {
    int status;          /* as in HTTP */
    const char *code;    /* of an error, else NULL */
    const char *message; /* one sentence for the sender */
    int retry_after_s;   /* 0: none */
    struct id id;        /* of the document, when status is 202 */
    bool repeated;       /* repeats the answer to an earlier request with this key */
    /* The document is stored, and `replied` is called later, unless leave() is called before.
     * NULL: this is the answer. */
    struct reply_wait *waits;
};

/* What became of a stored document whose sender waits for its receiver. */
enum intake_reply_kind {
    REPLY_ANSWERED,  /* `status` and the answer of the receiver, who took or rejected it */
    REPLY_DELIVERED, /* the receiver has it, and has no status: a file */
    REPLY_ENDED,     /* it ended without a delivery (split, dropped), or nobody knows its answer */
    REPLY_DEAD,      /* it is a dead letter, or was cancelled: `code` and `message` */
    REPLY_LATE,      /* none of this within the time; it goes on */
    REPLY_STOPPING,  /* ... because the node stops */
};

/* Everything in it is lent for the call. */
struct intake_reply {
    enum intake_reply_kind kind;
    struct id id;  /* of the document */
    bool repeated; /* it came with an earlier request with this key */
    bool is_taken; /* ANSWERED: the receiver took it; else it rejected it */
    int64_t status;
    struct str ctype, body; /* may be empty */
    int64_t came;           /* the size of the answer as it came; more than the body: it was cut */
    const char *code, *message;
};

struct arrival_calls {
    void (*more)(void *user); /* after add() returned false: add() may be called again */
    void (*done)(void *user, const struct intake_answer *answer);
    void (*replied)(void *user, const struct intake_reply *reply); /* NULL: wait_us is always 0 */
};

struct arrival_head {
    struct loop *loop;
    struct intake_table *table; /* the arrival takes a reference of its own */
    const struct intake_gateway *gateway;
    int64_t caller;
    struct str user;              /* the user name of CALLER_BASIC; else empty */
    int64_t content_length;       /* -1: unknown */
    struct str ctype, name, head; /* copied; empty: none */
    bool has_key;
    struct str key;
    int64_t wait_us; /* the sender waits for the receiver, for so long; 0: it does not */
};

/* A user name and password that a sender gave; the texts are lent. */
struct sender_login {
    struct loop *loop;
    const struct intake_gateway *gateway;
    struct str address, user, password;
    const char *hash; /* argon2id; NULL: there is no such user, which takes as long to find out */
    /* On the loop, during verify() or later. */
    void (*verified)(void *arg, bool ok);
    void *arg;
};

struct intake_port {
    struct intake_table *(*table)(struct intake *in); /* with a reference */
    void (*release)(struct intake_table *t);
    /* The gateway of that name, or NULL; valid while the table is held. */
    const struct intake_gateway *(*find)(const struct intake_table *t, struct str name);
    /* Checks a key or the admin token; *ret is valid while the table is held.  What is left to the
     * gateway: the address (intake_is_from), and then to note the use.  Also set, for the audit
     * log, with AUTH_OTHER_GATEWAY and AUTH_EXPIRED. */
    enum intake_auth (*check_key)(const struct intake_table *t, const struct intake_gateway *g,
                                  struct str key, const struct intake_caller **ret);

    /* NULL: refused, and *ret_refusal says why. */
    struct arrival *(*begin)(struct intake *in, const struct arrival_head *head,
                             const struct arrival_calls *calls, void *user,
                             struct intake_answer *ret_refusal);
    /* Takes the bytes in either case.  False: no more calls until `more` is called. */
    bool (*add)(struct arrival *a, struct str bytes);
    /* Before end(), instead of a key of the head: the key is this text together with the digest of
     * the bytes, so other bytes under it are another document. */
    void (*name)(struct arrival *a, struct str key);
    /* Before end(): what was known only when the body had come, in place of what the head said. */
    void (*describe)(struct arrival *a, struct str ctype, struct str name, struct str head);
    void (*end)(struct arrival *a);
    void (*abort)(struct arrival *a);
    /* The sender does not wait any more: `replied` is not called.  The document goes on. */
    void (*leave)(struct reply_wait *w);

    /* Checks a user name and password off the loop.  False: refused (429, 503), *ret_refusal says
     * why, and `verified` is not called. */
    bool (*verify)(struct intake *in, const struct sender_login *login,
                   struct intake_answer *ret_refusal);
    void (*count_refusal)(const struct intake_gateway *g, int status);
    /* For the audit log: somebody sent a key or a password that was not taken.  `who`: the key or
     * user, if there is one of that name; else empty. */
    void (*note_refusal)(struct intake *in, const struct intake_gateway *g, struct str who,
                         struct str address, const char *why);
};
