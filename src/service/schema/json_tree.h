/* json_tree.h - a JSON text as a tree, for rules that look at a value more than once.
 *
 * Values are nodes of one array in the order of the text, so that a node comes before those in it.
 * Numbers keep their text.  Texts and names are decoded.  Refused are names that stand twice in one
 * object, of which readers keep one or the other, and halves of a surrogate pair, which no text in
 * UTF-8 can hold.
 *
 * Bounded: JSON_TREE_VALUES nodes, the depth of core/json_scan.h.  Nothing recurses.
 *
 * Ownership: the tree owns its arrays; the bytes are lent for its life.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { JSON_TREE_BYTES = 64 << 20, JSON_TREE_VALUES = 2 * 1000 * 1000 };
#define JSON_TREE_NONE UINT32_MAX /* no node */

enum json_tree_kind {
    TREE_NULL,
    TREE_FALSE,
    TREE_TRUE,
    TREE_NUMBER,
    TREE_TEXT,
    TREE_LIST,
    TREE_OBJECT
};

/* A slice of the bytes, or of the decoded texts. */
struct json_tree_slice {
    uint32_t at, len;
};

struct json_tree_node {
    uint32_t at;                 /* its first byte */
    struct json_tree_slice text; /* of a text or number */
    struct json_tree_slice name; /* in an object */
    uint32_t parent, next;       /* or JSON_TREE_NONE */
    uint32_t count;              /* of the values in it; the first is the next node */
    uint32_t sorted;             /* of an object: where its members begin in `sorted` */
    uint8_t kind;
    bool is_text_decoded, is_name_decoded;
};

struct json_tree {
    struct str bytes;
    struct buf decoded;
    struct json_tree_node *nodes; /* with room for one more: json_tree_name_node() */
    size_t count, room;
    uint32_t *sorted; /* members of objects, by name */
    size_t sorted_count, sorted_room;
    uint64_t *hashes; /* of every value: json_equal.h; NULL: not computed */
};

/* ERR_PERMANENT: not such a text; the message has the place.  ERR_LIMIT: too many values. */
bool json_tree_read(struct str bytes, struct json_tree *ret, struct err *err);
void json_tree_done(struct json_tree *t); /* safe on a zeroed one */

struct str json_tree_text(const struct json_tree *t, uint32_t node);
struct str json_tree_name(const struct json_tree *t, uint32_t node);
/* The text of a scalar as it stands in the bytes; of others, its first byte. */
struct str json_tree_raw(const struct json_tree *t, uint32_t node);
/* The first value in a list or object; JSON_TREE_NONE: it has none. */
uint32_t json_tree_first(const struct json_tree *t, uint32_t node);
/* The member of this name; JSON_TREE_NONE: there is none, or the node is no object. */
uint32_t json_tree_member(const struct json_tree *t, uint32_t node, struct str name);

/* A text node that is the name of a member: it is there until the next call. */
uint32_t json_tree_name_node(struct json_tree *t, uint32_t member);

/* Appends the JSON Pointer of a node, or its end if it has more than `most` bytes;
 * control characters are blanks. */
void json_tree_pointer(const struct json_tree *t, uint32_t node, size_t most, struct buf *to);
size_t json_tree_line(const struct json_tree *t, uint32_t node); /* from 1 */
