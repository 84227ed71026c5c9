#include "base/auto.h"
#include "core/connector.h"
#include "core/problem.h"
#include "test.h"

enum { ARENA = 16 << 20 };

static const struct yaml_node *step_of(const char *yaml, struct arena *a)
{
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;

    return yaml_get(yaml_load(str_of(yaml), a, &problems), "convert");
}

/* Makes the step and runs it once; what comes out, or the failure. */
static const char *converted(const char *yaml, struct str in)
{
    static char text[1000];
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
    struct settings settings = { .node = step_of(yaml, &a),
                                 .own = service_convert.kind.keys,
                                 .arena = &a };
    struct service_failure failure = { 0 };
    struct err err = { 0 };
    void *self;

    if (!service_convert.make(&settings, &self, &err)) {
        (void)snprintf(text, sizeof text, "not made: %s", err.text);
        return text;
    }
    bool ok = service_convert.run(self, in, &(struct service_document){ 0 }, &out, &failure);

    if (ok)
        (void)snprintf(text, sizeof text, "%s", out.ptr);
    else
        (void)snprintf(text, sizeof text, "%s: %s%s", dead_codes[failure.code], failure.message,
                       out.len > 0 ? ", and bytes" : "");
    service_convert.unmake(self);
    return text;
}

#define MSH      "MSH|^~\\&|LAB\r"
#define MSH_JSON "{\"segments\":[[\"MSH\",\"|\",\"^~\\\\&\",\"LAB\"]]}"

TEST(convert_gives_what_it_should)
{
    static const struct {
        const char *yaml, *in, *want; /* want: the start of it */
    } cases[] = {
        { "convert: hl7", MSH, "{\"format\":\"hl7\",\"end\":\"\\r\",\"segments\":[\n[\"MSH\"" },
        { "convert: { from: hl7, to: xml }", MSH,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HL7" },
        { "convert: { from: json, to: hl7 }", MSH_JSON, MSH },
        { "convert: { from: xml, to: hl7 }",
          "<m><MSH><MSH.1>|</MSH.1><MSH.2>^~\\&amp;</MSH.2><MSH.3>LAB</MSH.3></MSH></m>", MSH },
        { "convert: edifact", "UNB+UNOA:2'", "{\"format\":\"edifact\"" },
        { "convert: { from: json, to: edifact }", "{\"segments\":[[\"UNB\",\"UNOA\"]]}",
          "UNB+UNOA'" },
        { "convert: csv", "a;b\n1;2\n", "{\"format\":\"csv\",\"separator\":\";\"" },
        { "convert: { from: csv, separator: '|', header: false }", "a|b\n",
          "{\"format\":\"csv\",\"separator\":\"|\",\"quotes\":\"needed\",\"end\":\"\\n\",\"rows\":["
          "\n"
          "[\"a\",\"b\"]" },
        { "convert: { from: json, to: csv, separator: ';' }", "[{\"a\":1.10,\"b\":\"x;y\"}]",
          "a;b\n1.10;\"x;y\"\n" },
        { "convert: { from: fixed, columns: { id: 3, name: 5 } }", "1  Ada  \n",
          "{\"format\":\"fixed\",\"end\":\"\\n\",\"rows\":[\n{\"id\":\"1\",\"name\":\"Ada\"}" },
        { "convert: { from: json, to: fixed, columns: { id: 3, name: 5 } }",
          "[{\"name\":\"Ada\",\"id\":1}]", "1  Ada  \n" },
        { "convert: x12", "ISA*",
          "service_failed: convert: X12: segment 1, byte 5: the text ends within" },
        { "convert: { from: json, to: hl7 }", "{", "service_failed: convert: JSON: byte 1: " },
        /* options that make no sense */
        { "convert: ~", "", "not made: there is no conversion" },
        { "convert: xml", "", "not made: there is no conversion from xml to json" },
        { "convert: { from: x12, to: xml }", "",
          "not made: there is no conversion from x12 to xml" },
        { "convert: fixed", "", "not made: `columns`: 1 to 4096 columns are needed" },
        { "convert: { from: fixed, columns: { a: 0 } }", "", "not made: `columns`: a width is" },
        { "convert: { from: csv, separator: '::' }", "", "not made: `separator` is one character" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = converted(cases[i].yaml, str_of(cases[i].in));

        if (strncmp(got, cases[i].want, strlen(cases[i].want)) != 0)
            printf("# %s: %s\n", cases[i].yaml, got);
        CHECK(strncmp(got, cases[i].want, strlen(cases[i].want)) == 0);
    }
}

TEST(convert_is_checked_before_it_runs)
{
    static const struct {
        const char *yaml, *says; /* NULL: nothing is wrong */
    } cases[] = {
        { "convert: { from: hl7 }", NULL },
        { "convert: { from: hl7, to: xml }", NULL },
        { "convert: { from: fixed, columns: { a: 1 } }", NULL },
        { "convert: { from: hl7, to: csv }", "there is no conversion from hl7 to csv" },
        { "convert: { from: json }", "there is no conversion from json to json" },
        { "convert: { from: json, to: fixed }", "fixed-width records need `columns`" },
        { "convert: { from: csv, separator: '\"' }", "`separator` is one character" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;

        service_convert.kind.check(step_of(cases[i].yaml, &a), &problems);
        CHECK(problems.count == (cases[i].says != NULL));
        CHECK(cases[i].says == NULL || strstr(problems.items[0].message, cases[i].says) != NULL);
    }
}

int main(void)
{
    return test_main();
}
