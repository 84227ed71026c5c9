#include "test.h"

#include "graphql_ask.h"

static const char sdl[] =
    "type Query { echo(int: Int, long: Long, float: Float, text: String, id: ID, bool: Boolean,"
    "  time: Time, color: Color, in: In, list: [Int], need: [Int!]!=[1], grid: [[Int]]): String! }"
    "input In { a: Int! b: String = \"dflt\" color: Color = GREEN in: In list: [In!] }"
    "enum Color { RED GREEN } scalar Long scalar Time";

static struct graphql_schema *schema;
static struct buf shown = BUF_INIT(1 << 20);

/* A value in a form to compare; the tests nest a few levels only. */
static void show(const struct graphql_value *v)
{
    static const char *const fields[] = { "a", "b", "color", "in", "list" };

    switch (v->kind) {
    case GRAPHQL_ABSENT:
        buf_puts(&shown, "-");
        break;
    case GRAPHQL_NULL:
        buf_puts(&shown, "null");
        break;
    case GRAPHQL_INT:
        buf_printf(&shown, "%lld", (long long)v->number);
        break;
    case GRAPHQL_FLOAT:
        buf_printf(&shown, "%g", v->real);
        break;
    case GRAPHQL_BOOL:
        buf_puts(&shown, v->truth ? "true" : "false");
        break;
    case GRAPHQL_TEXT:
        buf_printf(&shown, "'%.*s'", STR_ARG(v->text));
        break;
    case GRAPHQL_ENUM:
        buf_printf(&shown, "%.*s#%d", STR_ARG(v->text), (int)v->number);
        break;
    case GRAPHQL_LIST:
        buf_puts(&shown, "[");
        for (size_t i = 0; i < v->count; i++) {
            buf_puts(&shown, i > 0 ? " " : "");
            show(&v->items[i]);
        }
        buf_puts(&shown, "]");
        break;
    case GRAPHQL_INPUT:
        buf_puts(&shown, "{");
        for (size_t i = 0; i < COUNT(fields); i++) {
            buf_puts(&shown, i > 0 ? " " : "");
            show(graphql_value_field(v, fields[i]));
        }
        buf_puts(&shown, "}");
        break;
    }
}

static bool echo(struct graphql_call *call, struct err *err)
{
    static const char *const names[] = { "int",  "long",  "float", "text", "id",   "bool",
                                         "time", "color", "in",    "list", "need", "grid" };

    (void)err;
    buf_clear(&shown);
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct graphql_value *v = graphql_arg(call, names[i]);

        if (v->kind == GRAPHQL_ABSENT || str_is(str_of(names[i]), "need"))
            continue;
        buf_puts(&shown, shown.len > 0 ? ", " : "");
        buf_printf(&shown, "%s=", names[i]);
        show(v);
    }
    return graphql_set_text(call, buf_view(&shown));
}

static bool echoes(const char *query, const char *variables, const char *want)
{
    const char *got = ask_with(schema, query, variables, &graphql_limits_default);
    char text[400];

    (void)snprintf(text, sizeof text, "{\"data\":{\"echo\":\"%s\"}}", want);
    return same(got, text);
}

TEST(coerce_literals)
{
    static const struct {
        const char *args, *want;
    } cases[] = {
        { "int:-2147483648", "int=-2147483648" },
        { "int:null", "int=null" },
        { "long:9223372036854775807", "long=9223372036854775807" },
        { "float:1", "float=1" },
        { "float:-2.5e3", "float=-2500" },
        { "text:\"x\"", "text='x'" },
        { "text:\"\"\"x\"\"\"", "text='x'" },
        { "id:7,bool:false", "id='7', bool=false" },
        { "id:\"a\"", "id='a'" },
        { "color:GREEN", "color=GREEN#1" },
        { "list:[1,null,3]", "list=[1 null 3]" },
        { "list:[]", "list=[]" },
        { "list:5", "list=[5]" },
        { "grid:5", "grid=[[5]]" },
        { "grid:[[1,2],null,[]]", "grid=[[1 2] null []]" },
        { "in:{a:1}", "in={1 'dflt' GREEN#1 - -}" },
        { "in:{a:1,b:null,in:{a:2,b:\"x\"}}", "in={1 null GREEN#1 {2 'x' GREEN#1 - -} -}" },
        { "in:{a:1,list:{a:2,color:RED}}", "in={1 'dflt' GREEN#1 - [{2 'dflt' RED#0 - -}]}" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char query[200];

        (void)snprintf(query, sizeof query, "{echo(%s)}", cases[i].args);
        CHECK(echoes(query, NULL, cases[i].want));
    }
}

TEST(coerce_times)
{
    static const struct {
        const char *time, *want;
    } cases[] = {
        { "1970-01-01T00:00:00Z", "0" },
        { "2026-11-15T02:52:10.123456Z", "1794711130123456" },
        { "2026-11-15t02:52:10.1z", "1794711130100000" },
        { "2026-11-15 03:52:10+01:00", "1794711130000000" },
        { "2026-11-14T20:22:10-06:30", "1794711130000000" },
        { "1969-12-31T23:59:59.999999Z", "-1" },
        { "2024-02-29T00:00:00Z", "1709164800000000" },
        { "2026-02-29T00:00:00Z", NULL },
        { "2026-13-01T00:00:00Z", NULL },
        { "2026-00-01T00:00:00Z", NULL },
        { "2026-01-01T24:00:00Z", NULL },
        { "2026-01-01T00:60:00Z", NULL },
        { "2026-01-01T00:00:60Z", NULL },
        { "2026-01-01T00:00:00", NULL },
        { "2026-01-01T00:00:00.Z", NULL },
        { "2026-01-01T00:00:00.1234567Z", NULL },
        { "2026-01-01T00:00:00+24:00", NULL },
        { "2026-01-01T00:00:00Zx", NULL },
        { "2026-01-01", NULL },
        { "+026-01-01T00:00:00Z", NULL },
        { "", NULL },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char query[200], want[100];

        (void)snprintf(query, sizeof query, "{echo(time:\"%s\")}", cases[i].time);
        (void)snprintf(want, sizeof want, "time=%s", cases[i].want ? cases[i].want : "");
        if (cases[i].want != NULL)
            CHECK(echoes(query, NULL, want));
        else
            CHECK(has(ask(schema, query), " expected, not "));
    }
    CHECK(has(ask(schema, "{echo(time:5)}"), "a time like"));
}

TEST(coerce_variables)
{
    static const struct {
        const char *query, *variables, *want;
    } cases[] = {
        { "query($v:Int){echo(int:$v)}", "{\"v\":5}", "int=5" },
        { "query($v:Int){echo(int:$v)}", "{\"v\":null}", "int=null" },
        { "query($v:Int){echo(int:$v)}", "{}", "" },
        { "query($v:Int){echo(int:$v)}", NULL, "" },
        { "query($v:Int){echo(int:$v)}", "{\"other\":1}", "" },
        { "query($v:Int=3){echo(int:$v)}", "{}", "int=3" },
        { "query($v:Int=3){echo(int:$v)}", "{\"v\":null}", "int=null" },
        { "query($v:Int=3){echo(int:$v)}", "{\"v\":4}", "int=4" },
        { "query($v:Long){echo(long:$v)}", "{\"v\":9223372036854775807}",
          "long=9223372036854775807" },
        { "query($v:Float){echo(float:$v)}", "{\"v\":2}", "float=2" },
        { "query($v:Float){echo(float:$v)}", "{\"v\":0.5}", "float=0.5" },
        { "query($v:ID){echo(id:$v)}", "{\"v\":12}", "id='12'" },
        { "query($v:String){echo(text:$v)}", "{\"v\":\"x\"}", "text='x'" },
        { "query($v:Boolean){echo(bool:$v)}", "{\"v\":true}", "bool=true" },
        { "query($v:Time){echo(time:$v)}", "{\"v\":\"1970-01-01T00:00:01Z\"}", "time=1000000" },
        { "query($v:Color){echo(color:$v)}", "{\"v\":\"RED\"}", "color=RED#0" },
        { "query($v:[Int]){echo(list:$v)}", "{\"v\":[1,null]}", "list=[1 null]" },
        { "query($v:[Int]){echo(list:$v)}", "{\"v\":7}", "list=[7]" },
        { "query($v:Int){echo(list:[1,$v])}", "{\"v\":7}", "list=[1 7]" },
        { "query($v:Int){echo(list:[1,$v])}", "{}", "list=[1 null]" },
        { "query($v:In){echo(in:$v)}", "{\"v\":{\"a\":1,\"color\":\"RED\",\"in\":{\"a\":2}}}",
          "in={1 'dflt' RED#0 {2 'dflt' GREEN#1 - -} -}" },
        { "query($v:Int!,$b:String){echo(in:{a:$v,b:$b})}", "{\"v\":1}",
          "in={1 'dflt' GREEN#1 - -}" },
        { "query($v:Int!,$b:String){echo(in:{a:$v,b:$b})}", "{\"v\":1,\"b\":null}",
          "in={1 null GREEN#1 - -}" },
        { "query($v:In!){echo(in:{a:3,in:$v,list:[$v,$v]})}", "{\"v\":{\"a\":1}}",
          "in={3 'dflt' GREEN#1 {1 'dflt' GREEN#1 - -} [{1 'dflt' GREEN#1 - -} {1 'dflt' GREEN#1 - "
          "-}]}" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(echoes(cases[i].query, cases[i].variables, cases[i].want));
}

TEST(coerce_refuses_variables)
{
    static const struct {
        const char *query, *variables, *want;
    } cases[] = {
        { "query($v:Int!){echo(int:$v)}", "{}", "variable \\\"$v\\\": a value is needed" },
        { "query($v:Int!){echo(int:$v)}", "{\"v\":null}",
          "variable \\\"$v\\\": Int! expected, not null" },
        { "query($v:Int){echo(int:$v)}", "{\"v\":\"5\"}",
          "variable \\\"$v\\\": a 32-bit integer expected, not \\\"5\\\"" },
        { "query($v:Int){echo(int:$v)}", "{\"v\":5.0}",
          "variable \\\"$v\\\": a 32-bit integer expected" },
        { "query($v:Int){echo(int:$v)}", "{\"v\":true}",
          "variable \\\"$v\\\": a 32-bit integer expected, not true" },
        { "query($v:Int){echo(int:$v)}", "{\"v\":3000000000}", "a 32-bit integer expected" },
        { "query($v:Int){echo(int:$v)}", "{\"v\":[1]}", "a 32-bit integer expected" },
        { "query($v:String){echo(text:$v)}", "{\"v\":1}", "a string expected, not 1" },
        { "query($v:Float){echo(float:$v)}", "{\"v\":\"1\"}", "a number expected, not" },
        { "query($v:Float=1e999){echo(float:$v)}", "{}", "a number expected, not 1e999" },
        { "query($v:Color){echo(color:$v)}", "{\"v\":\"BLUE\"}", "a value of Color expected" },
        { "query($v:Color){echo(color:$v)}", "{\"v\":1}", "a value of Color expected" },
        { "query($v:In){echo(in:$v)}", "{\"v\":{}}", "\\\"a\\\" of type Int! is missing" },
        { "query($v:In){echo(in:$v)}", "{\"v\":{\"a\":1,\"z\":2}}",
          "unknown argument or input field \\\"z\\\"" },
        { "query($v:In){echo(in:$v)}", "{\"v\":[]}", "an object of type In expected" },
        { "query($v:[Int!]!){echo(need:$v)}", "{\"v\":[1,null]}", "Int! expected, not null" },
        { "query($v:Int){echo(int:$v)}", "[1]", "variables are not an object" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *got =
            ask_with(schema, cases[i].query, cases[i].variables, &graphql_limits_default);

        CHECK(has(got, cases[i].want) && has(got, "\"invalid\"") && strstr(got, "data") == NULL);
    }
}

/* A variable that may be null, for a place with a default that may not. */
TEST(coerce_null_for_a_place_with_a_default_is_an_error_of_the_field)
{
    CHECK(same(ask_with(schema, "query($v:[Int!]=[2]){echo(need:$v)}", "{\"v\":null}",
                        &graphql_limits_default),
               "{\"data\":null,\"errors\":[{\"message\":\"[Int!]! expected, not null\","
               "\"locations\":[{\"line\":1,\"column\":22}],\"path\":[\"echo\"],"
               "\"extensions\":{\"code\":\"invalid\"}}]}"));
    CHECK(echoes("query($v:[Int!]=[2]){echo(need:$v)}", "{}", ""));
}

TEST(coerce_has_limits)
{
    static struct buf b = BUF_INIT(1 << 20);
    struct graphql_limits l = graphql_limits_default;

    buf_puts(&b, "{\"v\":[");
    for (int i = 0; i < 20001; i++)
        buf_puts(&b, i > 0 ? ",1" : "1");
    buf_puts(&b, "]}");
    const char *got = ask_with(schema, "query($v:[Int]){echo(list:$v)}", b.ptr, &l);

    CHECK(has(got, "over 20000 values in arguments and variables") && has(got, "\"limit\""));
    buf_clear(&b);
    buf_puts(&b, "{\"v\":[");
    for (int i = 0; i < 5000; i++)
        buf_puts(&b, i > 0 ? ",{\"a\":1}" : "{\"a\":1}");
    buf_puts(&b, "]}"); /* few bytes, many values: each has five fields */
    got = ask_with(schema, "query($v:[In!]){echo(in:{a:1,list:$v})}", b.ptr, &l);
    CHECK(has(got, "over 20000 values"));
    l.variables = 10;
    got = ask_with(schema, "query($v:Int){echo(int:$v)}", "{\"v\":123456}", &l);
    CHECK(has(got, "variables over 10 bytes") && has(got, "\"limit\""));
    l.variables = 12;
    CHECK(has(ask_with(schema, "query($v:Int){echo(int:$v)}", "{ \"v\" : 123456 }", &l), "data"));
    buf_done(&b);
}

int main(void)
{
    static const struct graphql_resolver table[] = { { .field = "Query.echo", .fn = echo } };
    struct err err = { 0 };

    schema = graphql_schema_new(str_of(sdl), &err);
    require(schema != NULL && graphql_schema_bind(schema, table, 1, &err));
    int bad = test_main();

    graphql_schema_free(schema);
    buf_done(&ask_answer);
    buf_done(&shown);
    return bad;
}
