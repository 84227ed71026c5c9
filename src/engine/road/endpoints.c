#include "engine/road/endpoints.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "engine/dispatch/dispatch.h"
#include "engine/road/state.h"
#include "store/govern/endpoint_state.h"
#include "store/govern/failing.h"
#include "store/store.h"

struct endpoint_note {
    struct pool_job job;
    struct road *road;
    int64_t endpoint;
    struct breaker breaker;
    int64_t pause_until_us;
    bool here; /* the reason is this node's own */
    char why[200];
};

static void write_note(struct pool_job *job)
{
    struct endpoint_note *n = container_of(job, struct endpoint_note, job);
    struct store *s = n->road->store;
    struct endpoint_state state = { .endpoint = n->endpoint,
                                    .node = store_node(s),
                                    .since_us = n->breaker.since_us,
                                    .until_us = n->breaker.until_us,
                                    .kind =
                                        n->breaker.rejecting ? ENDPOINT_REJECTING : ENDPOINT_OPEN,
                                    .message = str_of(n->why) };
    struct err err = { 0 };
    bool open = breaker_is_open(&n->breaker);
    bool ok = n->here ? true /* not for others: it is in the report */
              : open  ? endpoint_state_put(s, &state, &err)
                      : endpoint_state_close(s, n->endpoint, &err);

    state.kind = ENDPOINT_PAUSE;
    state.since_us = clock_wall_us();
    state.until_us = n->pause_until_us;
    if (ok && n->pause_until_us > 0)
        ok = endpoint_state_put(s, &state, &err);
    if (!ok)
        log_event(LOG_WARN, "endpoint.unsaved", kv_z("why", err.text));
    free(n);
}

void endpoints_changed(void *road, int64_t endpoint, const struct breaker *b,
                       int64_t pause_until_us, const char *why, bool here)
{
    struct road *r = road;
    struct str name = name_text(r->store, endpoint);
    struct endpoint_note *n = NEW(struct endpoint_note);

    *n = (struct endpoint_note){ .job = { .run = write_note },
                                 .road = r,
                                 .endpoint = endpoint,
                                 .breaker = *b,
                                 .here = here,
                                 .pause_until_us = pause_until_us };
    (void)snprintf(n->why, sizeof n->why, "%s", why);
    if (here)
        log_event(LOG_WARN, "endpoint.hold", kv_str("endpoint", name), kv_z("why", why),
                  kv_z("hint", "Its deliveries wait until the right folder is back; `waybill probe "
                               "NAME --accept` makes what is there now the right one."));
    else if (breaker_is_open(b))
        log_event(LOG_WARN, "endpoint.open", kv_str("endpoint", name), kv_z("why", why),
                  kv_int("wait_ms", (b->until_us - clock_wall_us()) / CLOCK_MS),
                  kv_z("hint", b->rejecting
                                   ? "It rejects everything. Its deliveries wait; one probes "
                                     "now and then, and may become a dead letter."
                                   : "Its deliveries wait and use up nothing; one probes "
                                     "now and then."));
    else if (pause_until_us > 0)
        log_event(LOG_INFO, "endpoint.pause", kv_str("endpoint", name), kv_z("why", why),
                  kv_int("wait_ms", (pause_until_us - clock_wall_us()) / CLOCK_MS));
    else
        log_event(LOG_INFO, "endpoint.close", kv_str("endpoint", name));
    pool_submit(r->pool, &n->job);
}

/* ---- reports to people ---- */

void endpoints_refusing(void *road, int64_t endpoint, const char *why)
{
    const struct road *r = road;
    struct str name = name_text(r->store, endpoint);

    if (why != NULL)
        log_event(LOG_WARN, "endpoint.refuse", kv_str("endpoint", name), kv_z("why", why),
                  kv_z("hint", "Each delivery is tried again by its `retry` until `for` is over."));
    else
        log_event(LOG_INFO, "endpoint.take", kv_str("endpoint", name));
}

struct report_job {
    struct pool_job job;
    struct road *road;
    int64_t endpoint;
};

static void write_report(struct pool_job *job)
{
    struct report_job *j = container_of(job, struct report_job, job);
    struct store *s = j->road->store;
    struct endpoint_report report;
    struct err err = { 0 };

    dispatch_report(j->road->dispatch, j->endpoint, &report);
    bool ok = report.text[0] != '\0' ? failing_put(s, j->endpoint, str_of(report.text), &err)
                                     : failing_drop(s, j->endpoint, &err);

    if (dispatch_reported(j->road->dispatch, j->endpoint, &report, ok))
        log_event(LOG_WARN, "endpoint.unsaved", kv_z("why", err.text));
    free(j);
}

void endpoints_report(void *road, int64_t endpoint)
{
    struct road *r = road;
    struct report_job *j = NEW(struct report_job);

    *j = (struct report_job){ .job = { .run = write_report }, .road = r, .endpoint = endpoint };
    pool_submit(r->pool, &j->job);
}

bool road_learn(struct road *r, struct err *err)
{
    enum { MOST = 256 };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct endpoint_state states[MOST];
    size_t count;

    if (!endpoint_state_list(r->store, &a, states, MOST, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        dispatch_learn(r->dispatch, &states[i]);
    return true;
}
