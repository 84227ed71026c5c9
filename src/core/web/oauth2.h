/* oauth2.h - a token by client credentials (RFC 6749, 4.4): the request for it, and what is
 * answered.
 *
 * Pure: who fetches and keeps tokens is engine/transfer/tokens.h.
 *
 * The answer comes from outside: at most VERDICT_ANSWER_MOST bytes of JSON, OAUTH2_DEPTH_MOST
 * levels deep.  A token is 1 to OAUTH2_TOKEN_MOST visible characters of ASCII, and of type Bearer
 * (RFC 6750).  `expires_in` is a number of seconds, or such a number as text; where it is left out,
 * the token is used for OAUTH2_LIFE_UNSAID_S; more than OAUTH2_LIFE_MOST_S counts as that.
 *
 * Neither the token nor the client's secret is in a message: of an answer only the members `error`
 * and `error_description` are quoted, and not if one of them holds the secret.
 */
#pragma once

#include "core/connector.h"

enum {
    OAUTH2_TOKEN_MOST = 16 << 10,
    OAUTH2_DEPTH_MOST = 16,
    OAUTH2_LIFE_UNSAID_S = 300,
    OAUTH2_LIFE_MOST_S = 24 * 60 * 60,
};

/* The key `oauth2` of an endpoint, with its help. */
extern const struct option oauth2_options[];

/* Reads `oauth2`; *ret NULL: there is none.  Everything is on s->arena. */
bool oauth2_read(const struct settings *s, const struct oauth2 **ret, struct err *err);
/* What tables cannot say about the endpoint that has it: no other way to log in beside it. */
void oauth2_check(const struct yaml_node *map, struct problem_list *problems);

/* The request, and its body; on the arena, they hold the secret. */
void oauth2_request(const struct oauth2 *o, struct arena *a, struct http_out_request *ret,
                    struct str *ret_body);

struct oauth2_token {
    struct str text; /* on the arena */
    int64_t life_us; /* from now on */
};

/* False: no token, and *ret_failed says why.  Its kind is CREDENTIAL if the client was refused,
 * else UNREACHED: nothing was sent to the receiver. */
bool oauth2_judge(const struct oauth2 *o, const struct http_out_answer *answer, struct arena *a,
                  struct oauth2_token *ret, struct verdict *ret_failed);
