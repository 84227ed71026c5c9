#include "core/yaml.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "test.h"

static struct yaml_node *load(struct str text, struct arena *arena, struct problem_list *problems)
{
    return yaml_load(text, arena, problems);
}

TEST(yaml_keeps_places_and_quotes)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *root =
        load(STR("a: 1\n\xc3\xa4\xc3\xb6: { x: \"1\", y: [no, ~] }\nb:\n  - |\n    text\n"), &arena,
             &problems);

    CHECK(root != NULL && problems.count == 0 && root->kind == YAML_MAP && root->count == 3);
    const struct yaml_node *a = yaml_get(root, "a"), *u = yaml_get(root, "\xc3\xa4\xc3\xb6");
    const struct yaml_node *x = yaml_get(u, "x"), *y = yaml_get(u, "y"), *b = yaml_get(root, "b");

    CHECK(str_is(a->text, "1") && !a->quoted && a->place.line == 1 && a->place.column == 4);
    CHECK(u->flow && u->key->place.line == 2 && u->place.column == 5); /* characters, not bytes */
    CHECK(x->quoted && str_is(x->text, "1") && x->place.column == 10);
    CHECK(y->kind == YAML_LIST && y->count == 2 && str_is(y->first->text, "no"));
    CHECK(!yaml_is_null(y->first) && yaml_is_null(y->last));
    CHECK(b->first->quoted && str_is(b->first->text, "text\n"));
    CHECK(yaml_get(b, "x") == NULL && yaml_get(NULL, "x") == NULL);
    CHECK(yaml_text(b).len == 0 && yaml_text(NULL).len == 0);
    CHECK(yaml_position(b).column == 1 && yaml_position(b->first).column == 5);
}

TEST(yaml_reads_nothing_as_an_empty_map)
{
    static const struct str cases[] = { { "", 0 }, { NULL, 0 }, { "# only a comment\n", 17 } };

    for (size_t i = 0; i < 3; i++) {
        AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA);
        AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
        const struct yaml_node *root = load(cases[i], &arena, &problems);

        CHECK(root != NULL && root->kind == YAML_MAP && root->count == 0 && problems.count == 0);
    }
}

TEST(yaml_takes_a_byte_order_mark)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *root = load(STR("\xef\xbb\xbf"
                                            "a: 1\n"),
                                        &arena, &problems);

    CHECK(root != NULL && yaml_get(root, "a") != NULL);
}

/* proves: S2 */
TEST(yaml_refuses_with_a_place)
{
    static const struct {
        const char *text;
        unsigned line, column;
        const char *message;
        bool root; /* the rest can still be looked at */
    } cases[] = {
        { "a: 1\nb: 2\na: 3\n", 3, 1, "the key `a` stands here twice; the other one is in line 1",
          true },
        { "x: { a: 1, \"a\": 2 }", 1, 12, "twice", true },
        { "a: &x 1\n", 1, 4, "anchors", true },
        { "a: &x { b: 1 }\n", 1, 4, "anchors", true },
        { "a: *x\n", 1, 4, "aliases", true },
        { "a: !x 1\n", 1, 4, "tags", true },
        { "a: !!map { b: 1 }\n", 1, 4, "tags", true },
        { "a: !!seq [ b ]\n", 1, 4, "tags", true },
        { "{ [a]: 1 }\n", 1, 3, "not a list", true },
        { "{ {a: 1}: 1 }\n", 1, 3, "not a map", true },
        { "a: 1\n---\nb: 2\n", 2, 1, "second document", false },
        { "a: *\n", 1, 5, "stands in quotes", false },
        { "a: { b:, c: 1 }\n", 1, 7, "a `:` is not expected here", false },
        { "a:\n\tb: 1\n", 2, 1, "cannot start with this character", false },
        { "a: b: c\n", 1, 5, "a `:` is not expected here", false },
        { "a: 1\n b: 2\n", 2, 3, "a `:` is not expected here", false },
        { "a: [1, 2\nb: 3\n", 2, 2, "`,` or `]`", false },
        { "a: 1\nc: \"x\n", 3, 1, "the file ends inside a quoted text", false },
        { "a:\n  - 1\n  b: 2\n", 3, 3, "a list item", false },
        { "a: 1\nb\n", 3, 1, "a `:` is expected after this key", false },
        { "a: \"\\q\"\n", 1, 5, "escape", false },
        { "a: 1\nb: \xff\n", 2, 4, "not UTF-8", false },
        { "a: \xed\xa0\x80\n", 1, 4, "not UTF-8", false },
        { "a: \x01\n", 1, 4, "control characters", false },
        { "%FOO x\n---\na: 1", 1, 5, "not valid YAML", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA);
        AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
        const struct yaml_node *root = load(str_of(cases[i].text), &arena, &problems);
        const struct problem *p = &problems.items[0];

        if (problems.count != 1 || strstr(p->message, cases[i].message) == NULL ||
            p->place.line != cases[i].line || p->place.column != cases[i].column)
            printf("# case %zu: %zu problems, %u:%u %s\n", i, problems.count, p->place.line,
                   p->place.column, p->message);
        CHECK(problems.count == 1 && (root != NULL) == cases[i].root);
        CHECK(strstr(p->message, cases[i].message) != NULL);
        CHECK(p->place.line == cases[i].line && p->place.column == cases[i].column);
    }
}

/* `open` so many times, then nothing: unclosed, but the limit is met first. */
static size_t load_repeated(const char *piece, size_t times, const char *after, const char *message)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(8 * 1024 * 1024);

    for (size_t i = 0; i < times; i++)
        buf_puts(&text, piece);
    buf_puts(&text, after);
    (void)load(buf_view(&text), &arena, &problems);
    if (problems.count == 0)
        return 0;
    return strstr(problems.items[0].message, message) != NULL ? 1 : 99;
}

TEST(yaml_has_limits)
{
    CHECK(load_repeated("[", 65, "", "64 deep") == 1);
    CHECK(load_repeated("- ", 70, "x\n", "64 deep") == 1);
    CHECK(load_repeated("- ", 63, "x\n", "") == 0);
    CHECK(load_repeated("- x\n", 200001, "", "200000 values") == 1);
    CHECK(load_repeated("- x\n", 199000, "", "") == 0);
    CHECK(load_repeated("# 3456\n", 600000, "", "4 MiB") == 1);
}

TEST(yaml_finds_many_duplicates_fast)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(4 * 1024 * 1024);

    for (int i = 0; i < 90000; i++)
        buf_printf(&text, "k%d: x\n", i % 89990);
    CHECK(load(buf_view(&text), &arena, &problems) != NULL);
    CHECK(problems.count == 10);
}

TEST(yaml_same_compares_what_is_said)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        { "x", "x", true },
        { "x", "\"x\"", true },
        { "x", "y", false },
        { "", "", true },
        { "a: 1", "a: 1", true },
        { "a: 1\nb: 2", "{ b: 2, a: 1 }", true },
        { "a: 1", "a: 2", false },
        { "a: 1", "b: 1", false },
        { "a: 1", "a: 1\nb: 2", false },
        { "a: 1\nb: 2", "a: 1", false },
        { "[ 1, 2 ]", "- 1\n- 2\n", true },
        { "[ 1, 2 ]", "[ 2, 1 ]", false },
        { "[ 1, 2 ]", "[ 1, 2, 3 ]", false },
        { "[ 1 ]", "{ a: 1 }", false },
        { "a: { b: [ { c: 1 }, { d: 2 } ], e: 3 }", "a: { e: 3, b: [ { c: 1 }, { d: 2 } ] }",
          true },
        { "a: { b: [ { c: 1 }, { d: 2 } ], e: 3 }", "a: { e: 3, b: [ { c: 1 }, { d: 3 } ] }",
          false },
        { "a: { b: [ [], [ 1 ] ] }", "a: { b: [ [ 1 ], [] ] }", false },
        { "a:", "a: {}", false },
    };
    AUTO(arena_done) struct arena arena = ARENA_INIT(YAML_ARENA);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(yaml_same(load(str_of(cases[i].a), &arena, &problems),
                        load(str_of(cases[i].b), &arena, &problems)) == cases[i].same);
}

TEST(yaml_byte_of_counts_characters)
{
    struct str text = STR("a\xc3\xa4"
                          "b");

    CHECK(yaml_byte_of(text, 0) == 0 && yaml_byte_of(text, 1) == 1 && yaml_byte_of(text, 2) == 3);
    CHECK(yaml_byte_of(text, 3) == 4 && yaml_byte_of(text, 9) == 4);
}

int main(void)
{
    return test_main();
}
