#include "admin/api.h"

#include <errno.h>
#include <stdlib.h>

#include "admin/api_parts.h"
#include "admin/embed.h"
#include "admin/graphql_request.h"
#include "base/alloc.h"

struct api {
    struct graphql_schema *schema;
};

/* ---- rights ------------------------------------------------------------------------------------
 */

static bool find_right(struct str word, int *ret)
{
    enum right r;

    if (!right_find(word, &r))
        return false;
    *ret = (int)r;
    return true;
}

static bool may(struct graphql_call *call, int right, struct err *err)
{
    const struct principal *p = api_principal(call);

    if (rights_has(&p->rights, (enum right)right))
        return true;
    return err_set(err, ERR_PERMANENT, EPERM, "%.*s does not have the right `%s`", STR_ARG(p->name),
                   right_word((enum right)right));
}

/* ---- the schema --------------------------------------------------------------------------------
 */

static bool bind_all(struct graphql_schema *schema, struct err *err)
{
    static const struct {
        const struct graphql_resolver *table;
        const size_t *count;
    } parts[] = {
        { api_documents, &api_documents_count }, { api_operate, &api_operate_count },
        { api_config, &api_config_count },       { api_node, &api_node_count },
        { api_secret, &api_secret_count },       { api_road, &api_road_count },
        { api_hold, &api_hold_count },           { api_rehearse, &api_rehearse_count },
        { api_alert, &api_alert_count },         { api_backup, &api_backup_count },
        { api_edit, &api_edit_count },           { api_lineage, &api_lineage_count },
        { api_bulk, &api_bulk_count },           { api_scan, &api_scan_count },
        { api_batch, &api_batch_count },         { api_retention, &api_retention_count },
        { api_user, &api_user_count },
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!graphql_schema_bind(schema, parts[i].table, *parts[i].count, err))
            return false;
    return graphql_schema_guard(schema, find_right, may, err) && graphql_schema_check(schema, err);
}

bool api_new(struct api **ret, struct err *err)
{
    struct api *api = NEW(struct api);

    api->schema = graphql_schema_new(embed_schema(), err);
    if (api->schema == NULL || !bind_all(api->schema, err)) {
        api_free(api);
        return err_context(err, "admin API");
    }
    *ret = api;
    return true;
}

void api_free(struct api *api)
{
    if (api == NULL)
        return;
    graphql_schema_free(api->schema);
    free(api);
}

int api_execute(struct api *api, const struct principal *who, struct str content_type,
                struct str body, struct buf *out)
{
    struct graphql_limits limits = graphql_limits_default;

    limits.variables = GRAPHQL_BODY_MAX; /* a configuration is one */
    limits.introspection = true;         /* whoever comes here is known */
    return graphql_request_answer(api->schema, content_type, body, who, &limits, out);
}
