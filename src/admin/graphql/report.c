#include "admin/graphql/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "admin/graphql/lex.h"
#include "base/json.h"
#include "base/require.h"

struct graphql_problem *graphql_report_add(struct graphql_report *r, const char *code, size_t at,
                                           const char *fmt, ...)
{
    char text[sizeof((struct err *)0)->text + GRAPHQL_NAME_MAX];
    va_list ap;

    if (r->count == GRAPHQL_ERRORS_MAX)
        return NULL;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct graphql_problem *p = &r->problems[r->count++];

    *p = (struct graphql_problem){ .code = code,
                                   .at = at,
                                   .text = arena_text(r->arena, str_of(text)) };
    return p;
}

const char *graphql_report_code(const struct err *err)
{
    switch (err->kind) {
    case ERR_TRANSIENT:
        return "unavailable";
    case ERR_UNCERTAIN:
        return "uncertain";
    case ERR_LIMIT:
        return "limit";
    case ERR_CONFIG:
        return "config";
    case ERR_PERMANENT:
        return err->sys == EACCES || err->sys == EPERM ? "forbidden"
               : err->sys == ENOENT                    ? "not_found"
                                                       : "refused";
    case ERR_NONE:
        break;
    }
    return "internal";
}

static void write_path(const struct graphql_problem *p, struct json_out *j)
{
    json_key(j, "path");
    json_open(j, '[');
    for (size_t i = 0; i < p->path_len; i++) {
        if (p->path[i].key.ptr != NULL)
            json_str(j, p->path[i].key);
        else
            json_int(j, (int64_t)p->path[i].index);
    }
    json_close(j, ']');
}

static void write_place(const struct graphql_report *r, size_t at, struct json_out *j)
{
    size_t line, column;

    graphql_lex_place(r->source, at, &line, &column);
    json_key(j, "locations");
    json_open(j, '[');
    json_open(j, '{');
    json_key(j, "line");
    json_int(j, (int64_t)line);
    json_key(j, "column");
    json_int(j, (int64_t)column);
    json_close(j, '}');
    json_close(j, ']');
}

void graphql_report_write(const struct graphql_report *r, struct buf *out)
{
    struct json_out j = { .to = out };
    size_t before = out->len;

    json_open(&j, '[');
    for (size_t i = 0; i < r->count; i++) {
        const struct graphql_problem *p = &r->problems[i];

        json_open(&j, '{');
        json_key(&j, "message");
        json_z(&j, p->text);
        if (p->at != GRAPHQL_NOWHERE)
            write_place(r, p->at, &j);
        if (p->path != NULL)
            write_path(p, &j);
        json_key(&j, "extensions");
        json_open(&j, '{');
        json_key(&j, "code");
        json_z(&j, p->code);
        json_close(&j, '}');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    require(out->len - before < GRAPHQL_ERRORS_ROOM - 1024); /* (1) */
}
