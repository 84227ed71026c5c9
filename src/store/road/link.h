/* link.h - links from documents to documents that were made of them.
 *
 * A link is written in the transaction that makes the child, and deleted when the first of the two
 * documents is purged (retain.h).
 *
 * Threads: link_add() the writers, in an open transaction; reading any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;
struct writer;

enum link_kind {
    LINK_EDIT = 1,   /* the child is an edit of the parent */
    LINK_MEMBER = 2, /* the parent is a batch, the child a member of it */
    LINK_COPY = 3,
    LINK_ANSWER = 4,
    LINK_SPLIT = 5,
    LINK_KINDS
};

enum { LINK_PAGE_MOST = 200 };

bool link_add(struct writer *w, int64_t parent, enum link_kind kind, int64_t child,
              struct err *err);

/* A child, and the position from which a list resumes. */
struct link_child {
    int64_t kind, num;
};

/* Up to `limit` children of a kind (0: of any), by kind and number, behind `after` ({ 0 }: from
 * the first). */
bool link_children(struct store *s, int64_t parent, int64_t kind, struct link_child after,
                   struct link_child *ret, size_t limit, size_t *ret_count, struct err *err);

/* *ret 0: the document has no parent of this kind. */
bool link_parent(struct store *s, int64_t child, enum link_kind kind, int64_t *ret,
                 struct err *err);
