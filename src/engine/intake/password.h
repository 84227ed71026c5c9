/* password.h - argon2id off the loop, with a cache of successful checks.
 *
 * A hash takes a tenth of a second and megabytes, so at most two run at a time; the others wait
 * without occupying a thread.  A successful triple (user, password, hash) is remembered for ten
 * minutes as a keyed digest; the password itself is never stored.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

struct background;

/* `verified` is called on the loop, at once when the triple is remembered.  hash NULL: there is no
 * such user; the check takes as long and always fails.  False: too many wait. */
bool password_verify(struct background *background, struct loop *loop, struct str user_name,
                     struct str password, const char *hash, void (*verified)(void *user, bool ok),
                     void *user);

/* The same synchronously, for threads that may block; nothing is remembered. */
bool password_is(struct str password, const char *hash);

/* argon2id as text, 64 MiB and two passes.  Blocks; one at a time. */
enum { PASSWORD_TEXT = 128 };
bool password_hash(struct str password, char ret[static PASSWORD_TEXT], struct err *err);
