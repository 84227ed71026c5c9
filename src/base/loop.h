/* loop.h - a thread that owns a libuv loop, and the way to talk to it.
 *
 * Everything of a loop runs on its thread.  Other threads post messages; the
 * loop runs them in the order of posting.  Code on the loop's own thread may
 * defer work to the end of the round, where no callback is on the stack, and may
 * hook into the end of each round to hand over work to other threads in groups.
 *
 * Invariants
 *   (1) a message is in at most one list, and is no longer in it when fn runs:
 *       fn may post it again or free it.
 *   (2) messages posted by one thread run in the order it posted them.
 *   (3) deferred messages and then the hooks run before the loop waits for
 *       events; a hook never misses work of its round.
 *
 * Ownership      messages and hooks are embedded in the caller's objects.
 * Threads        loop_post() from any; loop_start() and loop_stop() from a thread
 *                that is no loop; the rest on the loop.  All signals are blocked on
 *                loop threads, also SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"

struct loop;

struct loop_msg {
    struct loop_msg *next;
    void (*fn)(struct loop_msg *msg);
};

struct loop_hook {
    struct loop_hook *next;
    void (*fn)(struct loop_hook *hook);
};

/* `name` is the name of the thread; at most 15 bytes of it are shown. */
bool loop_start(const char *name, struct loop **ret_loop, struct err *err);

/* Runs the posted messages, waits until the last handle of the loop's users is closed,
 * and ends the thread.  No message may be posted afterwards.  Accepts NULL. */
void loop_stop(struct loop *l);

void loop_post(struct loop *l, struct loop_msg *msg);

bool loop_is_current(const struct loop *l);
uv_loop_t *loop_uv(struct loop *l);

/* Run the message at the end of this round. */
void loop_defer(struct loop *l, struct loop_msg *msg);

/* Call hook->fn once per round, after the events and the deferred messages. */
void loop_at_round_end(struct loop *l, struct loop_hook *hook);
void loop_unhook(struct loop *l, struct loop_hook *hook);
