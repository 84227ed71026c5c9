/* limit.h - how often somebody may try a password.
 *
 * Tries are counted by account and address, and by address.  After a few that failed each further
 * one has to wait, twice as long as the one before it, up to a quarter of an hour; who waits so
 * long begins anew.  The delay is the address's, never the account's: a stranger cannot lock
 * anybody out. An account that was opened from an address before may be tried from there once a
 * second whatever others do there.
 *
 * An address of IPv6 is its first 64 bits.  What is remembered has a fixed size; when it is full,
 * the longest ago is forgotten.  Pure: the time is given.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct login_limit;

enum {
    LOGIN_FREE_PAIR = 5,     /* tries of an account from an address */
    LOGIN_FREE_ADDRESS = 20, /* of all accounts from an address */
    LOGIN_KNOWN_BURST = 10,
};

#define LOGIN_WAIT_MOST_US (INT64_C(900) * 1000000)

struct login_limit *login_limit_new(void);
void login_limit_free(struct login_limit *l);

/* 0: try, and it counts as failed until login_limit_worked(); else how long to wait. */
int64_t login_limit_try(struct login_limit *l, struct str user, struct str address, int64_t now_us);
void login_limit_worked(struct login_limit *l, struct str user, struct str address, int64_t now_us);
