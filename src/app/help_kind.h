/* help_kind.h - `waybill help gateway http`: the connectors of this build, and their keys. */
#pragma once

#include <stdbool.h>

/* `role` is gateway, service or endpoint, `kind` one of its kinds or NULL for all of them.
 * False: there is no such role.  *ret_code is the exit status. */
bool help_kind(const char *role, const char *kind, int *ret_code);
