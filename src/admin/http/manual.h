/* manual.h - documents that people make, uploaded over HTTP (engine/manual.h).
 *
 *   POST /documents/ID/edit?as=supersede|beside&from=gateway|router
 *   POST /documents?gateway=NAME
 *
 * Needs the right `edit`.  Metadata is in header fields: Waybill-Sender, Waybill-Receiver,
 * Waybill-Type, Waybill-Attribute (K=V, repeatable), Waybill-Name, Waybill-By, Content-Type and
 * Idempotency-Key.  The request is checked before its body is read, so a refusal costs no upload.
 * The answer is 202 with {"document":ID,"message":TEXT}.
 *
 * Bodies up to 1 MiB stay in memory, larger ones go through the spool (engine/intake/spool.h).
 */
#pragma once

#include "base/http_server.h"

extern const struct http_handler http_manual_handler; /* the handler's arg is a struct identify */
