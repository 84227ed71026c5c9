/* session.h - who is logged in.
 *
 * A session is 256 random bits that a browser has; only their digest is kept.  It ends when it was
 * not used for SESSION_IDLE_US, when it is SESSION_LASTS_US old, or when somebody ends it.  Every
 * change raises the mark of user.h, but for when it was last seen.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct store;

#define SESSION_IDLE_US  (INT64_C(30) * 60 * CLOCK_S)
#define SESSION_LASTS_US (INT64_C(12) * 3600 * CLOCK_S)

enum {
    SESSIONS_MOST = 20000,
    SESSIONS_OF_ONE = 20, /* of one user; the oldest make room */
    SESSION_AGENT_MOST = 200,
    SESSION_ADDRESS_MOST = 64,
};

struct session {
    struct sha256 id;
    struct str user, address, agent;
    struct str password; /* of a new one: the hash that was verified; empty: they came otherwise */
    int64_t made_us, seen_us, expires_us;
    int64_t idle_us, left_us; /* by the store's clock, when it was read */
};

/* *ret_was false: there is no such user any more, it is disabled, or has another password. `before`
 * (may be NULL) is the session that it replaces, if they came. */
bool session_add(struct store *s, const struct session *made, const struct sha256 *before,
                 bool *ret_was, struct err *err);
bool session_end(struct store *s, const struct sha256 *id, bool *ret_was, struct err *err);

/* Those that were used so long ago, and not later. */
struct session_use {
    struct sha256 id;
    int64_t ago_us;
};

bool session_note_used(struct store *s, const struct session_use *uses, size_t count,
                       struct err *err);

/* Those that last, the newest first, at most SESSIONS_MOST. */
bool session_list(struct store *s, struct arena *a, struct session **ret, size_t *ret_count,
                  struct err *err);
