/* document.h - GET /documents/ID and /documents/ID/payload[?stage=N].
 *
 * Its state for the key that sent it, or for somebody with the right `see`; the bytes, with ranges,
 * for the same key or the right `download`.  A download is in the audit log before a byte goes out.
 * An id that is not there and one that the asker may not see give the same answer.
 */
#pragma once

#include "base/http_server.h"

extern const struct http_handler http_document_handler; /* its arg is a struct identify */
