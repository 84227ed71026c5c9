/* test_cage.c - steps in real processes: what goes through, and what each kind of end costs. */
#include "cage/cage.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/require.h"
#include "cage_fixture.h"
#include "nonsense.h"
#include "test.h"

enum { LONG = 60 * CLOCK_S, SHORT = CLOCK_S };

TEST(documents_go_through_with_all_that_is_known)
{
    struct cage *c = fixture_cage(1, LONG);
    FIXTURE_JOBS(j);
    struct fact colour = { STR("colour"), STR("blue") };
    char id[ID_TEXT], want[300];

    j->facts = (struct facts){
        .sender = STR("shop"), .receiver = STR("erp"), .attributes = &colour, .attribute_count = 1
    };
    j->document = (struct service_document){ .id = id_make(1, 2, 3),
                                             .received_us = 4711,
                                             .name = STR("a.xml"),
                                             .ctype = STR("text/xml"),
                                             .gateway = STR("in") };
    fixture_add(j, STR("echo hello"));
    fixture_add(j, STR("facts"));
    fixture_add(j, STR("text"));
    fixture_add(j, STR("none"));
    fixture_add(j, STR("parts"));
    fixture_add(j, STR("fail"));
    cage_run(c, j->jobs, j->count);
    CHECK(fixture_is(j, 0, CAGE_DONE, "echo hello"));
    (void)snprintf(want, sizeof want, "%s 4711 shop>erp: a.xml text/xml in blue 1",
                   id_text(&j->document.id, id));
    CHECK(fixture_is(j, 1, CAGE_DONE, want));
    CHECK(fixture_is(j, 2, CAGE_DONE, "as it is: ${env:HOME}"));
    CHECK(fixture_is(j, 3, CAGE_DONE, "") && j->memory[3].is_none);
    CHECK(j->memory[3].note_count == SERVICE_NOTES_MOST && str_is(j->memory[3].notes[0], "a note"));
    CHECK(fixture_is(j, 4, CAGE_DONE, "partspartsparts") && j->memory[4].part_count == 3);
    CHECK(str_is(j->memory[4].parts[1].head.receiver, "erp") &&
          j->memory[4].parts[1].head.parts == 3 &&
          str_is(j->memory[4].parts[1].head.attributes[0].value, "red") &&
          j->memory[4].parts[1].head.sender.ptr == NULL);
    CHECK(fixture_failed(j, 5, CAGE_FAILED, DEAD_SERVICE_FAILED, "line 3:  fail"));
    CHECK(j->memory[5].note_count == 1);
    CHECK(metric_now("waybill_cage_processes") == 1);
    cage_free(c);
    CHECK(metric_now("waybill_cage_processes") == 0);
    fixture_done(j);
}

/* Larger than any buffer on the way, both ways at once, and read twice. */
TEST(large_documents_go_in_pieces)
{
    const struct cage_recipe recipe = { .service = STR("twice"), .options = STR("{}") };
    const struct cage_limits limits = { .time_us = LONG, .memory = 8 << 20, .output = 40 << 20 };
    struct cage *c = cage_new(&recipe, &limits);
    size_t size = 33 << 20;
    char *big = malloc(size);
    FIXTURE_JOBS(j);

    for (size_t i = 0; i < size; i++)
        big[i] = (char)(i * 2654435761U >> 13);
    fixture_add(j, STR("small"));
    fixture_add(j, str_mem(big, size));
    fixture_add(j, str_mem(big, 200 << 10));
    fixture_add(j, STR("last"));
    j->memory[2].piece = 1000;
    cage_run(c, j->jobs, j->count);
    CHECK(fixture_is(j, 0, CAGE_DONE, "small"));
    CHECK(fixture_is(j, 1, CAGE_DONE, NULL));
    CHECK(str_eq(buf_view(&j->memory[1].out), str_mem(big, size)));
    CHECK(fixture_is(j, 2, CAGE_DONE, NULL));
    CHECK(str_eq(buf_view(&j->memory[2].out), str_mem(big, 200 << 10)));
    CHECK(fixture_is(j, 3, CAGE_DONE, "last"));
    cage_free(c);
    fixture_done(j);
    free(big);
}

/* More of them than the socket holds: neither side waits for the other for ever. */
TEST(a_batch_may_be_larger_than_the_socket)
{
    struct cage *c = fixture_cage(1, LONG);
    size_t size = 100 << 10;
    char *text = malloc(size);
    FIXTURE_JOBS(j);

    memset(text, 'x', size);
    memcpy(text, "echo ", 5);
    for (int i = 0; i < CAGE_JOBS_MOST; i++)
        fixture_add(j, str_mem(text, size));
    cage_run(c, j->jobs, j->count);
    for (size_t i = 0; i < j->count; i++)
        CHECK(fixture_is(j, i, CAGE_DONE, NULL) && j->memory[i].out.len == size);
    cage_free(c);
    fixture_done(j);
    free(text);
}

/* proves: PR11 */
TEST(one_that_crashes_costs_the_others_nothing)
{
    struct cage *c = fixture_cage(1, LONG);
    int64_t lost = metric_now("waybill_cage_lost_total");
    FIXTURE_JOBS(j);

    for (int i = 0; i < CAGE_JOBS_MOST; i++)
        fixture_add(j, i == 17 ? STR("abort") : STR("echo"));
    cage_run(c, j->jobs, j->count);
    CHECK(fixture_failed(j, 17, CAGE_DIED, DEAD_SERVICE_FAILED, "SIGABRT"));
    for (size_t i = 0; i < j->count; i++)
        if (i < 17)
            CHECK(j->jobs[i].result == CAGE_DONE || fixture_is(j, i, CAGE_NOT_RUN, ""));
        else if (i > 17)
            CHECK(fixture_is(j, i, CAGE_NOT_RUN, ""));
    CHECK(metric_now("waybill_cage_lost_total") == lost + 1);
    cage_run(c, j->jobs + 18, 14);
    for (size_t i = 18; i < j->count; i++)
        CHECK(fixture_is(j, i, CAGE_DONE, "echo"));
    cage_free(c);
    fixture_done(j);
}

/* Runs one document in a cage of its own. */
static struct fixture_jobs *run_one(struct str in, int64_t time_us)
{
    struct cage *c = fixture_cage(1, time_us);
    FIXTURE_JOBS(j);

    fixture_add(j, STR("echo first"));
    fixture_add(j, in);
    fixture_add(j, STR("echo last"));
    cage_run(c, j->jobs, 1);
    cage_run(c, j->jobs + 1, 2);
    cage_free(c);
    require(metric_now("waybill_cage_processes") == 0);
    return j;
}

static bool ends_so(const char *act, int64_t time_us, enum cage_result result, enum dead_code code,
                    const char *message)
{
    struct fixture_jobs *j = run_one(str_of(act), time_us);
    bool ok =
        fixture_is(j, 0, CAGE_DONE, "echo first") && fixture_failed(j, 1, result, code, message);

    fixture_done(j);
    return ok;
}

TEST(a_process_that_ends_says_how)
{
    CHECK(ends_so("exit", LONG, CAGE_DIED, DEAD_SERVICE_FAILED, "status 7"));
    CHECK(ends_so("bad_part", LONG, CAGE_FAILED, DEAD_SERVICE_FAILED, "part 1: a name"));
    CHECK(ends_so("nonsense", LONG, CAGE_FAILED, DEAD_EXTRACT_FAILED, "no such act"));
#if !KEEPER_SANITIZED
    CHECK(ends_so("deep", LONG, CAGE_DIED, DEAD_SERVICE_FAILED, "stack"));
#endif
}

/* proves: PR8 */
TEST(budgets_are_enforced)
{
    int64_t from = clock_mono_us();

    CHECK(ends_so("loop", SHORT, CAGE_FAILED, DEAD_BUDGET, "1000 ms"));
    CHECK(ends_so("sleep", SHORT, CAGE_FAILED, DEAD_BUDGET, "1000 ms"));
    CHECK(clock_mono_us() - from >= 2 * SHORT);
    CHECK(ends_so("flood", LONG, CAGE_FAILED, DEAD_LIMIT, "1048576"));
    CHECK(ends_so("raw_flood", LONG, CAGE_FAILED, DEAD_LIMIT, "1048576"));
#if !KEEPER_SANITIZED
    CHECK(ends_so("bomb", LONG, CAGE_FAILED, DEAD_BUDGET, "memory"));
#endif
}

/* Of a step for documents of any size: three times as much for one of two and a bit more shares. */
TEST(a_large_document_has_more_time)
{
    const struct cage_recipe recipe = { .service = STR("does"), .options = STR("{}") };
    const struct cage_limits limits = { .time_us = 300 * CLOCK_MS,
                                        .memory = FIXTURE_MEMORY,
                                        .output = FIXTURE_OUTPUT,
                                        .concurrency = 1,
                                        .share = 1024 };
    struct cage *c = cage_new(&recipe, &limits);
    char in[2500] = "loop ";
    FIXTURE_JOBS(j);

    memset(in + 5, 'x', sizeof in - 5);
    fixture_add(j, str_mem(in, sizeof in));
    int64_t from = clock_mono_us();

    cage_run(c, j->jobs, 1);
    CHECK(fixture_failed(j, 0, CAGE_FAILED, DEAD_BUDGET, "longer than 900 ms"));
    CHECK(clock_mono_us() - from >= 900 * CLOCK_MS);
    cage_free(c);
    fixture_done(j);
}

static bool is_over_time(const struct cage_job *job)
{
    return job->result == CAGE_FAILED && job->failure.code == DEAD_BUDGET;
}

/* Whoever is in the process can name any document.  proves: PR8 */
TEST(time_does_not_begin_again_with_an_earlier_document)
{
    struct cage *c = fixture_cage(1, SHORT);
    FIXTURE_JOBS(j);

    fixture_add(j, STR("keep"));
    fixture_add(j, STR("back"));
    cage_run(c, j->jobs, j->count);
    CHECK(is_over_time(&j->jobs[0]) || is_over_time(&j->jobs[1]));
    CHECK(j->jobs[1].result != CAGE_DONE);
    cage_free(c);
    fixture_done(j);
}

/* The document that loops pays, and those whose answers had not come run again. */
TEST(the_guilty_one_is_found_in_a_batch)
{
    struct cage *c = fixture_cage(1, SHORT);
    FIXTURE_JOBS(j);

    for (int i = 0; i < 10; i++)
        fixture_add(j, i == 6 ? STR("loop") : STR("echo"));
    cage_run(c, j->jobs, j->count);
    CHECK(fixture_failed(j, 6, CAGE_FAILED, DEAD_BUDGET, "1000 ms"));
    for (size_t i = 0; i < j->count; i++)
        if (i != 6)
            CHECK(j->jobs[i].result == CAGE_DONE || j->jobs[i].result == CAGE_NOT_RUN);
    cage_free(c);
    fixture_done(j);
}

TEST(a_process_that_talks_nonsense_is_killed)
{
    for (size_t i = 0; i < NONSENSE; i++) {
        char text[NONSENSE_ROOM];
        struct fixture_jobs *j = run_one(nonsense_document(&nonsense[i], text), LONG);

        CHECK(fixture_failed(j, 1, CAGE_DIED, DEAD_SERVICE_FAILED, nonsense[i].message));
        CHECK(j->jobs[2].result == CAGE_NOT_RUN);
        fixture_done(j);
    }
}

TEST(a_mistake_in_a_recipe_is_found)
{
    static const struct {
        const char *service, *options, *message;
        enum err_kind kind;
    } cases[] = {
        { "does", "{\"bad\":\"syntax\"}", "line 4, column 2: syntax", ERR_CONFIG },
        { "does", "{\"bad\"", "cannot be read", ERR_CONFIG },
        { "nothing", "{}", "no step `nothing`", ERR_CONFIG },
        { "does", "{\"bad\":\"crash\"}", "did not start", ERR_TRANSIENT },
    };
    struct cage_recipe good = { .service = STR("does"), .options = STR("{}") };
    struct err err;

    CHECK(cage_check(&good, &err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cage_recipe recipe = { str_of(cases[i].service), str_of(cases[i].options) };
        const struct cage_limits limits = { .time_us = LONG, .memory = 1 << 20, .output = 1 };
        FIXTURE_JOBS(j);

        CHECK(!cage_check(&recipe, &err));
        CHECK(err.kind == cases[i].kind && strstr(err.text, cases[i].message) != NULL);
        struct cage *c = cage_new(&recipe, &limits);

        fixture_add(j, STR("echo"));
        fixture_add(j, STR("echo"));
        cage_run(c, j->jobs, 2);
        enum cage_result want = cases[i].kind == ERR_CONFIG ? CAGE_FAILED : CAGE_NOT_RUN;

        CHECK(fixture_failed(j, 0, want, DEAD_SERVICE_FAILED, cases[i].message));
        CHECK(j->jobs[1].result == want);
        cage_free(c);
        fixture_done(j);
    }
}

TEST(a_mistake_is_not_quoted_if_it_may_be_a_secret)
{
    const struct cage_recipe recipe = { STR("does"), STR("{\"bad\":\"hush\"}") };
    const struct cage_limits limits = { .time_us = LONG, .memory = 1 << 20, .output = 1 };
    struct cage *c = cage_new(&recipe, &limits);
    FIXTURE_JOBS(j);

    cage_conceal(c);
    fixture_add(j, STR("echo"));
    cage_run(c, j->jobs, 1);
    CHECK(fixture_failed(j, 0, CAGE_FAILED, DEAD_SERVICE_FAILED, "with the secrets it names"));
    CHECK(strstr(j->jobs[0].failure.message, "hush") == NULL);
    cage_free(c);
    fixture_done(j);
}

TEST(a_process_serves_a_thousand)
{
    struct cage *c = fixture_cage(1, LONG);
    int64_t started = metric_now("waybill_cage_started_total");

    for (int n = 0; n < 2016; n += CAGE_JOBS_MOST) {
        FIXTURE_JOBS(j);

        for (int i = 0; i < CAGE_JOBS_MOST; i++)
            fixture_add(j, STR("echo"));
        cage_run(c, j->jobs, j->count);
        CHECK(fixture_is(j, 0, CAGE_DONE, "echo") && fixture_is(j, 31, CAGE_DONE, "echo"));
        CHECK(metric_now("waybill_cage_started_total") == started + 1 + n / (31 * 32));
        fixture_done(j);
    }
    cage_free(c);
}

/* ---- many callers ---- */

enum { CALLERS = 6, RUNS = 20 };

static struct {
    struct cage *cage;
    _Atomic int64_t most, wrong;
} crowd;

static void *crowd_run(void *arg)
{
    for (int n = 0; n < RUNS; n++) {
        FIXTURE_JOBS(j);
        int64_t now;

        fixture_add(j, STR("echo"));
        fixture_add(j, n % 7 == 3 ? STR("exit") : STR("fail"));
        cage_run(crowd.cage, j->jobs, 2);
        now = metric_now("waybill_cage_processes");
        if (now > crowd.most)
            crowd.most = now;
        if (j->jobs[0].result != CAGE_DONE && j->jobs[0].result != CAGE_NOT_RUN)
            crowd.wrong++;
        if (j->jobs[1].result != (n % 7 == 3 ? CAGE_DIED : CAGE_FAILED))
            crowd.wrong++;
        fixture_done(j);
    }
    return arg;
}

TEST(concurrency_is_a_limit)
{
    pthread_t callers[CALLERS];

    crowd.cage = fixture_cage(2, LONG);
    for (int i = 0; i < CALLERS; i++)
        CHECK(pthread_create(&callers[i], NULL, crowd_run, NULL) == 0);
    for (int i = 0; i < CALLERS; i++)
        CHECK(pthread_join(callers[i], NULL) == 0);
    CHECK(crowd.wrong == 0 && crowd.most >= 1 && crowd.most <= 2);
    cage_free(crowd.cage);
    CHECK(metric_now("waybill_cage_processes") == 0);
}

/* An io of the caller that fails: the document fails with its words. */
static bool next_fails(struct service_io *io, struct str *ret, struct service_failure *f)
{
    (void)io;
    (void)ret;
    return service_fail(f, DEAD_PAYLOAD_MISSING, "gone");
}

static bool put_fails(struct service_io *io, struct str piece, struct service_failure *f)
{
    (void)io;
    (void)piece;
    return service_fail(f, DEAD_LIMIT, "full");
}

TEST(an_io_that_fails_ends_its_document_alone)
{
    struct cage *c = fixture_cage(1, LONG);
    FIXTURE_JOBS(j);

    for (int i = 0; i < 5; i++)
        fixture_add(j, STR("echo"));
    j->memory[0].io.next = next_fails;
    j->memory[2].io.next = next_fails;
    j->memory[3].io.put = put_fails;
    cage_run(c, j->jobs, j->count);
    CHECK(fixture_failed(j, 0, CAGE_FAILED, DEAD_PAYLOAD_MISSING, "gone"));
    CHECK(fixture_is(j, 1, CAGE_DONE, "echo"));
    CHECK(fixture_failed(j, 2, CAGE_FAILED, DEAD_PAYLOAD_MISSING, "gone"));
    CHECK(fixture_failed(j, 3, CAGE_FAILED, DEAD_LIMIT, "full"));
    CHECK(fixture_is(j, 4, CAGE_DONE, "echo"));
    cage_free(c);
    fixture_done(j);
}

/* Nobody pays for a process that ended while it had no document. */
TEST(a_process_that_is_gone_is_replaced)
{
    struct cage *c = fixture_cage(1, LONG);
    int64_t started = metric_now("waybill_cage_started_total");
    int64_t lost = metric_now("waybill_cage_lost_total");
    FIXTURE_JOBS(j);

    fixture_add(j, STR("leave"));
    fixture_add(j, STR("echo again"));
    fixture_add(j, STR("echo more"));
    cage_run(c, j->jobs, 1);
    CHECK(fixture_is(j, 0, CAGE_DONE, ""));
    cage_run(c, j->jobs + 1, 2);
    CHECK(fixture_is(j, 1, CAGE_DONE, "echo again") && fixture_is(j, 2, CAGE_DONE, "echo more"));
    CHECK(metric_now("waybill_cage_started_total") == started + 2);
    CHECK(metric_now("waybill_cage_lost_total") == lost);
    cage_free(c);
    fixture_done(j);
}

/* ---- the end of a node ---- */

struct stopping {
    struct cage *cage;
    struct fixture_jobs *jobs;
};

static void *run_until_stopped(void *arg)
{
    struct stopping *s = arg;

    cage_run(s->cage, s->jobs->jobs, s->jobs->count);
    return NULL;
}

/* A document may take ten minutes, and the stop does not wait for it. */
TEST(a_stop_ends_what_runs_and_costs_nobody_anything)
{
    int64_t started = metric_now("waybill_cage_started_total");
    int64_t until = clock_mono_us() + LONG;
    FIXTURE_JOBS(j);
    struct stopping s = { fixture_cage(1, 10 * LONG), j };
    struct timespec late;
    pthread_t runner;

    fixture_add(j, STR("sleep"));
    fixture_add(j, STR("echo"));
    CHECK(pthread_create(&runner, NULL, run_until_stopped, &s) == 0);
    while (metric_now("waybill_cage_started_total") == started && clock_mono_us() < until)
        clock_sleep_us(CLOCK_MS);
    cage_stop(s.cage);
    (void)clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += LONG / CLOCK_S;
    CHECK(pthread_timedjoin_np(runner, NULL, &late) == 0);
    CHECK(fixture_is(j, 0, CAGE_NOT_RUN, "") && fixture_is(j, 1, CAGE_NOT_RUN, ""));
    cage_free(s.cage);
    CHECK(metric_now("waybill_cage_processes") == 0);
    fixture_done(j);
}

/* Who runs a document alone may be told to stop: the cage goes on with others. */
TEST(a_call_that_is_over_ends_what_it_runs_and_not_the_cage)
{
    int64_t started = metric_now("waybill_cage_started_total");
    int64_t until = clock_mono_us() + LONG;
    FIXTURE_JOBS(j);
    struct stopping s = { fixture_cage(1, 10 * LONG), j };
    _Atomic bool stop = false;
    struct call call = { .stop = &stop };
    struct timespec late;
    pthread_t runner;

    fixture_add(j, STR("sleep"));
    fixture_add(j, STR("echo"));
    j->jobs[0].call = &call;
    CHECK(pthread_create(&runner, NULL, run_until_stopped, &s) == 0);
    while (metric_now("waybill_cage_started_total") == started && clock_mono_us() < until)
        clock_sleep_us(CLOCK_MS);
    atomic_store(&stop, true);
    (void)clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += LONG / CLOCK_S;
    CHECK(pthread_timedjoin_np(runner, NULL, &late) == 0);
    CHECK(fixture_is(j, 0, CAGE_NOT_RUN, "") && fixture_is(j, 1, CAGE_NOT_RUN, ""));
    fixture_done(j);
    FIXTURE_JOBS(other);
    fixture_add(other, STR("echo"));
    cage_run(s.cage, other->jobs, other->count);
    CHECK(other->jobs[0].result == CAGE_DONE);
    cage_free(s.cage);
    fixture_done(other);
}

int main(int argc, char **argv)
{
    if (cage_main_is(argc, argv))
        return cage_main(argc, argv, &fixture_connectors);
    return test_main();
}
