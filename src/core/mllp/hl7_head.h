/* hl7_head.h - what must be known of an HL7 message while it passes by: its MSH, and that it is
 * one.
 *
 * A message may be larger than memory should hold.  Its bytes are given piece by piece; the first
 * segment is kept, up to HL7_HEAD_MOST bytes, and the segments that begin a message are counted.
 *
 *     struct hl7_head h = HL7_HEAD_INIT;
 *     hl7_head_add(&h, piece);                  for each piece
 *     if (hl7_head_msh(&h, &msh, &why)) ...     at the end, or when something goes wrong before
 *
 * Nothing behind MSH is checked here: that is what extraction does (core/format/edi.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "core/format/edi.h"

enum { HL7_HEAD_MOST = 8 << 10 };

struct hl7_head {
    struct buf text; /* the first segment, without its end */
    bool whole;      /* it has ended, or is too long to be kept any further */
    size_t messages; /* segments MSH so far */
    size_t matched;  /* bytes of "MSH" and its separator at the start of the current segment */
    char separator;  /* of fields, behind the first MSH */
    bool inside;     /* the current segment is not MSH, or was counted */
};

#define HL7_HEAD_INIT                    \
    {                                    \
        .text = BUF_INIT(HL7_HEAD_MOST), \
    }

void hl7_head_done(struct hl7_head *h);  /* safe on a zeroed one */
void hl7_head_clear(struct hl7_head *h); /* for the next message */
void hl7_head_add(struct hl7_head *h, struct str bytes);

/* The segment MSH, lent until the next call that changes `h`.  False: *ret_why, a sentence for the
 * sender. */
bool hl7_head_msh(const struct hl7_head *h, struct edi_segment *ret, const char **ret_why);

/* A field as it is written, from 1; empty: there is none. */
struct str hl7_field(const struct edi_segment *msh, size_t n);
/* A component of a field, from 1. */
struct str hl7_component(const struct edi_segment *msh, size_t field, size_t n);
