/* extract.h - questions about one body, asked together and one by one.
 *
 * What several questions find in one pass is what each finds alone: the passes that merge
 * them may not mix them up, whatever the body. */
#pragma once

#include <stdio.h>

#include "base/auto.h"
#include "base/require.h"
#include "extract/extract.h"

enum { QUESTIONS_MOST = 16 };

struct questions {
    struct extractor *all, *each[QUESTIONS_MOST];
    size_t count;
};

static struct extractor *extractor_of(const char *yaml)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(YAML_ARENA);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    struct yaml_node *node = yaml_load(str_of(yaml), &a, &problems);
    struct extractor *x = NULL;
    struct err err;
    bool ok = node != NULL && problems.count == 0 && extractor_compile(node, false, &x, &err);

    require(ok);
    return x;
}

/* Expressions, ends with NULL; each becomes an attribute. */
static void questions_init(struct questions *q, const char *const *expressions)
{
    char all[2000] = "attributes:\n", one[200];
    size_t n = strlen(all);

    for (q->count = 0; expressions[q->count] != NULL; q->count++) {
        const char *e = expressions[q->count];

        require(q->count < QUESTIONS_MOST);
        (void)snprintf(one, sizeof one, "attributes:\n  a%zu: |-\n    %s\n", q->count, e);
        q->each[q->count] = extractor_of(one);
        n += (size_t)snprintf(all + n, sizeof all - n, "  a%zu: |-\n    %s\n", q->count, e);
        require(n < sizeof all);
    }
    q->all = extractor_of(all);
}

static void check_value(struct str value)
{
    require(value.len > 0 && value.len <= FACTS_VALUE_MOST && str_is_utf8(value));
    for (size_t i = 0; i < value.len; i++)
        require((unsigned char)value.ptr[i] >= ' ');
}

static void questions_ask(const struct questions *q, struct str body)
{
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)16 << 20);
    struct extract_source source = { .body = body, .whole = true };
    struct extract_failure failure = { 0 };
    struct facts all, one;

    if (body.len > EXTRACT_BYTES_MOST)
        return;
    source.whole = body.len % 4 != 3;
    if (!extract_run(q->all, &source, &a, &all, &failure)) {
        require(failure.message[0] != '\0');
        return; /* one of them failed, and ended it */
    }
    for (size_t i = 0, found = 0; i < q->count; i++) {
        char name[8];
        bool ok = extract_run(q->each[i], &source, &a, &one, &failure);
        int n = snprintf(name, sizeof name, "a%zu", i);
        bool here = found < all.attribute_count &&
                    str_eq(all.attributes[found].name, str_mem(name, (size_t)n));

        require(ok && one.attribute_count == here);
        if (here) {
            check_value(all.attributes[found].value);
            require(str_eq(all.attributes[found].value, one.attributes[0].value));
            found++;
        }
    }
}
