/* raw_jobs.c - the least that claiming recurring work from PostgreSQL can cost: the reference.
 *
 *     raw_jobs CONNINFO JOBS SECONDS
 *
 * One table with a row for each job.  Four connections loop over two transactions, each of which is
 * one prepared statement: claim the ten jobs that are due first, passing over those that are locked
 * (SKIP LOCKED), and release them, due again behind all others.  There is no work, no state, no log
 * and no schedule.  Both are durable, as the server is set.
 *
 * Prints one JSON object: how many jobs were released, and in how many seconds.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINES = 4, BATCH = 10, LIST_ROOM = BATCH * 24 };

static const char make_sql[] =
    "DROP TABLE IF EXISTS raw_job;"
    "CREATE TABLE raw_job(id bigint PRIMARY KEY, due bigint NOT NULL, holder int NOT NULL);"
    "CREATE INDEX raw_job_due ON raw_job(due, id) WHERE holder = 0;";

static const char claim_sql[] =
    "UPDATE raw_job SET holder = $1 WHERE id IN (SELECT id FROM raw_job WHERE holder = 0 "
    "ORDER BY due, id LIMIT 10 FOR UPDATE SKIP LOCKED) RETURNING id";

static const char release_sql[] =
    "UPDATE raw_job SET holder = 0, due = $2 WHERE id = ANY($1::bigint[]) AND holder = $3";

static struct {
    const char *conninfo;
    double end_s;
    pthread_barrier_t begin;
    atomic_long released;
} raw;

struct line {
    pthread_t thread;
    int number;
    PGconn *pg;
};

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
    va_list args;

    (void)fputs("raw_jobs: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static PGconn *line_open(void)
{
    PGconn *pg = PQconnectdb(raw.conninfo);

    if (PQstatus(pg) != CONNECTION_OK)
        fail("%s", PQerrorMessage(pg));
    return pg;
}

/* The answer is freed by the caller. */
static PGresult *must(PGconn *pg, PGresult *r)
{
    ExecStatusType status = PQresultStatus(r);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail("%s", PQerrorMessage(pg));
    return r;
}

static void make(const char *jobs)
{
    PGconn *pg = line_open();

    PQclear(must(pg, PQexec(pg, make_sql)));
    PQclear(must(pg, PQexecParams(pg,
                                  "INSERT INTO raw_job SELECT n, n, 0 "
                                  "FROM generate_series(1, $1::bigint) AS n",
                                  1, NULL, &jobs, NULL, NULL, 0)));
    PQclear(must(pg, PQexec(pg, "ANALYZE raw_job")));
    PQfinish(pg);
}

/* Claims up to ten; their ids as an array of PostgreSQL.  False: none was free. */
static bool line_claim(struct line *l, const char *holder, char list[static LIST_ROOM])
{
    PGresult *r = must(l->pg, PQexecPrepared(l->pg, "claim", 1, &holder, NULL, NULL, 0));
    int count = PQntuples(r), at = snprintf(list, LIST_ROOM, "{");

    for (int i = 0; i < count; i++)
        at += snprintf(list + at, (size_t)(LIST_ROOM - at), "%s%s", i > 0 ? "," : "",
                       PQgetvalue(r, i, 0));
    (void)snprintf(list + at, (size_t)(LIST_ROOM - at), "}");
    PQclear(r);
    return count > 0;
}

static void line_release(struct line *l, const char *holder, const char *list)
{
    char due[24];
    const char *values[] = { list, due, holder };

    (void)snprintf(due, sizeof due, "%lld", (long long)(now_s() * 1e6));
    PGresult *r = must(l->pg, PQexecPrepared(l->pg, "release", 3, values, NULL, NULL, 0));

    atomic_fetch_add(&raw.released, strtol(PQcmdTuples(r), NULL, 10));
    PQclear(r);
}

static void *line_main(void *line)
{
    struct line *l = line;
    char holder[12], list[LIST_ROOM];

    (void)snprintf(holder, sizeof holder, "%d", l->number);
    (void)pthread_barrier_wait(&raw.begin);
    while (now_s() < raw.end_s)
        if (line_claim(l, holder, list))
            line_release(l, holder, list);
    return NULL;
}

int main(int argc, char **argv)
{
    struct line lines[LINES];

    if (argc != 4) {
        (void)fprintf(stderr, "usage: raw_jobs CONNINFO JOBS SECONDS\n");
        return 2;
    }
    raw.conninfo = argv[1];
    make(argv[2]);
    (void)pthread_barrier_init(&raw.begin, NULL, LINES + 1);
    for (int i = 0; i < LINES; i++) {
        lines[i] = (struct line){ .number = i + 1, .pg = line_open() };
        PQclear(must(lines[i].pg, PQprepare(lines[i].pg, "claim", claim_sql, 1, NULL)));
        PQclear(must(lines[i].pg, PQprepare(lines[i].pg, "release", release_sql, 3, NULL)));
        if (pthread_create(&lines[i].thread, NULL, line_main, &lines[i]) != 0)
            fail("no thread");
    }
    double from = now_s();

    raw.end_s = from + strtod(argv[3], NULL);
    (void)pthread_barrier_wait(&raw.begin);
    for (int i = 0; i < LINES; i++) {
        (void)pthread_join(lines[i].thread, NULL);
        PQfinish(lines[i].pg);
    }
    printf("{ \"released\": %ld, \"seconds\": %.3f }\n", atomic_load(&raw.released),
           now_s() - from);
    return 0;
}
