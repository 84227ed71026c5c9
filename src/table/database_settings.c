#include "table/database_settings.h"

#include "core/config.h"
#include "core/connector.h"
#include "core/grammar.h"

static bool database_path(const struct settings *s, struct str *ret, struct err *err)
{
    if (!settings_path(s, "path", ret, err))
        return false;
    return ret->len == 0 || s->reach == NULL || s->file == NULL ||
           config_may_use_file(s->reach, s->file, ret->ptr, err) || err_context(err, "`path`");
}

/* What a kind does not have among its keys is left empty. */
static bool database_address_read(const struct settings *s, struct database_address *ret,
                                  struct err *err)
{
    return (option_find(s->own, STR("dsn")) == NULL || settings_text(s, "dsn", &ret->dsn, err)) &&
           (option_find(s->own, STR("path")) == NULL || database_path(s, &ret->path, err)) &&
           settings_duration(s, "connect_timeout", &ret->connect_timeout_us, err) &&
           settings_duration(s, "timeout", &ret->timeout_us, err);
}

bool database_settings(const struct settings *s, struct str name, const struct database_type **ret,
                       struct database_address *ret_address, struct err *err)
{
    struct settings of = *s;
    const char *z = arena_text(s->arena, name);

    of.node = yaml_get(yaml_get(s->node, "databases"), z);
    *ret = of.node != NULL && s->connectors != NULL
               ? connector_database(s->connectors, yaml_text(yaml_get(of.node, "kind")))
               : NULL;
    if (*ret == NULL)
        return err_set(err, ERR_CONFIG, 0, "this build does not have the kind of database %.64s",
                       z);
    of.common = grammar_database;
    of.own = (*ret)->kind.keys;
    *ret_address = (struct database_address){ .name = str_of(z) };
    return database_address_read(&of, ret_address, err) || err_context(err, "database %.64s", z);
}
