/* docs_keep.h - `docs keep`, `docs unkeep` and `docs kept`, for cmd_docs.c. */
#pragma once

#include "app/args.h"

int docs_keep(const struct args *a);
int docs_unkeep(const struct args *a);
int docs_kept(const struct args *a);
