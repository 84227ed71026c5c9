/* checking.h - a JSON Schema made and asked about documents. */
#pragma once

#include <stdio.h>

#include "base/auto.h"
#include "service/schema/schema_check.h"

enum { WORK_MOST = 10 * 1000 * 1000 };

struct checker {
    struct arena arena;
    struct schema *schema; /* NULL: err says why */
    struct err err;
    struct service_failure failure;
};

__attribute__((unused)) static void checker_done(struct checker *c)
{
    schema_free(c->schema);
    arena_done(&c->arena);
}

__attribute__((unused)) static struct checker checker_of(const char *schema)
{
    struct checker c = { .arena = ARENA_INIT((size_t)64 << 20) };

    if (!schema_make(str_of(schema), &c.arena, &c.schema, &c.err))
        c.schema = NULL;
    return c;
}

/* "" for a document that is valid, or the message; of a schema that is refused, its mistake. */
__attribute__((unused)) static const char *checker_says(struct checker *c, struct str document)
{
    c->failure = (struct service_failure){ 0 };
    if (c->schema == NULL)
        return c->err.text;
    return schema_check(c->schema, document, WORK_MOST, &c->failure) ? "" : c->failure.message;
}
