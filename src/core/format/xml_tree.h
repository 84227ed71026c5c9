/* xml_tree.h - one pass over a whole XML document in memory, for who changes its text.
 *
 * expat reads the document and reports where each element begins and ends, as offsets of the text.
 * Refused are a document type declaration, an encoding that is not UTF-8, and more than
 * XML_TREE_DEPTH elements in each other.
 *
 * Threads: any; a pass is one call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum { XML_TREE_DEPTH = 512, XML_TREE_NAME = 256 };

/* A tag, by its bytes.  That of an empty element is its start and, without bytes, its end. */
struct xml_tag {
    struct str name;
    const char **attributes; /* as expat gives them; of a start */
    size_t from, to;
    size_t depth; /* 1: the outermost element */
};

struct xml_visit {
    void *arg;
    void (*starts)(void *arg, const struct xml_tag *tag);
    void (*ends)(void *arg, const struct xml_tag *tag);
};

/* Whether an element can have this name, of at most XML_TREE_NAME bytes. */
bool xml_tree_is_name(struct str name);

/* Whether an element, that of a document of its own, means the same in another document.
 * ERR_PERMANENT: no, it has a prefix that it does not declare.  *ret_own_default: it says itself
 * what names without a prefix mean. */
bool xml_tree_stands_alone(struct str element, bool *ret_own_default, struct err *err);

/* ERR_PERMANENT: it is not XML as above; the text says what and where. */
bool xml_tree_read(struct str document, const struct xml_visit *visit, struct err *err);
