#include "test.h"

#include <errno.h>

#include "graphql_ask.h"

#include "base/clock.h"

/* Things in a row; each may fail, lack what the schema promises, or be slow. */
struct thing {
    struct str id;
    const char *name;
    char *note;
    int64_t size, made;
    int64_t rank;
    bool ok;
    const struct thing *more;
};

static const char sdl[] =
    "type Query { thing(id: ID!): Thing  things(first: Int = 3): [Thing!]!  maybe: [Thing]"
    "  hello(name: String = \"world\"): String!  fail(how: String!): Int  must: Must"
    "  must2: Must!  slow: Int  nothing: Int  who: String!  big(size: Int!): String!"
    "  memory(size: Int!): Int  texts: [String]  grid: [[Int!]]!  empty: [Int!]!"
    "  odd: Odd!  items: [Item]  strict: [Item!] }"
    "type Mutation { add(n: Int!): Count! late(n: Int!): Count! fail: Count  failHard: Count! }"
    "type Count { total: Int! }"
    "type Thing { id: ID! name: String note: String size: Long! made: Time! rank: Int! ok: Boolean!"
    "  more: Thing }"
    "type Must { value: Int! fail: Int! deep: Must! opt: Must  list: [Int!]!  null: Int! }"
    "type Odd { int: Int long: Long text: String id: ID bool: Boolean float: Float time: Time"
    "  color: Color intFloat: Float idText: ID timeText: Time bad: Color badInt: Int badBool: "
    "Boolean"
    "  badText: String badLong: Long badLong2: Long nullList: [Int] badFloat: Float badId: ID "
    "badTime: Time badList: [Int]"
    "  badObject: Odd scalarList: Int }"
    "type Item { n: Int }"
    "enum Color { RED GREEN } scalar Long scalar Time";

static char note[] = "a note";
static const struct thing last = { .id = { "c", 1 }, .ok = true };
static const struct thing things[] = {
    { .id = { "a", 1 }, .name = "A", .size = 1LL << 40, .made = 1, .rank = -1, .more = &last },
    { .id = { "b\"\n", 3 }, .note = note, .size = -5, .ok = true },
    { .id = { "c", 1 } },
};
static int total;

static bool q_thing(struct graphql_call *call, struct err *err)
{
    struct str id = graphql_arg_text(call, "id");

    (void)err;
    for (size_t i = 0; i < COUNT(things); i++)
        if (str_eq(things[i].id, id))
            return graphql_set_object(call, &things[i]);
    return true; /* null */
}

static bool thing_at(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    (void)err;
    return graphql_set_object(call, &((const struct thing *)list)[index]);
}

static bool q_things(struct graphql_call *call, struct err *err)
{
    int64_t first = 0;

    (void)err;
    require(graphql_arg_int(call, "first", &first));
    return graphql_set_list(call, things, first < 3 ? (size_t)first : 3, thing_at);
}

static bool q_maybe(struct graphql_call *call, struct err *err)
{
    static const void *const list[] = { &things[0], NULL, &things[2] };

    (void)err;
    return graphql_set_objects(call, list, 3);
}

static bool q_hello(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "name");

    (void)err;
    return graphql_set_z(call, arena_printf(call->arena, "hello %.*s", STR_ARG(name)));
}

static bool q_fail(struct graphql_call *call, struct err *err)
{
    static const struct {
        const char *how;
        enum err_kind kind;
        int sys;
    } ways[] = {
        { "transient", ERR_TRANSIENT, 0 },
        { "permanent", ERR_PERMANENT, 0 },
        { "uncertain", ERR_UNCERTAIN, 0 },
        { "limit", ERR_LIMIT, 0 },
        { "config", ERR_CONFIG, 0 },
        { "forbidden", ERR_PERMANENT, EACCES },
        { "not found", ERR_PERMANENT, ENOENT },
        { "none", ERR_NONE, 0 },
    };
    struct str how = graphql_arg_text(call, "how");

    for (size_t i = 0; i < COUNT(ways); i++)
        if (str_is(how, ways[i].how))
            return err_set(err, ways[i].kind, ways[i].sys, "it was \"%s\"", ways[i].how);
    return graphql_set_int(call, 1);
}

static bool give_object(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_object(call, "x");
}

static bool give_null(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_null(call);
}

static bool give_failure(struct graphql_call *call, struct err *err)
{
    (void)call;
    return err_set(err, ERR_PERMANENT, 0, "failed");
}

static bool number_at(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    (void)list;
    if (index == 1)
        return err_set(err, ERR_TRANSIENT, 0, "no item %zu", index);
    return graphql_set_int(call, (int64_t)index);
}

static bool give_numbers(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_list(call, "x", 3, number_at);
}

static bool q_slow(struct graphql_call *call, struct err *err)
{
    (void)err;
    clock_sleep_us(2000);
    return graphql_set_int(call, ++total);
}

static bool q_who(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, call->principal);
}

static bool q_big(struct graphql_call *call, struct err *err)
{
    int64_t size = 0;

    (void)err;
    require(graphql_arg_int(call, "size", &size));
    char *text = arena_alloc(call->arena, (size_t)size);

    text[0] = 'x'; /* so that a round number of bytes ends inside a character */
    for (int64_t i = 1; i + 1 < size; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    return graphql_set_text(call, str_mem(text, (size_t)size));
}

static bool q_memory(struct graphql_call *call, struct err *err)
{
    int64_t size = 0;

    (void)err;
    require(graphql_arg_int(call, "size", &size));
    (void)arena_alloc(call->arena, (size_t)size);
    return graphql_set_int(call, size);
}

static bool q_texts(struct graphql_call *call, struct err *err)
{
    static const struct str texts[] = { { "a", 1 }, { NULL, 0 }, { "", 0 } };

    (void)err;
    return graphql_set_texts(call, texts, 3);
}

static bool row_item(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    (void)list;
    (void)err;
    return graphql_set_int(call, (int64_t)index);
}

static bool grid_row(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    if (index == 1)
        return graphql_set_list(call, list, 3, number_at); /* one of its items fails */
    if (index == 2)
        return err_set(err, ERR_PERMANENT, 0, "no row");
    return graphql_set_list(call, list, 2, row_item);
}

static bool q_grid(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_list(call, "x", 3, grid_row);
}

static bool q_empty(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_list(call, NULL, 0, row_item);
}

static bool odd_null_list(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_texts(call, NULL, 1);
}

static bool odd_int(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_int(call, 1LL << 33);
}

static bool odd_small(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_int(call, 7);
}

static bool odd_float(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_float(call, 0.1);
}

static bool odd_endless(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_float(call, 1e308 * 10);
}

static bool odd_bool(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_bool(call, true);
}

static bool odd_color(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, "GREEN");
}

static bool item_at(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    return index == 1 ? err_set(err, ERR_PERMANENT, 0, "bad item") : graphql_set_object(call, list);
}

static bool q_items(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_list(call, "x", 3, item_at);
}

static bool m_add(struct graphql_call *call, struct err *err)
{
    int64_t n = 0;

    (void)err;
    require(graphql_arg_int(call, "n", &n));
    total = total * 10 + (int)n;
    return graphql_set_object(call, &total);
}

static bool m_late(struct graphql_call *call, struct err *err)
{
    while (clock_mono_us() <= call->deadline_us)
        clock_sleep_us(1000);
    return m_add(call, err);
}

static bool count_total(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_int(call, *(const int *)call->parent);
}

static const struct graphql_resolver table[] = {
    { .field = "Query.thing", .fn = q_thing },
    { .field = "Query.things", .fn = q_things },
    { .field = "Query.maybe", .fn = q_maybe },
    { .field = "Query.hello", .fn = q_hello },
    { .field = "Query.fail", .fn = q_fail },
    { .field = "Query.must", .fn = give_object },
    { .field = "Query.must2", .fn = give_object },
    { .field = "Query.slow", .fn = q_slow },
    { .field = "Query.nothing", .fn = give_null },
    { .field = "Query.who", .fn = q_who },
    { .field = "Query.big", .fn = q_big },
    { .field = "Query.memory", .fn = q_memory },
    { .field = "Query.texts", .fn = q_texts },
    { .field = "Query.grid", .fn = q_grid },
    { .field = "Query.empty", .fn = q_empty },
    { .field = "Query.odd", .fn = give_object },
    { .field = "Query.items", .fn = q_items },
    { .field = "Query.strict", .fn = q_items },
    { .field = "Mutation.add", .fn = m_add },
    { .field = "Mutation.late", .fn = m_late },
    { .field = "Mutation.fail", .fn = give_failure },
    { .field = "Mutation.failHard", .fn = give_failure },
    { .field = "Count.total", .fn = count_total },
    GRAPHQL_MEMBER("Thing.id", struct thing, id),
    GRAPHQL_MEMBER("Thing.name", struct thing, name),
    GRAPHQL_MEMBER("Thing.note", struct thing, note),
    GRAPHQL_MEMBER("Thing.size", struct thing, size),
    GRAPHQL_MEMBER("Thing.made", struct thing, made),
    GRAPHQL_MEMBER("Thing.rank", struct thing, rank),
    GRAPHQL_MEMBER("Thing.ok", struct thing, ok),
    GRAPHQL_POINTER("Thing.more", struct thing, more),
    { .field = "Must.value", .fn = odd_small },
    { .field = "Must.fail", .fn = give_failure },
    { .field = "Must.deep", .fn = give_object },
    { .field = "Must.opt", .fn = give_object },
    { .field = "Must.list", .fn = give_numbers },
    { .field = "Must.null", .fn = give_null },
    { .field = "Odd.int", .fn = odd_small },
    { .field = "Odd.long", .fn = odd_int },
    { .field = "Odd.text", .fn = odd_color },
    { .field = "Odd.id", .fn = odd_small },
    { .field = "Odd.idText", .fn = odd_color },
    { .field = "Odd.bool", .fn = odd_bool },
    { .field = "Odd.float", .fn = odd_float },
    { .field = "Odd.intFloat", .fn = odd_small },
    { .field = "Odd.time", .fn = odd_small },
    { .field = "Odd.timeText", .fn = odd_color },
    { .field = "Odd.color", .fn = odd_color },
    { .field = "Odd.bad", .fn = odd_small },
    { .field = "Odd.badInt", .fn = odd_int },
    { .field = "Odd.badBool", .fn = odd_small },
    { .field = "Odd.badText", .fn = odd_bool },
    { .field = "Odd.badLong", .fn = odd_color },
    { .field = "Odd.badLong2", .fn = odd_bool },
    { .field = "Odd.nullList", .fn = odd_null_list },
    { .field = "Odd.badFloat", .fn = odd_endless },
    { .field = "Odd.badId", .fn = odd_bool },
    { .field = "Odd.badTime", .fn = odd_bool },
    { .field = "Odd.badList", .fn = odd_small },
    { .field = "Odd.badObject", .fn = odd_small },
    { .field = "Odd.scalarList", .fn = q_empty },
    { .field = "Item.n", .fn = odd_small },
};

static struct graphql_schema *schema;

TEST(run_answers)
{
    static const struct {
        const char *query, *want;
    } cases[] = {
        { "{hello}", "{\"data\":{\"hello\":\"hello world\"}}" },
        { "{a:hello(name:\"a\") b:hello(name:\"b\")}",
          "{\"data\":{\"a\":\"hello a\",\"b\":\"hello b\"}}" },
        { "{thing(id:\"a\"){id name note size made rank ok more{id more{id}}}}",
          "{\"data\":{\"thing\":{\"id\":\"a\",\"name\":\"A\",\"note\":null,\"size\":1099511627776,"
          "\"made\":\"1970-01-01T00:00:00.000001Z\",\"rank\":-1,\"ok\":false,\"more\":{\"id\":"
          "\"c\",\"more\":null}}}}" },
        { "{thing(id:\"z\"){id}}", "{\"data\":{\"thing\":null}}" },
        { "{things(first:2){id note}}", "{\"data\":{\"things\":[{\"id\":\"a\",\"note\":null},"
                                        "{\"id\":\"b\\\"\\n\",\"note\":\"a note\"}]}}" },
        { "{things(first:0){id}}", "{\"data\":{\"things\":[]}}" },
        { "{maybe{id}}", "{\"data\":{\"maybe\":[{\"id\":\"a\"},null,{\"id\":\"c\"}]}}" },
        { "{texts empty nothing}",
          "{\"data\":{\"texts\":[\"a\",null,\"\"],\"empty\":[],\"nothing\":"
          "null}}" },
        { "{odd{nullList}}", "{\"data\":{\"odd\":{\"nullList\":null}}}" },
        { "{__typename thing(id:\"a\"){__typename t:__typename}}",
          "{\"data\":{\"__typename\":\"Query\",\"thing\":{\"__typename\":\"Thing\",\"t\":\"Thing\"}"
          "}}" },
        { "{odd{int long text id idText bool float intFloat time timeText color}}",
          "{\"data\":{\"odd\":{\"int\":7,\"long\":8589934592,\"text\":\"GREEN\",\"id\":\"7\","
          "\"idText\":\"GREEN\",\"bool\":true,\"float\":0.10000000000000001,\"intFloat\":7,"
          "\"time\":\"1970-01-01T00:00:00.000007Z\",\"timeText\":\"GREEN\",\"color\":\"GREEN\"}}"
          "}" },
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        CHECK(same(ask(schema, cases[i].query), cases[i].want));
}

TEST(run_hands_the_principal_on)
{
    char who[] = "anna";
    struct graphql_request request = { .query = STR("{who}"), .principal = who };

    buf_clear(&ask_answer);
    CHECK(graphql_execute(schema, &request, &graphql_limits_default, &ask_answer));
    CHECK(same(ask_answer.ptr, "{\"data\":{\"who\":\"anna\"}}"));
}

TEST(run_chooses_the_operation)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        { "A", "{\"data\":{\"a\":\"Query\"}}" },
        { "B", "{\"data\":{\"b\":\"Mutation\"}}" },
        { "", "{\"errors\":[{\"message\":\"the document has several operations: name one\","
              "\"extensions\":{\"code\":\"invalid\"}}]}" },
        { "C", "{\"errors\":[{\"message\":\"the document has no operation \\\"C\\\"\","
               "\"extensions\":{\"code\":\"invalid\"}}]}" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct graphql_request request = { .query = STR(
                                               "query A{a:__typename} mutation B{b:__typename}"),
                                           .operation = str_of(cases[i].name) };

        buf_clear(&ask_answer);
        CHECK(graphql_execute(schema, &request, &graphql_limits_default, &ask_answer) == (i < 2));
        CHECK(same(ask_answer.ptr, cases[i].want));
    }
    CHECK(has(ask(schema, "fragment f on Query{__typename}"), "\"errors\""));
}

TEST(run_turns_errors_into_null_and_a_code)
{
    static const struct {
        const char *how, *code;
    } cases[] = {
        { "transient", "unavailable" }, { "permanent", "refused" }, { "uncertain", "uncertain" },
        { "limit", "limit" },           { "config", "config" },     { "forbidden", "forbidden" },
        { "not found", "not_found" },   { "none", "internal" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char query[100], want[300];

        (void)snprintf(query, sizeof query, "{ x: fail(how: \"%s\") }", cases[i].how);
        (void)snprintf(want, sizeof want,
                       "{\"data\":{\"x\":null},\"errors\":[{\"message\":\"it was \\\"%s\\\"\","
                       "\"locations\":[{\"line\":1,\"column\":3}],\"path\":[\"x\"],"
                       "\"extensions\":{\"code\":\"%s\"}}]}",
                       cases[i].how, cases[i].code);
        CHECK(same(ask(schema, query), want));
    }
}

TEST(run_lets_null_rise_to_where_it_may_stand)
{
    static const struct {
        const char *query, *data, *path;
    } cases[] = {
        { "{a:hello must{value fail} b:hello}",
          "{\"data\":{\"a\":\"hello world\",\"must\":null,\"b\":\"hello world\"},",
          "\"must\",\"fail\"" },
        { "{must{opt{deep{deep{fail}}}}}", "{\"data\":{\"must\":{\"opt\":null}},",
          "\"must\",\"opt\",\"deep\",\"deep\",\"fail\"" },
        { "{must{deep{deep{fail}}}}", "{\"data\":{\"must\":null},",
          "\"must\",\"deep\",\"deep\",\"fail\"" },
        { "{hello must2{fail}}", "{\"data\":null,", "\"must2\",\"fail\"" },
        { "{must{list}}", "{\"data\":{\"must\":null},", "\"must\",\"list\",1" },
        { "{must{null}}", "{\"data\":{\"must\":null},", "\"must\",\"null\"" },
        { "{grid}", "{\"data\":{\"grid\":[[0,1],null,null]},", "\"grid\",1,1" },
        { "{items{n}}", "{\"data\":{\"items\":[{\"n\":7},null,{\"n\":7}]},", "\"items\",1" },
        { "{strict{n}}", "{\"data\":{\"strict\":null},", "\"strict\",1" },
        { "{x:must{y:deep{z:fail}}}", "{\"data\":{\"x\":null},", "\"x\",\"y\",\"z\"" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[100];
        const char *got = ask(schema, cases[i].query);

        (void)snprintf(path, sizeof path, "\"path\":[%s]", cases[i].path);
        CHECK(has(got, path));
        CHECK(has(got, cases[i].data));
    }
}

TEST(run_does_not_pass_on_values_of_another_type)
{
    static const char *const fields[] = { "bad",     "badInt",         "badBool",  "badText",
                                          "badLong", "badLong2",       "badId",    "badTime",
                                          "badList", "badObject{int}", "badFloat", "scalarList" };

    for (size_t i = 0; i < COUNT(fields); i++) {
        char query[100];

        (void)snprintf(query, sizeof query, "{odd{a:%s}}", fields[i]);
        const char *got = ask(schema, query);

        CHECK(has(got, "{\"data\":{\"odd\":{\"a\":null}}"));
        CHECK(has(got, "the server answered with") && has(got, "\"internal\""));
    }
}

TEST(run_does_mutations_in_order)
{
    total = 0;
    CHECK(same(ask(schema, "mutation{a:add(n:1){total}b:add(n:2){total}c:add(n:3){total}}"),
               "{\"data\":{\"a\":{\"total\":1},\"b\":{\"total\":12},\"c\":{\"total\":123}}}"));
    total = 0;
    CHECK(has(ask(schema, "mutation{add(n:1){total} fail{total} b:add(n:2){total}}"),
              "{\"data\":{\"add\":{\"total\":1},\"fail\":null,\"b\":{\"total\":12}},\"errors\":"));
    total = 0;
    CHECK(has(ask(schema, "mutation{add(n:1){total} failHard{total} b:add(n:2){total}}"),
              "{\"data\":null,\"errors\":"));
    CHECK(total == 1); /* nothing runs after the null has reached the top */
}

TEST(run_stops_in_time)
{
    struct graphql_limits l = graphql_limits_default;

    l.time_us = 1000;
    total = 0;
    CHECK(same(ask_with(schema, "{a:slow b:slow c:slow}", NULL, &l),
               "{\"data\":{\"a\":1,\"b\":null,\"c\":null},\"errors\":[{\"message\":\"the request "
               "takes over 1 ms\",\"locations\":[{\"line\":1,\"column\":9}],\"path\":[\"b\"],"
               "\"extensions\":{\"code\":\"limit\"}}]}"));
    CHECK(total == 1);
}

TEST(run_tells_what_a_change_did_however_late)
{
    struct graphql_limits l = graphql_limits_default;

    l.time_us = CLOCK_S;
    total = 0;
    CHECK(same(ask_with(schema, "mutation{late(n:4){total}}", NULL, &l),
               "{\"data\":{\"late\":{\"total\":4}}}"));
}

TEST(run_stops_when_resolvers_take_much_memory)
{
    struct graphql_limits l = graphql_limits_default;

    l.memory = 1 << 20;
    CHECK(
        has(ask_with(schema, "{a:memory(size:2000000) b:memory(size:1)}", NULL, &l),
            "{\"data\":{\"a\":2000000,\"b\":null},\"errors\":[{\"message\":\"the answer takes over "
            "1048576 bytes of memory\""));
}

TEST(run_keeps_the_answer_under_its_limit)
{
    struct graphql_limits l = graphql_limits_default;
    json_error_t fault;

    l.response = 10000;
    CHECK(same(ask_with(schema, "{a:big(size:9001) b:big(size:9001)}", NULL, &l),
               "{\"data\":null,\"errors\":[{\"message\":\"the answer is over 10000 bytes: ask for "
               "fewer fields or smaller pages\",\"extensions\":{\"code\":\"limit\"}}]}"));
    CHECK(has(ask_with(schema, "{a:big(size:9000001)}", NULL, &l), "over 10000 bytes"));
    l = graphql_limits_default;
    ask_with(schema, "{a:big(size:4000001)}", NULL, &l); /* is not cut inside a character */
    json_t *got = json_loads(ask_answer.ptr, 0, &fault);

    CHECK(got != NULL);
    json_t *text = json_object_get(json_object_get(got, "data"), "a");

    CHECK(json_string_length(text) == 4000001);
    CHECK(memcmp(json_string_value(text) + 3999997, "\xc3\xa9\xc3\xa9", 4) == 0);
    json_decref(got);
    CHECK(has(ask_with(schema, "{a:big(size:4200001)}", NULL, &l), "over 4194304 bytes"));
}

TEST(run_has_room_for_the_largest_errors)
{
    static char query[60000];
    struct graphql_limits l = graphql_limits_default;
    size_t n;

    /* 42 failing fields below long names, as deep as it goes */
    n = (size_t)snprintf(query, sizeof query, "{");
    for (int i = 0; i < 8; i++)
        n += (size_t)snprintf(query + n, sizeof query - n, "x%0127d:%s{", i, i ? "opt" : "must");
    for (int i = 0; i < 42; i++)
        n += (size_t)snprintf(query + n, sizeof query - n, "y%0127d:opt{fail}", i);
    (void)snprintf(query + n, sizeof query - n, "}}}}}}}}}");
    const char *got = ask_with(schema, query, NULL, &l);
    size_t errors = 0;

    for (const char *p = got; (p = strstr(p, "\"message\"")) != NULL; p++)
        errors++;
    CHECK(errors == 40);
    json_t *json = json_loads(got, 0, NULL);

    CHECK(json != NULL);
    json_decref(json);
}

/* One field that takes long is answered, however long; many come to an end. */
TEST(run_lends_time_within_bounds)
{
    struct graphql_call call = { .deadline_us = 5 * CLOCK_S };

    graphql_lend(&call, 600 * CLOCK_S);
    CHECK(call.deadline_us == 605 * CLOCK_S);
    graphql_lend(&call, 15 * CLOCK_S);
    CHECK(call.deadline_us == 620 * CLOCK_S);
    for (int i = 0; i < 50; i++)
        graphql_lend(&call, 15 * CLOCK_S);
    CHECK(call.deadline_us == 625 * CLOCK_S);
}

int main(void)
{
    struct err err = { 0 };

    schema = graphql_schema_new(str_of(sdl), &err);
    require(schema != NULL && graphql_schema_bind(schema, table, COUNT(table), &err));
    if (!graphql_schema_check(schema, &err))
        printf("# %s\n", err.text);
    int bad = test_main();

    graphql_schema_free(schema);
    buf_done(&ask_answer);
    return bad;
}
