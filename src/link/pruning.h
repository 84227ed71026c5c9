/* pruning.h - which tables of a location were looked after lately: those whose rows other locations
 * take have no link here (desk.c).
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct prunings;

struct prunings *prunings_new(void);
void prunings_free(struct prunings *p); /* NULL is fine */
/* True about once in tombstone_wait_us(), or more often where there are very many tables. */
bool prunings_due(struct prunings *p, struct str database, struct str table);
/* It was not all: it is due again. */
void prunings_again(struct prunings *p, struct str database, struct str table);
