/* xml_path.h - the paths that name something in an XML document.
 *
 *     /Order/ShipTo/@id            an attribute
 *     /Order/Buyer                 the text of an element and of all inside it
 *     /Order/Buyer/text()          its own text only
 *     //Buyer   /Order//@id        at any depth
 *     /Order/Line[2]/Sku           the second Line of that Order, counted from 1
 *     /Order/Ref[@type='po no']    with that attribute; [@type] with any value
 *     /s:Envelope/Body             a prefix as it is written in the document; without one,
 *                                  any prefix matches; a star is any element
 *     @to   Head/Id   text()       relative: from the outermost element of a part
 *
 * This is a small part of XPath, with the same meaning.
 *
 * Ownership: a path points into the text it was read from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum { XML_PATH_STEPS = 32, XML_PATH_TESTS = 4 };

struct xml_test {
    struct str name, value;
    bool any; /* [@name]: whatever its value */
};

struct xml_step {
    struct str name; /* empty: any element */
    bool deep;       /* at any depth below the step before it */
    unsigned nth;    /* among its siblings that pass; 0: all  */
    size_t before;   /* how many of the tests precede [n] */
    struct xml_test tests[XML_PATH_TESTS];
    size_t test_count;
};

enum xml_end { XML_END_ELEMENT, XML_END_TEXT, XML_END_ATTRIBUTE };

struct xml_path {
    struct xml_step steps[XML_PATH_STEPS];
    size_t count;
    enum xml_end end;
    struct str attribute;
    bool attribute_deep; /* of the last element or of any inside it */
};

/* ERR_CONFIG: the text says what is wrong.  `relative` allows a path without a leading slash; its
 * first step then is any element. */
bool xml_path_parse(struct str text, bool relative, struct xml_path *ret, struct err *err);

/* The name in a document, with its prefix, matches the name in a path. */
bool xml_name_is(struct str in_document, struct str in_path);
