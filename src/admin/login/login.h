/* login.h - who is logged in: users and sessions in memory, as the store has them.
 *
 * Requests are answered out of memory, without the store.  A thread follows the store each second,
 * so that a session that was ended, a user who was disabled and a role that was changed on any node
 * count everywhere within a second; what this node changes itself counts at once.  When sessions
 * were used is written down now and then.
 *
 * Invariants
 *   (1) no session outlives its 12 hours, or half an hour without use, whether or not the store can
 *       be reached.
 *
 * Threads: the functions that say so block; the others may be called from loops.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/key.h"
#include "base/str.h"
#include "store/people/user.h"

struct background;
struct engine;
struct login;
struct login_limit;
struct oidc_provider;
struct principal;

struct login *login_new(struct engine *engine);
void login_free(struct login *l); /* while the store is open */

struct engine *login_engine(struct login *l);
struct login_limit *login_limits(struct login *l);
/* For talks with a provider elsewhere, which may take their time. */
struct background *login_background(struct login *l);
struct oidc_provider *login_oidc(struct login *l);

/* ---- sessions ---- */

/* The session of this secret: who it is, what they may; texts are copied into the arena.  It counts
 * as used now. */
bool login_find(struct login *l, struct str secret, struct arena *a, struct principal *ret);

struct login_from {
    struct str address, agent;
    const struct sha256 *before; /* the session that the new one replaces; NULL: none */
    const char *hash;            /* of the password that was verified; NULL: they came otherwise */
};

/* Blocks.  False with ERR_NONE: there is no such user, it is disabled, or its
 * password has changed. */
bool login_begin(struct login *l, struct str user, const struct login_from *from,
                 char ret_secret[static KEY_SECRET], struct err *err);
bool login_end(struct login *l, const struct sha256 *session, bool *ret_was, struct err *err);

/* ---- users ---- */

/* False: there is none, or it has no password.  A copy in the arena. */
bool login_hash(struct login *l, struct str name, struct arena *a, const char **ret);

/* Whether the password will do; the error says what it lacks. */
bool login_check_password(struct str user, struct str password, struct err *err);

#define LOGIN_LINK_US (INT64_C(72) * 3600 * CLOCK_S)

/* A link for a user.  With an empty name for the first one, once while there is none.  False with
 * ERR_NONE: there is no such user, or no need.  Blocks. */
bool login_invite(struct login *l, struct str name, char ret_secret[static KEY_SECRET],
                  struct err *err);

/* Something of users or sessions was changed here: it counts now.  Blocks. */
bool login_refresh(struct login *l, struct err *err);
