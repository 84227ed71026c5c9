/* xml_schema.h - a document against an XML Schema (libxml2).
 *
 * The schema is one text, and the other files of it that were given with it: xs:include, xs:import
 * and xs:redefine find these by their schemaLocation, seen from the first text.  Nothing else is
 * read, neither for the schema nor for what a document names (xsi:schemaLocation).
 *
 * Threads: one at a time, see service/script/xml_library.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/service.h"

struct xml_schema;

struct xml_schema_file {
    const char *location; /* such as "types.xsd", "parts/types.xsd", "http://x.example/types.xsd" */
    struct str text;
};

/* The texts are lent for the call.  ERR_CONFIG: the text says what is wrong, and where. */
bool xml_schema_make(struct str text, const struct xml_schema_file *files, size_t count,
                     struct xml_schema **ret, struct err *err);
void xml_schema_free(struct xml_schema *s); /* NULL is fine */

/* False: it is not XML, or not valid; service_failed.  The message begins with the place. */
bool xml_schema_check(const struct xml_schema *s, struct str document,
                      struct service_failure *ret_failure);
