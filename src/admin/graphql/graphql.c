#include "admin/graphql/graphql.h"

#include "admin/graphql/parse.h"
#include "admin/graphql/plan.h"
#include "admin/graphql/report.h"
#include "admin/graphql/run.h"
#include "admin/graphql/validate.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"

/* limits.memory is checked between resolvers only; this caps what one resolver allocates. */
enum { ARENA_CAP = 256 << 20 };

const struct graphql_limits graphql_limits_default = {
    .document = 64 << 10,
    .tokens = 5000,
    .depth = 10,
    .aliases = 50,
    .directives = 20,
    .fragments = 50,
    .variables = 256 << 10,
    .response = 4 << 20,
    .memory = 32 << 20,
    .page = 200,
    .cost = 10000,
    .time_us = 5 * CLOCK_S,
};

/* The operation that the request names, or the only one of the document. */
static struct graphql_definition *graphql_choose(const struct graphql_document *doc,
                                                 struct str name, struct graphql_report *report)
{
    struct graphql_definition *op = doc->operations;

    if (name.len > 0) {
        while (op != NULL && !str_eq(op->name, name))
            op = op->next;
        if (op == NULL)
            (void)graphql_report_add(
                report, "invalid", GRAPHQL_NOWHERE, "the document has no operation \"%.*s\"",
                (int)(name.len > GRAPHQL_NAME_MAX ? GRAPHQL_NAME_MAX : name.len), name.ptr);
        return op;
    }
    if (op != NULL && op->next == NULL)
        return op;
    (void)graphql_report_add(report, "invalid", GRAPHQL_NOWHERE,
                             op == NULL ? "the document has no operation"
                                        : "the document has several operations: name one");
    return NULL;
}

/* NULL: the report says why. */
static struct graphql_plan *graphql_prepare(const struct graphql_schema *s,
                                            const struct graphql_request *request,
                                            const struct graphql_limits *limits,
                                            struct graphql_report *report)
{
    struct graphql_document *doc;
    struct graphql_definition *op;
    struct err err = { 0 };
    size_t at;

    if (!graphql_parse(request->query, limits, report->arena, &doc, &at, &err)) {
        (void)graphql_report_add(report, err.kind == ERR_LIMIT ? "limit" : "syntax", at, "%s",
                                 err.text);
        return NULL;
    }
    if (!graphql_validate(s, doc, limits, report))
        return NULL;
    op = graphql_choose(doc, request->operation, report);
    return op == NULL ? NULL : graphql_plan_make(s, op, request->variables, limits, report);
}

bool graphql_execute(const struct graphql_schema *s, const struct graphql_request *request,
                     const struct graphql_limits *limits, struct buf *out)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_CAP);
    struct graphql_report report = { .arena = &arena, .source = request->query };
    size_t before = out->len;

    require(out->cap - out->len >= GRAPHQL_ERRORS_ROOM && limits->fragments <= 64);
    const struct graphql_plan *plan = graphql_prepare(s, request, limits, &report);

    buf_putc(out, '{');
    if (plan != NULL) {
        buf_puts(out, "\"data\":");
        if (!graphql_run(s, plan, limits, request->principal, &report, out)) {
            out->len = before;
            buf_puts(out, "{\"data\":null");
            report.count = 0;
            (void)graphql_report_add(&report, "limit", GRAPHQL_NOWHERE,
                                     "the answer is over %zu bytes: ask for fewer fields or "
                                     "smaller pages",
                                     limits->response);
        }
    }
    if (report.count > 0) {
        buf_puts(out, plan != NULL ? ",\"errors\":" : "\"errors\":");
        graphql_report_write(&report, out);
    }
    buf_putc(out, '}');
    return report.count == 0;
}
