/* chance.h - randomness; the only place that asks the system for random bytes.
 *
 * Rules that need chance take it as an argument, so that they can be simulated.
 * The bytes are the kernel's: good for keys and tokens.  If the kernel
 * fails, the process ends.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void chance_bytes(void *to, size_t len);
uint64_t chance_u64(void); /* buffered per thread: cheap enough for every document */
