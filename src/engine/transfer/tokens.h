/* tokens.h - tokens to log in with (core/web/oauth2.h), fetched once for all sends and kept in
 * memory.
 *
 * A token belongs to the settings that it was got with: an endpoint that a new configuration leaves
 * as it is keeps its token, and endpoints with the same settings share one.
 *
 * Nothing is fetched before it is needed.  Who takes a token whose life is over by three quarters
 * gets it, and a new one is fetched meanwhile; who finds none waits for it.  When a fetch fails,
 * all who wait are told why, and the next who asks begins another one: endpoints have breakers.  A
 * renewal that fails is repeated after a pause, as long as the token at hand lasts.
 *
 * Invariants
 *   (1) at most one fetch for the same settings is under way.
 *   (2) ready() is called once for each tokens_take() that returned TOKEN_WAIT.
 *   (3) a token is in no message.
 *
 * Threads: any; ready() on the transfer thread, or when the node stops on any that takes a token.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/transfer/transfer.h"

struct tokens;

struct tokens_options {
    /* False: no transfer is accepted any more. */
    bool (*send)(void *arg, struct transfer *t);
    void *arg;
    int64_t (*now_us)(void); /* monotonic */
};

/* What a token is got with.  All is lent for the call; `options`: its time-outs and its TLS. */
struct token_order {
    struct str endpoint; /* for people */
    const struct oauth2 *oauth2;
    const struct http_out_options *options;
};

struct token_wait {
    struct token_wait *next;
    /* The fetch is over; NULL: tokens_take() has a token now. */
    void (*ready)(struct token_wait *w, const struct verdict *failed);
};

struct token_lent {
    struct str text; /* on the caller's arena */
    uint64_t number; /* tells it from others */
};

struct tokens *tokens_new(const struct tokens_options *options);
/* After the hub has stopped: nobody waits any more. */
void tokens_free(struct tokens *t);

enum tokens_answer {
    TOKEN_HERE, /* *ret is the token */
    TOKEN_WAIT, /* ready() of the wait is called, perhaps before this returns */
    TOKEN_NONE  /* the node stops: *ret_failed */
};

enum tokens_answer tokens_take(struct tokens *t, const struct token_order *o, struct arena *a,
                               struct token_wait *w, struct token_lent *ret,
                               struct verdict *ret_failed);
/* The receiver did not accept the token of this number: it is not lent any more. */
void tokens_refuse(struct tokens *t, const struct token_order *o, uint64_t number);
