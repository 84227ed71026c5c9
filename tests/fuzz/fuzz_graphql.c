/* Whatever document and variables come in, one JSON object goes out, in time and
 * within its limits; and what was answered without errors is answered alike again.
 *
 * Input: the document, a NUL byte, the variables as JSON.  When it begins with
 * '#', the document is a schema instead.
 */
#include <stdint.h>

#include "../unit/admin/graphql/graphql_ask.h"

#include "admin/graphql/embed.h"
#include "admin/graphql/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void answer(const struct graphql_schema *s, struct str query, struct str rest)
{
    static struct buf first = BUF_INIT(GRAPHQL_OUT_CAP), again = BUF_INIT(GRAPHQL_OUT_CAP);
    struct graphql_limits limits = graphql_limits_default;
    struct graphql_request request = { .query = query };

    request.variables = json_loadb(rest.ptr, rest.len, JSON_DECODE_ANY, NULL);
    limits.introspection = true;
    limits.time_us = INT64_C(3600) * 1000000; /* so that the answer does not depend on it */
    buf_clear(&first);
    buf_clear(&again);
    bool ok = graphql_execute(s, &request, &limits, &first);
    json_t *json = json_loadb(first.ptr, first.len, JSON_REJECT_DUPLICATES, NULL);

    require(json_is_object(json)); /* (1) of graphql.h */
    require(ok == (json_object_get(json, "errors") == NULL));
    require(ok == graphql_execute(s, &request, &limits, &again));
    require(str_eq(buf_view(&first), buf_view(&again)));
    json_decref(json);
    json_decref(request.variables);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct graphql_schema *admin;
    struct str query, rest = str_cut(str_mem(bytes, size), '\0', &query);
    struct err err = { 0 };

    if (admin == NULL)
        admin = mock_schema(embed_schema());
    if (query.len > 0 && query.ptr[0] == '#') {
        struct graphql_schema *s = graphql_schema_new(query, &err);

        if (s != NULL) {
            mock_fields(s);
            answer(s, rest, STR("{}"));
        }
        graphql_schema_free(s);
        return 0;
    }
    answer(admin, query, rest);

    /* The same bytes as the body of a request. */
    static struct buf out = BUF_INIT(GRAPHQL_OUT_CAP);

    buf_clear(&out);
    (void)graphql_request_answer(admin, STR("application/json"), str_mem(bytes, size), NULL,
                                 &graphql_limits_default, &out);
    return 0;
}
