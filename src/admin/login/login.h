/* login.h - users and sessions: an in-memory copy of the store's.
 *
 * Requests are identified from memory, without a query.  A thread polls the store twice a second,
 * so that an ended session, a disabled user or a changed role takes effect on all nodes within a
 * second; a change on this node takes effect at once.  The thread also records, about once a
 * minute, when sessions were last used.
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
void login_free(struct login *l); /* the store must still be open */

struct engine *login_engine(struct login *l);
struct login_limit *login_limits(struct login *l);
/* A pool of its own for calls to an OpenID Connect provider, which may be slow. */
struct background *login_background(struct login *l);
struct oidc_provider *login_oidc(struct login *l);

/* ---- sessions ---- */

/* Finds the session by its secret; *ret gets the user and their rights, texts are copied into the
 * arena.  Marks the session as used now. */
bool login_find(struct login *l, struct str secret, struct arena *a, struct principal *ret);

/* The same by its id, for what goes on without its user; the session is not marked as used. */
bool login_look(struct login *l, const struct sha256 *session, struct arena *a,
                struct principal *ret);

struct login_from {
    struct str address, agent;
    const struct sha256 *before; /* session that the new one replaces; NULL: none */
    const char *hash; /* hash that the password was verified against; NULL: no password was used */
};

/* Blocks.  False with ERR_NONE: the user does not exist, is disabled, or has another password by
 * now. */
bool login_begin(struct login *l, struct str user, const struct login_from *from,
                 char ret_secret[static KEY_SECRET], struct err *err);
bool login_end(struct login *l, const struct sha256 *session, bool *ret_was, struct err *err);

/* ---- users ---- */

/* The password hash of an enabled user, copied into the arena.  False: no such user, or no
 * password. */
bool login_hash(struct login *l, struct str name, struct arena *a, const char **ret);

/* Whether the password is acceptable; the error says why not. */
bool login_check_password(struct str user, struct str password, struct err *err);

#define LOGIN_LINK_US (INT64_C(72) * 3600 * CLOCK_S)

/* Makes a link with which the user can choose a password.  With an empty name it invites the first
 * user, which is allowed only while there is no user and no other such link.  False with ERR_NONE:
 * there is no such user, or a first user is not needed.  Blocks. */
bool login_invite(struct login *l, struct str name, char ret_secret[static KEY_SECRET],
                  struct err *err);

/* Reloads the copy; call it after a change to users, roles or sessions on this node.  Blocks. */
bool login_refresh(struct login *l, struct err *err);
