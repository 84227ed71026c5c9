/* aside_row.h - a row of the list of those that are set aside, for the files of this room. */
#pragma once

#include "store/db/rows.h"

/* What the column `discarded` says of a row. */
enum aside_state {
    ASIDE_OPEN,      /* it is tried again */
    ASIDE_DISCARDED, /* a person does not want it */
    ASIDE_KEPT,      /* it has lost, and waits for nothing */
    ASIDE_GONE       /* it was written, and the other location is not told yet */
};

void set_aside_read(struct db_rows *row, struct arena *a, void *to);
