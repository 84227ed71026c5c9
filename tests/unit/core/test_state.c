/* docs/states.md is what the tables say.  After a change of the tables:
 *
 *     build/debug/test_state print > docs/states.md
 */
#include "core/state.h"

#include "base/auto.h"
#include "test.h"

enum { PAGE_MOST = 64 << 10 };

/* Every pair that is not here is refused. */
static const char *const legal[] = {
    "ready sending",      "ready held",         "ready dead",         "ready cancelled",
    "sending delivered",  "sending retrying",   "sending ready",      "sending in_doubt",
    "sending dead",       "held ready",         "held retrying",      "held dead",
    "held cancelled",     "retrying ready",     "retrying held",      "retrying sending",
    "retrying dead",      "retrying cancelled", "in_doubt delivered", "in_doubt ready",
    "in_doubt cancelled", "dead ready",         "dead cancelled",
};

static bool is_legal(unsigned from, unsigned to)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%s %s", delivery_states[from], delivery_states[to]);
    for (size_t i = 0; i < sizeof legal / sizeof legal[0]; i++)
        if (strcmp(legal[i], text) == 0)
            return true;
    return false;
}

TEST(delivery_moves_only_along_the_lines)
{
    size_t moves = 0;

    for (unsigned from = 0; from < DELIVERY_STATES; from++)
        for (unsigned to = 0; to < DELIVERY_STATES; to++) {
            CHECK(delivery_may_move(from, to) == is_legal(from, to));
            moves += delivery_may_move(from, to);
        }
    CHECK(moves == sizeof legal / sizeof legal[0]);
}

/* The promise: no state without a way out, and a person can end what does not end. */
TEST(delivery_states_can_all_be_reached_and_left)
{
    unsigned reached = 1u << DELIVERY_READY;

    for (unsigned round = 0; round < DELIVERY_STATES; round++)
        for (unsigned from = 0; from < DELIVERY_STATES; from++)
            for (unsigned to = 0; to < DELIVERY_STATES; to++)
                if ((reached >> from & 1) != 0 && delivery_may_move(from, to))
                    reached |= 1u << to;
    CHECK(reached == (1u << DELIVERY_STATES) - 1);
    for (unsigned s = 0; s < DELIVERY_STATES; s++) {
        bool over = s == DELIVERY_DELIVERED || s == DELIVERY_CANCELLED;

        CHECK(delivery_is_over(s) == over);
        CHECK(over || s == DELIVERY_SENDING || delivery_may_move(s, DELIVERY_CANCELLED));
    }
}

TEST(document_is_as_bad_as_its_worst_delivery)
{
    static const struct {
        const char *what;
        enum delivery_state of[4];
        size_t count;
        enum document_state want;
    } cases[] = {
        { "ready", { DELIVERY_READY }, 1, DOCUMENT_ACTIVE },
        { "sending", { DELIVERY_SENDING }, 1, DOCUMENT_ACTIVE },
        { "held", { DELIVERY_HELD }, 1, DOCUMENT_HELD },
        { "retrying", { DELIVERY_RETRYING }, 1, DOCUMENT_RETRYING },
        { "in doubt", { DELIVERY_IN_DOUBT }, 1, DOCUMENT_IN_DOUBT },
        { "delivered", { DELIVERY_DELIVERED }, 1, DOCUMENT_DELIVERED },
        { "dead", { DELIVERY_DEAD }, 1, DOCUMENT_DEAD },
        { "cancelled", { DELIVERY_CANCELLED }, 1, DOCUMENT_CANCELLED },
        { "in doubt before dead", { DELIVERY_DEAD, DELIVERY_IN_DOUBT }, 2, DOCUMENT_IN_DOUBT },
        { "dead before retrying", { DELIVERY_RETRYING, DELIVERY_DEAD }, 2, DOCUMENT_DEAD },
        { "retrying before held", { DELIVERY_HELD, DELIVERY_RETRYING }, 2, DOCUMENT_RETRYING },
        { "held before active", { DELIVERY_READY, DELIVERY_HELD }, 2, DOCUMENT_HELD },
        { "active before delivered", { DELIVERY_DELIVERED, DELIVERY_SENDING }, 2, DOCUMENT_ACTIVE },
        { "delivered before cancelled",
          { DELIVERY_CANCELLED, DELIVERY_DELIVERED, DELIVERY_CANCELLED },
          3,
          DOCUMENT_DELIVERED },
        { "all cancelled", { DELIVERY_CANCELLED, DELIVERY_CANCELLED }, 2, DOCUMENT_CANCELLED },
        { "all of them",
          { DELIVERY_DELIVERED, DELIVERY_RETRYING, DELIVERY_DEAD, DELIVERY_READY },
          4,
          DOCUMENT_DEAD },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(document_derive(cases[i].of, cases[i].count) == cases[i].want);
}

/* A document is over exactly when all of its deliveries are. */
TEST(document_of_two_deliveries_is_over_when_both_are)
{
    for (unsigned a = 0; a < DELIVERY_STATES; a++)
        for (unsigned b = 0; b < DELIVERY_STATES; b++) {
            enum document_state s = document_derive((const enum delivery_state[]){ a, b }, 2);

            CHECK(document_is_over(s) == (delivery_is_over(a) && delivery_is_over(b)));
            CHECK(s == document_derive((const enum delivery_state[]){ b, a }, 2));
        }
}

TEST(document_states_are_over_or_not)
{
    static const bool over[DOCUMENT_STATES] = {
        [DOCUMENT_DELIVERED] = true,
        [DOCUMENT_DONE] = true,
        [DOCUMENT_CANCELLED] = true,
        [DOCUMENT_SUPERSEDED] = true,
    };

    for (unsigned s = 0; s < DOCUMENT_STATES; s++)
        CHECK(document_is_over(s) == over[s]);
}

TEST(document_states_are_found_by_their_words)
{
    for (unsigned s = 0; s < DOCUMENT_STATES; s++) {
        enum document_state found = DOCUMENT_STATES;

        CHECK(document_state_find(str_of(document_states[s]), &found) && found == s);
    }
    enum document_state found = DOCUMENT_HELD;

    CHECK(!document_state_find(STR("Held"), &found) && found == DOCUMENT_HELD);
    CHECK(!document_state_find(STR(""), &found));
    CHECK(!document_state_find(STR("deliver"), &found));
}

TEST(words_of_users_are_as_promised)
{
    static const char *const codes[] = {
        "extract_failed",
        "unknown_system",
        "forbidden_sender",
        "no_route",
        "loop",
        "service_failed",
        "budget",
        "decrypt_failed",
        "payload_missing",
        "payload_corrupt",
        "rejected",
        "expired",
        "retries_exhausted",
        "poison",
        "limit",
        "restored",
    };
    static const char *const deliveries[] = { "ready",    "sending",   "held", "retrying",
                                              "in_doubt", "delivered", "dead", "cancelled" };

    CHECK(sizeof codes / sizeof codes[0] == DEAD_CODES);
    for (size_t i = 0; i < DEAD_CODES; i++)
        CHECK(strcmp(dead_codes[i], codes[i]) == 0);
    for (size_t i = 0; i < DELIVERY_STATES; i++)
        CHECK(strcmp(delivery_states[i], deliveries[i]) == 0);
}

TEST(held_reasons_are_listed)
{
    static const struct {
        unsigned reasons;
        const char *want;
    } cases[] = {
        { 0, "" },
        { HELD_BREAKER, "breaker" },
        { HELD_BREAKER | HELD_WINDOW, "window, breaker" },
        { 511, "hold, window, rate, order, breaker, pause, endpoint, restore, threads" },
        { 512, "" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(200);

        held_reasons_print(cases[i].reasons, &b);
        CHECK(str_is(buf_view(&b), cases[i].want));
    }
}

static void read_page(struct buf *page)
{
    static const char here[] = __FILE__;
    AUTO(buf_done) struct buf path = BUF_INIT(4096);
    struct err err;

    buf_put(&path, str_mem(here, sizeof here - sizeof "tests/unit/core/test_state.c"));
    buf_puts(&path, "docs/states.md");
    FILE *file = fopen(path.ptr, "rb");

    if (file == NULL)
        return;
    if (buf_reserve(page, PAGE_MOST - 1, &err)) {
        page->len = fread(page->ptr, 1, PAGE_MOST - 1, file);
        page->ptr[page->len] = '\0';
    }
    (void)fclose(file);
}

TEST(state_describe_is_the_page_in_docs)
{
    AUTO(buf_done) struct buf made = BUF_INIT(PAGE_MOST), page = BUF_INIT(PAGE_MOST);

    state_describe(&made);
    read_page(&page);
    CHECK(made.len > 3000 && strstr(made.ptr, "(null)") == NULL);
    CHECK(str_eq(buf_view(&made), buf_view(&page)));
}

/* A second colon or a semicolon would end a label too early. */
TEST(state_describe_draws_what_diagrams_can_take)
{
    AUTO(buf_done) struct buf made = BUF_INIT(PAGE_MOST);

    state_describe(&made);
    for (struct str rest = buf_view(&made), line; rest.len > 0;) {
        struct str label;

        rest = str_cut(rest, '\n', &line);
        if (memmem(line.ptr, line.len, "-->", 3) == NULL)
            continue;
        label = str_cut(line, ':', &line);
        CHECK(str_find(label, ':') < 0 && str_find(label, ';') < 0);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "print") == 0) {
        AUTO(buf_done) struct buf made = BUF_INIT(PAGE_MOST);

        state_describe(&made);
        (void)fwrite(made.ptr, 1, made.len, stdout);
        return 0;
    }
    return test_main();
}
