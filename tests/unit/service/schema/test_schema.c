#include "service/schema/checking.h"

#include "test.h"

static bool is_refused(const char *schema, const char *why)
{
    AUTO(checker_done) struct checker c = checker_of(schema);

    if (c.schema == NULL && c.err.kind == ERR_CONFIG && strstr(c.err.text, why) != NULL)
        return true;
    printf("# %s\n# want %s\n# got  %s\n", schema, why, c.schema == NULL ? c.err.text : "fine");
    return false;
}

static bool is_taken(const char *schema)
{
    AUTO(checker_done) struct checker c = checker_of(schema);

    if (c.schema == NULL)
        printf("# %s\n# %s\n", schema, c.err.text);
    return c.schema != NULL;
}

TEST(a_mistake_is_named_with_its_place)
{
    static const struct {
        const char *schema, *why;
    } cases[] = {
        { "", "line 1: not JSON: " },
        { "{\n\"type\": }", "line 2: not JSON: a value is expected" },
        { "[]", "line 1, the schema: a schema is an object, true or false" },
        { "{\"properties\":{\"a\":{\n\"maxLenght\":3}}}",
          "line 2, /properties/a/maxLenght: this is no keyword of JSON Schema 2020-12; did you "
          "mean "
          "`maxLength`?" },
        { "{\"x-mine\":1}", "/x-mine: this is no keyword of JSON Schema 2020-12" },
        { "{\"$defs\":{\"a\":{\"allOf\":[true,{\"nope\":1}]}}}", "/$defs/a/allOf/1/nope: " },
        { "{\"if\":{\"nope\":1}}", "/if/nope: " },
        { "{\"contentSchema\":{\"nope\":1}}", "/contentSchema/nope: " },
        { "{\"type\":\"text\"}", "/type: `type` needs null, boolean, number" },
        { "{\"type\":[]}", "/type: " },
        { "{\"type\":[\"string\",\"string\"]}", "/type: " },
        { "{\"minLength\":-1}", "/minLength: `minLength` needs a whole number" },
        { "{\"minLength\":1.5}", "/minLength: " },
        { "{\"minimum\":\"1\"}", "/minimum: `minimum` needs a number" },
        { "{\"multipleOf\":0}", "/multipleOf: `multipleOf` needs a number over 0" },
        { "{\"multipleOf\":1.2345678901234567891}", "/multipleOf: " },
        { "{\"enum\":{}}", "/enum: `enum` needs a list" },
        { "{\"required\":\"a\"}", "/required: `required` needs a list of names" },
        { "{\"required\":[1]}", "/required: " },
        { "{\"dependentRequired\":{\"a\":[1]}}", "/dependentRequired/a: " },
        { "{\"properties\":[]}", "/properties: `properties` needs an object of schemas" },
        { "{\"properties\":{\"a\":1}}", "/properties/a: a schema is an object, true or false" },
        { "{\"allOf\":[]}", "/allOf: `allOf` needs a list of schemas" },
        { "{\"uniqueItems\":1}", "/uniqueItems: `uniqueItems` needs true or false" },
        { "{\"items\":[{}]}", "/items: a list in `items` is `prefixItems` in 2020-12" },
        { "{\"dependencies\":{}}",
          "/dependencies: `dependencies` is not a keyword of 2020-12; write "
          "`dependentRequired` or `dependentSchemas`" },
        { "{\"additionalItems\":true}", "write `items` beside `prefixItems`" },
        { "{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}",
          "/$schema: only https://json-schema.org/draft/2020-12/schema is known" },
        { "{\"pattern\":\"(\"}", "/pattern: missing closing parenthesis" },
        { "{\"patternProperties\":{\"[\":true}}", "/patternProperties/[: " },
        { "{\"minimum\":1e9999999999}", "the exponent of a number" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(is_refused(cases[i].schema, cases[i].why));
}

TEST(references_stay_within_the_schema)
{
    static const struct {
        const char *schema, *why;
    } cases[] = {
        { "{\"$ref\":\"#/$defs/a\"}", "/$ref: it leads nowhere in this schema" },
        { "{\"$ref\":\"#/title\",\"title\":\"x\"}",
          "/$ref: it leads to something that is no schema" },
        { "{\"$ref\":\"#a\"}", "/$ref: there is no such `$anchor`" },
        { "{\"$ref\":\"other.json\"}", "/$ref: nothing in this schema has this `$id`; nothing else "
                                       "is read" },
        { "{\"$ref\":\"https://x.example/a.json\"}",
          "/$ref: nothing in this schema has this `$id`" },
        { "{\"$ref\":\"file:///etc/passwd\"}", "/$ref: nothing in this schema has this `$id`" },
        { "{\"$dynamicRef\":\"#a\"}", "/$dynamicRef: there is no such" },
        { "{\"$id\":\"a#b\"}", "/$id: an `$id` has no fragment" },
        { "{\"$defs\":{\"a\":{\"$id\":\"x\"},\"b\":{\"$id\":\"x\"}}}",
          "this `$id` is there twice" },
        { "{\"$defs\":{\"a\":{\"$anchor\":\"x\"},\"b\":{\"$dynamicAnchor\":\"x\"}}}",
          "this anchor is there twice" },
        { "{\"$anchor\":\"1\"}", "/$anchor: an anchor begins with" },
        { "{\"$ref\":\"#\"}", "the schema: it refers to itself for the same value" },
        { "{\"allOf\":[{\"$ref\":\"#\"}]}", "it refers to itself for the same value" },
        { "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"if\":{\"$ref\":\"#/$defs/a\"}}}}",
          "it refers to itself for the same value" },
        { "{\"$dynamicAnchor\":\"x\",\"not\":{\"$dynamicRef\":\"#x\"}}", "it refers to itself" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(is_refused(cases[i].schema, cases[i].why));
}

TEST(all_keywords_of_the_draft_are_taken)
{
    CHECK(is_taken("true") && is_taken("false") && is_taken("{}"));
    CHECK(is_taken("{\"properties\":{\"next\":{\"$ref\":\"#\"}}}"));
    CHECK(is_taken(
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"urn:a\","
        "\"$anchor\":\"a\",\"$dynamicAnchor\":\"b\",\"$defs\":{},\"definitions\":{},"
        "\"$comment\":\"\",\"title\":\"\",\"description\":\"\",\"default\":1,\"examples\":[1],"
        "\"deprecated\":true,\"readOnly\":true,\"writeOnly\":false,\"format\":\"any\","
        "\"contentEncoding\":\"\",\"contentMediaType\":\"\",\"contentSchema\":{},\"type\":["
        "\"null\","
        "\"integer\"],\"const\":1,\"enum\":[1],\"minimum\":1,\"maximum\":1,\"exclusiveMinimum\":0,"
        "\"exclusiveMaximum\":2,\"multipleOf\":1,\"minLength\":0,\"maxLength\":1.0,\"pattern\":"
        "\"\","
        "\"minItems\":0,\"maxItems\":1e3,\"uniqueItems\":false,\"minContains\":0,\"maxContains\":1,"
        "\"minProperties\":0,\"maxProperties\":99999999999999999999999,\"required\":[],"
        "\"dependentRequired\":{\"a\":[]},\"allOf\":[true],\"anyOf\":[true],\"oneOf\":[true],"
        "\"not\":false,\"if\":true,\"then\":true,\"else\":true,\"dependentSchemas\":{\"a\":true},"
        "\"propertyNames\":true,\"properties\":{\"a\":true},\"patternProperties\":{\"^a\":true},"
        "\"additionalProperties\":true,\"prefixItems\":[true],\"items\":true,\"contains\":true,"
        "\"unevaluatedItems\":true,\"unevaluatedProperties\":true}"));
}

TEST(a_schema_of_many_parts_has_a_limit)
{
    AUTO(buf_done) struct buf text = BUF_INIT((size_t)2 << 20);

    buf_puts(&text, "{\"allOf\":[true");
    for (int i = 0; i < SCHEMA_SUBS_MOST; i++)
        buf_puts(&text, ",{}");
    buf_puts(&text, "]}");
    CHECK(is_refused(text.ptr, "there are more than 200000 schemas in it"));
    for (int i = 0; i < SCHEMA_BYTES_MOST; i++)
        buf_puts(&text, " ");
    CHECK(is_refused(text.ptr, "a schema has at most 1048576 bytes"));
}

int main(void)
{
    return test_main();
}
