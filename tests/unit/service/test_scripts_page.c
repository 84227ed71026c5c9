/* The examples of docs/scripts.md run as they stand there.  A block of YAML is a step; the blocks
 * "LANGUAGE in" and "LANGUAGE out" behind it are a document and what comes out, one block for each
 * part.  The last newline of a block is not part of the bytes that come out. */
#include "service/step.h"

#include <stdlib.h>

#include "app/registry.h"
#include "test.h"

enum { PAGE_MOST = 256 << 10 };

static void read_page(struct buf *page)
{
    static const char here[] = __FILE__;
    AUTO(buf_done) struct buf path = BUF_INIT(4096);
    char piece[4096];
    size_t n;

    buf_put(&path, str_mem(here, sizeof here - sizeof "tests/unit/service/test_scripts_page.c"));
    buf_puts(&path, "docs/scripts.md");
    FILE *file = fopen(path.ptr, "rb");

    while (file != NULL && (n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_put(page, str_mem(piece, n));
    if (file != NULL)
        (void)fclose(file);
}

struct block {
    struct str info, text;
};

/* The next block between fences; false: there is none. */
static bool next_block(struct str *rest, struct block *ret)
{
    const char *from = memmem(rest->ptr, rest->len, "\n```", 4);

    if (from == NULL)
        return false;
    *rest = str_cut(str_from(*rest, (size_t)(from - rest->ptr) + 4), '\n', &ret->info);
    const char *end = memmem(rest->ptr, rest->len, "```\n", 4);

    if (end == NULL)
        return false;
    ret->text = str_mem(rest->ptr, (size_t)(end - rest->ptr));
    *rest = str_from(*rest, ret->text.len + 3);
    return true;
}

static bool ends_with(struct str s, const char *end)
{
    size_t n = strlen(end);

    return s.len >= n && memcmp(s.ptr + s.len - n, end, n) == 0;
}

static bool make_of_page(struct step *s, struct str yaml)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *list;

    step_init(s, NULL);
    list = yaml_load(yaml, &s->arena, &problems);
    problem_list_done(&problems);
    if (list == NULL || list->kind != YAML_LIST || list->first->first == NULL)
        return false;
    s->type = connector_service(&registry, list->first->first->key->text);
    return s->type != NULL && step_take(s, list->first->first);
}

/* The whole of what came out, or one part of it, with the newline that ends a block. */
static bool came_out(const struct step *s, size_t number, struct str want)
{
    struct str got =
        s->got.part_count > 0 ? service_memory_bytes(&s->got, number) : buf_view(&s->got.out);

    if (ends_with(got, "\n") && str_eq(got, want))
        return true;
    if (want.len == got.len + 1 && memcmp(want.ptr, got.ptr, got.len) == 0)
        return true;
    printf("# got  %.*s\n# want %.*s\n", STR_ARG(got), STR_ARG(want));
    return false;
}

TEST(the_examples_of_the_page_run)
{
    AUTO(buf_done) struct buf page = BUF_INIT(PAGE_MOST);
    AUTO(step_done) struct step s = { 0 };
    struct block b;
    size_t steps = 0, results = 0;

    read_page(&page);
    struct str rest = buf_view(&page);

    while (next_block(&rest, &b)) {
        if (str_is(b.info, "yaml")) {
            step_done(&s);
            CHECK(make_of_page(&s, b.text));
            steps++;
        } else if (ends_with(b.info, " in")) {
            CHECK(results == 0 || s.got.part_count == 0 || results == s.got.part_count);
            results = 0;
            CHECK(s.self != NULL && step_run(&s, b.text));
        } else if (ends_with(b.info, " out")) {
            CHECK(s.ok && came_out(&s, results, b.text));
            results++;
        }
    }
    CHECK(steps == 5 && results == s.got.part_count + (s.got.part_count == 0));
}

int main(void)
{
    return test_main();
}
