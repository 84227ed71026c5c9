/* extract_xml.h - paths over an XML body, by expat.  See answer.h. */
#pragma once

#include "extract/answer.h"

struct extract_xml;

/* `relative` as in core/expr.h. */
struct extract_xml *extract_xml_new(const struct str *paths, size_t count, bool relative,
                                    struct arena *a);
/* `whole`: this is the whole body. */
void extract_xml_run(const struct extract_xml *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers);
