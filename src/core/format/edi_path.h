/* edi_path.h - one value of a message by its path, as extraction expressions write it.
 *
 *     HL7       MSH-4   PID-3.1   PID-3[2].1.2   OBX[2]-5
 *     X12       ISA06   N104   SVC01-2
 *     EDIFACT   UNB-2   UNB-2.1   NAD[2]-3
 *
 * A number in brackets behind the segment is the n-th segment of that name in the text, behind the
 * element its n-th repetition; without it the first.  A path that ends at a component gives the
 * value as people read it (edi_text.h).  One that ends at an element gives the same if the element
 * has one component, else the element as it is written, separators and all.
 */
#pragma once

#include "core/format/edi.h"
#include "core/format/edi_text.h"

struct edi_path {
    struct str tag;
    unsigned nth, element, repetition; /* from 1 */
    unsigned component, sub;           /* 0: all of it */
    unsigned last_component;           /* "MSH-9.1-2": components 1 to 2, joined by ^ */
};

/* False: not a path.  ret->tag points into the text. */
bool edi_path_parse(enum edi_kind kind, struct str text, struct edi_path *ret);

/* Appends the value that the path has in this segment, whose name is that of the path.  False: the
 * segment has no such element, repetition or component.  *ret_at: its offset in the text. */
bool edi_path_value(enum edi_kind kind, const struct edi_path *p, const struct edi_segment *s,
                    struct buf *to, size_t *ret_at);

/* Appends the value that the path has in a text.  False with ERR_NONE: it is not there; else the
 * text is wrong. */
bool edi_path_get(enum edi_kind kind, const struct edi_path *p, struct str text, struct buf *to,
                  struct err *err);

/* Writes the text with this value at the path, escaped; all other bytes stay.  Elements,
 * repetitions and components that are missing before it are added, empty.  False: the text is
 * wrong, it has no such segment, the value cannot be written, or the path names separators (MSH-1,
 * ISA). */
bool edi_path_set(enum edi_kind kind, const struct edi_path *p, struct str text, struct str value,
                  struct outlet *to, struct err *err);

/* The paths of the standard's own sender, receiver and type, "" for what it has not: the second is
 * asked when the first gives nothing. */
enum edi_own { EDI_OWN_SENDER, EDI_OWN_RECEIVER, EDI_OWN_TYPE };
const char *const *edi_own_paths(enum edi_kind kind, enum edi_own what); /* ends with NULL */
