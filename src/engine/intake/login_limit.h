/* login_limit.h - rate limit of password attempts.
 *
 * Failed attempts are counted per pair of account and address, and per address.  After the free
 * attempts the delay doubles with each further one, up to a quarter of an hour; after a pause of
 * that length the count begins anew.  The delay belongs to the address, never to the account alone,
 * so a stranger cannot lock a user out.  A pair that has logged in before is limited to one attempt
 * a second, after a burst, whatever others do from the same address.
 *
 * Of an IPv6 address the first 64 bits count.  The tables have a fixed size; a new entry replaces
 * the least recently used one of its set.  Pure: the time is a parameter.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct login_limit;

enum {
    LOGIN_FREE_PAIR = 5,     /* attempts without delay on one account from one address */
    LOGIN_FREE_ADDRESS = 20, /* attempts without delay on all accounts from one address */
    LOGIN_KNOWN_BURST = 10,
};

#define LOGIN_WAIT_MOST_US (INT64_C(900) * 1000000)

struct login_limit *login_limit_new(void);
void login_limit_free(struct login_limit *l);

/* 0: the attempt may be made, and counts as failed unless login_limit_worked() follows.  Otherwise
 * the microseconds to wait. */
int64_t login_limit_try(struct login_limit *l, struct str user, struct str address, int64_t now_us);
void login_limit_worked(struct login_limit *l, struct str user, struct str address, int64_t now_us);
/* Takes an attempt back that was allowed and could not be made: no password was looked at, so
 * nobody learned anything, and the account must not pay for it. */
void login_limit_undo(struct login_limit *l, struct str user, struct str address);
