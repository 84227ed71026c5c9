/* document_view.h - a document as the outside sees it. */
#pragma once

#include "base/buf.h"
#include "store/document.h"

struct store;

/* One JSON object, fields named as in GraphQL, with a newline. */
void document_view_json(struct store *s, const struct document *d, struct buf *to);
/* The name of who sent it: a key's number, "admin", "basic", or empty. */
struct str document_view_caller(const struct document *d, struct arena *a);
