/* login.h - the token of a leg whose endpoint logs in with one (core/web/oauth2.h).
 *
 * A leg that has its slot and no token waits for it with its slot; no thread does.  When the
 * receiver answers 401, the token is refused and the leg goes on with another one, once in an
 * attempt: the second 401 is the verdict.
 */
#pragma once

#include "engine/transfer/tokens.h"

struct leg;

/* The leg has waited: it asks again for its token, or (failed) has none.  On any thread. */
typedef void login_go_on(struct leg *p, const struct verdict *failed);

/* TOKEN_HERE: p->sending has what it needs, which may be nothing.  TOKEN_WAIT: `go_on` is called,
 * perhaps before this returns.  TOKEN_NONE: p->verdict says why. */
enum tokens_answer login_take(struct leg *p, login_go_on *go_on);
/* True: its token is not used any more, and the attempt is to be made again from login_take() on.
 */
bool login_refused(struct leg *p, const struct http_out_answer *answer);
