/* graft.h - puts a value into a document, JSON or XML, at a place that a path names.
 *
 *     /customer            a member of the outermost object, or element of the outermost element
 *     /order/customer      JSON: a member of the object at /order
 *     /order/lines/-       JSON: one more item of an array; a number is one that is there
 *     /Order/Customer      XML: the first Customer in the first Order
 *
 * One path serves both.  What it names is replaced if it is there and added if not; what it stands
 * in must be there.  All other bytes of the document stay as they are.
 *
 * Into XML goes an element as it is, and its names mean what they meant: where the document has a
 * default namespace it gets `xmlns=""`, unless it declares one itself, and one with a prefix that
 * it does not declare is refused.  An element that is added has the namespace that its name has at
 * that place; a prefix that is not declared there is refused as well.  JSON becomes elements if it
 * is an object of plain values
 * (`{"name":"Acme"}` is `<name>Acme</name>`) and text if it is a plain value.  XML does not go into
 * JSON.
 *
 * Threads: pure; a compiled path is never changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/format/record_text.h"
#include "core/xml_path.h"

enum { GRAFT_TOKENS_MOST = 32 };

struct graft_path {
    struct str text;
    struct str tokens[GRAFT_TOKENS_MOST]; /* of a JSON Pointer, without ~ escapes */
    int64_t indexes[GRAFT_TOKENS_MOST];   /* as the index of an array; -1: it is none */
    size_t count;
    struct xml_path xml;
    bool is_xml; /* the text is a path of XML, too */
};

/* ERR_CONFIG: what is wrong with it.  `text` is lent to the path. */
bool graft_path_read(struct str text, struct arena *a, struct graft_path *ret, struct err *err);
/* The member or child element of this name, of whatever stands outermost. */
bool graft_path_of_name(struct str name, struct arena *a, struct graft_path *ret, struct err *err);

/* Appends the document with the value to `to`.  ERR_PERMANENT: the place is not there, or the value
 * does not fit the document; ERR_LIMIT: more than `to` may hold. */
bool graft(struct str document, const struct graft_path *path, const struct record_text *value,
           struct buf *to, struct err *err);

/* ---- for graft.c ---- */

struct outlet;

/* Where in the text a value goes: bytes [from, to) give way to `before`, the value, and `after`. */
struct graft_place {
    size_t from, to;
    bool has_default; /* XML: names without a prefix are in a namespace there */
    struct buf before, after;
};

bool graft_find_json(struct str document, const struct graft_path *path, struct graft_place *ret,
                     struct err *err);
bool graft_find_xml(struct str document, const struct graft_path *path, struct graft_place *ret,
                    struct err *err);
/* An element of another document, so that it means the same at this place. */
bool graft_put_element(struct str element, const struct graft_place *at, struct outlet *o,
                       struct err *err);
/* A JSON value as the content of an element. */
bool graft_elements(struct str json, struct outlet *o, struct err *err);
