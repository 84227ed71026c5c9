#include "service/schema/schema_words.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"

enum { POINTER_SHOWN = 90 };

#define KEYWORD(word_, rule, form)                       \
    {                                                    \
        .name = (word_), .word = (rule), .shape = (form) \
    }
#define REFUSED(word_, hint)               \
    {                                      \
        .name = (word_), .instead = (hint) \
    }

const struct schema_keyword schema_keywords[] = {
    KEYWORD("type", WORD_TYPE, SHAPE_TYPES),
    KEYWORD("const", WORD_CONST, SHAPE_ANYTHING),
    KEYWORD("enum", WORD_ENUM, SHAPE_LIST),
    KEYWORD("minimum", WORD_MINIMUM, SHAPE_NUMBER),
    KEYWORD("exclusiveMinimum", WORD_EXCLUSIVE_MINIMUM, SHAPE_NUMBER),
    KEYWORD("maximum", WORD_MAXIMUM, SHAPE_NUMBER),
    KEYWORD("exclusiveMaximum", WORD_EXCLUSIVE_MAXIMUM, SHAPE_NUMBER),
    KEYWORD("multipleOf", WORD_MULTIPLE_OF, SHAPE_NUMBER),
    KEYWORD("minLength", WORD_MIN_LENGTH, SHAPE_SIZE),
    KEYWORD("maxLength", WORD_MAX_LENGTH, SHAPE_SIZE),
    KEYWORD("pattern", WORD_PATTERN, SHAPE_TEXT),
    KEYWORD("minItems", WORD_MIN_ITEMS, SHAPE_SIZE),
    KEYWORD("maxItems", WORD_MAX_ITEMS, SHAPE_SIZE),
    KEYWORD("uniqueItems", WORD_UNIQUE_ITEMS, SHAPE_BOOL),
    KEYWORD("minProperties", WORD_MIN_PROPERTIES, SHAPE_SIZE),
    KEYWORD("maxProperties", WORD_MAX_PROPERTIES, SHAPE_SIZE),
    KEYWORD("required", WORD_REQUIRED, SHAPE_NAMES),
    KEYWORD("dependentRequired", WORD_DEPENDENT_REQUIRED, SHAPE_DEMANDS),
    KEYWORD("$ref", WORD_REF, SHAPE_TEXT),
    KEYWORD("$dynamicRef", WORD_DYNAMIC_REF, SHAPE_TEXT),
    KEYWORD("allOf", WORD_ALL_OF, SHAPE_SCHEMAS),
    KEYWORD("anyOf", WORD_ANY_OF, SHAPE_SCHEMAS),
    KEYWORD("oneOf", WORD_ONE_OF, SHAPE_SCHEMAS),
    KEYWORD("not", WORD_NOT, SHAPE_SCHEMA),
    KEYWORD("if", WORD_IF, SHAPE_SCHEMA),
    KEYWORD("dependentSchemas", WORD_DEPENDENT_SCHEMAS, SHAPE_NAMED),
    KEYWORD("propertyNames", WORD_PROPERTY_NAMES, SHAPE_SCHEMA),
    KEYWORD("properties", WORD_MEMBERS, SHAPE_NAMED),
    KEYWORD("patternProperties", WORD_MEMBERS, SHAPE_NAMED),
    KEYWORD("additionalProperties", WORD_MEMBERS, SHAPE_SCHEMA),
    KEYWORD("prefixItems", WORD_PREFIX_ITEMS, SHAPE_SCHEMAS),
    KEYWORD("items", WORD_ITEMS, SHAPE_SCHEMA),
    KEYWORD("contains", WORD_CONTAINS, SHAPE_SCHEMA),
    KEYWORD("unevaluatedProperties", WORD_UNEVALUATED_PROPERTIES, SHAPE_SCHEMA),
    KEYWORD("unevaluatedItems", WORD_UNEVALUATED_ITEMS, SHAPE_SCHEMA),

    /* Those that other keywords look at. */
    KEYWORD("then", WORD_NOTE, SHAPE_SCHEMA),
    KEYWORD("else", WORD_NOTE, SHAPE_SCHEMA),
    KEYWORD("minContains", WORD_NOTE, SHAPE_SIZE),
    KEYWORD("maxContains", WORD_NOTE, SHAPE_SIZE),
    KEYWORD("$schema", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("$id", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("$anchor", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("$dynamicAnchor", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("$defs", WORD_NOTE, SHAPE_NAMED),
    KEYWORD("definitions", WORD_NOTE,
            SHAPE_NAMED), /* its name before 2019-09, which many still use */

    /* Notes. */
    KEYWORD("$comment", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("title", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("description", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("default", WORD_NOTE, SHAPE_ANYTHING),
    KEYWORD("examples", WORD_NOTE, SHAPE_LIST),
    KEYWORD("deprecated", WORD_NOTE, SHAPE_BOOL),
    KEYWORD("readOnly", WORD_NOTE, SHAPE_BOOL),
    KEYWORD("writeOnly", WORD_NOTE, SHAPE_BOOL),
    KEYWORD("format", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("contentEncoding", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("contentMediaType", WORD_NOTE, SHAPE_TEXT),
    KEYWORD("contentSchema", WORD_NOTE, SHAPE_SCHEMA),

    /* Of other drafts, with another meaning or none. */
    REFUSED("id", "`$id`"),
    REFUSED("additionalItems", "`items` beside `prefixItems`"),
    REFUSED("dependencies", "`dependentRequired` or `dependentSchemas`"),
    REFUSED("$recursiveRef", "`$dynamicRef`"),
    REFUSED("$recursiveAnchor", "`$dynamicAnchor`"),
    REFUSED("$vocabulary", "nothing: it is for schemas of schemas"),
    { 0 },
};

const struct schema_keyword *schema_keyword_find(struct str name)
{
    for (const struct schema_keyword *k = schema_keywords; k->name != NULL; k++)
        if (str_is(name, k->name))
            return k;
    return NULL;
}

bool schema_mistake(const struct schema *s, uint32_t node, struct err *err, const char *format, ...)
{
    AUTO(buf_done) struct buf place = BUF_INIT(2 * POINTER_SHOWN);
    char why[160];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    json_tree_pointer(&s->tree, node, POINTER_SHOWN, &place);
    return err_set(err, ERR_CONFIG, 0, "line %zu, %s: %s", json_tree_line(&s->tree, node),
                   place.len > 0 ? place.ptr : "the schema", why);
}

/* ---- shapes ---- */

unsigned schema_type_bits(struct str name)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {
        { "null", 1u << TREE_NULL },     { "boolean", 1u << TREE_FALSE | 1u << TREE_TRUE },
        { "number", 1u << TREE_NUMBER }, { "integer", SCHEMA_INTEGER },
        { "string", 1u << TREE_TEXT },   { "array", 1u << TREE_LIST },
        { "object", 1u << TREE_OBJECT },
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_is(name, types[i].name))
            return types[i].bits;
    return 0;
}

static bool schema_has_type_names(const struct schema *s, uint32_t node)
{
    const struct json_tree *t = &s->tree;
    unsigned seen = 0;

    if (t->nodes[node].kind == TREE_TEXT)
        return schema_type_bits(json_tree_text(t, node)) != 0;
    if (t->nodes[node].kind != TREE_LIST || t->nodes[node].count == 0)
        return false;
    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next) {
        unsigned bits = t->nodes[i].kind == TREE_TEXT ? schema_type_bits(json_tree_text(t, i)) : 0;

        if (bits == 0 || (seen & bits) != 0)
            return false;
        seen |= bits;
    }
    return true;
}

static bool schema_is_size(const struct schema *s, uint32_t node)
{
    struct decimal d;

    return s->tree.nodes[node].kind == TREE_NUMBER &&
           decimal_read(json_tree_text(&s->tree, node), &d) && decimal_is_integer(&d) &&
           (!d.is_negative || d.count == 0);
}

static bool schema_all_are(const struct schema *s, uint32_t node, enum json_tree_kind kind)
{
    const struct json_tree *t = &s->tree;

    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        if (t->nodes[i].kind != kind)
            return false;
    return true;
}

static bool schema_has_shape(const struct schema *s, enum schema_shape shape, uint32_t node)
{
    const struct json_tree_node *n = &s->tree.nodes[node];
    struct decimal d;

    switch (shape) {
    case SHAPE_TEXT:
        return n->kind == TREE_TEXT;
    case SHAPE_BOOL:
        return n->kind == TREE_FALSE || n->kind == TREE_TRUE;
    case SHAPE_NUMBER:
        return n->kind == TREE_NUMBER && decimal_read(json_tree_text(&s->tree, node), &d);
    case SHAPE_SIZE:
        return schema_is_size(s, node);
    case SHAPE_TYPES:
        return schema_has_type_names(s, node);
    case SHAPE_LIST:
        return n->kind == TREE_LIST;
    case SHAPE_NAMES:
        return n->kind == TREE_LIST && schema_all_are(s, node, TREE_TEXT);
    case SHAPE_DEMANDS:
        return n->kind == TREE_OBJECT && schema_all_are(s, node, TREE_LIST);
    case SHAPE_SCHEMAS:
        return n->kind == TREE_LIST && n->count > 0;
    case SHAPE_NAMED:
        return n->kind == TREE_OBJECT;
    default:
        return true;
    }
}

static const char *const shape_words[] = {
    [SHAPE_ANYTHING] = "anything",
    [SHAPE_TEXT] = "a text",
    [SHAPE_BOOL] = "true or false",
    [SHAPE_NUMBER] = "a number",
    [SHAPE_SIZE] = "a whole number that is not negative",
    [SHAPE_TYPES] = "null, boolean, number, integer, string, array, object, or a list of these",
    [SHAPE_LIST] = "a list",
    [SHAPE_NAMES] = "a list of names",
    [SHAPE_DEMANDS] = "an object of lists of names",
    [SHAPE_SCHEMA] = "a schema",
    [SHAPE_SCHEMAS] = "a list of schemas",
    [SHAPE_NAMED] = "an object of schemas",
};

bool schema_shape_check(const struct schema *s, const struct schema_keyword *k, uint32_t node,
                        struct err *err)
{
    const struct json_tree *t = &s->tree;

    if (k->instead != NULL)
        return schema_mistake(s, node, err, "`%s` is not a keyword of 2020-12; write %s", k->name,
                              k->instead);
    if (k->shape == SHAPE_SCHEMA && t->nodes[node].kind == TREE_LIST &&
        strcmp(k->name, "items") == 0)
        return schema_mistake(s, node, err, "a list in `items` is `prefixItems` in 2020-12");
    if (!schema_has_shape(s, k->shape, node))
        return schema_mistake(s, node, err, "`%s` needs %s", k->name, shape_words[k->shape]);
    if (k->shape != SHAPE_DEMANDS)
        return true;
    for (uint32_t i = json_tree_first(t, node); i != JSON_TREE_NONE; i = t->nodes[i].next)
        if (!schema_all_are(s, i, TREE_TEXT))
            return schema_mistake(s, i, err, "`%s` needs lists of names", k->name);
    return true;
}
