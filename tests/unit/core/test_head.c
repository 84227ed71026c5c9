#include "core/head.h"

#include "test.h"

TEST(a_field_is_found_whatever_its_case)
{
    struct str head = STR(":query: a=1\nX-Sender: acme\nx-empty:\nX-Sender: other\n");

    CHECK(str_is(str_trim(head_field(head, STR("x-sender"))), "acme"));
    CHECK(str_is(str_trim(head_field(head, STR(":query"))), "a=1"));
    CHECK(head_field(head, STR("x-send")).ptr == NULL);
    CHECK(head_field(STR(""), STR("x-sender")).ptr == NULL);
}

TEST(a_bound_head_lets_its_systems_send)
{
    char room[200];
    struct buf head = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };

    room[0] = '\0';
    head_put_senders(&head, STR("acme beta"));
    buf_put(&head, STR("X-Sender: gamma\n"));
    CHECK(str_is(head_senders(buf_view(&head)), "acme beta"));
    CHECK(head_lets_send(buf_view(&head), STR("acme")) &&
          head_lets_send(buf_view(&head), STR("beta")));
    CHECK(!head_lets_send(buf_view(&head), STR("gamma")) &&
          !head_lets_send(buf_view(&head), STR("acm")));
    CHECK(!head_lets_send(buf_view(&head), STR("acme beta")) &&
          !head_lets_send(buf_view(&head), STR("")));
    CHECK(str_is(head_unbound(buf_view(&head)), "X-Sender: gamma\n"));
}

TEST(a_failure_is_the_first_line_or_none)
{
    char room[HEAD_FAILURE_MOST + 1], why[2 * HEAD_FAILURE_MOST];
    struct buf head = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };

    room[0] = '\0';
    head_put_failure(&head, STR("row 2:\nit is\ttoo large"));
    CHECK(str_is(head_failure(buf_view(&head)), "row 2: it is too large"));
    CHECK(head_unbound(buf_view(&head)).len == 0);
    memset(why, 'x', sizeof why);
    buf_clear(&head);
    head_put_failure(&head, str_mem(why, sizeof why));
    CHECK(head_failure(buf_view(&head)).len > HEAD_FAILURE_MOST / 2 && head.len <= head.cap);
    buf_clear(&head);
    head_put_failure(&head, STR("Stra\xdf"
                                "e, \xc3"));
    CHECK(str_is(head_failure(buf_view(&head)), "Stra?e, ?"));
    CHECK(head_failure(STR("X: 1\n:failed: y\n")).ptr == NULL);
    CHECK(head_failure(STR("failed: y\n")).ptr == NULL && head_failure(STR("")).ptr == NULL);
}

/* A sender cannot bind or unbind: only the first line counts, and no header field begins so. */
TEST(an_unbound_head_lets_all_send)
{
    struct str head = STR("X: 1\n:senders: acme\n");

    CHECK(head_senders(head).ptr == NULL && head_lets_send(head, STR("beta")));
    CHECK(str_eq(head_unbound(head), head));
    CHECK(head_lets_send(STR(""), STR("acme")) && head_unbound(STR("")).len == 0);
}

TEST(a_head_has_the_node_of_its_caller)
{
    static const struct {
        const char *head, *with, *unbound;
    } cases[] = {
        { "", ":caller: 4711\n", "" },
        { "X: 1\n", ":caller: 4711\nX: 1\n", "X: 1\n" },
        { ":senders: a b\nX: 1\n", ":senders: a b\n:caller: 4711\nX: 1\n", "X: 1\n" },
        { ":query: :caller: 5\n", ":caller: 4711\n:query: :caller: 5\n", ":query: :caller: 5\n" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char room[200];
        struct buf head = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };

        room[0] = '\0';
        CHECK(head_caller(str_of(cases[i].head)) == 0);
        head_put_caller(&head, str_of(cases[i].head), 4711);
        CHECK(str_is(buf_view(&head), cases[i].with));
        CHECK(head_caller(buf_view(&head)) == 4711);
        CHECK(str_is(head_unbound(buf_view(&head)), cases[i].unbound));
        CHECK(head_senders(buf_view(&head)).len == (i == 2 ? 3 : 0));
    }
    CHECK(head_caller(STR(":caller: x\n")) == 0 && head_caller(STR(":caller: ")) == 0);
    CHECK(head_caller(STR("X: 1\n:caller: 7\n")) == 0);
}

int main(void)
{
    return test_main();
}
