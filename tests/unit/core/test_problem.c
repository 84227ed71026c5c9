#include "core/problem.h"

#include "base/auto.h"
#include "test.h"

TEST(problem_keeps_a_hundred_and_counts_the_rest)
{
    AUTO(problem_list_done) struct problem_list list = PROBLEM_LIST_INIT;

    for (unsigned i = 0; i < 130; i++)
        problem_add(&list, (struct place){ 200 - i, 1 }, NULL, "number %u", i);
    CHECK(list.count == PROBLEM_MOST && list.left_out == 30);
    problem_sort(&list);
    CHECK(list.items[0].place.line == 101 && list.items[99].place.line == 200);
}

TEST(problem_sorts_by_place_and_keeps_the_order_of_equals)
{
    AUTO(problem_list_done) struct problem_list list = PROBLEM_LIST_INIT;

    problem_add(&list, (struct place){ 2, 5 }, "", "c");
    problem_add(&list, (struct place){ 2, 1 }, "h", "a");
    problem_add(&list, (struct place){ 2, 1 }, NULL, "b");
    problem_sort(&list);
    CHECK(strcmp(list.items[0].message, "a") == 0 && strcmp(list.items[0].hint, "h") == 0);
    CHECK(strcmp(list.items[1].message, "b") == 0 && list.items[1].hint == NULL);
    CHECK(strcmp(list.items[2].message, "c") == 0 && list.items[2].hint == NULL);
}

TEST(problem_texts_are_one_line)
{
    AUTO(problem_list_done) struct problem_list list = PROBLEM_LIST_INIT;

    problem_add(&list, (struct place){ 1, 1 }, "a\tb", "a\nb\x7f");
    char hint[4000];

    memset(hint, 'h', sizeof hint - 1);
    hint[sizeof hint - 1] = '\0';
    problem_add(&list, (struct place){ 1, 1 }, hint, "%s", hint);
    CHECK(strlen(list.items[1].message) < 1000 && strlen(list.items[1].hint) < 2000);
    CHECK(strcmp(list.items[0].message, "a b ") == 0 && strcmp(list.items[0].hint, "a b") == 0);
}

TEST(problem_quote_cuts_at_a_character)
{
    char text[PROBLEM_QUOTE], word[200];

    CHECK(strcmp(problem_quote(text, STR("plain")), "plain") == 0);
    CHECK(strcmp(problem_quote(text, STR("a\x1b[31m\n")), "a?[31m?") == 0);
    for (size_t i = 0; i + 1 < sizeof word; i += 2)
        memcpy(word + i, "\xc3\xa4", 2);
    word[0] = 'a'; /* the cut falls into a character now */
    word[1] = 'b';
    memmove(word + 1, word + 2, sizeof word - 2);
    CHECK(str_is_utf8(str_of(problem_quote(text, str_mem(word, sizeof word - 1)))));
    CHECK(strcmp(text + strlen(text) - 3, "...") == 0);
    CHECK(str_is_utf8(str_of(problem_quote(text, str_mem(word + 1, 1)))) == false);
}

int main(void)
{
    return test_main();
}
