/* desk_inside.h - the inside of the desk (desk.h), for its files. */
#pragma once

#include "link/desk.h"
#include "table/away/answering.h"

/* What tables that go both ways need of this location beside its database: appends the answer, or
 * the error, which *err is then. */
bool desk_share(const struct desk_visit *v, const struct message *m, const void *question,
                struct arena *a, struct buf *to, struct err *err);
