/* caller.h - callers: keys with which senders use a gateway.
 *
 * A key is `wbk_NAME_SECRET`: NAME identifies it, the SHA-256 of the whole key proves it.
 * The key itself is shown once, when it is made, and not stored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/key.h"

struct store;

enum {
    CALLERS_MOST = 100000,
    CALLER_SYSTEMS_MOST = 32,  /* that one key is bound to */
    CALLER_NETWORKS_MOST = 32, /* that one key works from */
    CALLER_USES_MOST = 500     /* of one caller_use() */
};

struct caller {
    int64_t id, gateway, made_us; /* gateway: name id */
    int64_t expires_us;           /* 0: never */
    int64_t used_us;              /* last use, by the minute; 0: never */
    struct str name, title;
    struct str systems;  /* names, separated by blanks: whose documents it may send; empty: any's */
    struct str networks; /* in the same way: the addresses it works from */
    struct sha256 secret;
};

/* Of `key` gateway, title, systems, networks and expires_us count; they are checked already. */
bool caller_add(struct store *s, const struct caller *key, char ret_name[static KEY_NAME],
                char ret_key[static KEY_TEXT], struct err *err);

struct caller_used {
    int64_t id, used_us;
};

/* Notes the last use of at most CALLER_USES_MOST keys, in one transaction. */
bool caller_use(struct store *s, const struct caller_used *uses, size_t count, struct err *err);
bool caller_remove(struct store *s, struct str name, bool *ret_was_there, struct err *err);
bool caller_list(struct store *s, struct arena *a, struct caller **ret, size_t *ret_count,
                 struct err *err);
/* *ret is empty if the caller was removed. */
bool caller_name(struct store *s, int64_t id, struct arena *a, struct str *ret, struct err *err);
/* A mark that grows with every change, on any node. */
bool caller_mark(struct store *s, int64_t *ret, struct err *err);
