/* fault.h - named points at which a test injects a failure.
 *
 *     fault_point(GROUP_WRITTEN);                   may kill or delay here
 *     if (fault_error(SEGMENT_SYNC)) { ... }        the same; true: the call must fail
 *     fault_point_on(ROAD_WALK, bytes);             the same, and may select by the bytes
 *
 * In test builds (WAYBILL_FAULTS) the environment selects the faults:
 *
 *     WAYBILL_FAULT=name:kill:3            SIGKILL at the third pass
 *     WAYBILL_FAULT=name:abort:3           SIGABRT at the third pass, like a failed require()
 *     WAYBILL_FAULT=name:abort_on:text     ... at each pass whose bytes contain the text
 *     WAYBILL_FAULT=name:error[:n]         fail the n-th call (0: every call)
 *     WAYBILL_FAULT=name:delay_ms:n        sleep n ms at each pass
 *
 * Several are separated by commas.  Release builds do not contain the points.  All names are in
 * fault.def: a point that is not listed does not compile, and the crash test kills at each listed
 * one.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum fault_id {
#define FAULT(id, name, what) FAULT_##id,
#include "base/fault.def"
#undef FAULT
    FAULT_COUNT
};

const char *fault_name(enum fault_id id); /* in the order of fault.def */
const char *fault_what(enum fault_id id); /* a description for people */

#ifdef WAYBILL_FAULTS
void fault_pass(enum fault_id id);
void fault_pass_on(enum fault_id id, struct str bytes);
bool fault_fails(enum fault_id id);
const char *fault_switch(const char *name); /* a test switch: the environment variable or NULL */
#define fault_point(id)           fault_pass(FAULT_##id)
#define fault_point_on(id, bytes) fault_pass_on(FAULT_##id, bytes)
#define fault_error(id)           fault_fails(FAULT_##id)
#else
#define fault_point(id)           ((void)0)
#define fault_point_on(id, bytes) ((void)0)
#define fault_error(id)           (false)
#define fault_switch(name)        ((void)(name), (const char *)0)
#endif
