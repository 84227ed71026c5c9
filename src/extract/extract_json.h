/* extract_json.h - pointers over the raw bytes of a JSON body.  See answer.h. */
#pragma once

#include "extract/answer.h"

struct extract_json;

struct extract_json *extract_json_new(const struct str *pointers, size_t count, struct arena *a);
/* `whole`: this is the whole body. */
void extract_json_run(const struct extract_json *plan, struct str body, bool whole, struct arena *a,
                      struct answer *answers);
