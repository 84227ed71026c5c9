/* calendar.h - days that are different: the holidays of a section `calendars`.
 *
 * A calendar is a list of dates, each of one year (2026-12-24) or of every year (12-25).
 *
 * Ownership: calendars live in the arena that was given.
 * Threads: never changed after they were made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/yaml.h"

struct calendar;

/* From the map of a calendar that was checked already; NULL and null: no day. */
const struct calendar *calendar_build(const struct yaml_node *node, struct arena *a);

/* `day` as in civil.h */
bool calendar_has(const struct calendar *c, int64_t day);
