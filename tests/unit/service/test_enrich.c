/* The step `enrich`: where a record goes, and what happens without one. */
#include "stepping.h"
#include "test.h"

extern const struct service_type service_enrich;

/* record NULL: there is none. */
static bool enrich_on(struct step *s, const char *in, const char *record)
{
    service_memory_done(&s->m);
    service_memory_init(&s->m, &s->document, str_of(in), STEP_OUT, &s->arena);
    s->m.record = (struct service_record){ .set = STR("who"), .key = STR("k") };
    if (record != NULL) {
        s->m.record.is_there = true;
        s->m.record.value = str_of(record);
    }
    s->failure = (struct service_failure){ 0 };
    s->ok = service_run(s->type, s->self, &s->m.io, &s->failure);
    return s->ok;
}

static struct step enrich_into(const char *into, const char *more)
{
    char yaml[400];

    (void)snprintf(yaml, sizeof yaml, "enrich: { set: who, key: \"json:/k\"%s%s%s%s }",
                   into != NULL ? ", into: \"" : "", into != NULL ? into : "",
                   into != NULL ? "\"" : "", more);
    return step_of(&service_enrich, yaml);
}

TEST(a_record_goes_to_its_place)
{
    static const struct {
        const char *into, *in, *record, *out;
    } cases[] = {
        /* JSON */
        { NULL, "{\"k\":1}", "{\"n\":1.10}", "{\"k\":1,\"who\":{\"n\":1.10}}" },
        { "/a", "{}", "7", "{\"a\":7}" },
        { "/a", "{ }", "7", "{\"a\":7 }" },
        { "/a", "{\"a\":123456789012345678901234567890}", "1.10", "{\"a\":1.10}" },
        { "/a", "{\"b\":{\"a\":1},\"a\":[1,{\"a\":2}],\"c\":1.10}", "{}",
          "{\"b\":{\"a\":1},\"a\":{},\"c\":1.10}" },
        { "/a/b", "{\"x\":{\"b\":1},\"a\":{\"c\":1}}", "2",
          "{\"x\":{\"b\":1},\"a\":{\"c\":1,\"b\":2}}" },
        { "/a/-", "{\"a\":[]}", "2", "{\"a\":[2]}" },
        { "/a/-", "{\"a\":[1.0 ]}", "2", "{\"a\":[1.0,2 ]}" },
        { "/a/1", "{\"a\":[1,[2],3]}", "{}", "{\"a\":[1,{},3]}" },
        { "/0/a", "[{\"b\":1},{}]", "5", "[{\"b\":1,\"a\":5},{}]" },
        { "/a~1b", "{\"k\":1}", "5", "{\"k\":1,\"a/b\":5}" },
        { "/a", "{\"\\u0061\":1,\"a\":2}", "5", "{\"\\u0061\":5,\"a\":2}" },
        { "/a", "\xef\xbb\xbf{\"b\":1}\n", "5", "\xef\xbb\xbf{\"b\":1,\"a\":5}\n" },
        /* XML */
        { NULL, "<o><k>1</k></o>", "<n>x</n>", "<o><k>1</k><who><n>x</n></who></o>" },
        { "/o/c", "<?xml version='1.0'?>\n<o/>\n", "{\"n\":\"A & <B>\",\"p\":1.10,\"z\":null}",
          "<?xml version='1.0'?>\n<o><c><n>A &amp; &lt;B&gt;</n><p>1.10</p><z></z></c></o>\n" },
        { "/o/c", "<o a='1' ><c>old<d/></c><c/></o>", "\"t\\u00e9\"",
          "<o a='1' ><c>t\xc3\xa9</c><c/></o>" },
        { "/o/c", "<p:o><c x='y'/></p:o>", "1", "<p:o><c x='y'>1</c></p:o>" },
        { "/o/b/c", "<o><a><c/></a><b></b><b/></o>", "<x/>",
          "<o><a><c/></a><b><c><x/></c></b><b/></o>" },
        { "/o/b[2]/c", "<o><b/><b/></o>", "<x/>", "<o><b/><b><c><x/></c></b></o>" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(step_done) struct step s = enrich_into(cases[i].into, "");

        CHECK(s.self != NULL);
        bool ok =
            enrich_on(&s, cases[i].in, cases[i].record) && str_is(buf_view(&s.m.out), cases[i].out);

        if (!ok)
            printf("# case %zu: %s %.*s\n", i, s.failure.message, STR_ARG(buf_view(&s.m.out)));
        CHECK(ok && s.m.kept.ptr == NULL);
    }
}

TEST(a_place_that_is_not_there_is_a_failure)
{
    static const struct {
        const char *into, *in, *record, *why;
    } cases[] = {
        { "/a/b", "{\"a\":1}", "2", "could stand" },
        { "/a/b", "{}", "2", "could stand" },
        { "/a", "7", "2", "could stand" },
        { "/a/3", "{\"a\":[1]}", "2", "`-` adds one" },
        { "/a", "{\"a\":1}", "<x/>", "does not go into it" },
        { "/a", "<a/>", "1", "names no element" },
        { "/o/b/c", "<o><a/></o>", "1", "could stand" },
        { "/o/c", "<x/>", "1", "could stand" },
        { "/o/c", "<o/>", "{\"a\":[1]}", "plain values" },
        { "/o/c", "<o/>", "{\"a b\":1}", "name of an element" },
        { "/o/c", "<o/>", "\"\\u0001\"", "XML cannot have" },
        { "/a", "{", "1", "neither XML nor JSON" },
        { "/o/c", "<!DOCTYPE o><o/>", "1", "DOCTYPE" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(step_done) struct step s = enrich_into(cases[i].into, "");

        CHECK(s.self != NULL && !enrich_on(&s, cases[i].in, cases[i].record));
        if (strstr(s.failure.message, cases[i].why) == NULL)
            printf("# case %zu: %s\n", i, s.failure.message);
        CHECK(s.failure.code == DEAD_SERVICE_FAILED && !s.failure.later);
        CHECK(strstr(s.failure.message, cases[i].why) != NULL);
    }
}

/* proves: PR6 */
TEST(without_a_record_it_fails_waits_or_goes_on)
{
    AUTO(step_done) struct step fail = enrich_into(NULL, "");
    AUTO(step_done) struct step wait = enrich_into(NULL, ", missing: wait");
    AUTO(step_done) struct step pass = enrich_into(NULL, ", missing: pass");

    CHECK(!enrich_on(&fail, "{}", NULL) && !fail.failure.later);
    CHECK(fail.failure.code == DEAD_SERVICE_FAILED);
    CHECK(strstr(fail.failure.message, "the set `who` has no record `k`") != NULL);
    CHECK(!enrich_on(&wait, "{}", NULL) && wait.failure.later);
    CHECK(enrich_on(&pass, " {} ", NULL) && str_is(buf_view(&pass.m.out), " {} "));
    CHECK(pass.m.note_count == 1);
}

TEST(wrong_options_are_refused)
{
    static const char *const wrong[] = {
        "enrich: { set: who }",
        "enrich: { url: \"https://${who}.example.org/\" }",
        "enrich: { missing: pass }",
        "enrich: { set: who, key: \"json:/k\", into: customer }",
        "enrich: { set: who, key: \"json:/k\", into: / }",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO(step_done) struct step s = step_of(&service_enrich, wrong[i]);

        CHECK(s.self == NULL && s.err.kind == ERR_CONFIG && s.err.text[0] != '\0');
    }
}

int main(void)
{
    return test_main();
}
