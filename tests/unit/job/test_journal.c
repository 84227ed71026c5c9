/* The log of runs is written apart from the runs.  The store is ours. */
#include "job/journal.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "test.h"

enum { BAD = 1000 }; /* claims from here on are refused for good */

static struct {
    pthread_mutex_t mutex;
    bool full;     /* it takes none */
    int taken[20]; /* by claim */
    int tries;
} shelf = { .mutex = PTHREAD_MUTEX_INITIALIZER };

bool job_log_add(struct store *s, const struct job_log_line *lines, size_t count, struct err *err)
{
    bool ok = true;

    (void)s;
    (void)pthread_mutex_lock(&shelf.mutex);
    shelf.tries++;
    if (shelf.full)
        ok = err_set(err, ERR_TRANSIENT, 0, "no connection");
    for (size_t i = 0; i < count && ok; i++)
        if (lines[i].claim >= BAD)
            ok = err_set(err, ERR_PERMANENT, 0, "it is no text");
    for (size_t i = 0; i < count && ok; i++)
        shelf.taken[lines[i].claim]++;
    (void)pthread_mutex_unlock(&shelf.mutex);
    return ok;
}

bool job_log_drop(struct store *s, int64_t *ret_dropped, struct err *err)
{
    (void)s, (void)err;
    *ret_dropped = 0;
    return true;
}

static void put(struct journal *g, int64_t claim)
{
    journal_put(g, &(struct job_log_line){ .claim = claim, .message = STR("m") });
}

static int taken(int from, int to)
{
    int n = 0;

    (void)pthread_mutex_lock(&shelf.mutex);
    for (int i = from; i <= to; i++)
        n += shelf.taken[i] > 0;
    (void)pthread_mutex_unlock(&shelf.mutex);
    return n;
}

static int tries(void)
{
    (void)pthread_mutex_lock(&shelf.mutex);
    int n = shelf.tries;

    (void)pthread_mutex_unlock(&shelf.mutex);
    return n;
}

static void is_dropped(void *arg, const struct metric *m, int64_t value)
{
    if (strcmp(m->name, "waybill_job_log_dropped_total") == 0)
        *(int64_t *)arg = value;
}

static int64_t dropped(void)
{
    int64_t n = -1;

    metrics_each(is_dropped, &n);
    return n;
}

static void fill(bool full)
{
    (void)pthread_mutex_lock(&shelf.mutex);
    shelf.full = full;
    (void)pthread_mutex_unlock(&shelf.mutex);
}

TEST(a_line_that_is_refused_for_good_keeps_no_other_back)
{
    struct journal *g = journal_start(NULL);
    int64_t before = dropped();

    for (int i = 0; i < 5; i++) {
        put(g, BAD + i);
        put(g, i);
    }
    while (taken(0, 4) < 5 || dropped() < before + 5)
        clock_sleep_us(CLOCK_MS);
    CHECK(dropped() == before + 5);
    put(g, 5);
    journal_stop(g);
    CHECK(taken(5, 5) == 1);
    journal_free(g);
}

TEST(bad_lines_alone_go_one_by_one)
{
    struct journal *g = journal_start(NULL);
    int64_t before = dropped();

    put(g, BAD);
    while (dropped() < before + 1)
        clock_sleep_us(CLOCK_MS);
    put(g, 6);
    while (taken(6, 6) == 0)
        clock_sleep_us(CLOCK_MS);
    journal_stop(g);
    journal_free(g);
}

TEST(a_store_that_takes_none_loses_none)
{
    struct journal *g = journal_start(NULL);
    int64_t before = dropped();
    int tried = tries();

    fill(true);
    put(g, 7);
    put(g, BAD);
    while (tries() < tried + 2)
        clock_sleep_us(CLOCK_MS);
    CHECK(taken(7, 7) == 0 && dropped() == before);
    fill(false);
    while (taken(7, 7) == 0 || dropped() < before + 1)
        clock_sleep_us(CLOCK_MS);
    CHECK(dropped() == before + 1);
    journal_stop(g);
    journal_free(g);
}

int main(void)
{
    return test_main();
}
