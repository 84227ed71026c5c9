/* schema_words.h - the keywords of JSON Schema: what each may hold, and where schemas stand in it.
 */
#pragma once

#include "service/schema/schema.h"

enum schema_shape {
    SHAPE_ANYTHING,
    SHAPE_TEXT,
    SHAPE_BOOL,
    SHAPE_NUMBER,
    SHAPE_SIZE,    /* a whole number, not less than 0 */
    SHAPE_TYPES,   /* a type, or a list of them */
    SHAPE_LIST,    /* of anything */
    SHAPE_NAMES,   /* a list of texts, none twice */
    SHAPE_DEMANDS, /* an object of such lists */
    SHAPE_SCHEMA,  /* a schema */
    SHAPE_SCHEMAS, /* a list of schemas, not empty */
    SHAPE_NAMED,   /* an object of schemas */
};

struct schema_keyword {
    const char *name;
    enum schema_word word;
    enum schema_shape shape;
    const char *instead; /* not NULL: it is refused, and this is what to write */
};

/* Ends with a NULL name.  Those with a word stand in the order of schema_word. */
extern const struct schema_keyword schema_keywords[];

/* NULL: there is no such keyword. */
const struct schema_keyword *schema_keyword_find(struct str name);

/* The value has the shape of its keyword.  ERR_CONFIG otherwise. */
bool schema_shape_check(const struct schema *s, const struct schema_keyword *k, uint32_t node,
                        struct err *err);

/* The bits of a value of `type`; 0: there is no such type. */
unsigned schema_type_bits(struct str name);

/* Fails with the place of a node: "POINTER: WHY". */
bool schema_mistake(const struct schema *s, uint32_t node, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
