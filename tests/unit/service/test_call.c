#include "base/clock.h"
#include "core/connector.h"
#include "core/problem.h"
#include "core/service_call.h"
#include "test.h"

struct made {
    struct arena arena;
    void *self;
    struct err err;
};

static void make(struct made *m, const char *yaml)
{
    struct problem_list problems = PROBLEM_LIST_INIT;

    *m = (struct made){ .arena = ARENA_INIT(1 << 20) };
    struct settings s = { .node = yaml_get(yaml_load(str_of(yaml), &m->arena, &problems), "c"),
                          .own = service_call.kind.keys,
                          .file = "/etc/waybill/waybill.yaml",
                          .arena = &m->arena };

    if (!service_call.make(&s, &m->self, &m->err))
        m->self = NULL;
    problem_list_done(&problems);
}

static void unmake(struct made *m)
{
    if (m->self != NULL)
        service_call.unmake(m->self);
    arena_done(&m->arena);
}

TEST(call_has_the_rules_of_an_endpoint)
{
    struct made m;

    make(&m, "c: { url: 'http://a.example/x' }");
    CHECK(m.self != NULL);
    const struct service_call *r = service_call.http->call(m.self);

    CHECK(str_is(r->service, "http://a.example/x") && r->answer_most == 64 << 20);
    CHECK(r->retry.first_us == CLOCK_S && r->retry.most_us == INT64_C(600) * CLOCK_S);
    CHECK(r->retry.for_us == INT64_C(3) * 86400 * CLOCK_S && r->breaker.failures == 5);
    CHECK(r->concurrency == 16 && r->rate.count == 0);
    CHECK(service_call.http->options(m.self)->timeout_us == INT64_C(30) * CLOCK_S);
    CHECK(service_call.http->options(m.self)->verify);
    unmake(&m);
    make(&m, "c: { url: 'http://a.example/x', limits: { concurrency: 3, rate: 90/m }, most: 1KiB, "
             "retry: { for: 1h }, breaker: { failures: 9, wait: 3s }, timeout: 2s }");
    r = service_call.http->call(m.self);
    CHECK(r->concurrency == 3 && r->rate.count == 90 && r->rate.per_us == INT64_C(60) * CLOCK_S);
    CHECK(r->burst == 1 && r->answer_most == 1024 && r->breaker.wait_us == 3 * CLOCK_S);
    CHECK(r->retry.for_us == INT64_C(3600) * CLOCK_S);
    unmake(&m);
}

TEST(call_asks_with_the_document_or_without)
{
    static const struct facts facts = { .type = { "order", 5 } };
    const struct sending sending = {
        .document = STR("d"), .delivery = STR("d:call:1"), .facts = &facts, .bytes = STR("x")
    };

    for (int get = 0; get < 2; get++) {
        struct http_out_request r = { 0 };
        struct verdict v = { 0 };
        bool typed = false, keyed = false;
        struct made m;

        make(&m, get ? "c: { url: 'http://a.example/x', method: GET }"
                     : "c: { url: 'http://a.example/x' }");
        CHECK(service_call.http->prepare(m.self, &sending, &m.arena, &r, &v));
        for (size_t i = 0; i < r.field_count; i++) {
            typed = typed || str_is(r.fields[i].name, "Content-Type");
            keyed = keyed || (str_is(r.fields[i].name, "Idempotency-Key") &&
                              str_is(r.fields[i].value, "d:call:1"));
        }
        CHECK(str_is(r.method, get ? "GET" : "POST") && keyed && typed == (get == 0));
        unmake(&m);
    }
}

TEST(call_is_not_run_without_an_engine)
{
    static const struct service_document document;
    struct service_failure failure;
    struct service_memory io;
    struct made m;

    make(&m, "c: { url: 'http://a.example/x' }");
    service_memory_init(&io, &document, STR("x"), 100, &m.arena);
    CHECK(!service_run(&service_call, m.self, &io.io, &failure));
    CHECK(failure.code == DEAD_SERVICE_FAILED);
    service_memory_done(&io);
    unmake(&m);
}

int main(void)
{
    return test_main();
}
