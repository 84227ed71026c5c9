/* foretold.h - what services answer to a dry flight, said before: for who tests a configuration.
 *
 * A dry flight asks nobody (walk/called.h).  With these it goes on: the first question, of the
 * document or of what was made of it, gets the first answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct foretold_answer {
    struct str body;
    int64_t status;
};

struct foretold {
    const struct foretold_answer *list;
    size_t count;
    size_t asked; /* questions so far; more than `count`: those had no answer */
};
