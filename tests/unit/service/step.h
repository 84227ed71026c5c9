/* step.h - one step of a service, made and run in the program of the test.
 *
 * A caged service is called as its process calls it, over an io in memory.
 */
#pragma once

#include <stdio.h>

#include "base/auto.h"
#include "base/json.h"
#include "core/connector.h"

struct step {
    const struct service_type *type;
    struct arena arena;
    void *self; /* NULL: it could not be made, err says why */
    struct err err;

    struct service_document document;
    struct facts facts;
    struct service_memory got; /* of the last run */
    struct service_failure failure;
    bool ok;
};

static void step_done(struct step *s)
{
    service_memory_done(&s->got);
    if (s->self != NULL)
        s->type->unmake(s->self);
    s->self = NULL;
    arena_done(&s->arena);
}

/* A document for the step, which step_take() makes. */
static void step_init(struct step *s, const struct service_type *t)
{
    static struct fact attributes[] = { { STR("colour"), STR("blue") },
                                        { STR("order"), STR("4711") } };

    *s = (struct step){ .type = t, .arena = ARENA_INIT(256 << 20) };
    s->facts = (struct facts){ .sender = STR("shop"),
                               .receiver = STR("erp"),
                               .type = STR("order"),
                               .attributes = attributes,
                               .attribute_count = 2 };
    s->document = (struct service_document){ .id = id_make(1700000000000000, 7, 99),
                                             .received_us = 1700000000000000,
                                             .facts = &s->facts,
                                             .name = STR("a.txt"),
                                             .gateway = STR("in") };
}

static bool step_take(struct step *s, const struct yaml_node *node)
{
    struct settings settings = { .node = node, .own = s->type->kind.keys, .arena = &s->arena };

    if (!s->type->make(&settings, &s->self, &s->err))
        s->self = NULL;
    return s->self != NULL;
}

/* The options are `key` with its text, and what `more` adds in YAML, such as ", many: true". */
__attribute__((unused)) static bool step_make(struct step *s, const struct service_type *t,
                                              const char *key, const char *text, const char *more)
{
    AUTO(buf_done) struct buf yaml = BUF_INIT(1 << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;

    step_init(s, t);
    buf_printf(&yaml, "step: { \"%s\": \"", key);
    json_escape(&yaml, str_of(text));
    buf_printf(&yaml, "\"%s }\n", more);
    const struct yaml_node *node =
        yaml_get(yaml_load(buf_view(&yaml), &s->arena, &problems), "step");

    if (problems.count > 0)
        printf("# %s\n", problems.items[0].message);
    problem_list_done(&problems);
    return step_take(s, node);
}

static bool step_run(struct step *s, struct str in)
{
    service_memory_done(&s->got);
    service_memory_init(&s->got, &s->document, in, 80 << 20, &s->arena);
    s->failure = (struct service_failure){ 0 };
    s->ok = service_run(s->type, s->self, &s->got.io, &s->failure);
    return s->ok;
}

/* What a table of cases compares: the bytes, the parts each in brackets, "-" for none, or "CODE
 * MESSAGE" of the failure.  Lent until the next run. */
__attribute__((unused)) static const char *step_said(struct step *s, const char *in)
{
    static char text[64 << 10];
    size_t at = 0;

    if (s->self == NULL)
        (void)snprintf(text, sizeof text, "config %s", s->err.text);
    else if (!step_run(s, str_of(in)))
        (void)snprintf(text, sizeof text, "%s %s", dead_codes[s->failure.code], s->failure.message);
    else if (s->got.is_none)
        (void)snprintf(text, sizeof text, "-");
    else if (s->got.part_count == 0)
        (void)snprintf(text, sizeof text, "%.*s", STR_ARG(buf_view(&s->got.out)));
    for (size_t i = 0; s->ok && i < s->got.part_count && at < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "[%.*s]",
                               STR_ARG(service_memory_bytes(&s->got, i)));
    return text;
}
