#include "test.h"

#include "graphql_ask.h"

#include "base/digest.h"

/* One thing that is done, and what is remembered of it. */
static const char sdl[] =
    "type Query { a: Int }"
    "type Mutation { add(n: Int, in: In, client: ID): Count!  fail(client: ID): Count"
    "  failHard(client: ID): Count!  doubt(client: ID): Int  plain(n: Int): Int }"
    "input In { list: [Int!] deep: Deep }  input Deep { text: String }"
    "type Count { total: Int!  bad: Int! }";

static int total, begun, ended;
static struct {
    struct sha256 question;
    char answer[200];
    bool there, done, has_answer;
} kept;

static bool begin(struct graphql_call *call, struct str client, const struct sha256 *question,
                  struct str *ret_answer, struct err *err)
{
    begun++;
    if (str_is(client, "refused"))
        return err_set(err, ERR_PERMANENT, 0, "another question");
    if (kept.there && digest_same(&kept.question, question) && kept.has_answer)
        *ret_answer = arena_copy(call->arena, str_of(kept.answer));
    kept.question = *question;
    return true;
}

static void end(struct graphql_call *call, struct str client, struct str field, bool done,
                struct str answer, const struct err *why)
{
    (void)call;
    (void)client;
    ended++;
    kept.there = true;
    kept.done = done;
    kept.has_answer = answer.ptr != NULL;
    (void)snprintf(kept.answer, sizeof kept.answer, "%.*s",
                   STR_ARG(answer.ptr != NULL      ? answer
                           : why->kind != ERR_NONE ? str_of(why->text)
                                                   : field));
}

static const struct graphql_once once = { .begin = begin, .end = end };

static bool m_add(struct graphql_call *call, struct err *err)
{
    (void)err;
    total++;
    return graphql_set_object(call, "count");
}

static bool m_fail(struct graphql_call *call, struct err *err)
{
    (void)call;
    return err_set(err, ERR_PERMANENT, 0, "no");
}

static bool m_total(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_int(call, total);
}

static const struct graphql_resolver table[] = {
    { .field = "Query.a", .fn = m_total },        { .field = "Mutation.add", .fn = m_add },
    { .field = "Mutation.fail", .fn = m_fail },   { .field = "Mutation.failHard", .fn = m_fail },
    { .field = "Mutation.doubt", .fn = m_total }, { .field = "Mutation.plain", .fn = m_total },
    { .field = "Count.total", .fn = m_total },    { .field = "Count.bad", .fn = m_fail },
};

static struct graphql_schema *schema;

static void forget(void)
{
    memset(&kept, 0, sizeof kept);
    total = begun = ended = 0;
}

TEST(once_gives_the_first_answer_again)
{
    static const char query[] = "mutation($n: Int){x:add(n:$n client:\"c\"){total}}";

    forget();
    CHECK(same(ask_with(schema, query, "{\"n\":1}", &graphql_limits_default),
               "{\"data\":{\"x\":{\"total\":1}}}"));
    CHECK(kept.done && same(kept.answer, "{\"total\":1}"));
    CHECK(same(ask_with(schema, query, "{\"n\":1}", &graphql_limits_default),
               "{\"data\":{\"x\":{\"total\":1}}}"));
    CHECK(total == 1 && begun == 2 && ended == 1);
    CHECK(same(ask_with(schema, query, "{\"n\":2}", &graphql_limits_default),
               "{\"data\":{\"x\":{\"total\":2}}}")); /* what is another question, begin() says */
}

TEST(once_knows_one_question_from_another)
{
    static const char *const queries[] = {
        "mutation{add(client:\"c\"){total}}",
        "mutation{add(n:1 client:\"c\"){total}}",
        "mutation{add(n:null client:\"c\"){total}}",
        "mutation{add(in:{list:[1,2]} client:\"c\"){total}}",
        "mutation{add(in:{list:[12]} client:\"c\"){total}}",
        "mutation{add(in:{deep:{text:\"a\"}} client:\"c\"){total}}",
        "mutation{add(in:{deep:{text:\"b\"}} client:\"c\"){total}}",
        "mutation{add(client:\"c\"){total __typename}}",
    };
    struct sha256 all[COUNT(queries)];

    for (size_t i = 0; i < COUNT(queries); i++) {
        forget();
        (void)ask(schema, queries[i]);
        CHECK(ended == 1);
        all[i] = kept.question;
        for (size_t k = 0; k < i; k++)
            CHECK(!digest_same(&all[i], &all[k]));
    }
    forget();
    (void)ask(schema, queries[0]);
    CHECK(digest_same(&all[0], &kept.question));
}

TEST(once_tells_what_failed_and_what_was_done_without_an_answer)
{
    forget();
    CHECK(has(ask(schema, "mutation{fail(client:\"c\"){total}}"), "{\"fail\":null}"));
    CHECK(ended == 1 && !kept.done && same(kept.answer, "null"));
    forget();
    CHECK(has(ask(schema, "mutation{failHard(client:\"c\"){total}}"), "\"data\":null"));
    CHECK(ended == 1 && !kept.done && same(kept.answer, "no"));
    forget(); /* it was done, and its answer could not be written */
    CHECK(has(ask(schema, "mutation{add(client:\"c\"){total bad}}"), "\"data\":null"));
    CHECK(ended == 1 && kept.done && !kept.has_answer && same(kept.answer, "add"));
    forget();
    CHECK(has(ask(schema, "mutation{add(client:\"refused\"){total}}"), "another question"));
    CHECK(begun == 1 && ended == 0 && total == 0);
}

TEST(once_is_for_changes_with_an_id)
{
    forget();
    CHECK(has(ask(schema, "mutation{add{total} plain(n:1) a:add(client:\"\"){total}"
                          " b:add(client:null){total}}"),
              "\"plain\":1"));
    CHECK(begun == 0 && ended == 0 && total == 3);
    CHECK(has(ask(schema, "mutation{a:add(n:1 client:\"1\"){total} b:add(n:2 client:\"2\"){total}"
                          " doubt(client:\"3\")}"),
              "\"b\":{\"total\":5},\"doubt\":5"));
    CHECK(begun == 3 && ended == 3 && same(kept.answer, "5"));
}

int main(void)
{
    struct err err = { 0 };

    schema = graphql_schema_new(str_of(sdl), &err);
    require(schema != NULL && graphql_schema_bind(schema, table, COUNT(table), &err));
    require(graphql_schema_check(schema, &err));
    graphql_schema_once(schema, &once);
    int status = test_main();

    graphql_schema_free(schema);
    buf_done(&ask_answer);
    return status;
}
