#include "test.h"

#include "graphql_ask.h"

#include "admin/api/parts.h"
#include "admin/graphql/embed.h"
#include "admin/graphql/request.h"

static struct graphql_schema *schema;
static struct graphql_limits limits;

static const char small[] =
    "\"of the query\" type Query { \"of a\" a(x: [Int!]! = [1, 2], s: String = "
    "\"q\"): Int! b: Int @deprecated c: [[Color]!]! }"
    "enum Color { RED @deprecated(reason: \"out\") GREEN }"
    "input In { i: Int o: Int @deprecated }"
    "scalar Long @specifiedBy(url: \"https://example.org/long\")";

static bool answers(const char *query, const char *want)
{
    char text[1000];

    (void)snprintf(text, sizeof text, "{\"data\":%s}", want);
    return same(ask_with(schema, query, NULL, &limits), text);
}

TEST(introspect_types)
{
    static const struct {
        const char *query, *want;
    } cases[] = {
        { "{__type(name:\"Query\"){kind name description ofType{name} interfaces{name} "
          "possibleTypes{name} enumValues{name} inputFields{name} specifiedByURL}}",
          "{\"__type\":{\"kind\":\"OBJECT\",\"name\":\"Query\",\"description\":\"of the query\","
          "\"ofType\":null,\"interfaces\":[],\"possibleTypes\":null,\"enumValues\":null,"
          "\"inputFields\":null,\"specifiedByURL\":null}}" },
        { "{__type(name:\"Nix\"){name}}", "{\"__type\":null}" },
        { "{__type(name:\"__Meta\"){name}}", "{\"__type\":null}" },
        { "{__type(name:\"Query\"){fields{name description isDeprecated}}}",
          "{\"__type\":{\"fields\":[{\"name\":\"a\",\"description\":\"of a\",\"isDeprecated\":"
          "false},{\"name\":\"c\",\"description\":null,\"isDeprecated\":false}]}}" },
        { "{__type(name:\"Query\"){fields(includeDeprecated:true){name deprecationReason}}}",
          "{\"__type\":{\"fields\":[{\"name\":\"a\",\"deprecationReason\":null},{\"name\":\"b\","
          "\"deprecationReason\":\"No longer supported\"},{\"name\":\"c\",\"deprecationReason\":"
          "null}]}}" },
        { "{__type(name:\"Query\"){fields{args{name defaultValue type{kind ofType{kind ofType{kind "
          "ofType{kind name}}}}}}}}",
          "{\"__type\":{\"fields\":[{\"args\":[{\"name\":\"x\",\"defaultValue\":\"[1, 2]\","
          "\"type\":{\"kind\":\"NON_NULL\",\"ofType\":{\"kind\":\"LIST\",\"ofType\":{\"kind\":"
          "\"NON_NULL\",\"ofType\":{\"kind\":\"SCALAR\",\"name\":\"Int\"}}}}},{\"name\":\"s\","
          "\"defaultValue\":\"\\\"q\\\"\",\"type\":{\"kind\":\"SCALAR\",\"ofType\":null}}]},{"
          "\"args\":[]}]}}" },
        { "{__type(name:\"Color\"){kind a:enumValues{name} b:enumValues(includeDeprecated:true){"
          "name isDeprecated deprecationReason}}}",
          "{\"__type\":{\"kind\":\"ENUM\",\"a\":[{\"name\":\"GREEN\"}],\"b\":[{\"name\":\"RED\","
          "\"isDeprecated\":true,\"deprecationReason\":\"out\"},{\"name\":\"GREEN\","
          "\"isDeprecated\":false,\"deprecationReason\":null}]}}" },
        { "{__type(name:\"In\"){kind a:inputFields{name} b:inputFields(includeDeprecated:true){"
          "name isDeprecated}}}",
          "{\"__type\":{\"kind\":\"INPUT_OBJECT\",\"a\":[{\"name\":\"i\"}],\"b\":[{\"name\":\"i\","
          "\"isDeprecated\":false},{\"name\":\"o\",\"isDeprecated\":true}]}}" },
        { "{__schema{directives{locations}}}",
          "{\"__schema\":{\"directives\":[{\"locations\":[\"FIELD\",\"FRAGMENT_SPREAD\","
          "\"INLINE_FRAGMENT\"]},{\"locations\":[\"FIELD\",\"FRAGMENT_SPREAD\","
          "\"INLINE_FRAGMENT\"]},{\"locations\":[\"FIELD_DEFINITION\",\"ARGUMENT_DEFINITION\","
          "\"INPUT_FIELD_DEFINITION\",\"ENUM_VALUE\"]},{\"locations\":[\"SCALAR\"]}]}}" },
        { "{__type(name:\"Long\"){interfaces{name} fields{name}}}",
          "{\"__type\":{\"interfaces\":null,\"fields\":null}}" },
        { "{__type(name:\"Long\"){kind specifiedByURL}}",
          "{\"__type\":{\"kind\":\"SCALAR\",\"specifiedByURL\":\"https://example.org/long\"}}" },
        { "{__schema{__typename queryType{name} mutationType{name} subscriptionType{name} "
          "description}}",
          "{\"__schema\":{\"__typename\":\"__Schema\",\"queryType\":{\"name\":\"Query\"},"
          "\"mutationType\":null,\"subscriptionType\":null,\"description\":null}}" },
        { "{__schema{directives{name isRepeatable args{name}}}}",
          "{\"__schema\":{\"directives\":[{\"name\":\"skip\",\"isRepeatable\":false,\"args\":[{"
          "\"name\":\"if\"}]},{\"name\":\"include\",\"isRepeatable\":false,\"args\":[{\"name\":"
          "\"if\"}]},{\"name\":\"deprecated\",\"isRepeatable\":false,\"args\":[{\"name\":"
          "\"reason\"}]},{\"name\":\"specifiedBy\",\"isRepeatable\":false,\"args\":[{\"name\":"
          "\"url\"}]}]}}" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(answers(cases[i].query, cases[i].want));
}

TEST(introspect_hides_its_root)
{
    const char *got = ask_with(schema, "{__schema{types{name}}}", NULL, &limits);

    CHECK(has(got, "\"__Schema\"") && has(got, "\"Query\"") && strstr(got, "__Meta") == NULL);
}

TEST(introspect_has_its_own_depth)
{
    CHECK(has(ask_with(schema,
                       "{__schema{types{fields{args{type{ofType{ofType{ofType{ofType{ofType{"
                       "ofType{ofType{ofType{ofType{name}}}}}}}}}}}}}}}",
                       NULL, &limits),
              "\"data\""));
    CHECK(has(ask_with(schema,
                       "{__schema{types{fields{type{fields{type{fields{type{fields{type{fields{"
                       "type{fields{type{name}}}}}}}}}}}}}}}",
                       NULL, &limits),
              "the request costs over"));
}

static struct rights rights_of(struct str words)
{
    struct rights r = { 0 };
    enum right right;

    for (struct str word; words.len > 0;) {
        words = str_cut(words, ',', &word);
        require(right_find(word, &right));
        r.everywhere |= 1u << right;
    }
    return r;
}

/* For tests/blackbox: answers each line of stdin, a request, with a line; the schema
 * is that of the admin API, and its fields answer with something of their type.  With `guarded` as
 * the API guards it: a line `#see,retry` says which rights the asker has from there on. */
static int answer_lines(bool guarded)
{
    struct graphql_schema *s = mock_schema(embed_schema());
    struct principal who = { .name = STR("somebody"), .rights = rights_all };
    struct err err = { 0 };
    char *line = NULL;
    size_t size = 0;

    require(!guarded || graphql_schema_guard(s, api_find_right, api_may, &err));
    for (ssize_t len; (len = getline(&line, &size, stdin)) > 0;) {
        if (guarded && line[0] == '#') {
            who.rights = rights_of(str_mem(line + 1, (size_t)len - 2));
            continue;
        }
        buf_clear(&ask_answer);
        (void)graphql_request_answer(s, STR("application/json"), str_mem(line, (size_t)len), &who,
                                     &limits, &ask_answer);
        buf_putc(&ask_answer, '\n');
        (void)fwrite(ask_answer.ptr, 1, ask_answer.len, stdout);
    }
    free(line);
    graphql_schema_free(s);
    buf_done(&ask_answer);
    return 0;
}

int main(int argc, char **argv)
{
    limits = graphql_limits_default;
    limits.introspection = true;
    if (argc > 1 && strcmp(argv[1], "--answer") == 0)
        return answer_lines(argc > 2 && strcmp(argv[2], "--guarded") == 0);
    schema = mock_schema(str_of(small));
    int bad = test_main();

    graphql_schema_free(schema);
    buf_done(&ask_answer);
    return bad;
}
