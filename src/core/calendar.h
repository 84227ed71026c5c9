/* calendar.h - the holidays of a section `calendars`.
 *
 * A calendar is a list of dates, each of one year (2026-12-24) or of every year (12-25).
 *
 * Ownership: calendars live in the arena given to calendar_build().
 * Threads: immutable after calendar_build().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/yaml.h"

struct calendar;

/* `node` is the map of a calendar that was checked already; NULL or null gives one without days. */
const struct calendar *calendar_build(const struct yaml_node *node, struct arena *a);

/* `day` counts as in civil.h. */
bool calendar_has(const struct calendar *c, int64_t day);
