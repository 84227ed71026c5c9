/* password.h - argon2id, off the loop, with a memory of what was right.
 *
 * A hash takes a tenth of a second and megabytes, so at most two run at a time and the others
 * wait without keeping a thread.  A pair (user, password, hash) that was right is remembered
 * for ten minutes, as a keyed digest: the password itself is kept nowhere.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

struct background;

/* `verified` is called on the loop, at once when the pair is remembered.  hash NULL:
 * there is no such user; it takes as long and is never right.  False: too many wait. */
bool password_verify(struct background *background, struct loop *loop, struct str user_name,
                     struct str password, const char *hash, void (*verified)(void *user, bool ok),
                     void *user);

/* The same here and now, for threads that may block; nothing is remembered. */
bool password_is(struct str password, const char *hash);

/* argon2id as text, 64 MiB and two passes.  Blocks; one at a time. */
enum { PASSWORD_TEXT = 128 };
bool password_hash(struct str password, char ret[static PASSWORD_TEXT], struct err *err);
