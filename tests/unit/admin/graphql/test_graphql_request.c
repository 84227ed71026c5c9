#include "test.h"

#include "graphql_ask.h"

#include "admin/graphql/embed.h"
#include "admin/graphql/request.h"

static struct graphql_schema *schema;

static int post(const char *type, struct str body)
{
    buf_clear(&ask_answer);
    return graphql_request_answer(schema, str_of(type), body, NULL, &graphql_limits_default,
                                  &ask_answer);
}

TEST(request_runs)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        { "{\"query\":\"{__typename}\"}", "{\"data\":{\"__typename\":\"Query\"}}" },
        { " {\"query\":\"{__typename}\",\"variables\":null,\"operationName\":null,"
          "\"extensions\":{}} ",
          "{\"data\":{\"__typename\":\"Query\"}}" },
        { "{\"query\":\"query A{a:__typename} query B{b:__typename}\",\"operationName\":\"B\"}",
          "{\"data\":{\"b\":\"Query\"}}" },
        { "{\"query\":\"query($i:ID!){document(id:$i){id}}\",\"variables\":{\"i\":\"x\"}}",
          "{\"data\":{\"document\":{\"id\":\"id\"}}}" },
        { "{\"query\":\"mutation{keyRemove(id:\\\"k\\\")}\"}", "{\"data\":{\"keyRemove\":true}}" },
        { "{\"query\":\"{nix}\"}",
          "{\"errors\":[{\"message\":\"type Query has no field \\\"nix\\\"\",\"locations\":[{"
          "\"line\":1,\"column\":2}],\"extensions\":{\"code\":\"invalid\"}}]}" },
        { "{\"query\":\"\"}",
          "{\"errors\":[{\"message\":\"query, mutation or fragment expected, found the end\","
          "\"locations\":[{\"line\":1,\"column\":1}],\"extensions\":{\"code\":\"syntax\"}}]}" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        CHECK(post("application/json", str_of(cases[i].body)) == 200);
        CHECK(same(ask_answer.ptr, cases[i].want));
    }
}

TEST(request_refuses_what_is_none)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        { "", "not JSON" },
        { "{", "not JSON" },
        { "{\"query\":\"{__typename}\"} x", "not JSON" },
        { "{\"query\":\"{__typename}\",\"query\":\"{__typename}\"}", "not JSON" },
        { "{\"query\":\"\\u0000\"}", "not JSON" },
        { "{\"query\":\"\xff\"}", "not JSON" },
        { "[{\"query\":\"{__typename}\"}]", "batches are not supported" },
        { "\"{__typename}\"", "not JSON" },
        { "{}", "\\\"query\\\" must be a text" },
        { "{\"query\":1}", "\\\"query\\\" must be a text" },
        { "{\"query\":\"{a}\",\"variables\":[]}", "\\\"variables\\\" must be an object" },
        { "{\"query\":\"{a}\",\"variables\":\"{}\"}", "\\\"variables\\\" must be an object" },
        { "{\"query\":\"{a}\",\"operationName\":1}", "\\\"operationName\\\" must be a text" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        CHECK(post("application/json", str_of(cases[i].body)) == 400);
        CHECK(has(ask_answer.ptr, cases[i].want) && has(ask_answer.ptr, "\"bad_request\""));
        CHECK(strncmp(ask_answer.ptr, "{\"errors\":[{\"message\":\"", 23) == 0);
    }
}

TEST(request_wants_json)
{
    static const struct {
        const char *type;
        int status;
    } cases[] = {
        { "application/json", 200 },
        { "Application/JSON", 200 },
        { "application/json; charset=utf-8", 200 },
        { "application/json;charset=\"UTF-8\"", 200 },
        { "application/json ;", 200 },
        { "application/json; charset=latin1", 415 },
        { "application/json; charset=utf-8; x=y", 415 },
        { "application/graphql", 415 },
        { "application/x-www-form-urlencoded", 415 },
        { "text/plain", 415 },
        { "", 415 },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(post(cases[i].type, STR("{\"query\":\"{__typename}\"}")) == cases[i].status);
}

TEST(request_has_limits)
{
    static struct buf b = BUF_INIT(GRAPHQL_BODY_MAX + (1 << 20));

    while (b.len <= 100000)
        buf_puts(&b, "[");
    CHECK(post("application/json", buf_view(&b)) == 400);
    CHECK(has(ask_answer.ptr, "nested too deeply"));
    buf_clear(&b);
    buf_puts(&b, "{\"query\":\"{__typename}\",\"variables\":{\"a\":\"[[[[\\\"[[[[\",\"b\":");
    for (int i = 0; i < 62; i++)
        buf_puts(&b, "[");
    for (int i = 0; i < 62; i++)
        buf_puts(&b, "]");
    buf_puts(&b, "}}");
    CHECK(post("application/json", buf_view(&b)) == 200);
    CHECK(has(ask_answer.ptr, "\"data\""));
    while (b.len <= GRAPHQL_BODY_MAX)
        buf_puts(&b, " ");
    CHECK(post("application/json", buf_view(&b)) == 413);
    CHECK(has(ask_answer.ptr, "\"limit\""));
    buf_done(&b);
}

int main(void)
{
    schema = mock_schema(embed_schema());
    int bad = test_main();

    graphql_schema_free(schema);
    buf_done(&ask_answer);
    return bad;
}
