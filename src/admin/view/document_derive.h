/* document_derive.h - what the deliveries of a document say about it. */
#pragma once

#include "admin/view/document_view.h"

/* State and error of a live document from its deliveries.  These are read after the document's row,
 * and may have moved on: both come from them, so that no answer has a dead document without its
 * error. */
void document_derive_view(struct document_view *v);
