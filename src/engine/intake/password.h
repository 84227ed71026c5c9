/* password.h - argon2id off the loop, with a cache of successful checks.
 *
 * A hash takes a tenth of a second and megabytes.  People and senders have a queue each, and one
 * hash of a queue runs at a time; the others wait without occupying a thread.  So whoever sends
 * wrong passwords to a gateway does not keep people from logging in, and two threads of the
 * background pool are the most that hashes take.  A successful triple (user, password, hash) is
 * remembered for ten minutes as a keyed digest; the password itself is never stored.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

struct background;

enum password_queue { PASSWORD_OF_PEOPLE, PASSWORD_OF_SENDERS, PASSWORD_QUEUES };

struct password_check {
    enum password_queue queue;
    struct background *background;
    struct loop *loop;
    struct str user, password;
    const char *hash; /* NULL: there is no such user; the check takes as long and always fails */
    void (*verified)(void *arg, bool ok);
    void *arg;
};

/* `verified` is called on the loop, at once when the triple is remembered.  False: too many wait,
 * and the password was not looked at. */
bool password_verify(const struct password_check *c);

/* Whether the triple is remembered as right. */
bool password_is_remembered(struct str user, struct str password, const char *hash);

/* The same synchronously, for threads that may block; nothing is remembered. */
bool password_is(struct str password, const char *hash);

/* argon2id as text, 64 MiB and two passes.  Blocks; one at a time. */
enum { PASSWORD_TEXT = 128 };
bool password_hash(struct str password, char ret[static PASSWORD_TEXT], struct err *err);
