/* split.c - cuts a document into parts, each a document that goes back to the router.
 *
 *     - split: { json: /orders, receiver: "json:/to", most: 5000 }
 *     - split: { xml: /Envelope/Doc, type: "xml:@kind", bad: all }
 *     - split: { csv: 100 }
 *
 * Two passes.  The first one checks the whole document and counts, so that a document that is wrong
 * at its end, or has too many parts, gives none at all.  The second one gives the parts, each with
 * their number.  Bytes of a part are those of the document, unchanged, between what the format
 * needs to make it whole: declarations of namespaces (core/format/cut_xml.c), the header row
 * (cut_lines.c).
 *
 * What `sender`, `receiver`, `type` and `attributes` find in a part is asked of the io, because
 * extraction belongs to another station.  A part in which one of them is not found is a part all
 * the same, marked as a dead letter; with `bad: all` it is looked at in the first pass, and the
 * whole document fails.
 */
#include "core/connector.h"
#include "core/format/cut.h"

/* ---- options ---- */

static const struct cutter *const cutters[] = { &cut_xml, &cut_json,    &cut_hl7,
                                                &cut_x12, &cut_edifact, &cut_lines,
                                                &cut_csv, &cut_zip,     NULL };

static const struct option part_expr = { .type = OPT_EXPR, .flags = OPT_OR_LIST | OPT_RELATIVE };

static const struct option options[] = {
    OPTION("xml", OPT_XML_PATH, "one part per element at this path", .flags = OPT_ONE_OF),
    OPTION("json", OPT_POINTER, "one part per item of the array at this JSON Pointer",
           .flags = OPT_ONE_OF),
    OPTION(
        "hl7", OPT_TEXT,
        "`message`: one part per message of a file, with or without FHS and BHS; a segment such as "
        "OBR: one message per group that begins with it",
        .flags = OPT_ONE_OF),
    OPTION("x12", OPT_WORD, "one part per interchange, group or transaction, each whole",
           .words = OPTION_WORDS("interchange", "group", "transaction"), .flags = OPT_ONE_OF),
    OPTION("edifact", OPT_WORD, "one part per interchange, group or message, each whole",
           .words = OPTION_WORDS("interchange", "group", "message"), .flags = OPT_ONE_OF),
    OPTION("lines", OPT_INT, "one part per so many lines", .flags = OPT_ONE_OF, .least = 1),
    OPTION("csv", OPT_INT, "one part per so many rows, each with the header row",
           .flags = OPT_ONE_OF, .least = 1),
    OPTION("zip", OPT_WORD, "one part per file of a zip archive, with its name",
           .words = OPTION_WORDS("entries"), .flags = OPT_ONE_OF),
    OPTION("sender", OPT_EXPR, "who sent the part; left out: as before",
           .flags = OPT_OR_LIST | OPT_RELATIVE),
    OPTION("receiver", OPT_EXPR, "who the part is for; left out: as before",
           .flags = OPT_OR_LIST | OPT_RELATIVE),
    OPTION("type", OPT_EXPR, "what the part is; left out: as before",
           .flags = OPT_OR_LIST | OPT_RELATIVE),
    OPTION("attributes", OPT_NAMED, "attributes of the part", .flags = OPT_ATTRS,
           .each = &part_expr, .noun = "attribute"),
    OPTION("most", OPT_INT, "a document with more parts is a dead letter, `limit`", .least = 1,
           .most = 10000000, .fallback = "100000"),
    OPTION("bad", OPT_WORD,
           "a part whose sender, receiver or type is not found is a dead letter by itself, or the "
           "whole document is one",
           .words = OPTION_WORDS("part", "all"), .fallback = "part"),
    { 0 },
};

static bool read_cutter(const struct settings *s, const struct cutter *c, struct cut_rule *ret,
                        struct err *err)
{
    if (c->counts ? !settings_int(s, c->key, &ret->count, err)
                  : !settings_text(s, c->key, &ret->text, err))
        return false;
    ret->cutter = c;
    return c->make == NULL || c->make(ret, s->arena, err);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct cut_rule *p = ARENA_NEW(s->arena, struct cut_rule);
    struct str bad;

    if (!settings_int(s, "most", &p->most, err) || !settings_text(s, "bad", &bad, err))
        return false;
    p->bad_all = str_is(bad, "all");
    for (size_t i = 0; cutters[i] != NULL && p->cutter == NULL; i++)
        if (settings_has(s, cutters[i]->key) && !read_cutter(s, cutters[i], p, err))
            return err_context(err, "`%s`", cutters[i]->key);
    if (p->cutter == NULL)
        return err_set(err, ERR_CONFIG, 0, "what to cut at is needed, such as `json: /orders`");
    *ret_self = p;
    return true;
}

static void unmake(void *self)
{
    (void)self;
}

/* ---- running ---- */

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    return cut_run(self, io, ret_failure);
}

const struct service_type service_split = {
    .kind = { .name = "split",
              .help = "cut a document into parts, which go back to the router",
              .keys = options,
              .example =
                  "- split: { json: /orders, receiver: \"json:/to\", type: \"value:order\" }",
              .ends = true },
    .describes = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
