/* schedule_build.h - the schedule of a job, read from its configuration.
 *
 * Ownership: what the schedule points to lives in the arena of the maker.
 * Threads: as window_set_build(); reading a zone may block on the disk.
 */
#pragma once

#include "core/schedule/schedule.h"
#include "core/yaml.h"

/* `job` is the map of a job that was checked already.  The maker shares zones and calendars between
 * the jobs of a configuration.  ERR_CONFIG: this machine does not know a zone; then *ret has what
 * does not depend on one. */
bool schedule_build(const struct yaml_node *job, struct window_maker *m, struct schedule *ret,
                    struct err *err);
