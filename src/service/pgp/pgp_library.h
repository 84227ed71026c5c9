/* pgp_library.h - librnp made ready for a process that will have neither files nor new threads.
 *
 * Debian's librnp prints what goes wrong to stderr, and Botan below it starts a pool of threads at
 * the first operation with a private RSA key.  In a cage either would be the end of the process.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* `caged`: this process will be locked up, and is the step's own. */
bool pgp_library_begin(bool caged, struct err *err);
