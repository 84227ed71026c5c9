/* Killed at every point, a run has ended whole or not at all, and no job loses its token. */
#include "job_scene.h"

enum { JOBS = 5, ROUNDS = 10 };

/* Runs jobs whose state is a number, over and over.  Says "told JOB N" for each end it was told of.
 */
CHILD(run_and_tell)
{
    static const char *const names[JOBS] = { "0", "1", "2", "3", "4" };
    struct job_wanted jobs[JOBS];
    struct job_claim claims[JOBS];
    struct store *s = open_store(h);

    (void)arg;
    for (int i = 0; i < JOBS; i++)
        jobs[i] = wanted(names[i], "1", clock_wall_us() - 1);
    if (s == NULL)
        return 1;
    (void)follow(s, 1, jobs, JOBS); /* not the first after the first kill */
    for (int round = 0; round < ROUNDS; round++) {
        int n = take(s, JOBS, claims);

        for (int i = 0; i < n; i++) {
            int64_t count = 0;
            char text[32];

            if (claims[i].state.len > 0 && !str_to_i64(claims[i].state, &count))
                return 1;
            (void)snprintf(text, sizeof text, "%lld", (long long)count + 1);
            struct job_end_op o = end_of(&claims[i], text, clock_wall_us() - 1);

            if (!end(s, &o) || o.stale)
                return 1;
            printf("told %.*s %s\n", STR_ARG(claims[i].record.name), text);
        }
        if (n != JOBS) /* those of a predecessor are there again, too */
            return 1;
    }
    store_close(s);
    return 0;
}

static bool told_is_kept(const struct home *h, struct str said)
{
    while (said.len > 0) {
        struct str line, word, job;
        char sql[200];
        int64_t n;

        bool whole = memchr(said.ptr, '\n', said.len) != NULL;
        said = str_cut(said, '\n', &line);
        line = str_cut(line, ' ', &word);
        line = str_cut(line, ' ', &job);
        if (!whole || !str_is(word, "told") || !str_to_i64(line, &n))
            continue;
        (void)snprintf(sql, sizeof sql, "SELECT CAST(state AS BIGINT) FROM job WHERE name = '%.*s'",
                       STR_ARG(job));
        if (ask(h, sql) < n) {
            printf("# job %.*s was told %lld and has %lld\n", STR_ARG(job), (long long)n,
                   (long long)ask(h, sql));
            return false;
        }
    }
    return true;
}

static bool jobs_are_whole(const struct home *h, struct store *s, struct str said)
{
    int64_t jobs = ask(h, "SELECT count(*) FROM job");

    return told_is_kept(h, said) && wrongs(s) == 0 && (jobs == 0 || jobs == JOBS) &&
           ask(h, "SELECT count(*) FROM job WHERE runs > 0 AND (state_number <> runs OR "
                  "state <> CAST(runs AS TEXT))") == 0 &&
           tokens(s) == jobs;
}

/* proves: SC10 FO12 */
TEST(killed_anywhere_a_run_ends_whole_or_not_at_all)
{
    static const char *const points[] = { "group.begun", "group.written",   "group.taken",
                                          "commit.sent", "group.committed", "group.acked" };
    static const int passes[] = { 1, 2, 3, 9, 14, 23 };

    CHECK(kill_everywhere(&(struct kill_scene){ .child = "run_and_tell",
                                                .points = points,
                                                .point_count = sizeof points / sizeof points[0],
                                                .passes = passes,
                                                .pass_count = sizeof passes / sizeof passes[0],
                                                .whole = jobs_are_whole }) > 20);
}

STORE_TEST_MAIN
