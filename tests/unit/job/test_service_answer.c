/* What a service says about a run. */
#include "job/service_answer.h"

#include <string.h>

#include "base/auto.h"
#include "core/job_type.h"
#include "test.h"

struct said {
    const char *text;
    bool ok, final, more, moved, has_state;
    const char *state, *message;
};

static const struct said cases[] = {
    { .text = "{}", .ok = true, .moved = true },
    { .text = "[]", .ok = true, .moved = true },
    { .text = "{\"state\": \"17\"}", .ok = true, .moved = true, .has_state = true, .state = "17" },
    { .text = "{\"state\": \"\"}", .ok = true, .moved = true, .has_state = true },
    { .text = "{\"state\": null}", .ok = true, .moved = true },
    { .text = "{\"state\": 17}", .ok = true, .moved = true, .has_state = true, .state = "17" },
    { .text = "{\"state\": {\"at\": [1, 2]}}",
      .ok = true,
      .moved = true,
      .has_state = true,
      .state = "{\"at\":[1,2]}" },
    { .text = "{\"more\": true}", .ok = true, .more = true },
    { .text = "{\"more\": true, \"moved\": true}", .ok = true, .more = true, .moved = true },
    { .text = "{\"moved\": false}", .ok = true },
    { .text = "{\"message\": \"half\"}", .ok = true, .moved = true, .message = "half" },
    { .text = "{\"message\": 5, \"more\": \"yes\"}", .ok = true, .moved = true },
    { .text = "{\"error\": \"no\"}", .moved = true, .message = "no" },
    { .text = "{\"error\": \"no\", \"retry\": false, \"state\": \"x\"}",
      .moved = true,
      .final = true,
      .message = "no" },
    { .text = "{\"error\": true}", .moved = true, .message = "the service says so" },
    { .text = "{\"error\": false}", .ok = true, .moved = true },
    { .text = "{\"error\": null, \"retry\": false}", .ok = true, .moved = true },
};

TEST(what_a_service_says_becomes_a_result)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct said *c = &cases[i];
        struct job_result r = { .state = BUF_INIT(100), .moved = true };
        struct err err = { 0 };
        AUTO(service_answer_drop) json_t *said = service_answer_parse(str_of(c->text), &err);

        job_done(&r);
        CHECK(said != NULL);
        service_answer_take(said, &r);
        CHECK(service_answer_has_failed(said) == !c->ok);
        CHECK(r.ok == c->ok && r.final == c->final && r.more == c->more && r.moved == c->moved);
        CHECK(r.has_state == c->has_state);
        CHECK(str_is(buf_view(&r.state), c->state != NULL ? c->state : ""));
        CHECK(strcmp(r.message, c->message != NULL ? c->message : "") == 0);
        buf_done(&r.state);
    }
}

TEST(what_is_no_json_is_refused)
{
    static const char *const texts[] = { "", "{", "{} {}", "{\"a\": 1, \"a\": 2}", "nothing" };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct err err = { 0 };
        AUTO(service_answer_drop) json_t *said = service_answer_parse(str_of(texts[i]), &err);

        CHECK(said == NULL);
    }
}

TEST(a_state_that_is_too_large_fails)
{
    struct job_result r = { .state = BUF_INIT(3) };
    struct err err = { 0 };
    AUTO(service_answer_drop)
    json_t *said = service_answer_parse(STR("{\"state\": \"four\"}"), &err);

    job_done(&r);
    service_answer_take(said, &r);
    CHECK(!r.ok && !r.has_state && r.message[0] != '\0');
    buf_done(&r.state);
}

int main(void)
{
    return test_main();
}
