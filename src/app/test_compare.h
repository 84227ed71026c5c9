/* test_compare.h - what came of a case of `waybill test`, against what is expected. */
#pragma once

#include <stdbool.h>

#include "app/test_case.h"
#include "base/buf.h"

struct trial_way;

enum { TEST_DIFFERENCES_MOST = 20, TEST_TEXT_MOST = 256 << 10 };

/* `asked`: so many questions to services had the documents of the way.  Appends each difference,
 * for people, at most TEST_DIFFERENCES_MOST; the cap of `to` is TEST_TEXT_MOST or more.  True:
 * there is none. */
bool test_compare(const struct test_case *c, const struct trial_way *w, size_t asked,
                  struct buf *to);
