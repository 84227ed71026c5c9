/* The examples of the pages about steps do what the pages say: a block `yaml` that is a list of
 * steps, a block `in`, and a block `out` for what comes out or for each part of it. */
#include "app/registry.h"
#include "stepping.h"
#include "test.h"

enum { PAGE_MOST = 1 << 20, CHAIN_MOST = 8 };

static bool read_page(const char *name, struct buf *page)
{
    static const char here[] = __FILE__;
    AUTO(buf_done) struct buf path = BUF_INIT(4096);
    struct err err;

    buf_put(&path, str_mem(here, sizeof here - sizeof "tests/unit/service/test_step_examples.c"));
    buf_printf(&path, "docs/%s", name);
    FILE *file = fopen(path.ptr, "rb");

    if (file == NULL)
        return false;
    bool ok = buf_reserve(page, PAGE_MOST - 1, &err);

    if (ok)
        buf_added(page, fread(page->ptr, 1, PAGE_MOST - 1, file));
    (void)fclose(file);
    return ok;
}

struct block {
    struct str language, text; /* text without its last line break */
};

/* Takes the next block off the page; false: there is none. */
static bool take_block(struct str *page, struct block *ret)
{
    const char *open = memmem(page->ptr, page->len, "\n```", 4);

    if (open == NULL)
        return false;
    struct str rest = str_from(*page, (size_t)(open - page->ptr) + 4);

    rest = str_cut(rest, '\n', &ret->language);
    const char *close = memmem(rest.ptr - 1, rest.len + 1, "\n```", 4);

    if (close == NULL)
        return false;
    ret->text = str_mem(rest.ptr, close < rest.ptr ? 0 : (size_t)(close - rest.ptr));
    *page = str_from(rest, (size_t)(close - rest.ptr) + 4);
    return true;
}

static struct str without_end(struct str s)
{
    while (s.len > 0 && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == '\r'))
        s.len--;
    return s;
}

/* A chain of steps and the memory of the last one. */
struct chain {
    struct arena arena;
    struct service_memory m[CHAIN_MOST];
    size_t count;
    struct service_failure failure;
    size_t compared;
};

static void forget_chain(struct chain *c)
{
    for (size_t i = 0; i < c->count; i++)
        service_memory_done(&c->m[i]);
    c->count = c->compared = 0;
}

static bool run_chain(struct chain *c, struct str yaml, struct str in)
{
    static const struct service_document document;
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct yaml_node *list = yaml_load(yaml, &c->arena, &problems);
    bool ok = list != NULL && problems.count == 0;

    forget_chain(c);
    for (struct yaml_node *n = ok ? list->first : NULL; ok && n != NULL; n = n->next) {
        const struct service_type *type = connector_service(&registry, n->first->key->text);
        struct settings settings = { .node = n->first, .own = type->kind.keys, .arena = &c->arena };
        struct service_memory *m = &c->m[c->count++];
        struct err err;
        void *self;

        ok = c->count < CHAIN_MOST && type->make(&settings, &self, &err);
        if (!ok)
            continue;
        service_memory_init(m, &document, in, STEP_OUT, &c->arena);
        ok = service_run(type, self, &m->io, &c->failure);
        type->unmake(self);
        in = buf_view(&m->out);
    }
    problem_list_done(&problems);
    return ok;
}

static bool next_is(struct chain *c, struct str want)
{
    const struct service_memory *m = &c->m[c->count - 1];
    size_t i = c->compared++;
    struct str got = m->part_count == 0  ? buf_view(&m->out)
                     : i < m->part_count ? service_memory_bytes(m, i)
                                         : (struct str){ 0 };
    bool is = str_eq(without_end(got), without_end(want));

    if (!is)
        printf("# wanted: %.*s\n# got: %.*s\n", STR_ARG(want), STR_ARG(got));
    return is;
}

/* All parts were compared. */
static bool is_complete(const struct chain *c)
{
    size_t parts = c->count > 0 ? c->m[c->count - 1].part_count : 0;

    return c->count == 0 || c->compared == (parts == 0 ? 1 : parts);
}

static void chain_done(struct chain *c)
{
    forget_chain(c);
    arena_done(&c->arena);
}

static size_t run_page(const char *name)
{
    AUTO(buf_done) struct buf text = BUF_INIT(PAGE_MOST);
    AUTO(chain_done) struct chain c = { .arena = ARENA_INIT((size_t)64 << 20) };
    struct str yaml = { 0 }, page;
    struct block b;
    size_t examples = 0;

    if (!read_page(name, &text))
        return 0;
    for (page = buf_view(&text); take_block(&page, &b);) {
        if (str_is(b.language, "yaml"))
            yaml = b.text;
        if (str_is(b.language, "in")) {
            if (!is_complete(&c) || !run_chain(&c, yaml, b.text)) {
                printf("# %.*s: %s\n", STR_ARG(yaml), c.failure.message);
                return 0;
            }
            examples++;
        }
        if (str_is(b.language, "out") && !next_is(&c, b.text))
            return 0;
    }
    return is_complete(&c) ? examples : 0;
}

TEST(examples_of_split_do_what_they_say)
{
    CHECK(run_page("split.md") == 4);
}

TEST(examples_of_packing_do_what_they_say)
{
    CHECK(run_page("packing.md") == 2);
}

int main(void)
{
    return test_main();
}
