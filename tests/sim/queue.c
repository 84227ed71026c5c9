/* queue.c - events by time; of the same time in the order in which they were made.  See sim.h. */
#include "base/require.h"
#include "sim.h"

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void queue_push(struct world *w, const struct event *e)
{
    size_t at = w->event_count++;

    require(w->event_count < EVENTS_MOST);
    for (; at > 0 && is_before(e, &w->events[(at - 1) / 2]); at = (at - 1) / 2)
        w->events[at] = w->events[(at - 1) / 2];
    w->events[at] = *e;
}

bool queue_pop(struct world *w, struct event *ret)
{
    if (w->event_count == 0)
        return false;
    *ret = w->events[0];
    const struct event last = w->events[--w->event_count];
    size_t at = 0;

    for (size_t child; (child = at * 2 + 1) < w->event_count; at = child) {
        if (child + 1 < w->event_count && is_before(&w->events[child + 1], &w->events[child]))
            child++;
        if (!is_before(&w->events[child], &last))
            break;
        w->events[at] = w->events[child];
    }
    w->events[at] = last;
    return true;
}
