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

enum { CALLERS_MOST = 100000 };

struct caller {
    int64_t id, gateway, made_us; /* gateway: name id */
    struct str name, title;
    struct sha256 secret;
};

bool caller_add(struct store *s, int64_t gateway, struct str title, char ret_name[static KEY_NAME],
                char ret_key[static KEY_TEXT], struct err *err);
bool caller_remove(struct store *s, struct str name, bool *ret_was_there, struct err *err);
bool caller_list(struct store *s, struct arena *a, struct caller **ret, size_t *ret_count,
                 struct err *err);
/* *ret is empty if the caller was removed. */
bool caller_name(struct store *s, int64_t id, struct arena *a, struct str *ret, struct err *err);
/* A mark that grows with every change, on any node. */
bool caller_mark(struct store *s, int64_t *ret, struct err *err);
