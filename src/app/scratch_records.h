/* scratch_records.h - records of `waybill try` and `waybill test`: a folder with files.
 *
 *     SET.csv      a reference table, as `waybill records import` reads it: the first column is the
 *                  key
 *     SET/KEY.EXT  one record as a step `store` keeps it: its value is the file, JSON or XML
 */
#pragma once

#include <stdbool.h>

struct scratch;

/* After scratch_open(); the exit status.  A folder that does not exist has none, unless it `must`
 * be there. */
int scratch_records(struct scratch *s, const char *folder, bool must);
