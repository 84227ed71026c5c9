/* user.h - people who log in, and links by which they choose a password.
 *
 * What a user may do is said by the names of roles (core/rights.h).  Whoever has neither a password
 * nor an identity elsewhere (iss and sub, OpenID Connect) gets in by a link: 256 random bits, of
 * which only the digest is kept, good once and for a time.
 *
 * Every change raises the mark `login`, so that nodes notice, and is one transaction; the mark is
 * taken first: changes come one after the other, on whatever node.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct store;

enum {
    USERS_MOST = 10000,
    USER_NAME_MOST = 64,
    USER_TITLE_MOST = 200,
    USER_ROLES_TEXT = 2000, /* of all names of roles */
    USER_ROLES_MOST = 50,
    USER_SUB_MOST = 500,
};

struct user {
    struct str name, title;
    struct str password; /* argon2id, as text; empty: none */
    struct str roles;    /* names, a blank between them */
    struct str iss, sub; /* empty: only known here */
    bool disabled;
    int64_t made_us, login_us; /* login_us 0: never */
};

/* Small letters, digits and . _ - @ +; the first is a letter or digit. */
bool user_is_name(struct str name);

/* ERR_PERMANENT with EEXIST: there is one of this name, or of this iss and sub; ERR_LIMIT: there
 * are USERS_MOST. */
bool user_add(struct store *s, const struct user *u, struct err *err);

/* What of `u` replaces what is kept under its name. */
enum { USER_TITLE = 1, USER_PASSWORD = 2, USER_ROLES = 4, USER_DISABLED = 8 };

/* A new password, and being disabled, end the sessions of the user, but for `but` (may be NULL),
 * and the links. */
bool user_change(struct store *s, const struct user *u, unsigned what, const struct sha256 *but,
                 bool *ret_was, struct err *err);
/* With sessions and links. */
bool user_drop(struct store *s, struct str name, bool *ret_was, struct err *err);

/* Sorted by name. */
bool user_list(struct store *s, struct arena *a, struct user **ret, size_t *ret_count,
               struct err *err);
/* False with ERR_NONE: there is none. */
bool user_get(struct store *s, struct str name, struct arena *a, struct user *ret, struct err *err);
bool user_get_by_sub(struct store *s, struct str iss, struct str sub, struct arena *a,
                     struct user *ret, struct err *err);

/* ---- links ---- */

/* `id` is the digest of what is given out; the one before does not work any more.  *ret_may false:
 * there is no such user.  With an empty name it is the first user's: then false when there is a
 * user, or such a link already. */
bool user_invite(struct store *s, struct str name, const struct sha256 *id, int64_t lasts_us,
                 bool *ret_may, struct err *err);
/* Whose it is, empty: the first user's.  False with ERR_NONE: there is no such link, or no more. */
bool user_invited(struct store *s, const struct sha256 *id, struct arena *a, struct str *ret,
                  struct err *err);
/* The link is used up, and its user has this password; the first user is made, as `u` says.
 * *ret_name is in the arena; empty: there is no such link, or no more. */
bool user_enter(struct store *s, const struct sha256 *id, const struct user *u, struct arena *a,
                struct str *ret_name, struct err *err);

/* Changes with every change of users, sessions and links. */
bool user_mark(struct store *s, int64_t *ret, struct err *err);
