/* expr.h - where a sender, receiver, type or attribute is found in a document.
 *
 *     value:order  header:X-Sender  query:from  name:^([a-z]+)-  regex:id=(\d+)
 *     json:/order/buyer  xml:/Order/ShipTo/@id  hl7:MSH-4  x12:ISA06
 *     edifact:UNB-2  csv:buyer
 *
 * The bare words hl7, x12 and edifact mean the field that the standard itself defines.  The
 * check parses a path (xml_path.h) and compiles a regular expression (regex.h), so that a mistake
 * is found when the configuration is checked.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum expr_source {
    EXPR_VALUE,
    EXPR_HEADER,
    EXPR_QUERY,
    EXPR_NAME,
    EXPR_REGEX,
    EXPR_JSON,
    EXPR_XML,
    EXPR_HL7,
    EXPR_X12,
    EXPR_EDIFACT,
    EXPR_CSV,
};

struct expr {
    enum expr_source source;
    bool bare;       /* the standard's own field */
    struct str rest; /* what follows the colon; empty when bare */
};

/* The words before the colon, in the order of the enum; ends with NULL. */
extern const char *const expr_sources[];

/* An example of each, in the same order. */
extern const char *const expr_examples[];

/* Checks the text after the colon alone, as in `split: { xml: /Envelope/Doc }`. */
bool expr_check(enum expr_source source, struct str rest, bool relative, struct err *err);

/* `relative` allows paths that start at a part of a document, as in split.
 * ret->rest points into text. */
bool expr_parse(struct str text, bool relative, struct expr *ret, struct err *err);
