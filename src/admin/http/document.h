/* document.h - GET /documents/ID and /documents/ID/payload[?stage=N].
 *
 * The state is for the key that sent the document, or for the right `see`; the bytes, with ranges,
 * for the same key or the right `download`.  A download is written to the audit log before the
 * first byte goes out.  An unknown id and a document out of scope give the same answer.
 */
#pragma once

#include "base/http_server.h"

extern const struct http_handler http_document_handler; /* the handler's arg is a struct identify */
