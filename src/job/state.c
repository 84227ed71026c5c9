#include "job/state.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/config.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "job/book.h"

struct book *jobs_book(struct jobs *j)
{
    (void)pthread_mutex_lock(&j->mutex);
    struct book *b = j->book != NULL ? book_ref(j->book) : NULL;

    (void)pthread_mutex_unlock(&j->mutex);
    return b;
}

size_t jobs_free_slots(const struct jobs *j)
{
    size_t slots = (size_t)j->node->job_slots, used = j->run_count + j->handed_count + j->taking;

    return j->stopping || j->book == NULL || j->ending_count >= JOBS_ENDING_MOST || used >= slots
               ? 0
               : slots - used;
}

int64_t jobs_now_us(const struct jobs *j)
{
    return road_now_us(j->road);
}

int64_t jobs_until_us(const struct jobs *j, int64_t lasts_us)
{
    return govern_time(engine_govern(j->engine)).late_us + lasts_us;
}

void jobs_due(struct jobs *j, int64_t queue)
{
    (void)pthread_mutex_lock(&j->mutex);
    for (unsigned i = 0; i < JOBS_QUEUES; i++)
        if (j->queues[i] == queue) {
            j->due |= 1u << i;
            j->asked = true;
            (void)pthread_cond_signal(&j->wake);
        }
    (void)pthread_mutex_unlock(&j->mutex);
}

void jobs_backfill_soon(struct jobs *j)
{
    (void)pthread_mutex_lock(&j->mutex);
    if (j->check != NULL)
        j->check_backfills(j->check);
    (void)pthread_mutex_unlock(&j->mutex);
}

void jobs_say_plan(struct str job, const struct planning *p)
{
    for (enum schedule_reason r = 0; r < SCHEDULE_REASONS; r++) {
        const struct schedule_left *left = &p->left[r];
        char first[CLOCK_TEXT], last[CLOCK_TEXT];

        if (left->count > 0)
            log_event(LOG_INFO, "job.skip", kv_str("job", job),
                      kv_z("reason", schedule_reason_word(r)), kv_int("count", left->count),
                      kv_bool("more", p->left_more),
                      kv_z("first", clock_utc_text(left->first_us, first)),
                      kv_z("last", clock_utc_text(left->last_us, last)));
    }
    if (p->what == SCHEDULE_ENDED)
        log_event(LOG_INFO, "job.over", kv_str("job", job), kv_z("why", schedule_end_word(p->why)));
}

void jobs_say_unknown(const struct book *b)
{
    enum { LINES = 20 };
    size_t said = 0;

    for (size_t i = 0; i < b->count && said < LINES; i++) {
        if (!b->jobs[i].times_unknown)
            continue;
        said++;
        log_event(LOG_WARN, "job.trouble", kv_z("what", "know its times"),
                  kv_str("job", b->jobs[i].name), kv_z("why", b->jobs[i].broken),
                  kv_int("more", said == LINES ? b->unknown_count - said : 0),
                  kv_z("hint", "This node leaves it to others. Install the time zones of the "
                               "system, and restart the node."));
    }
}

void jobs_say_suspended(struct jobs *j, struct str job, struct str why)
{
    char text[JOB_WHY_MOST];

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(why));
    log_event(LOG_ERROR, "job.suspend", kv_str("job", job), kv_z("why", text),
              kv_z("hint", "It does not run until somebody takes it up: `waybill jobs resume`."));
    mishaps_note(j->mishaps, "job_suspended", "job", job, text);
}

void jobs_token_put(struct jobs *j, int64_t queue, int64_t due_us)
{
    if (due_us <= jobs_now_us(j))
        jobs_due(j, queue);
    road_token_due(j->road, due_us);
}
