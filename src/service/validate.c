/* validate.c - checks a document against a schema, and gives it on as it is.
 *
 *     - validate: schemas/order.xsd
 *     - validate: { xml: schemas/order.xsd, includes: { types.xsd: schemas/types.xsd } }
 *     - validate: { json: schemas/order.json }
 *
 * The schema belongs to the version.  Nothing else is read: what it includes or refers to is in it,
 * or in `includes`.  A document that is not valid fails with its place and the rule.
 */
#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "service/schema/schema_check.h"
#include "service/schema/xml_schema.h"

/* Each unit is some ten nanoseconds; the time of the step is a limit of its own. */
enum { VALIDATE_WORK_MOST = 500 * 1000 * 1000 };

struct validate_step {
    struct schema *json; /* one of the two */
    struct xml_schema *xml;
};

static const struct option include_each = { .type = OPT_FILE, .help = "the file" };

static const struct option options[] = {
    OPTION("xml", OPT_FILE, "an XML Schema", .flags = OPT_ONE_OF),
    OPTION("json", OPT_FILE, "a JSON Schema", .flags = OPT_ONE_OF),
    OPTION("includes", OPT_NAMED,
           "with `xml`: files that it includes or imports, by their schemaLocation",
           .flags = OPT_FREE, .each = &include_each, .noun = "location"),
    OPTIONS(grammar_limits),
    { 0 },
};

static void unmake(void *self)
{
    struct validate_step *v = self;

    schema_free(v->json);
    xml_schema_free(v->xml);
}

static bool validate_read_includes(const struct settings *s, struct xml_schema_file **ret,
                                   size_t *ret_count, struct err *err)
{
    const struct yaml_node *map =
        s->node != NULL && s->node->kind == YAML_MAP ? yaml_get(s->node, "includes") : NULL;
    struct xml_schema_file *files;

    if (map == NULL || map->kind != YAML_MAP)
        return true;
    files = ARENA_ARRAY(s->arena, struct xml_schema_file, map->count + 1);
    for (const struct yaml_node *n = map->first; n != NULL; n = n->next) {
        struct xml_schema_file *f = &files[(*ret_count)++];

        f->location = arena_text(s->arena, n->key->text);
        if (!settings_content(s, n, &f->text, err))
            return err_context(err, "`includes`: %.60s", f->location);
    }
    *ret = files;
    return true;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct validate_step *v = ARENA_NEW(s->arena, struct validate_step);
    struct xml_schema_file *files = NULL;
    struct str xml, json;
    size_t count = 0;

    if (!settings_file(s, "xml", &xml, err) || !settings_file(s, "json", &json, err) ||
        !validate_read_includes(s, &files, &count, err))
        return false;
    if ((xml.ptr == NULL) == (json.ptr == NULL))
        return err_set(err, ERR_CONFIG, 0, "exactly one of `xml` and `json` is needed");
    if (json.ptr != NULL && count > 0)
        return err_set(err, ERR_CONFIG, 0,
                       "`includes` belongs to `xml`; a JSON Schema is one text");
    if (json.ptr != NULL ? !schema_make(json, s->arena, &v->json, err)
                         : !xml_schema_make(xml, files, count, &v->xml, err))
        return err_context(err, json.ptr != NULL ? "`json`" : "`xml`");
    *ret_self = v;
    return true;
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct validate_step *v = self;
    AUTO(buf_done) struct buf in = BUF_INIT(SERVICE_BYTES_MOST);
    struct service_failure why = { 0 };

    if (!service_gather(io, &in, ret_failure))
        return false;
    if (v->json != NULL ? schema_check(v->json, buf_view(&in), VALIDATE_WORK_MOST, &why)
                        : xml_schema_check(v->xml, buf_view(&in), &why))
        return io->put(io, buf_view(&in), ret_failure);
    return service_fail(ret_failure, why.code, "validate: %s", why.message);
}

const struct service_type service_validate = {
    .kind = { .name = "validate",
              .help = "check it against a schema",
              .keys = options,
              .example = "- validate: { json: schemas/order.json }" },
    .caged = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
