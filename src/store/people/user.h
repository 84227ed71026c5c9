/* user.h - users who log in, and invitation links with which they choose a password.
 *
 * The rights of a user are those of named roles (core/rights.h).  A user with neither a password
 * nor an OpenID Connect identity (iss and sub) logs in by a link: 256 random bits, of which only
 * the digest is stored, valid once and for a limited time.
 *
 * Every change is one transaction and raises the mark `login`, which nodes poll.  The mark is taken
 * first: its row serializes the changes of all nodes.
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
    USER_ROLES_TEXT = 2000, /* bytes of all role names */
    USER_ROLES_MOST = 50,
    USER_SUB_MOST = 500,
};

struct user {
    struct str name, title;
    struct str password; /* argon2id, as text; empty: none */
    struct str roles;    /* names, separated by blanks */
    struct str iss, sub; /* empty: no OpenID Connect identity */
    bool disabled;
    int64_t made_us, login_us; /* login_us 0: never */
};

/* A valid user name: small letters, digits and . _ - @ +, beginning with a letter or digit. */
bool user_is_name(struct str name);
/* A name under which timelines and the audit log have somebody or something else: nobody new gets
 * it. */
bool user_is_reserved(struct str name);

/* ERR_PERMANENT with EEXIST: the name, or iss and sub, are taken or reserved; ERR_LIMIT: there are
 * USERS_MOST. */
bool user_add(struct store *s, const struct user *u, struct err *err);

/* Which fields of `u` replace the stored ones. */
enum { USER_TITLE = 1, USER_PASSWORD = 2, USER_ROLES = 4, USER_DISABLED = 8 };

/* A new password, or disabling, ends the links and the sessions of the user, except `but` (may be
 * NULL). */
bool user_change(struct store *s, const struct user *u, unsigned what, const struct sha256 *but,
                 bool *ret_was, struct err *err);
/* Also drops the sessions and links of the user. */
bool user_drop(struct store *s, struct str name, bool *ret_was, struct err *err);

/* Sorted by name. */
bool user_list(struct store *s, struct arena *a, struct user **ret, size_t *ret_count,
               struct err *err);
/* False with ERR_NONE: there is no such user. */
bool user_get(struct store *s, struct str name, struct arena *a, struct user *ret, struct err *err);
bool user_get_by_sub(struct store *s, struct str iss, struct str sub, struct arena *a,
                     struct user *ret, struct err *err);

/* ---- links ---- */

/* Adds a link; `id` is the digest of its secret.  The former link of the user becomes invalid.
 * *ret_may false: there is no such user.  An empty name is for the first user, and allowed only
 * while there is no user and no other such link. */
bool user_invite(struct store *s, struct str name, const struct sha256 *id, int64_t lasts_us,
                 bool *ret_may, struct err *err);
/* The user of a link; empty: the first user.  False with ERR_NONE: the link does not exist or has
 * expired. */
bool user_invited(struct store *s, const struct sha256 *id, struct arena *a, struct str *ret,
                  struct err *err);
/* Consumes the link and sets the password of its user; the first user is created from `u`.
 * *ret_name is in the arena; empty: the link does not exist or has expired. */
bool user_enter(struct store *s, const struct sha256 *id, const struct user *u, struct arena *a,
                struct str *ret_name, struct err *err);

/* A mark that grows with every change of users, sessions and links. */
bool user_mark(struct store *s, int64_t *ret, struct err *err);
