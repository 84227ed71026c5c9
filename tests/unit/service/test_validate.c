#include "base/auto.h"
#include "core/config_files.h"
#include "core/connector.h"
#include "test.h"

static const struct config_file stored[] = {
    { .path = STR("order.json"),
      .bytes = STR("{\"required\":[\"id\"],\"properties\":{\"id\":{\"type\":\"integer\"}}}") },
    { .path = STR("bad.json"), .bytes = STR("{\"typ\":1}") },
    { .path = STR("order.xsd"),
      .bytes =
          STR("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:include "
              "schemaLocation=\"t.xsd\"/><xs:element name=\"order\" type=\"t\"/></xs:schema>") },
    { .path = STR("types/t.xsd"),
      .bytes = STR("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:simpleType "
                   "name=\"t\"><xs:restriction base=\"xs:int\"/></xs:simpleType></xs:schema>") },
};
static const struct config_files files = { .items = stored,
                                           .count = sizeof stored / sizeof *stored };

/* "=" for bytes that went on untouched, else the failure or the mistake. */
static const char *step_says(const char *yaml, const char *in)
{
    static char text[600];
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)64 << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings s = { .node = yaml_get(yaml_load(str_of(yaml), &a, &problems), "validate"),
                          .own = service_validate.kind.keys,
                          .files = &files,
                          .arena = &a };
    static const struct service_document document;
    struct service_memory m;
    struct service_failure failure = { 0 };
    struct err err = { 0 };
    void *self;

    problem_list_done(&problems);
    if (!service_validate.make(&s, &self, &err)) {
        (void)snprintf(text, sizeof text, "config %s", err.text);
        return text;
    }
    service_memory_init(&m, &document, str_of(in), 1 << 20, &a);
    m.piece = 7;
    bool ok = service_run(&service_validate, self, &m.io, &failure);

    service_validate.unmake(self);
    if (ok)
        (void)snprintf(text, sizeof text, "%s", str_is(buf_view(&m.out), in) ? "=" : m.out.ptr);
    else
        (void)snprintf(text, sizeof text, "%s %s", dead_codes[failure.code], failure.message);
    service_memory_done(&m);
    return text;
}

TEST(a_valid_document_goes_on_as_it_is)
{
    static const struct {
        const char *step, *in, *want;
    } cases[] = {
        { "validate: { json: order.json }",
          "{ \"id\" : 123456789012345678901234567890,\n \"x\":1.10,\t\"\\u0061\":-0e+5 }\n", "=" },
        { "validate: { json: order.json }", "{\"id\":1.5}",
          "service_failed validate: /id, line 1: it is not of the type \"integer\" (rule "
          "/properties/id/type)" },
        { "validate: { json: order.json }", "{}",
          "service_failed validate: the document, line 1: a member is missing: `id` (rule "
          "/required)" },
        { "validate: { json: order.json }", "", "service_failed validate: line 1: not JSON: " },
        { "validate: { xml: order.xsd, includes: { t.xsd: types/t.xsd } }",
          "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\r\n<order >17<!-- \xe4 "
          "--></order>\r\n\r\n",
          "=" },
        { "validate: { xml: order.xsd, includes: { t.xsd: types/t.xsd } }", "<order>x</order>",
          "service_failed validate: /order, line 1: Element 'order': is not a valid value" },
        { "validate: { xml: order.xsd }", "",
          "config `xml`: it includes or imports t.xsd, which is not" },
        { "validate: order.xsd", "", "config `xml`: it includes or imports t.xsd" },
        { "validate: { json: bad.json }", "",
          "config `json`: line 1, /typ: this is no keyword of JSON Schema 2020-12; did you mean "
          "`type`?" },
        { "validate: { json: none.json }", "", "config `json`: the file none.json is not stored" },
        { "validate: { json: order.json, includes: { t.xsd: types/t.xsd } }", "",
          "config `includes` belongs to `xml`" },
        { "validate: { json: order.json, xml: order.xsd }", "",
          "config exactly one of `xml` and `json`" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = step_says(cases[i].step, cases[i].in);

        if (strncmp(said, cases[i].want, strlen(cases[i].want)) != 0)
            printf("# %s\n# got %s\n", cases[i].step, said);
        CHECK(strncmp(said, cases[i].want, strlen(cases[i].want)) == 0);
    }
}

int main(void)
{
    return test_main();
}
