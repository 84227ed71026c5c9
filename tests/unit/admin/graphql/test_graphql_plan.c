#include "test.h"

#include "graphql_ask.h"

static const char sdl[] = "type Query { thing: Thing  list: [Thing!]!  page(first: Int = 50): Page!"
                          "  find(a: Int, b: [Int]): Int  free(first: Int): [Thing] }"
                          "type Page { items: [Thing!]!  next: String }"
                          "type Thing { id: ID! name: String thing: Thing list: [Thing!] }";

static struct graphql_schema *schema;

TEST(plan_merges_and_leaves_out)
{
    static const struct {
        const char *query, *want;
    } cases[] = {
        { "{thing{id} thing{name} thing{id}}", "{\"thing\":{\"id\":\"id\",\"name\":\"name\"}}" },
        { "{...a thing{id}} fragment a on Query{thing{name}}",
          "{\"thing\":{\"name\":\"name\",\"id\":\"id\"}}" },
        { "{thing{thing{id}} ...{thing{thing{name} name}}}",
          "{\"thing\":{\"thing\":{\"id\":\"id\",\"name\":\"name\"},\"name\":\"name\"}}" },
        { "{find(a:1,b:[1,2]) find(b:[1,2],a:1)}", "{\"find\":7}" },
        { "{thing{id @skip(if:true) name}}", "{\"thing\":{\"name\":\"name\"}}" },
        { "{thing{id @include(if:false) name @skip(if:false)}}",
          "{\"thing\":{\"name\":\"name\"}}" },
        { "{thing @skip(if:true){id}}", "{}" },
        { "{thing{id} thing @skip(if:true){name}}", "{\"thing\":{\"id\":\"id\"}}" },
        { "{thing @skip(if:true){name} thing{id}}", "{\"thing\":{\"id\":\"id\"}}" },
        { "{thing{...a @skip(if:true) ...a id}} fragment a on Thing{name}",
          "{\"thing\":{\"name\":\"name\",\"id\":\"id\"}}" },
        { "{thing{...a @include(if:false) id}} fragment a on Thing{name}",
          "{\"thing\":{\"id\":\"id\"}}" },
        { "{thing{...@skip(if:true){name} ...{id}}}", "{\"thing\":{\"id\":\"id\"}}" },
        { "query($x:Boolean=true){thing{id @skip(if:$x) name @include(if:$x)}}",
          "{\"thing\":{\"name\":\"name\"}}" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char want[200];

        (void)snprintf(want, sizeof want, "{\"data\":%s}", cases[i].want);
        CHECK(same(ask(schema, cases[i].query), want));
    }
}

TEST(plan_needs_a_condition)
{
    CHECK(has(ask_with(schema, "query($x:Boolean=true){thing @skip(if:$x){id}}", "{\"x\":null}",
                       &graphql_limits_default),
              "@skip: Boolean! expected, not null"));
}

static const char *nested(size_t n)
{
    static char query[1000];
    size_t len = (size_t)snprintf(query, sizeof query, "{");

    for (size_t i = 1; i < n; i++)
        len += (size_t)snprintf(query + len, sizeof query - len, "thing{");
    len += (size_t)snprintf(query + len, sizeof query - len, "__typename");
    for (size_t i = 0; i < n; i++)
        query[len++] = '}';
    query[len] = '\0';
    return query;
}

TEST(plan_limits_the_depth)
{
    CHECK(has(ask(schema, nested(10)), "\"data\""));
    const char *got = ask(schema, nested(11));

    CHECK(has(got, "fields nested deeper than 10") && has(got, "\"limit\""));
    CHECK(strstr(got, "data") == NULL);
    /* fragments do not hide it */
    CHECK(has(ask(schema, "{thing{...a}} fragment a on Thing{thing{thing{...b}}} fragment b on "
                          "Thing{thing{thing{...c}}} fragment c on Thing{thing{thing{thing{thing{"
                          "thing{id}}}}}}"),
              "nested deeper than 10"));
}

/* The cost of a request, found by lowering the limit until it is refused. */
static long cost_of(const char *query, const char *variables)
{
    struct graphql_limits l = graphql_limits_default;
    long low = 0, high = 1 << 20; /* refused at low, fits at high */

    while (high - low > 1) {
        l.cost = (low + high) / 2;
        if (strstr(ask_with(schema, query, variables, &l), "the request costs over") != NULL)
            low = l.cost;
        else
            high = l.cost;
    }
    return high;
}

TEST(plan_counts_the_cost)
{
    static const struct {
        const char *query, *variables;
        long cost;
    } cases[] = {
        { "{find}", NULL, 1 },
        { "{a:find b:find}", NULL, 2 },
        { "{find find}", NULL, 1 },
        { "{thing{id name}}", NULL, 3 },
        { "{list{id}}", NULL, 1 + 5 },
        { "{list{list{id}}}", NULL, 1 + 5 + 25 },
        { "{page{next}}", NULL, 1 + 50 },
        { "{page(first:10){items{id name} next}}", NULL, 1 + 10 + 20 + 10 },
        { "{page(first:10){items{id list{id}}}}", NULL, 1 + 10 + 20 + 50 },
        { "{page(first:0){items{id}}}", NULL, 3 },
        { "{page(first:null){next}}", NULL, 1 + 200 },
        { "query($n:Int){page(first:$n){next}}", "{\"n\":7}", 1 + 7 },
        { "{free{id}}", NULL, 1 + 200 },
        { "{free(first:2){id list{id}}}", NULL, 1 + 2 + 2 + 10 },
        { "{thing{id @skip(if:true)}}", NULL, 1 },
        { "{thing{...a ...a}} fragment a on Thing{id name}", NULL, 3 },
        { "{a:thing{...a} b:thing{...a}} fragment a on Thing{id name}", NULL, 6 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        long cost = cost_of(cases[i].query, cases[i].variables);

        if (cost != cases[i].cost)
            printf("# %s: %ld\n", cases[i].query, cost);
        CHECK(cost == cases[i].cost);
    }
}

TEST(plan_limits_cost_and_page)
{
    CHECK(has(ask(schema, "{page(first:200){items{list{list{list{id}}}}}}"),
              "the request costs over 10000: ask for fewer fields or smaller pages"));
    CHECK(has(ask(schema, "{page(first:201){next}}"),
              "\\\"first\\\" is at most 200, and not negative"));
    CHECK(has(ask(schema, "{page(first:-1){next}}"), "\\\"first\\\" is at most 200"));
    CHECK(has(ask(schema, "{page(first:200){items{id}}}"), "\"data\""));
    CHECK(has(ask(schema, nested(9)), "\"data\""));
}

/* f0 spreads f1 twice, f1 spreads f2 twice, ...: 2^49 when unfolded carelessly. */
TEST(plan_bounds_fragments_that_multiply)
{
    static char query[20000];
    size_t n = (size_t)snprintf(query, sizeof query, "{thing{...f0}}");

    for (int i = 0; i < 49; i++)
        n += (size_t)snprintf(query + n, sizeof query - n, " fragment f%d on Thing{...f%d ...f%d}",
                              i, i + 1, i + 1);
    (void)snprintf(query + n, sizeof query - n, " fragment f49 on Thing{id}");
    CHECK(same(ask(schema, query), "{\"data\":{\"thing\":{\"id\":\"id\"}}}"));

    n = (size_t)snprintf(query, sizeof query, "{thing{...f0}}");
    for (int i = 0; i < 8; i++)
        n += (size_t)snprintf(
            query + n, sizeof query - n,
            " fragment f%d on Thing{a:thing{...f%d} b:thing{...f%d} c:thing{...f%d} "
            "d:thing{...f%d} e:thing{...f%d} f:thing{...f%d}}",
            i, i + 1, i + 1, i + 1, i + 1, i + 1, i + 1);
    (void)snprintf(query + n, sizeof query - n, " fragment f8 on Thing{id}");
    CHECK(has(ask(schema, query), "the request costs over 10000"));
}

TEST(plan_bounds_its_own_work)
{
    static struct buf b = BUF_INIT(64 << 10);
    struct graphql_limits l = graphql_limits_default;

    /* many spellings of the same fields, unfolded in many places */
    buf_puts(&b, "{");
    for (int i = 0; i < 49; i++)
        buf_printf(&b, "a%d:thing{...f}", i);
    buf_puts(&b, "} fragment f on Thing{");
    for (int i = 0; i < 2000; i++)
        buf_puts(&b, "id ");
    buf_puts(&b, "}");
    CHECK(has(ask_with(schema, b.ptr, NULL, &l), "over 50000 fields when its fragments"));
    buf_done(&b);
}

int main(void)
{
    schema = mock_schema(str_of(sdl));
    int bad = test_main();

    graphql_schema_free(schema);
    buf_done(&ask_answer);
    return bad;
}
