#include <stdlib.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "test.h"

enum { ARENA = 256 << 20 };

/* One step, as a route makes it. */
struct step {
    struct arena arena;
    void *self; /* NULL: it could not be made, err says why */
    struct err err;
};

static void step_done(struct step *s)
{
    if (s->self != NULL)
        service_replace.unmake(s->self);
    arena_done(&s->arena);
}

static void step_make(struct step *s, const char *yaml)
{
    struct problem_list problems = PROBLEM_LIST_INIT;

    *s = (struct step){ .arena = ARENA_INIT(ARENA) };
    struct settings settings = {
        .node = yaml_get(yaml_load(str_of(yaml), &s->arena, &problems), "replace"),
        .own = service_replace.kind.keys,
        .arena = &s->arena,
    };

    if (!service_replace.make(&settings, &s->self, &s->err))
        s->self = NULL;
    problem_list_done(&problems);
}

static bool run(struct step *s, struct str in, struct buf *out, struct service_failure *failure)
{
    return service_replace.run(s->self, in, &(struct service_document){ 0 }, out, failure);
}

TEST(replace_gives_what_it_should)
{
    static const struct {
        const char *yaml, *in, *want;
    } cases[] = {
        /* literally */
        { "replace: { find: ' ', with: ',' }", "a b  c ", "a,b,,c," },
        { "replace: { find: abc, with: x }", "abcabcab", "xxab" },
        { "replace: { find: aa, with: b }", "aaaaa", "bba" }, /* from the left, none overlapping */
        { "replace: { find: a, with: aa }", "aXa", "aaXaa" }, /* not again in what was put in */
        { "replace: { find: a }", "banana", "bnn" },
        { "replace: { find: zz, with: y }", "abc", "abc" },
        { "replace: { find: abcd, with: y }", "abc", "abc" },
        { "replace: { find: a, with: x }", "", "" },
        { "replace: { find: abc, with: '' }", "abc", "" },
        { "replace: a", "banana", "bnn" }, /* a bare value is what is found */
        { "replace: { find: '.*', with: '$1 ${x} $$' }", "a.*b", "a$1 ${x} $$b" },
        { "replace: { find: '\xc3\xa4', with: ae }", "\xc3\xa4\xc3\xb6", "ae\xc3\xb6" },
        /* regular expressions */
        { "replace: { regex: '[0-9]+', with: '#' }", "a1b22c", "a#b#c" },
        { "replace: { regex: '(\\d+)\\.(\\d+)', with: '$2,$1' }", "1.2 33.44", "2,1 44,33" },
        { "replace: { regex: '(?<y>\\d+)-(?<m>\\d+)', with: '${m}/${y}' }", "2026-11", "11/2026" },
        { "replace: { regex: 'b', with: '<$0>' }", "abc", "a<b>c" },
        { "replace: { regex: 'b', with: '<${0}>' }", "abc", "a<b>c" },
        { "replace: { regex: 'b', with: '$$1' }", "abc", "a$1c" },
        { "replace: { regex: 'b', with: '$' }", "abc", "a$c" },
        { "replace: { regex: 'b', with: '$x$' }", "abc", "a$x$c" },
        { "replace: { regex: '(b)', with: '$1$1' }", "abc", "abbc" },
        { "replace: { regex: '(b)', with: '$10' }", "abc", "ab0c" }, /* one digit */
        { "replace: { regex: '(a)|(b)', with: '[$1|$2]' }", "ab", "[a|][|b]" },
        { "replace: { regex: 'b' }", "abcb", "ac" },
        { "replace: { regex: 'x*', with: '-' }", "axxb", "-a--b-" },
        { "replace: { regex: '^', with: '> ' }", "ab", "> ab" },
        { "replace: { regex: '(?m)^', with: '> ' }", "a\nb", "> a\n> b" },
        { "replace: { regex: '$', with: '!' }", "ab", "ab!" },
        { "replace: { regex: '', with: '' , find: }", "", NULL },
        { "replace: { regex: 'a', with: x }", "", "" },
        { "replace: { regex: '^$', with: x }", "", "x" },
        { "replace: { regex: '(?i)ORDER', with: x }", "Order order", "x x" },
        { "replace: { regex: '\xc3\xa4.', with: '' }", "\xc3\xa4\xc3\xb6!", "!" },
        { "replace: { regex: 'a\\Kb', with: 'x' }", "abab", "axax" },
        { "replace: { regex: b, with: x }",
          "a\xff"
          "b\xfe",
          "a\xffx\xfe" }, /* around what is no UTF-8 */
        { "replace: { regex: '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)', with: '$9${12}$1' }",
          "abcdefghijkl", "ila" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
        struct service_failure failure;
        AUTO(step_done) struct step s;

        step_make(&s, cases[i].yaml);
        CHECK((s.self != NULL) == (cases[i].want != NULL));
        if (s.self == NULL)
            continue;
        buf_puts(&out, "kept "); /* it appends */
        CHECK(run(&s, str_of(cases[i].in), &out, &failure));
        CHECK(str_is(str_from(buf_view(&out), 5), cases[i].want));
        buf_clear(&out); /* and keeps nothing from one document to the next */
        CHECK(run(&s, str_of(cases[i].in), &out, &failure));
        CHECK(str_is(buf_view(&out), cases[i].want));
    }
}

TEST(replace_works_on_any_bytes)
{
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
    struct service_failure failure;
    AUTO(step_done) struct step s;

    step_make(&s, "replace: { regex: '\\x00', with: z }");
    CHECK(s.self != NULL);
    CHECK(run(&s, STR("a\0b\0"), &out, &failure) && str_is(buf_view(&out), "azbz"));
    buf_clear(&out);
    CHECK(run(&s, (struct str){ 0 }, &out, &failure) && out.len == 0);
}

TEST(replace_refuses_options_that_make_no_sense)
{
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        { "replace: { find: '', with: x }", "`find` is empty" },
        { "replace: ''", "`find` is empty" },
        { "replace: ~", "exactly one" },
        { "replace: { with: x }", "exactly one" },
        { "replace: {}", "exactly one" },
        { "replace: { find: a, regex: b }", "exactly one" },
        { "replace: { regex: '' }", "`regex`: " },
        { "replace: { regex: '(' }", "`regex`: " },
        { "replace: { regex: 'a', with: '$1' }", "no group 1" },
        { "replace: { regex: '(a)', with: '$2' }", "no group 2" },
        { "replace: { regex: '(a)', with: '${2}' }", "no group 2" },
        { "replace: { regex: '(a)', with: '${99999999999999999999}' }", "no group" },
        { "replace: { regex: '(?<n>a)', with: '${m}' }", "no group `m`" },
        { "replace: { regex: '(a)', with: '${}' }", "no group" },
        { "replace: { regex: '(a)', with: 'x${1' }", "not closed" },
        { "replace: { find: [a] }", "`find`" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(step_done) struct step s;

        step_make(&s, cases[i].yaml);
        CHECK(s.self == NULL && s.err.kind == ERR_CONFIG);
        CHECK(strstr(s.err.text, cases[i].says) != NULL);
    }
}

TEST(replace_ends_a_search_that_runs_away)
{
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);
    struct service_failure failure = { 0 };
    AUTO(step_done) struct step s;
    char text[5000];

    memset(text, 'x', sizeof text);
    step_make(&s, "replace: { regex: '(x+x+)+[yz]', with: a }");
    CHECK(s.self != NULL);
    buf_puts(&out, "kept");
    CHECK(!run(&s, str_mem(text, sizeof text), &out, &failure));
    CHECK(failure.code == DEAD_BUDGET && strstr(failure.message, "too long") != NULL);
    CHECK(str_is(buf_view(&out), "kept"));
    buf_clear(&out);
    CHECK(run(&s, STR("xxy"), &out, &failure) && str_is(buf_view(&out), "a")); /* the next one */
}

static void check_bounds(const char *yaml, struct str text)
{
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST + 10);
    struct service_failure failure = { 0 };
    AUTO(step_done) struct step s;

    step_make(&s, yaml);
    CHECK(s.self != NULL);
    buf_puts(&out, "kept");
    CHECK(!run(&s, text, &out, &failure));
    CHECK(failure.code == DEAD_LIMIT && strstr(failure.message, "67108864 bytes") != NULL);
    CHECK(str_is(buf_view(&out), "kept") && out.ptr[out.len] == '\0');
}

/* 64 KiB of matches, each four thousand bytes long, would be 250 MiB; so would be one match that
 * stands for itself as often.  One, because the time of a search is limited as well. */
TEST(replace_bounds_what_comes_out)
{
    AUTO(buf_done) struct buf yaml = BUF_INIT(10000);
    enum { SIZE = 64 << 10, TIMES = 4000 };
    char *large = malloc(SIZE);

    CHECK(large != NULL);
    memset(large, 'x', SIZE);
    buf_printf(&yaml, "replace: { find: x, with: %0*d }", TIMES, 0);
    check_bounds(yaml.ptr, str_mem(large, SIZE));
    buf_clear(&yaml);
    buf_puts(&yaml, "replace: { regex: x+, with: ");
    for (int i = 0; i < TIMES; i++)
        buf_puts(&yaml, "$0");
    buf_puts(&yaml, " }");
    check_bounds(yaml.ptr, str_mem(large, SIZE));
    free(large);
}

TEST(replace_meets_the_cap_of_its_buffer)
{
    AUTO(buf_done) struct buf out = BUF_INIT(8);
    struct service_failure failure = { 0 };
    AUTO(step_done) struct step s;

    step_make(&s, "replace: { find: a, with: bb }");
    CHECK(run(&s, STR("aaxx"), &out, &failure) && str_is(buf_view(&out), "bbbbxx"));
    CHECK(!run(&s, STR("axa"), &out, &failure) && failure.code == DEAD_LIMIT);
    CHECK(strstr(failure.message, " 2 bytes") != NULL && str_is(buf_view(&out), "bbbbxx"));
    CHECK(run(&s, STR("a"), &out, &failure) && out.len == 8); /* exactly full */
}

int main(void)
{
    return test_main();
}
