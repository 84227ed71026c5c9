/* session.h - login sessions.
 *
 * A session is 256 random bits in a browser; only their digest is stored.  It ends after
 * SESSION_IDLE_US without use, at the age of SESSION_LASTS_US, or by logout.  Every change but that
 * of the last use raises the mark of user.h.
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
    SESSIONS_OF_ONE = 20, /* per user; the oldest are ended */
    SESSION_AGENT_MOST = 200,
    SESSION_ADDRESS_MOST = 64,
};

struct session {
    struct sha256 id;
    struct str user, address, agent;
    struct str password; /* new session: the verified hash; empty: no password login */
    int64_t made_us, seen_us, expires_us;
    int64_t idle_us, left_us; /* by the store's clock, at the time of reading */
};

/* *ret_was false: the user does not exist any more, is disabled, or has another password; nothing
 * is changed.  `before` (may be NULL) is the session that the new one replaces. */
bool session_add(struct store *s, const struct session *made, const struct sha256 *before,
                 bool *ret_was, struct err *err);
bool session_end(struct store *s, const struct sha256 *id, bool *ret_was, struct err *err);

/* A session, and how long ago it was last used. */
struct session_use {
    struct sha256 id;
    int64_t ago_us;
};

bool session_note_used(struct store *s, const struct session_use *uses, size_t count,
                       struct err *err);

/* Valid sessions, newest first, at most SESSIONS_MOST. */
bool session_list(struct store *s, struct arena *a, struct session **ret, size_t *ret_count,
                  struct err *err);
