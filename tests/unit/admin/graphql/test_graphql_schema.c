#include "test.h"

#include <errno.h>

#include "graphql_ask.h"

#include "admin/graphql/embed.h"

static const char *made(const char *sdl)
{
    static struct err err;
    struct graphql_schema *s = graphql_schema_new(str_of(sdl), &err);

    if (s == NULL)
        return err.kind == ERR_CONFIG ? err.text : "another kind";
    graphql_schema_free(s);
    return "ok";
}

TEST(schema_reads_what_is_supported)
{
    static const char *const cases[] = {
        "type Query{a:Int}",
        "\"about\" type Query{\"\"\"of a\"\"\" a(\"of b\" b:Int=1 @deprecated):[[Int!]!]! "
        "@deprecated(reason:\"old\")}",
        "type Query{a(c:Color=RED,i:In={x:1},l:[Int]=[1,2],s:Int=1):Color} enum Color{RED "
        "\"g\" GREEN @deprecated} input In{x:Int! y:String=\"z\" in:In list:[In!]!=[]}",
        "scalar Time scalar Long @specifiedBy(url:\"https://example.org\") "
        "type Query{a:Time b:Long c:Float d:ID e:Boolean f:String}",
        "type Mutation{m:Int} type Query{q:Query}",
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(same(made(cases[i]), "ok"));
}

TEST(schema_says_what_it_does_not_understand)
{
    static const struct {
        const char *sdl, *want;
    } cases[] = {
        { "", "schema without a type Query" },
        { "type Mutation{a:Int}", "schema without a type Query" },
        { "input Query{a:Int}", "schema without a type Query" },
        { "type Query{a:Int} enum Mutation{A}", "Mutation is not an object type" },
        { "type Query{a:Int} type Subscription{a:Int}", "subscriptions are not supported" },
        { "\n\ninterface I{a:Int}", "schema line 3: only type, enum, input, scalar and directive "
                                    "are supported, not \"interface\"" },
        { "union U=A|B",
          "schema line 1: only type, enum, input, scalar and directive are supported, not "
          "\"union\"" },
        { "extend type Query{a:Int}", "schema line 1: only type, enum, input, scalar and directive "
                                      "are supported, not \"extend\"" },
        { "schema{query:Q}", "schema line 1: only type, enum, input, scalar and directive are "
                             "supported, not \"schema\"" },
        { "union A = B", "schema line 1: only type, enum, input, scalar and directive are "
                         "supported, not \"union\"" },
        { "type Query implements I{a:Int}",
          "schema line 1: interfaces are not supported: \"Query\"" },
        { "{a}", "schema line 1: type, enum, input, scalar or directive expected, found \"{\"" },
        { "type Query{a:Int", "schema line 1: a name expected, found the end" },
        { "type Query{}", "schema line 1: a name expected, found \"}\"" },
        { "type Query{a:Int a:Int}", "schema line 1: defined twice: \"a\"" },
        { "type Query{a(b:Int b:Int):Int}", "schema line 1: defined twice: \"b\"" },
        { "type Query{a:Int} type Query{a:Int}", "schema line 1: defined twice: \"Query\"" },
        { "type Query{a:Int} scalar Int", "schema line 1: defined twice: \"Int\"" },
        { "enum E{A A}", "schema line 1: defined twice: \"A\"" },
        { "enum E{true}", "schema line 1: no name of a value: \"true\"" },
        { "type Query{__a:Int}", "schema line 1: names with \"__\" are reserved: \"__a\"" },
        { "type Query{a:Int @skip}", "schema line 1: directive not supported here: \"skip\"" },
        { "type Query @deprecated{a:Int}",
          "schema line 1: directive not supported here: \"deprecated\"" },
        { "type Query{a:Int @deprecated @deprecated}",
          "schema line 1: directive not supported here: \"deprecated\"" },
        { "type Query{a(b:Int=):Int}", "schema line 1: a value expected, found \")\"" },
        { "type Query{a(b):Int}", "schema line 1: \":\" expected, found \")\"" },
        { "enum E @x{A}", "schema line 1: directive not supported here: \"x\"" },
        { "enum E{\"a", "schema line 1: string without an end" },
        { "type Query{a:Int @deprecated(reason:1)}",
          "schema line 1: wrong arguments of directive \"deprecated\"" },
        { "scalar Date", "schema line 1: scalar without an implementation in graphql_scalar.c: "
                         "\"Date\"" },
        { "type Query{a:B}", "Query.a: unknown type \"B\"" },
        { "type Query{a(b:C):Int}", "Query.a: b: unknown type \"C\"" },
        { "type Query{a(b:Query):Int}", "Query.a: b: type \"Query\" cannot be given" },
        { "type Query{a:In} input In{b:Int}", "Query.a: type \"In\" cannot be answered" },
        { "type Query{a:Int} input In{b:Query}", "In: b: type \"Query\" cannot be given" },
        { "type Query{a(b:Int=\"x\"):Int}",
          "Query.a: default of b: a 32-bit integer expected, not \"x\"" },
        { "type Query{a(b:Int!=null):Int}", "Query.a: default of b: Int! expected, not null" },
        { "type Query{a(b:In={}):Int} input In{c:Int!}",
          "Query.a: default of b: \"c\" of type Int! is missing" },
        { "type Query{a:Int} input In{b:In!}", "input \"In\" needs itself without end" },
        { "type Query{a:Int} input A{b:B!} input B{a:A!}", "input \"A\" needs itself without end" },
        { "type Query{a:Int} input In{b:In={}}",
          "In: default of b: over 20000 values in arguments and variables" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(same(made(cases[i].sdl), cases[i].want));
}

TEST(schema_has_limits)
{
    static const struct {
        const char *head, *piece, *tail, *want;
        size_t most;
    } cases[] = {
        { "type Query{a:Int", " a%zu:Int", "}", "too many fields in \"Query\"", 199 },
        { "type Query{a(b:Int", " a%zu:Int", "):Int}", "too many, from \"a", 31 },
        { "type Query{a:Int}enum E{A", " A%zu", "}", "too many values in \"E\"", 199 },
        { "type Query{a:Int}input I{a:Int", " a%zu:Int", "}", "too many, from \"a", 199 },
        { "type Query{a:Int}", "enum E%zu{A}", "", "too many types, from \"E", 350 },
        { "type Query{a:Int}#", "%0100zu", "", "schema over 1048576 bytes", 10485 },
    };
    static struct buf b = BUF_INIT(2 << 20);

    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t more = 0; more < 2; more++) {
            size_t n = cases[i].most + more * 60;

            buf_clear(&b);
            buf_puts(&b, cases[i].head);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            for (size_t k = 0; k < n; k++)
                buf_printf(&b, cases[i].piece, k);
#pragma GCC diagnostic pop
            buf_puts(&b, cases[i].tail);
            CHECK(more == 0 ? same(made(b.ptr), "ok") : has(made(b.ptr), cases[i].want));
        }
    }
    buf_done(&b);
}

TEST(schema_of_the_admin_api_is_good)
{
    struct graphql_schema *s = mock_schema(embed_schema());

    CHECK(same(ask(s, "{keys{id title made}}"),
               "{\"data\":{\"keys\":["
               "{\"id\":\"id\",\"title\":\"title\",\"made\":\"2025-11-15T02:52:10.123456Z\"},"
               "{\"id\":\"id\",\"title\":\"title\",\"made\":\"2025-11-15T02:52:10.123456Z\"}]}}"));
    graphql_schema_free(s);
}

TEST(schema_check_names_fields_without_a_resolver)
{
    static const struct graphql_resolver one[] = { { .field = "Query.a", .fn = mock } };
    static const struct graphql_resolver none[] = { { .field = "Query.b", .fn = mock } };
    static const struct graphql_resolver odd[] = { { .field = "Query", .fn = mock } };
    struct err err = { 0 };
    struct graphql_schema *s =
        graphql_schema_new(STR("type Query{a:Int t:T} type T{x:Int y:Int}"), &err);

    CHECK(s != NULL);
    CHECK(!graphql_schema_check(s, &err) && err.kind == ERR_CONFIG);
    CHECK(same(err.text, "fields without a resolver: Query.a Query.t T.x T.y"));
    CHECK(graphql_schema_bind(s, one, 1, &err));
    CHECK(!graphql_schema_bind(s, one, 1, &err));
    CHECK(same(err.text, "two resolvers of Query.a"));
    CHECK(!graphql_schema_bind(s, none, 1, &err));
    CHECK(same(err.text, "resolver of a field that does not exist: Query.b"));
    CHECK(!graphql_schema_bind(s, odd, 1, &err));
    mock_fields(s);
    CHECK(graphql_schema_check(s, &err));
    graphql_schema_free(s);
    graphql_schema_free(NULL);
}

static bool find_right(struct str word, int *ret)
{
    *ret = str_is(word, "low") ? 1 : 2;
    return str_is(word, "low") || str_is(word, "high");
}

static bool only_low(struct graphql_call *call, int right, struct err *err)
{
    (void)call;
    return right == 1 || err_set(err, ERR_PERMANENT, EPERM, "not for you");
}

TEST(schema_guard_wants_a_rule_for_every_field)
{
    static const struct {
        const char *sdl, *want;
    } cases[] = {
        { "type Query{a:Int @needs(right:low) b:Int}",
          "no rule for Query.b: write @needs(right: ...)" },
        { "type Query @needs(right:low){a:Int b:Int @needs(right:odd)}",
          "Query.b needs an unknown right: odd" },
    };
    struct err err = { 0 };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct graphql_schema *s = graphql_schema_new(str_of(cases[i].sdl), &err);

        CHECK(s != NULL && !graphql_schema_guard(s, find_right, only_low, &err));
        CHECK(same(err.text, cases[i].want));
        graphql_schema_free(s);
    }
}

TEST(schema_guard_is_asked_before_the_resolver)
{
    struct err err = { 0 };
    struct graphql_schema *s = graphql_schema_new(
        STR("directive @needs(right:R!) on OBJECT|FIELD_DEFINITION enum R{low high} "
            "type Query @needs(right:low){a:Int b:Int @needs(right:high) c:Int! @deprecated "
            "@needs(right:high)}"),
        &err);

    CHECK(s != NULL && graphql_schema_guard(s, find_right, only_low, &err));
    mock_fields(s);
    CHECK(has(ask(s, "{a b __typename}"), "\"b\":null,\"__typename\":\"Query\"}"));
    CHECK(has(ask(s, "{a b}"), "\"message\":\"not for you\""));
    CHECK(has(ask(s, "{a b}"), "\"code\":\"forbidden\""));
    CHECK(has(ask(s, "{a c}"), "\"data\":null"));
    struct graphql_limits open = graphql_limits_default;

    open.introspection = true;
    CHECK(has(ask_with(s, "{a __schema{types{name}}}", NULL, &open), "\"name\":\"R\""));
    graphql_schema_free(s);
}

/* Names that a secret, or what is too much for the audit log, has. */
static bool looks_private(struct str name, bool of_change)
{
    static const char *const parts[] = { "assword", "ecret", "oken" };
    static const char *const whole[] = { "value", "payload", "text", "old", "new", "current" };

    for (size_t i = 0; i < COUNT(parts); i++)
        if (memmem(name.ptr, name.len, parts[i], strlen(parts[i])) != NULL)
            return true;
    for (size_t i = 0; of_change && i < COUNT(whole); i++)
        if (str_is(name, whole[i]))
            return true;
    return false;
}

static void check_inputs(const struct graphql_type *t, const char *field,
                         const struct graphql_input *inputs, size_t count, bool of_change)
{
    for (size_t i = 0; i < count; i++) {
        bool marked = inputs[i].is_unlogged || !looks_private(inputs[i].name, of_change);

        if (!marked)
            (void)printf("# %.*s%s%s: mark %.*s as @secret or @unlogged\n", STR_ARG(t->name),
                         field[0] != '\0' ? "." : "", field, STR_ARG(inputs[i].name));
        CHECK(marked);
    }
}

TEST(schema_marks_what_is_private)
{
    struct err err = { 0 };
    struct graphql_schema *s = graphql_schema_new(embed_schema(), &err);

    CHECK(s != NULL && s->mutation != NULL);
    for (size_t i = 0; i < s->type_count; i++) {
        const struct graphql_type *t = s->types[i];

        check_inputs(t, "", t->inputs, t->input_count, false);
        for (size_t j = 0; j < t->field_count; j++) {
            char name[GRAPHQL_NAME_MAX + 1];

            (void)snprintf(name, sizeof name, "%.*s", STR_ARG(t->fields[j].name));
            check_inputs(t, name, t->fields[j].args, t->fields[j].arg_count, t == s->mutation);
        }
    }
    graphql_schema_free(s);
}

TEST(schema_reads_marks_of_arguments)
{
    struct err err = { 0 };
    struct graphql_schema *s = graphql_schema_new(
        STR("type Query{a(p:Int @secret q:Int @unlogged r:Int i:In):Int} input In{x:Int @secret}"),
        &err);

    CHECK(s != NULL);
    const struct graphql_input *args = graphql_type_field(s->query, STR("a"))->args;

    CHECK(args[0].is_secret && args[0].is_unlogged);
    CHECK(!args[1].is_secret && args[1].is_unlogged);
    CHECK(!args[2].is_secret && !args[2].is_unlogged);
    CHECK(graphql_type_find(s, STR("In"))->inputs[0].is_secret);
    graphql_schema_free(s);
    CHECK(has(made("type Query{a(p:Int @secret(x:1)):Int}"), "wrong arguments of directive"));
    CHECK(has(made("type Query{a:Int @secret}"), "directive not supported here"));
}

TEST(schema_check_counts_what_does_not_fit)
{
    struct err err = { 0 };
    struct graphql_schema *s = graphql_schema_new(embed_schema(), &err);

    CHECK(s != NULL && !graphql_schema_check(s, &err));
    CHECK(has(err.text, "fields without a resolver: Query.document Query.documents "));
    CHECK(has(err.text, " more") && strlen(err.text) < sizeof err.text - 1);
    graphql_schema_free(s);
}

int main(void)
{
    return test_main();
}
