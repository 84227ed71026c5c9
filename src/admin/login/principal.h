/* principal.h - who asks the admin API, and what they may.
 *
 * Made from a request's credentials before its body is read (http_api.c), and again when all of it
 * is there: a body may take longer than a right lasts.  Handed to every resolver; lives as long as
 * the request.
 */
#pragma once

#include "core/rights.h"

struct engine;
struct login;
struct sha256;

enum principal_kind {
    PRINCIPAL_NOBODY = 0,
    PRINCIPAL_TOKEN, /* the node's own token: whoever may read its folder */
    PRINCIPAL_USER,  /* a person, by a session */
    PRINCIPAL_KEY,   /* a machine, by a key for this API */
};

struct principal {
    struct engine *engine;
    enum principal_kind kind;
    struct str name;    /* for timelines and the audit log: "admin" for the token */
    struct str address; /* where the request comes from */
    struct rights rights;
    struct login *login;          /* login.h */
    const struct sha256 *session; /* of a user: which one; else NULL */
    const char *refused;          /* nobody: why what was sent does not count; NULL: nothing was */
};
