/* dry_print.h - prints the result of `send --dry`. */
#pragma once

#include <jansson.h>

#define DRY_FIELDS                                                              \
    "config gateway sender receiver type attributes { name value } route steps" \
    " deliveries { endpoint system } error { code message }"

void dry_print(const json_t *found);
