#include "core/call.h"

#include "base/clock.h"

enum { MARK_COMMITTED = 1, MARK_GIVEN_UP = 2 };

#define CALL_PAUSED_US (INT64_MAX / 2) /* later than every deadline */

void call_alive(struct call *c)
{
    if (c != NULL)
        atomic_store_explicit(&c->alive_us, clock_mono_us(), memory_order_relaxed);
}

void call_pause(struct call *c)
{
    if (c != NULL)
        atomic_store_explicit(&c->alive_us, CALL_PAUSED_US, memory_order_relaxed);
}

bool call_own_begin(struct call *c, struct err *err)
{
    call_pause(c);
    return !call_is_given_up(c) ||
           err_set(err, ERR_TRANSIENT, 0, "it was given up, because it hung");
}

bool call_is_given_up(const struct call *c)
{
    return c != NULL && (atomic_load(&c->marks) & MARK_GIVEN_UP) != 0;
}

bool call_is_over(const struct call *c)
{
    /* In this order: `stop` may be gone with whoever gave the call up. */
    return c != NULL && (call_is_given_up(c) || (c->stop != NULL && atomic_load(c->stop)));
}

bool call_commit(struct call *c)
{
    return c == NULL || (atomic_fetch_or(&c->marks, MARK_COMMITTED) & MARK_GIVEN_UP) == 0;
}

bool call_give_up(struct call *c)
{
    return (atomic_fetch_or(&c->marks, MARK_GIVEN_UP) & MARK_COMMITTED) != 0;
}
