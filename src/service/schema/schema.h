/* schema.h - a JSON Schema (draft 2020-12), ready to check documents.
 *
 * The schema is one text: what it refers to is in it (`$defs`, `$id`, `$anchor`).  An unknown
 * keyword is a mistake, as is a value that a keyword cannot have, a reference that leads nowhere
 * and one that leads to itself.  `format`, `content...` and what is for people are notes: they have
 * the right shape, and nothing is checked by them.
 *
 * A schema in the schema is a *subschema*; what one of its keywords demands is a *rule*.  The rules
 * of a subschema stand in one run, in the order in which they are checked: `unevaluated...` last.
 *
 * Threads: a made schema is never changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/regex.h"
#include "service/schema/decimal.h"
#include "service/schema/json_tree.h"

enum { SCHEMA_SUBS_MOST = 200 * 1000, SCHEMA_BYTES_MOST = 1 << 20 };
#define SCHEMA_NONE UINT32_MAX /* no subschema */

/* The keywords that demand something.  Two stand for several: WORD_MEMBERS is properties,
 * patternProperties and additionalProperties, WORD_CONTAINS also minContains and maxContains. */
enum schema_word {
    WORD_NOTE, /* demands nothing by itself */

    /* Checked at once. */
    WORD_TYPE,
    WORD_CONST,
    WORD_ENUM,
    WORD_MINIMUM,
    WORD_EXCLUSIVE_MINIMUM,
    WORD_MAXIMUM,
    WORD_EXCLUSIVE_MAXIMUM,
    WORD_MULTIPLE_OF,
    WORD_MIN_LENGTH,
    WORD_MAX_LENGTH,
    WORD_PATTERN,
    WORD_MIN_ITEMS,
    WORD_MAX_ITEMS,
    WORD_UNIQUE_ITEMS,
    WORD_MIN_PROPERTIES,
    WORD_MAX_PROPERTIES,
    WORD_REQUIRED,
    WORD_DEPENDENT_REQUIRED,

    /* Checked by other subschemas, of the same value ... */
    WORD_REF,
    WORD_DYNAMIC_REF,
    WORD_ALL_OF,
    WORD_ANY_OF,
    WORD_ONE_OF,
    WORD_NOT,
    WORD_IF,
    WORD_DEPENDENT_SCHEMAS,
    /* ... or of values in it. */
    WORD_PROPERTY_NAMES,
    WORD_MEMBERS,
    WORD_PREFIX_ITEMS,
    WORD_ITEMS,
    WORD_CONTAINS,
    WORD_UNEVALUATED_PROPERTIES,
    WORD_UNEVALUATED_ITEMS,
    WORD_COUNT
};

struct schema_pattern {
    struct regex *regex;
    uint32_t sub;
};

struct schema_rule {
    enum schema_word word;
    uint32_t node; /* of its value in the schema */
    union {
        unsigned types;       /* bits of enum json_tree_kind, and SCHEMA_INTEGER */
        uint64_t size;        /* a length, a number of values; WORD_ITEMS: how many come before */
        struct decimal limit; /* minimum and the like */
        struct decimal_divisor divisor;
        struct regex *regex;
        struct {
            const uint32_t *nodes; /* WORD_ENUM: by hash */
            size_t count;
        } values;
        struct {
            uint32_t sub;
            struct str anchor; /* WORD_DYNAMIC_REF: looked for in each resource; empty: not */
        } ref;
        struct {
            uint32_t then_sub, else_sub;
        } choice;
        struct {
            uint64_t least, most;
        } hits;
        struct {
            uint32_t properties; /* a node of the schema, or JSON_TREE_NONE */
            uint32_t patterns_node, more_node;
            const struct schema_pattern *patterns;
            size_t pattern_count;
            uint32_t more; /* additionalProperties: a subschema, or SCHEMA_NONE */
        } members;
    };
};

enum { SCHEMA_INTEGER = 1 << 8 }; /* of `types`: a number without a fraction */

struct schema_sub {
    uint32_t node;
    uint32_t resource;
    uint32_t first_rule, rule_count;
    bool is_false; /* the schema `false` */
    bool tracks;   /* it has an unevaluated... */
};

struct schema_anchor {
    struct str name;
    uint32_t resource, sub;
    bool is_dynamic;
};

/* A schema with an `$id`, or the whole. */
struct schema_resource {
    struct str uri;
    uint32_t sub;
};

struct schema {
    struct arena *arena;
    struct json_tree tree;
    struct schema_sub *subs;
    struct schema_rule *rules;
    struct schema_resource *resources;
    struct schema_anchor *anchors;
    uint32_t *sub_of; /* of each node of the tree: its subschema, or SCHEMA_NONE */
    size_t sub_count, sub_room, rule_count, rule_room;
    size_t resource_count, resource_room, anchor_count, anchor_room;
    bool compares; /* a rule compares values: documents need hashes */
};

/* `text` is lent for the life of the schema.  ERR_CONFIG: the text says what is wrong, and where in
 * the schema, as a JSON Pointer. */
bool schema_make(struct str text, struct arena *a, struct schema **ret, struct err *err);
void schema_free(struct schema *s); /* NULL is fine */

/* The subschema that a node of the schema is. */
static inline uint32_t schema_sub_of(const struct schema *s, uint32_t node)
{
    return s->sub_of[node];
}
