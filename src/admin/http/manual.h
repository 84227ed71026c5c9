/* manual.h - documents that people make, as bytes over HTTP (engine/manual.h).
 *
 *   POST /documents/ID/edit?as=supersede|beside&from=gateway|router
 *   POST /documents?gateway=NAME
 *
 * For whoever has the right `edit`.  What is given beside the bytes stands in fields:
 * Waybill-Sender, Waybill-Receiver, Waybill-Type, Waybill-Attribute (K=V, as often as wanted),
 * Waybill-Name, Waybill-By, Content-Type and Idempotency-Key.  Whether it could be made is asked
 * before the body is read.  The answer is 202 with {"document":ID,"message":TEXT}.
 *
 * Bodies up to 1 MiB stay in memory, larger ones go through the spool (engine/intake/spool.h).
 */
#pragma once

#include "base/http_server.h"

extern const struct http_handler http_manual_handler; /* its arg is a struct identify */
