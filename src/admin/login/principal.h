/* principal.h - the authenticated caller of the admin API, with its rights.
 *
 * Made from a request's credentials before its body is read (http_api.c), and again when the body
 * is complete, because rights may be revoked while a body arrives.  Passed to every resolver; lives
 * as long as the request.
 */
#pragma once

#include "core/rights.h"

struct engine;
struct jobs;
struct login;
struct sha256;

enum principal_kind {
    PRINCIPAL_NOBODY = 0,
    PRINCIPAL_TOKEN, /* the node's admin token: anyone who can read its folder */
    PRINCIPAL_USER,  /* a person with a session */
    PRINCIPAL_KEY,   /* a machine with an admin key */
};

struct principal {
    struct engine *engine;
    struct jobs *jobs;
    enum principal_kind kind;
    struct str name;    /* for timelines and the audit log: "admin" for the token */
    struct str address; /* peer address of the request */
    struct rights rights;
    struct login *login;          /* login.h */
    const struct sha256 *session; /* of a user: id of the session; otherwise NULL */
    const char *refused; /* of nobody: why the credentials were refused; NULL: none were sent */
};
