/* convert.c - another notation of the same document.
 *
 *     - convert: hl7                                  to JSON
 *     - convert: { from: json, to: hl7 }              and back
 *     - convert: { from: fixed, columns: { id: 5, name: 20 } }
 *
 * The conversions are in core/format/; each direction of each format gives back the bytes that the
 * other one was given.
 */
#include "core/connector.h"
#include "core/format/edi_json.h"
#include "core/format/hl7_xml.h"
#include "core/format/table_json.h"
#include "core/problem.h"

/* ---- which conversions there are ---- */

enum way { WAY_TABLE, WAY_EDI, WAY_XML };

static const struct conversion {
    const char *from, *to;
    enum way way;
    enum edi_kind kind; /* WAY_EDI */
    bool back;
} conversions[] = {
    { .from = "csv", .to = "json", .way = WAY_TABLE },
    { .from = "json", .to = "csv", .way = WAY_TABLE, .back = true },
    { .from = "fixed", .to = "json", .way = WAY_TABLE },
    { .from = "json", .to = "fixed", .way = WAY_TABLE, .back = true },
    { .from = "hl7", .to = "json", .way = WAY_EDI, .kind = EDI_HL7 },
    { .from = "json", .to = "hl7", .way = WAY_EDI, .kind = EDI_HL7, .back = true },
    { .from = "x12", .to = "json", .way = WAY_EDI, .kind = EDI_X12 },
    { .from = "json", .to = "x12", .way = WAY_EDI, .kind = EDI_X12, .back = true },
    { .from = "edifact", .to = "json", .way = WAY_EDI, .kind = EDI_EDIFACT },
    { .from = "json", .to = "edifact", .way = WAY_EDI, .kind = EDI_EDIFACT, .back = true },
    { .from = "hl7", .to = "xml", .way = WAY_XML, .kind = EDI_HL7 },
    { .from = "xml", .to = "hl7", .way = WAY_XML, .kind = EDI_HL7, .back = true },
};

static const struct conversion *conversion_of(struct str from, struct str to)
{
    for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++)
        if (str_is(from, conversions[i].from) && str_is(to, conversions[i].to))
            return &conversions[i];
    return NULL;
}

/* ---- options ---- */

static const struct option width = {
    .type = OPT_INT, .help = "its width in characters", .least = 1, .most = 100000
};

static const struct option options[] = {
    OPTION("from", OPT_WORD, "what comes in", .flags = OPT_REQUIRED,
           .words = OPTION_WORDS("csv", "fixed", "hl7", "x12", "edifact", "json", "xml")),
    OPTION("to", OPT_WORD, "what goes out", .fallback = "json",
           .words = OPTION_WORDS("json", "xml", "csv", "fixed", "hl7", "x12", "edifact")),
    OPTION("separator", OPT_TEXT,
           "csv: what separates cells, one character; left out: comma, semicolon or tab, what the "
           "first line has most of"),
    OPTION("header", OPT_BOOL, "csv: the first line has the names of the columns",
           .fallback = "true"),
    OPTION("columns", OPT_NAMED, "fixed: the columns and their widths, in their order",
           .flags = OPT_FREE, .each = &width, .noun = "column"),
    { 0 },
};

static void check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *from = yaml_get(map, "from"), *to = yaml_get(map, "to");
    struct str out = to != NULL ? yaml_text(to) : STR("json");
    const struct yaml_node *separator = yaml_get(map, "separator");
    bool fixed = from != NULL && (str_is(yaml_text(from), "fixed") || str_is(out, "fixed"));

    if (from != NULL && conversion_of(yaml_text(from), out) == NULL)
        problem_add(problems, yaml_position(from),
                    "csv, fixed, hl7, x12 and edifact to json and back; hl7 to xml and back",
                    "there is no conversion from %.*s to %.*s",
                    STR_ARG(str_first(yaml_text(from), 20)), STR_ARG(str_first(out, 20)));
    if (fixed && yaml_get(map, "columns") == NULL)
        problem_add(problems, yaml_position(from), "such as columns: { id: 5, name: 20 }",
                    "fixed-width records need `columns`");
    if (separator != NULL &&
        (yaml_text(separator).len != 1 || strchr("\"\r\n", yaml_text(separator).ptr[0]) != NULL))
        problem_add(problems, yaml_position(separator), "such as \",\" or \"\\t\"",
                    "`separator` is one character, no quote and no line break");
}

/* ---- making ---- */

struct convert {
    const struct conversion *conversion;
    struct table_rule table;
};

static bool make_columns(struct table_rule *t, const struct settings *s, struct err *err)
{
    const struct yaml_node *columns = yaml_get(s->node, "columns");
    size_t count = 0;
    uint64_t n;

    for (const struct yaml_node *c = columns != NULL ? columns->first : NULL; c != NULL;
         c = c->next)
        count++;
    struct table_column *made = ARENA_ARRAY(s->arena, struct table_column, count + 1);

    if (count == 0 || count > TABLE_CELLS_MOST)
        return err_set(err, ERR_CONFIG, 0, "`columns`: 1 to %d columns are needed",
                       TABLE_CELLS_MOST);
    for (const struct yaml_node *c = columns->first; c != NULL; c = c->next) {
        if (c->key == NULL || !str_to_u64(yaml_text(c), &n) || n == 0 || n > 100000)
            return err_set(err, ERR_CONFIG, 0, "`columns`: a width is a number from 1 to 100000");
        made[t->column_count++] =
            (struct table_column){ .name = arena_copy(s->arena, c->key->text), .width = (size_t)n };
    }
    t->columns = made;
    return true;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct convert *c = ARENA_NEW(s->arena, struct convert);
    struct str from, to, separator;

    if (!settings_text(s, "from", &from, err) || !settings_text(s, "to", &to, err) ||
        !settings_text(s, "separator", &separator, err) ||
        !settings_bool(s, "header", &c->table.header, err))
        return false;
    c->conversion = conversion_of(from, to);
    if (c->conversion == NULL)
        return err_set(err, ERR_CONFIG, 0, "there is no conversion from %.*s to %.*s",
                       STR_ARG(from), STR_ARG(to));
    c->table.fixed = str_is(from, "fixed") || str_is(to, "fixed");
    if (separator.len > 1 || (separator.len == 1 && strchr("\"\r\n", separator.ptr[0]) != NULL))
        return err_set(err, ERR_CONFIG, 0,
                       "`separator` is one character, no quote and no line break");
    c->table.separator = separator.len == 1 ? separator.ptr[0] : '\0';
    if (c->table.fixed && !make_columns(&c->table, s, err))
        return false;
    *ret_self = c;
    return true;
}

/* All of it is on the arena of the plan. */
static void unmake(void *self)
{
    (void)self;
}

/* ---- running ---- */

static bool run_conversion(const struct convert *c, struct str in, struct buf *out, struct err *err)
{
    const struct conversion *v = c->conversion;

    switch (v->way) {
    case WAY_TABLE:
        return v->back ? table_from_json(&c->table, in, SERVICE_BYTES_MOST, out, err)
                       : table_to_json(&c->table, in, SERVICE_BYTES_MOST, out, err);
    case WAY_EDI:
        return v->back ? edi_from_json(v->kind, in, SERVICE_BYTES_MOST, out, err)
                       : edi_to_json(v->kind, in, SERVICE_BYTES_MOST, out, err);
    case WAY_XML:
        break;
    }
    return v->back ? hl7_from_xml(in, SERVICE_BYTES_MOST, out, err)
                   : hl7_to_xml(in, SERVICE_BYTES_MOST, out, err);
}

static bool run(void *self, struct str in, const struct service_document *d, struct buf *out,
                struct service_failure *ret_failure)
{
    struct err err = { 0 };

    (void)d;
    if (run_conversion(self, in, out, &err))
        return true;
    return service_fail(ret_failure, err.kind == ERR_LIMIT ? DEAD_LIMIT : DEAD_SERVICE_FAILED,
                        "convert: %s", err.text);
}

const struct service_type service_convert = {
    .kind = { .name = "convert",
              .help = "another notation of the same document: JSON, XML, CSV, HL7, X12, EDIFACT",
              .keys = options,
              .check = check,
              .example = "- convert: { from: csv, to: json, separator: \";\" }" },
    .make = make,
    .unmake = unmake,
    .run = run,
};
