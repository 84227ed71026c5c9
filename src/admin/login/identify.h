/* identify.h - who sends a request: the admin token, an admin key, a session, or a sender's key.
 *
 * Read from the head of the request alone, on its io thread and from memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct engine;
struct http_request;
struct login;
struct principal;

/* Where keys, the admin token and sessions are looked up. */
struct identify {
    struct engine *engine;
    struct login *login;
};

/* Texts are copied into the arena, because the request may be gone before it is answered.  False:
 * the sender has no access to the admin API; *ret_caller is then the number of the caller of a
 * gateway that the key belongs to, or 0. */
bool identify(const struct identify *known, struct http_request *r, struct arena *a,
              struct principal *ret, int64_t *ret_caller);
