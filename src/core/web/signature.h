/* signature.h - requests that are signed with a shared secret (HMAC): how a signature is made, and
 * how one is checked.
 *
 *     hmac: { header: X-Signature, secret: "${secret:shop}", prefix: "sha256=", timestamp: X-Time }
 *
 * The header has the prefix and then the HMAC of the body, as hex or base64.  With `timestamp`, the
 * header of that name has the time in seconds since 1970, and what is signed is that text, a full
 * stop, and the body; a time that is further away than `tolerance` is refused, so that a request
 * that somebody has recorded is of no use for long.
 *
 * Two secrets may be given, so that both sides need not change at the same moment: a signature by
 * either is good; requests that we send are signed with the first.
 *
 * Threads: pure; the settings are never changed.
 */
#pragma once

#include "base/arena.h"
#include "base/hmac.h"
#include "core/option.h"
#include "core/settings.h"

enum { SIGNATURE_SECRETS = 2, SIGNATURE_TIME = 24 };

struct signature {
    struct str header, prefix, timestamp; /* timestamp empty: none is signed */
    struct str secrets[SIGNATURE_SECRETS];
    size_t secret_count;
    enum hmac_kind kind;
    bool base64;
    int64_t tolerance_us;
};

/* The keys of `hmac` (of a gateway) and of `sign` (of an endpoint). */
extern const struct option signature_checks[], signature_makes[];

/* The map below `key`; *ret NULL: there is none.  Everything is on s->arena. */
bool signature_read(const struct settings *s, const char *key, const struct signature **ret,
                    struct err *err);
/* What tables cannot say; `map` is that of the key, or NULL. */
void signature_check(const struct yaml_node *map, struct problem_list *problems);

/* ---- checking ---- */

/* One signature that is checked, from the head of the request to the end of its body. */
struct signature_check {
    const struct signature *rule;
    struct hmac_value given;
    struct hmac by[SIGNATURE_SECRETS];
};

/* The values of the two headers; ptr NULL: not sent.  NULL: check the body; else what is wrong, one
 * sentence for the sender. */
const char *signature_begin(struct signature_check *c, const struct signature *rule,
                            struct str value, struct str time, int64_t now_us);
void signature_add(struct signature_check *c, struct str bytes);
bool signature_end(struct signature_check *c);  /* the body was signed so */
void signature_drop(struct signature_check *c); /* safe after the end, and on a zeroed one */

/* ---- making ---- */

/* Starts a signature at this time; `time` is what the header of the time has, empty: none. */
struct hmac signature_start(const struct signature *rule, int64_t now_us,
                            char time[static SIGNATURE_TIME]);
/* The value of the header, on the arena. */
struct str signature_value(const struct signature *rule, struct hmac *h, struct arena *a);
