/* extract_edi.h - values of HL7, X12 and EDIFACT bodies by their paths.  See answer.h and
 * core/format/edi_path.h. */
#pragma once

#include "core/format/edi.h"
#include "extract/answer.h"

struct extract_edi;

struct extract_edi *extract_edi_new(enum edi_kind kind, const struct str *paths, size_t count,
                                    struct arena *a);
/* `whole`: this is the whole body. */
void extract_edi_run(const struct extract_edi *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers);
