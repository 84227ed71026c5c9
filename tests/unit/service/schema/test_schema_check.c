#include "service/schema/checking.h"

#include "test.h"

struct check_case {
    const char *schema, *document;
    const char *want; /* in the message; "": it is valid */
};

static bool is_as_said(const struct check_case *c)
{
    AUTO(checker_done) struct checker checker = checker_of(c->schema);
    const char *said = checker_says(&checker, str_of(c->document));

    if (checker.schema != NULL &&
        (c->want[0] == '\0' ? said[0] == '\0' : strstr(said, c->want) != NULL))
        return true;
    printf("# %s\n# %s\n# want %s\n# got  %s\n", c->schema, c->document, c->want, said);
    return false;
}

#define CHECK_CASES(cases)                                      \
    for (size_t i = 0; i < sizeof cases / sizeof *(cases); i++) \
    CHECK(is_as_said(&(cases)[i]))

TEST(values_are_checked_exactly)
{
    static const struct check_case cases[] = {
        { "true", "1", "" },
        { "false", "1", "the document, line 1: it is not allowed (rule /)" },
        { "{\"type\":\"integer\"}", "1.0", "" },
        { "{\"type\":\"integer\"}", "123456789012345678901234567890", "" },
        { "{\"type\":\"integer\"}", "1.5",
          "the document, line 1: it is not of the type \"integer\" (rule /type)" },
        { "{\"type\":[\"null\",\"boolean\"]}", "false", "" },
        { "{\"type\":[\"null\",\"boolean\"]}", "0", "it is not of the type" },
        { "{\"maximum\":123456789012345678901234567890}", "123456789012345678901234567890", "" },
        { "{\"maximum\":123456789012345678901234567890}", "123456789012345678901234567891",
          "it is greater than 123456789012345678901234567890" },
        { "{\"exclusiveMinimum\":1.10}", "1.1", "it is not greater than 1.10" },
        { "{\"exclusiveMaximum\":9007199254740993}", "9007199254740992", "" },
        { "{\"minimum\":0}", "-0.0000000000000000000000000001", "it is less than 0" },
        { "{\"minimum\":5}", "\"a\"", "" },
        { "{\"multipleOf\":0.01}", "19.99", "" },
        { "{\"multipleOf\":0.01}", "19.999", "it is not a multiple of 0.01" },
        { "{\"const\":{\"a\":[1,2]}}", "{\"a\":[1.0,2]}", "" },
        { "{\"const\":1}", "true", "it is not the constant" },
        { "{\"enum\":[\"a\",2,null,{\"x\":1}]}", "{\"x\":1e0}", "" },
        { "{\"enum\":[\"a\",2,null,{\"x\":1}]}", "\"2\"", "it is none of the values of `enum`" },
        { "{\"enum\":[]}", "1", "it is none of the values" },
        { "{\"minLength\":2,\"maxLength\":2}", "\"\\ud83d\\ude00\xc3\xa4\"", "" },
        { "{\"maxLength\":1}", "\"ab\"", "it is longer than 1" },
        { "{\"minLength\":1}", "\"\"", "it is shorter than 1" },
        { "{\"pattern\":\"^a+$\"}", "\"aaa\"", "" },
        { "{\"pattern\":\"^a+$\"}", "\"aaa\\n\"", "it does not match the pattern \"^a+$\"" },
        { "{\"pattern\":\"b\"}", "\"abc\"", "" },
        { "{\"pattern\":\"^\\\\u0061\\\\u{62}$\"}", "\"ab\"", "" },
        { "{\"pattern\":\"^\\\\p{Lu}\"}", "\"\xc3\x84\"", "" },
        { "{\"uniqueItems\":true}", "[1,2,{\"a\":1,\"b\":2},{\"b\":2,\"a\":2},\"1\",true]", "" },
        { "{\"uniqueItems\":true}", "[1,2,{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]",
          "an item is there twice" },
        { "{\"uniqueItems\":false}", "[1,1]", "" },
        { "{\"minItems\":1}", "[]", "its items are fewer than 1" },
        { "{\"maxItems\":1}", "[1,2]", "its items are more than 1" },
        { "{\"minProperties\":1}", "{}", "its members are fewer than 1" },
        { "{\"maxProperties\":0}", "{\"a\":1}", "its members are more than 0" },
        { "{\"required\":[\"a\",\"b\"]}", "{\"a\":1}",
          "a member is missing: `b` (rule /required)" },
        { "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
          "a member is missing beside another one: `b`" },
        { "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"c\":1}", "" },
        { "{\"format\":\"email\",\"contentEncoding\":\"base64\"}", "\"!\"", "" },
    };

    CHECK_CASES(cases);
}

TEST(places_of_document_and_rule_are_said)
{
    static const struct check_case cases[] = {
        { "{\"properties\":{\"lines\":{\"items\":{\"$ref\":\"#/$defs/line\"}}},"
          "\"$defs\":{\"line\":{\"properties\":{\"a/b\":{\"minimum\":1}}}}}",
          "{\"lines\":[{},\n{\"a/b\":2},\n{\"a/b\":0}]}",
          "/lines/2/a~1b, line 3: it is less than 1 (rule "
          "/$defs/line/properties/a~1b/minimum)" },
        { "{\"additionalProperties\":false,\"properties\":{\"a\":true}}",
          "{\"a\":1,\"b\":\"secret\"}",
          "/b, line 1: it is not allowed (rule /additionalProperties)" },
        { "{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", "{\"a\":1,\"B\":2}",
          "/B, line 1: its name: it does not match the pattern \"^[a-z]+$\" (rule "
          "/propertyNames/pattern)" },
        { "{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "3",
          "it fits none of `anyOf` (rule /anyOf)" },
        { "{\"oneOf\":[{\"type\":\"number\"},{\"minimum\":5}]}", "6",
          "of `oneOf` it fits more than one" },
        { "{\"oneOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "3", "of `oneOf` it fits none" },
        { "{\"anyOf\":[{\"type\":\"null\"},{\"properties\":{\"a\":{\"items\":{\"minimum\":5}}}},{"
          "\"properties\":{\"a\":{\"type\":\"string\"}}}]}",
          "{\"a\":[7,3]}",
          "/a/1, line 1: it is less than 5 (rule /anyOf/1/properties/a/items/minimum)" },
        { "{\"oneOf\":[{\"required\":[\"b\"]},{\"properties\":{\"a\":{\"required\":[\"c\"]}}}]}",
          "{\"a\":{}}",
          "/a, line 1: a member is missing: `c` (rule /oneOf/1/properties/a/required)" },
        { "{\"not\":{\"type\":\"null\"}}", "null", "it fits what it must not (rule /not)" },
        { "{\"allOf\":[true,{\"type\":\"null\"}]}", "1", "(rule /allOf/1/type)" },
        { "{}", "{\"a\":1,\n\"a\":2}", "line 2: not JSON: a name stands twice" },
        { "{}", "[1", "line 1: not JSON: " },
    };

    CHECK_CASES(cases);
}

TEST(parts_of_a_schema_work_together)
{
    static const struct check_case cases[] = {
        { "{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":["
          "\"c\"]}}",
          "{\"a\":1,\"b\":1}", "" },
        { "{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":["
          "\"c\"]}}",
          "{\"a\":1}", "(rule /then/required)" },
        { "{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":["
          "\"c\"]}}",
          "{}", "(rule /else/required)" },
        { "{\"then\":false}", "1", "" },
        { "{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"a\":1}", "`b`" },
        { "{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"b\":1}", "" },
        { "{\"properties\":{\"a\":{\"type\":\"null\"}},\"patternProperties\":{\"^a\":{\"const\":"
          "null}}}",
          "{\"a\":null}", "" },
        { "{\"properties\":{\"a\":true},\"patternProperties\":{\"^a\":false}}", "{\"a\":1}",
          "(rule /patternProperties/^a)" },
        { "{\"prefixItems\":[{\"type\":\"null\"},{\"type\":\"string\"}],\"items\":{\"type\":"
          "\"number\"}}",
          "[null,\"a\",1,2]", "" },
        { "{\"prefixItems\":[{\"type\":\"null\"}],\"items\":false}", "[null,1]",
          "/1, line 1: it is not" },
        { "{\"prefixItems\":[{\"type\":\"null\"}]}", "[]", "" },
        { "{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":3}", "[1,0,1]", "" },
        { "{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":3}", "[1,0]",
          "`contains`" },
        { "{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1]", "`contains`" },
        { "{\"contains\":{\"const\":1},\"minContains\":0}", "[]", "" },
        { "{\"contains\":true}", "[]", "`contains`" },
        { "{\"$ref\":\"#/$defs/a\",\"maximum\":3,\"$defs\":{\"a\":{\"minimum\":1}}}", "4", "3" },
        { "{\"properties\":{\"next\":{\"$ref\":\"#\"},\"v\":{\"type\":\"number\"}}}",
          "{\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":\"x\"}}}", "/next/next/v, line 1" },
    };

    CHECK_CASES(cases);
}

TEST(references_by_id_and_anchor)
{
    static const struct check_case cases[] = {
        { "{\"$id\":\"https://x.example/a/"
          "root.json\",\"$ref\":\"item.json\",\"$defs\":{\"i\":{\"$id\":"
          "\"item.json\",\"type\":\"null\"}}}",
          "1", "it is not of the type" },
        { "{\"$id\":\"https://x.example/a/root.json\",\"$ref\":\"https://x.example/a/item.json#n\","
          "\"$defs\":{\"i\":{\"$id\":\"item.json\",\"$defs\":{\"n\":{\"$anchor\":\"n\",\"type\":"
          "\"null\"}}}}}",
          "null", "" },
        { "{\"$ref\":\"urn:x:1#/$defs/"
          "a%25b\",\"$defs\":{\"i\":{\"$id\":\"urn:x:1\",\"$defs\":{\"a%b\":{"
          "\"type\":\"null\"}}}}}",
          "1", "it is not of the type" },
        { "{\"$ref\":\"#/prefixItems/1\",\"prefixItems\":[true,{\"type\":\"array\"}]}", "1",
          "array" },
        { "{\"definitions\":{\"a\":{\"type\":\"null\"}},\"$ref\":\"#/definitions/a\"}", "1",
          "null" },
        /* A tree, and one that is strict: the example of the standard. */
        { "{\"$id\":\"https://x.example/strict\",\"$dynamicAnchor\":\"node\",\"$ref\":\"tree\","
          "\"unevaluatedProperties\":false,\"$defs\":{\"t\":{\"$id\":\"https://x.example/tree\","
          "\"$dynamicAnchor\":\"node\",\"type\":\"object\",\"properties\":{\"data\":true,"
          "\"children\":{"
          "\"type\":\"array\",\"items\":{\"$dynamicRef\":\"#node\"}}}}}}",
          "{\"children\":[{\"daat\":1}]}", "/children/0/daat, line 1: it is not allowed" },
        { "{\"$id\":\"https://x.example/loose\",\"$ref\":\"tree\",\"$defs\":{\"t\":{\"$id\":"
          "\"https://x.example/tree\",\"$dynamicAnchor\":\"node\",\"properties\":{\"children\":{"
          "\"items\":{\"$dynamicRef\":\"#node\"}}}}}}",
          "{\"children\":[{\"daat\":1}]}", "" },
        /* An anchor that is not dynamic: an ordinary reference. */
        { "{\"$id\":\"urn:r\",\"$dynamicAnchor\":\"x\",\"properties\":{\"a\":{\"$dynamicRef\":"
          "\"urn:s#y\"}},\"$defs\":{\"s\":{\"$id\":\"urn:s\",\"$defs\":{\"y\":{\"$anchor\":\"y\","
          "\"type\":\"null\"}}}}}",
          "{\"a\":1}", "it is not of the type" },
    };

    CHECK_CASES(cases);
}

TEST(what_is_not_evaluated_is_found_through_all_parts)
{
#define OPEN                                                                                       \
    "{\"allOf\":[{\"properties\":{\"a\":true}},{\"anyOf\":[{\"properties\":{\"b\":{\"const\":1}}," \
    "\"required\":[\"b\"]},{\"properties\":{\"c\":true},\"required\":[\"c\"]}]}],"                 \
    "\"unevaluatedProperties\":false}"
#define ITEMS                                                                       \
    "{\"prefixItems\":[true],\"contains\":{\"type\":\"string\"},\"minContains\":0," \
    "\"unevaluatedItems\":false}"
    static const struct check_case cases[] = {
        { OPEN, "{\"a\":1,\"b\":1}", "" },
        { OPEN, "{\"a\":1,\"b\":1,\"c\":2}", "" },
        { OPEN, "{\"a\":1,\"b\":2,\"c\":2}",
          "/b, line 1: it is not allowed (rule "
          "/unevaluatedProperties)" },
        { OPEN, "{\"b\":1,\"d\":1}", "/d, line 1" },
        { ITEMS, "[0,\"a\",\"b\"]", "" },
        { ITEMS, "[0,\"a\",1]", "/2, line 1: it is not allowed" },
        { "{\"not\":{\"properties\":{\"a\":false}},\"unevaluatedProperties\":false}", "{\"a\":1}",
          "/a, line 1: it is not allowed" },
        { "{\"if\":{\"properties\":{\"a\":{\"const\":1}}},\"then\":{\"properties\":{\"b\":true}},"
          "\"unevaluatedProperties\":false}",
          "{\"a\":1,\"b\":2}", "" },
        { "{\"if\":{\"properties\":{\"a\":{\"const\":1}}},\"then\":{\"properties\":{\"b\":true}},"
          "\"unevaluatedProperties\":false}",
          "{\"a\":2}", "/a, line 1" },
        { "{\"allOf\":[{\"unevaluatedProperties\":true}],\"unevaluatedProperties\":false}",
          "{\"a\":1}", "" },
        { "{\"allOf\":[{\"properties\":{\"a\":true},\"unevaluatedProperties\":false}]}",
          "{\"a\":1,\"b\":1}", "/b, line 1" },
        { "{\"dependentSchemas\":{\"a\":{\"properties\":{\"a\":true,\"b\":true}}},"
          "\"unevaluatedProperties\":false}",
          "{\"a\":1,\"b\":1}", "" },
        { "{\"$ref\":\"#/$defs/x\",\"unevaluatedItems\":{\"type\":\"null\"},\"$defs\":{\"x\":{"
          "\"prefixItems\":[{\"type\":\"number\"}]}}}",
          "[1,null]", "" },
        { "{\"properties\":{\"o\":{\"properties\":{\"x\":true}}},\"unevaluatedProperties\":false}",
          "{\"o\":{\"y\":1}}", "" },
        { "{\"unevaluatedProperties\":{\"type\":\"null\"}}", "{\"a\":1}", "it is not of the type" },
    };

    CHECK_CASES(cases);
}

/* ---- limits ---- */

static void put_list(struct buf *to, int count, const char *(*item)(int i))
{
    buf_puts(to, "[");
    for (int i = 0; i < count; i++) {
        buf_puts(to, i > 0 ? "," : "");
        buf_puts(to, item(i));
    }
    buf_puts(to, "]");
}

static const char *numbered(int i)
{
    static char text[32];

    (void)snprintf(text, sizeof text, "{\"n\":%d}", i);
    return text;
}

TEST(many_items_are_unique_in_little_time)
{
    AUTO(buf_done) struct buf many = BUF_INIT((size_t)32 << 20);
    AUTO(checker_done) struct checker c = checker_of("{\"uniqueItems\":true}");

    put_list(&many, 300000, numbered);
    CHECK(strcmp(checker_says(&c, buf_view(&many)), "") == 0);
    buf_cut(&many, many.len - 1);
    buf_puts(&many, ",{\"n\":77.0}]");
    CHECK(strstr(checker_says(&c, buf_view(&many)), "an item is there twice") != NULL);
}

TEST(work_without_end_is_a_budget)
{
    AUTO(buf_done) struct buf deep = BUF_INIT(1 << 20);
    /* Each level is checked twice: 2^200 subschemas. */
    AUTO(checker_done)
    struct checker c =
        checker_of("{\"anyOf\":[{\"items\":{\"$ref\":\"#/$defs/a\"}},{\"items\":{\"$ref\":"
                   "\"#/$defs/a\"}}],\"$defs\":{\"a\":{\"anyOf\":[{\"items\":{\"$ref\":"
                   "\"#/$defs/a\"},\"type\":\"array\"},{\"items\":{\"$ref\":\"#/$defs/a\"},"
                   "\"type\":\"array\"}]}}}");
    AUTO(checker_done) struct checker p = checker_of("{\"pattern\":\"^(a|aa)+$\"}");
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);

    for (int i = 0; i < 200; i++)
        buf_puts(&deep, "[");
    buf_puts(&deep, "0");
    for (int i = 0; i < 200; i++)
        buf_puts(&deep, "]");
    CHECK(strstr(checker_says(&c, buf_view(&deep)), "too much work") != NULL);
    CHECK(c.failure.code == DEAD_BUDGET);
    buf_puts(&text, "\"");
    for (int i = 0; i < 5000; i++)
        buf_puts(&text, "a");
    buf_puts(&text, "b\"");
    CHECK(strstr(checker_says(&p, buf_view(&text)), "takes too long") != NULL);
    CHECK(p.failure.code == DEAD_BUDGET);
}

TEST(a_dynamic_reference_to_itself_ends)
{
    AUTO(checker_done)
    struct checker c =
        checker_of("{\"$id\":\"urn:a\",\"$dynamicAnchor\":\"x\",\"$ref\":\"urn:b\",\"$defs\":{"
                   "\"b\":{\"$id\":\"urn:b\",\"$dynamicRef\":\"#x\",\"$defs\":{\"c\":{"
                   "\"$dynamicAnchor\":\"x\"}}}}}");

    CHECK(strstr(checker_says(&c, STR("1")), "refers to itself for the same value without end") !=
          NULL);
    CHECK(c.failure.code == DEAD_SERVICE_FAILED);
}

int main(void)
{
    return test_main();
}
