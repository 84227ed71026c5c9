#include "admin/graphql/request.h"

#include <jansson.h>

#include "admin/graphql/report.h"
#include "base/auto.h"

enum { JSON_NEST_MAX = 64 };

static void graphql_request_json_drop(json_t **json)
{
    json_decref(*json);
}

int graphql_request_refuse(struct buf *out, int status, const char *text)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(64 << 10);
    struct graphql_report report = { .arena = &arena };

    (void)graphql_report_add(&report, status == 413 || status == 429 ? "limit" : "bad_request",
                             GRAPHQL_NOWHERE, "%s", text);
    buf_puts(out, "{\"errors\":");
    graphql_report_write(&report, out);
    buf_putc(out, '}');
    return status;
}

/* "application/json", with charset=utf-8 as its only parameter. */
static bool is_json(struct str content_type)
{
    struct str type, parameter = str_trim(str_cut(content_type, ';', &type));

    if (!str_eq_nocase(str_trim(type), STR("application/json")))
        return false;
    return parameter.len == 0 || str_eq_nocase(parameter, STR("charset=utf-8")) ||
           str_eq_nocase(parameter, STR("charset=\"utf-8\""));
}

/* jansson recurses over nested values, so the depth is checked before it parses. */
static bool is_shallow(struct str body)
{
    size_t depth = 0;
    bool text = false;

    for (size_t i = 0; i < body.len; i++) {
        char c = body.ptr[i];

        if (text) {
            if (c == '\\')
                i++;
            else if (c == '"')
                text = false;
        } else if (c == '"') {
            text = true;
        } else if (c == '[' || c == '{') {
            if (++depth > JSON_NEST_MAX)
                return false;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return true;
}

/* Treats null as absent, as the GraphQL over HTTP specification demands. */
static json_t *graphql_request_member(const json_t *object, const char *name)
{
    json_t *v = json_object_get(object, name);

    return json_is_null(v) ? NULL : v;
}

int graphql_request_answer(const struct graphql_schema *s, struct str content_type, struct str body,
                           const void *principal, const struct graphql_limits *limits,
                           struct buf *out)
{
    json_error_t fault;

    if (!is_json(content_type))
        return graphql_request_refuse(out, 415, "the content type is not application/json");
    if (body.len > GRAPHQL_BODY_MAX)
        return graphql_request_refuse(out, 413, "the request is too long");
    if (!is_shallow(body))
        return graphql_request_refuse(out, 400, "the request is nested too deeply");
    AUTO(graphql_request_json_drop)
    json_t *request = json_loadb(body.ptr, body.len, JSON_REJECT_DUPLICATES, &fault);

    if (request == NULL)
        return graphql_request_refuse(out, 400, "the request is not JSON");
    if (json_is_array(request))
        return graphql_request_refuse(out, 400, "one request at a time: batches are not supported");
    const json_t *query = graphql_request_member(request, "query"),
                 *name = graphql_request_member(request, "operationName");
    json_t *variables = graphql_request_member(request, "variables");

    if (!json_is_string(query))
        return graphql_request_refuse(out, 400, "\"query\" must be a text");
    if (variables != NULL && !json_is_object(variables))
        return graphql_request_refuse(out, 400, "\"variables\" must be an object");
    if (name != NULL && !json_is_string(name))
        return graphql_request_refuse(out, 400, "\"operationName\" must be a text");
    struct graphql_request ask = {
        .query = str_mem(json_string_value(query), json_string_length(query)),
        .variables = variables,
        .principal = principal,
    };

    if (name != NULL)
        ask.operation = str_mem(json_string_value(name), json_string_length(name));
    (void)graphql_execute(s, &ask, limits, out);
    return 200;
}
