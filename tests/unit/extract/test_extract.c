#include "extract_test.h"

static const char *run(const char *yaml, const struct extract_source *source)
{
    struct err err;
    struct extractor *x = extractor_of(yaml, false, &err);
    const char *got = x != NULL ? asked(x, source) : "not compiled";

    if (x == NULL)
        printf("# %s\n", err.text);
    extractor_free(x);
    return got;
}

static const struct extract_source sample = {
    .body = STR("{\"from\":\"acme\",\"n\":1}"),
    .whole = true,
    .head = STR(":query: a=1&from=a%20b+c&e=&bad=%zz&two=1&two=2\n"
                "X-Sender:  acme \n"
                "x-empty: \n"
                "X-Twice: one\n"
                "X-Twice: two\n"
                "X-Tab: a\tb\n"
                "X-Latin: \xe4\n"),
    .name = STR("order-1.json"),
};

TEST(extract_from_the_head)
{
    static const struct {
        const char *expression, *want;
    } cases[] = {
        { "header:x-sender", "acme|-|-" },
        { "header:X-Twice", "one|-|-" },
        { "header:X-Empty", "extract_failed: no sender: `header:X-Empty` is empty" },
        { "header:X-None", "extract_failed: no sender: `header:X-None` is not there" },
        { "header:X", "extract_failed: no sender: `header:X` is not there" },
        { "header:query", "extract_failed: no sender: `header:query` is not there" },
        { "header:X-Tab", "extract_failed: sender: `header:X-Tab` has control characters" },
        { "header:X-Latin", "extract_failed: sender: `header:X-Latin` is not UTF-8" },
        { "query:from", "a b c|-|-" },
        { "query:two", "1|-|-" },
        { "query:e", "extract_failed: no sender: `query:e` is empty" },
        { "query:none", "extract_failed: no sender: `query:none` is not there" },
        { "query:bad", "extract_failed: sender: `query:bad` is not a text in percent encoding" },
        { "value: fixed ", "fixed|-|-" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[200];

        (void)snprintf(yaml, sizeof yaml, "sender: \"%s\"", cases[i].expression);
        const char *got = run(yaml, &sample);

        if (strcmp(got, cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].expression, got);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
    CHECK(strstr(run("sender: query:a", &(struct extract_source){ .whole = true }),
                 "is not there") != NULL);
    AUTO_TEXT query = repeated(":query: a=", "%41", 5000, "\n");

    CHECK(strstr(run("sender: query:a",
                     &(struct extract_source){ .whole = true, .head = str_of(query) }),
                 "`query:a` is too long") != NULL);
}

TEST(extract_first_that_yields)
{
    CHECK(strcmp(run("{ sender: ['header:X-None', 'json:/from'], receiver: ['xml:/a', 'csv:b', "
                     "'value:hub'], type: 'name:^(\\w+)-' }",
                     &sample),
                 "acme|hub|order") == 0);
    CHECK(strcmp(run("sender: ['json:/none', 'xml:/a/b', 'csv:c', 'regex:nope(', "
                     "'header:X-None']",
                     &sample),
                 "not compiled") == 0);
    const char *got = run("receiver: ['json:/none', 'xml:/a/b', 'csv:c', 'regex:nope']", &sample);

    CHECK(strcmp(got, "extract_failed: no receiver: `json:/none` is not there; `xml:/a/b`: the "
                      "body is not XML: not well-formed (invalid token), at byte 1, line 1; "
                      "`csv:c`: the body is not CSV: something stands behind a closing quote, at "
                      "byte 19, line 1; "
                      "`regex:nope` is not there") == 0);
}

TEST(extract_attributes_may_be_missing)
{
    CHECK(strcmp(run("attributes: { a: json:/n, b: json:/none, c: xml:/x, d: [csv:x, value:v] }",
                     &sample),
                 "-|-|- a=1 d=v") == 0);
    CHECK(strcmp(run("attributes: { a: header:X-Tab }", &sample),
                 "extract_failed: attribute a: `header:X-Tab` has control characters") == 0);
    CHECK(strcmp(run("{}", &sample), "-|-|-") == 0);
    CHECK(strcmp(run("~", &sample), "-|-|-") == 0);
}

/* So many attributes, NAMEa, NAMEb, ..., each with a value of so many bytes. */
static const char *run_attributes(int count, const char *name, size_t bytes)
{
    AUTO_TEXT value = repeated("", "x", bytes, "");
    AUTO_TEXT yaml = malloc(64 * 1100);
    size_t n = 0;

    if (yaml == NULL)
        return "no memory";
    n += (size_t)snprintf(yaml, 100, "attributes:\n");
    for (int i = 0; i < count; i++)
        n += (size_t)snprintf(yaml + n, 1100, "  %s%c: value:%s\n", name, 'a' + i, value);
    return run(yaml, &sample);
}

TEST(extract_tells_which_attributes_it_seeks)
{
    struct err err;
    struct extractor *x =
        extractor_of("{ sender: value:a, attributes: { b: json:/b, c: value:c } }", false, &err);

    CHECK(x != NULL && extractor_seeks(x, STR("b")) && extractor_seeks(x, STR("c")));
    CHECK(!extractor_seeks(x, STR("sender")) && !extractor_seeks(x, STR("")) &&
          !extractor_seeks(x, STR("a")));
    extractor_free(x);
}

TEST(extract_values_together_have_a_limit)
{
    CHECK(strcmp(run_attributes(17, "a", 1000),
                 "budget: attribute aq: all values together have more than 16384 bytes") == 0);
    /* All that extraction lets through is kept when it is stored (facts_fit). */
    CHECK(strstr(run_attributes(16, "name", 1003), "budget: attribute namep: ") != NULL);
}

/* Who has more of it in memory asks no more of it. */
TEST(extract_looks_at_the_first_bytes_of_any_body)
{
    AUTO_TEXT body = repeated("{\"a\":1,\"pad\":\"", "x", EXTRACT_BYTES_MOST, "\",\"b\":2}");
    struct extract_source s = { .body = str_of(body), .whole = true };

    CHECK(strcmp(run("sender: json:/a", &s), "1|-|-") == 0);
    CHECK(strstr(run("sender: json:/b", &s), "budget: no sender: ") != NULL);
}

TEST(extract_refuses_at_compile)
{
    static const struct {
        const char *yaml, *want;
    } cases[] = {
        { "{ sender: 'hl7:PID' }", "sender `hl7:PID`: an HL7 field is written like" },
        { "{ attributes: { a: hl7 } }", "attribute a `hl7`: hl7 alone finds sender, receiver and "
                                        "type; an attribute needs a place, "
                                        "such as hl7:MSH-4" },
        { "{ sender: 'regex:a(b' }", "sender `regex:a(b`: missing closing parenthesis" },
        { "{ receiver: 'xml:a' }", "receiver `xml:a`: a path starts with `/`" },
        { "{ receiver: 'nope' }", "receiver `nope`: it is not known where to look" },
        { "{ attributes: { r: { a: b } } }", "attribute r ``: it is not known where to look" },
        { "{ attributes: [ 'value:x' ] }", "attributes: at most 64 names" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct extractor *x = extractor_of(cases[i].yaml, false, &err);

        if (x != NULL || strstr(err.text, cases[i].want) == NULL)
            printf("# %s: %s\n", cases[i].yaml, err.text);
        CHECK(x == NULL && err.kind == ERR_CONFIG && strstr(err.text, cases[i].want) != NULL);
    }
    extractor_free(NULL);
}

TEST(extract_has_at_most_so_many_expressions)
{
    AUTO_TEXT fits = repeated("sender: [", "value:x, ", EXTRACT_EXPRS_MOST, "]");
    AUTO_TEXT over = repeated("sender: [", "value:x, ", EXTRACT_EXPRS_MOST + 1, "]");
    struct err err;
    struct extractor *x = extractor_of(fits, false, &err);

    CHECK(x != NULL);
    extractor_free(x);
    CHECK(extractor_of(over, false, &err) == NULL);
    CHECK(strstr(err.text, "more than 256 expressions") != NULL);
}

/* A long list of reasons is cut, not overrun. */
TEST(extract_failure_fits_its_room)
{
    AUTO_TEXT yaml = repeated("sender: [", "'json:/a_name_that_is_quite_long', ", 60, "]");
    const char *got = run(yaml, &sample);

    CHECK(strlen(got) == strlen("extract_failed: ") + 499);
}

/* What the other fields gave, when one failed; the failure is that of the first. */
static const char *kept_of(const char *yaml, const struct extract_source *source,
                           struct extract_failure *ret)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    static char text[200];
    struct err err = { 0 };
    struct extractor *x = extractor_of(yaml, false, &err);
    struct facts f = { 0 };

    if (x == NULL || extract_run(x, source, &a, &f, ret)) {
        extractor_free(x);
        return "no failure";
    }
    (void)snprintf(text, sizeof text, "%.*s|%.*s|%.*s|%zu%s", STR_ARG(f.sender),
                   STR_ARG(f.receiver), STR_ARG(f.type), f.attribute_count,
                   f.partial ? "" : " whole?");
    extractor_free(x);
    return text;
}

TEST(extract_keeps_what_it_found)
{
    struct extract_source source = {
        .body = STR("{\"a\":\"acme\",\"b\":\"hub\",\"o\":{},\"c\":\"x\\u0001\"}"), .whole = true
    };
    static const struct {
        const char *yaml, *kept, *why;
    } cases[] = {
        { "{ sender: 'json:/a', receiver: 'json:/b', type: 'json:/no' }", "acme|hub||0",
          "no type" },
        { "{ sender: 'json:/no', receiver: 'json:/b', type: 'value:t' }", "|hub|t|0", "no sender" },
        { "{ sender: 'json:/no', receiver: 'json:/nix', type: 'value:t' }", "||t|0", "no sender" },
        { "{ sender: 'json:/a', receiver: 'json:/o', type: 'value:t' }", "acme||t|0",
          "receiver: " },
        { "{ sender: 'json:/a', attributes: { x: 'json:/c', y: 'json:/b' } }", "acme|||1",
          "attribute x" },
        { "{ sender: 'xml:/A', receiver: 'json:/b', type: 'regex:no(.)' }", "|hub||0",
          "no sender" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct extract_failure why = { 0 };
        const char *got = kept_of(cases[i].yaml, &source, &why);

        if (strcmp(got, cases[i].kept) != 0 || strstr(why.message, cases[i].why) == NULL)
            printf("# %s: %s, %s\n", cases[i].yaml, got, why.message);
        CHECK(strcmp(got, cases[i].kept) == 0 && strstr(why.message, cases[i].why) != NULL);
    }
}

int main(void)
{
    return test_main();
}
