/* demo_paper.h - generates realistic documents ("papers") for `waybill demo`.
 *
 * Paper number n is always the same for the same n, so that a sender that got no
 * answer sends the same again.  Of ten, four are orders in XML, three invoices in JSON,
 * two stock lists in CSV, one a visit of a patient in HL7.  Some cannot be delivered:
 * an order for an unknown system, an invoice without a receiver.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

enum demo_paper_kind { DEMO_ORDER, DEMO_INVOICE, DEMO_STOCK, DEMO_VISIT };

enum demo_paper_kind demo_paper_kind(uint64_t number);
/* Appends the paper; at most DEMO_PAPER_CAP bytes. */
void demo_paper_write(uint64_t number, int64_t wall_us, struct buf *to);

enum { DEMO_PAPER_CAP = 8 << 10 };
