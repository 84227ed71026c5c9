#include "test.h"

#include "graphql_ask.h"

static const char sdl[] = "type Query { thing(id: ID!): Thing  things(first: Int = 3): [Thing!]!"
                          "  find(in: In, color: Color, list: [Int!], first: Long): Int"
                          "  need(a: Int!, b: Int! = 5): Int }"
                          "type Mutation { make(name: String!): Thing! }"
                          "type Thing { id: ID! name: String more: Thing }"
                          "input In { a: Int! b: String = \"x\" in: In list: [In!] }"
                          "enum Color { RED GREEN }"
                          "scalar Long";

static struct graphql_schema *schema;

static bool is_valid(const char *query)
{
    const char *got = ask(schema, query);

    if (strncmp(got, "{\"data\":", 8) != 0)
        printf("# %s: %s\n", query, got);
    return strncmp(got, "{\"data\":", 8) == 0;
}

/* The answer has exactly this one message. */
static bool is_refused(const char *query, const char *message)
{
    char want[300];
    const char *got = ask(schema, query);
    const char *first = strstr(got, "\"message\"");

    (void)snprintf(want, sizeof want, "{\"errors\":[{\"message\":\"%s\"", message);
    bool one = first != NULL && strstr(first + 1, "\"message\"") == NULL;

    if (!one || strncmp(got, want, strlen(want)) != 0 || !has(got, "\"code\":\"invalid\"")) {
        printf("# %s: %s\n", query, got);
        return false;
    }
    return true;
}

TEST(validate_accepts)
{
    static const char *const cases[] = {
        "{thing(id:1){id}}",
        "{thing(id:\"x\"){...f}} fragment f on Thing{id ...g} fragment g on Thing{name}",
        "{...on Query{things{__typename}}...{things{id}}... @include(if:true){things{id}}}",
        "query A($a:ID!){thing(id:$a){id}}query B{things{id}}mutation C{make(name:\"\"){id}}",
        "query($a:Int!,$b:Int){need(a:$a,b:$b)}",
        "query($a:Int=3){need(a:$a)}",
        "query($in:In){find(in:$in)}",
        "query($a:Int!,$i:In!){find(in:{a:$a,in:$i,list:[$i]})}",
        "query($l:[Int!]){find(list:$l)}",
        "query($l:[Int!]!){find(list:$l)}",
        "query($i:Int!){find(list:[1,$i])}",
        "query($c:Color=GREEN){find(color:$c)}",
        "{find(list:1,color:RED,in:{a:1,in:null})}",
        "{find(in:{a:1,b:\"\",list:{a:2}})}",
        "query($x:Boolean!){things @skip(if:$x) @include(if:$x){id @skip(if:true)}}",
        "{a:__typename things{b:__typename}}",
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *got = ask(schema, cases[i]);

        /* What is valid and then cannot be run says so in other words. */
        CHECK(strstr(got, "\"data\"") || strstr(got, "a value is needed") ||
              has(got, "several operations"));
    }
    CHECK(is_valid("{need(a:1)}"));
}

TEST(validate_refuses)
{
    static const struct {
        const char *query, *want;
    } cases[] = {
        { "{nothing}", "type Query has no field \\\"nothing\\\"" },
        { "{__nothing}", "type Query has no field \\\"__nothing\\\"" },
        { "{__schema{types{name}}}", "introspection is not allowed here" },
        { "{__type(name:\"A\"){name}}", "introspection is not allowed here" },
        { "{things{__schema{types{name}}}}", "type Thing has no field \\\"__schema\\\"" },
        { "mutation{__schema{types{name}}}", "type Mutation has no field \\\"__schema\\\"" },
        { "{things}", "field \\\"things\\\" needs a selection of its fields" },
        { "{things{id{a}}}", "field \\\"id\\\" has no fields of its own" },
        { "{thing{id}}", "\\\"id\\\" of type ID! is missing" },
        { "{thing(id:null){id}}", "ID! expected, not null" },
        { "{thing(id:1.5){id}}", "an ID expected, not 1.5" },
        { "{thing(id:1,id:2){id}}", "\\\"id\\\" is given twice" },
        { "{thing(id:1,x:2){id}}", "unknown argument or input field \\\"x\\\"" },
        { "{things(first:\"1\"){id}}", "a 32-bit integer expected, not \\\"1\\\"" },
        { "{things(first:3000000000){id}}", "a 32-bit integer expected, not 3000000000" },
        { "{things(first:1.0){id}}", "a 32-bit integer expected, not 1.0" },
        { "{find(first:9223372036854775808)}",
          "a 64-bit integer expected, not 9223372036854775808" },
        { "{need(a:1,b:null)}", "Int! expected, not null" },
        { "{find(color:\"RED\")}", "a value of Color expected" },
        { "{find(color:BLUE)}", "a value of Color expected" },
        { "{find(list:[1,null])}", "Int! expected, not null" },
        { "{find(list:[[1]])}", "a 32-bit integer expected, not a list" },
        { "{find(in:{})}", "\\\"a\\\" of type Int! is missing" },
        { "{find(in:1)}", "an object of type In expected" },
        { "{find(in:{a:1,a:2})}", "\\\"a\\\" is given twice" },
        { "{find(in:{a:1,z:2})}", "unknown argument or input field \\\"z\\\"" },
        { "{find(in:{a:1,in:{a:\"x\"}})}", "a 32-bit integer expected, not \\\"x\\\"" },
        { "{find(in:{a:1,list:[{a:RED}]})}", "a 32-bit integer expected, not RED" },
        { "mutation{make(name:{a:1}){id}}", "a string expected, not an object" },
        { "mutation{make(name:1){id}}", "a string expected, not 1" },
        { "{...f}", "unknown fragment \\\"f\\\"" },
        { "{things{id}} fragment f on Thing{id}", "fragment \\\"f\\\" is never used" },
        { "{...f} fragment f on Thing{id}",
          "fragment \\\"f\\\" is on Thing, which Query never is" },
        { "{...f} fragment f on Nix{id}", "unknown type \\\"Nix\\\"" },
        { "{...f} fragment f on In{a}", "no fragment can be on \\\"In\\\"" },
        { "{...on Thing{id}}", "fragment is on Thing, which Query never is" },
        { "{...on Nix{id}}", "unknown type \\\"Nix\\\"" },
        { "{...f} fragment f on Query{...f}", "fragment \\\"f\\\" contains itself" },
        { "query A{things{id}} query A{things{id}}", "operation \\\"A\\\" is defined twice" },
        { "query A{things{id}} {things{id}}", "an operation without a name must stand alone" },
        { "query($a:Nix){need(a:$a)}", "unknown type \\\"Nix\\\"" },
        { "query($a:Thing){need(a:$a)}", "no variable can be of type \\\"Thing\\\"" },
        { "query($a:Int=\"x\"){need(a:$a)}",
          "default of \\\"$a\\\": a 32-bit integer expected, not \\\"x\\\"" },
        { "query($a:Int){need(a:1)}", "variable \\\"$a\\\" is never used" },
        { "{need(a:$a)}", "variable \\\"$a\\\" is not defined" },
        { "{...f} fragment f on Query{need(a:$a)}", "variable \\\"$a\\\" is not defined" },
        { "query($a:Int){need(a:$a)}", "variable \\\"$a\\\" does not fit where Int! is expected" },
        { "query($a:Int=null){need(a:$a)}",
          "variable \\\"$a\\\" does not fit where Int! is expected" },
        { "query($a:String!){need(a:$a)}",
          "variable \\\"$a\\\" does not fit where Int! is expected" },
        { "query($a:[Int]){find(list:$a)}",
          "variable \\\"$a\\\" does not fit where [Int!] is expected" },
        { "query($a:Int!){find(list:$a)}",
          "variable \\\"$a\\\" does not fit where [Int!] is expected" },
        { "query($a:Int){find(in:{a:$a})}",
          "variable \\\"$a\\\" does not fit where Int! is expected" },
        { "{things @nix{id}}", "unknown directive \\\"@nix\\\"" },
        { "{things @deprecated{id}}", "directive \\\"@deprecated\\\" does not belong here" },
        { "query @skip(if:true){things{id}}", "directive \\\"@skip\\\" does not belong here" },
        { "query($a:Int @skip(if:true)){need(a:1,b:$a)}",
          "directive \\\"@skip\\\" does not belong here" },
        { "{...f} fragment f on Query @skip(if:true){things{id}}",
          "directive \\\"@skip\\\" does not belong here" },
        { "{things @skip(if:true) @skip(if:true){id}}",
          "directive \\\"@skip\\\" twice in one place" },
        { "{things @skip{id}}", "\\\"if\\\" of type Boolean! is missing" },
        { "{things @skip(if:1){id}}", "true or false expected, not 1" },
        { "{things{a:id a:name}}",
          "\\\"a\\\" is selected twice with different fields: use an alias" },
        { "{things(first:1){id} things(first:2){id}}",
          "\\\"things\\\" is selected twice with different arguments: use an alias" },
        { "{things{id} things(first:3){id}}",
          "\\\"things\\\" is selected twice with different arguments: use an alias" },
        { "{things{more{a:id}} ...f} fragment f on Query{things{more{...g}}} fragment g on "
          "Thing{a:name}",
          "\\\"a\\\" is selected twice with different fields: use an alias" },
        { "{things{a:id a:name @skip(if:true)}}",
          "\\\"a\\\" is selected twice with different fields: use an alias" },
        { "{find(in:{a:1,list:[{a:1}]}) find(in:{a:1,list:[{a:2}]})}",
          "\\\"find\\\" is selected twice with different arguments: use an alias" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(is_refused(cases[i].query, cases[i].want));
}

TEST(validate_reports_all_that_is_wrong)
{
    const char *got = ask(schema, "{a b}query A($x:Int){c}");

    CHECK(has(got, "must stand alone") && has(got, "field \\\"a\\\"") &&
          has(got, "field \\\"b\\\""));
    CHECK(has(got, "field \\\"c\\\"") && has(got, "\\\"$x\\\" is never used"));
    CHECK(has(got, "\"locations\":[{\"line\":1,\"column\":4}]"));
}

TEST(validate_says_no_more_than_there_is_room_for)
{
    static char query[5000] = "{";
    size_t n = 0;

    for (int i = 0; i < 1000; i++)
        strncat(query, "nix ", sizeof query - strlen(query) - 2);
    strncat(query, "}", 2);
    for (const char *p = ask(schema, query); (p = strstr(p, "message")) != NULL; p++)
        n++;
    CHECK(n == 40);
}

TEST(validate_refuses_two_things_of_a_name)
{
    CHECK(has(ask(schema, "query($a:Int,$a:Int){need(a:1,b:$a)}"),
              "variable \\\"$a\\\" is defined twice"));
    CHECK(has(ask(schema, "{...f} fragment f on Query{things{id}} fragment f on Query{things{id}}"),
              "fragment \\\"f\\\" is defined twice"));
}

TEST(validate_knows_when_there_are_no_mutations)
{
    struct graphql_schema *s = mock_schema(STR("type Query{a:Int}"));

    CHECK(has(ask(s, "mutation{a}"), "the schema has no mutations"));
    graphql_schema_free(s);
}

TEST(validate_finds_long_cycles)
{
    CHECK(
        has(ask(schema, "{...a} fragment a on Query{...b things{id}} fragment b on Query{...{...c}}"
                        "fragment c on Query{things{id} ...a}"),
            "fragment \\\"a\\\" contains itself"));
    CHECK(has(ask(schema, "{thing(id:1){...a}} fragment a on Thing{more{...a}}"),
              "fragment \\\"a\\\" contains itself"));
}

int main(void)
{
    schema = mock_schema(str_of(sdl));
    int bad = test_main();

    graphql_schema_free(schema);
    buf_done(&ask_answer);
    return bad;
}
