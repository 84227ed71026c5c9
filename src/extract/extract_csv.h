/* extract_csv.h - columns of the first row of a CSV body.  See answer.h. */
#pragma once

#include "extract/answer.h"

struct extract_csv;

struct extract_csv *extract_csv_new(const struct str *columns, size_t count, struct arena *a);
/* `whole`: this is the whole body. */
void extract_csv_run(const struct extract_csv *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers);
