#include "job/state.h"

#include "engine/road/road.h"
#include "job/book.h"

struct book *jobs_book(struct jobs *j)
{
    (void)pthread_mutex_lock(&j->mutex);
    struct book *b = j->book != NULL ? book_ref(j->book) : NULL;

    (void)pthread_mutex_unlock(&j->mutex);
    return b;
}

int64_t jobs_now_us(const struct jobs *j)
{
    return road_now_us(j->road);
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

void jobs_token_put(struct jobs *j, int64_t queue, int64_t due_us)
{
    if (due_us <= jobs_now_us(j))
        jobs_due(j, queue);
    road_token_due(j->road, due_us);
}
