/* family_print.h - prints the documents that one comes from, and those that come from it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define FAMILY_RELATIVE "{ id receiver type state part { number of } }"
#define FAMILY_CHILDREN(kind) \
    "children(kind: " kind ", first: 20) { items " FAMILY_RELATIVE " next }"

/* Fields of a document, for a query. */
#define FAMILY_FIELDS                                                                  \
    " parent " FAMILY_RELATIVE " copyOf " FAMILY_RELATIVE " answerOf " FAMILY_RELATIVE \
    " made: " FAMILY_CHILDREN("part") " copies: " FAMILY_CHILDREN(                     \
        "copy") " answers: " FAMILY_CHILDREN("answer")

/* A line for each relative, behind an empty one; nothing without relatives.  `ancestors`: also
 * those that it comes from. */
void family_print(const json_t *document, bool ancestors);

/* "3 of 10", or NULL without `part`. */
const char *family_part(const json_t *document, char text[static 48]);
