/* identify.h - who sends a request: the admin token, an admin key, a session, or a sender's key.
 *
 * Read from the head of the request alone, on its io thread and from memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/rights.h"

struct arena;
struct engine;
struct http_request;
struct jobs;
struct login;
struct principal;

/* Where keys, the admin token and sessions are looked up. */
struct identify {
    struct engine *engine;
    struct jobs *jobs;
    struct login *login;
};

/* Texts are copied into the arena, because the request may be gone before it is answered.  False:
 * the sender has no access to the admin API; *ret_caller is then the number of the caller of a
 * gateway that the key belongs to, or 0. */
bool identify(const struct identify *known, struct http_request *r, struct arena *a,
              struct principal *ret, int64_t *ret_caller);

/* How the principal was authenticated, as the audit log says it. */
struct str identify_kind(const struct principal *who);
/* Notes for the audit log that the principal asked for something without having the right. */
void identify_note_forbidden(const struct principal *who, struct str what, enum right right);
