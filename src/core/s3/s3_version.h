/* s3_version.h - which version of an object is meant: its ETag, and when it was stored.
 *
 *     9e107d9d372bb6826bd81d3542a419d6 1763434330000     ETag without quotes, ms since 1970
 *
 * The ETag alone is not enough: the same bytes stored again have the same one, and are meant to be
 * taken again.  Services tell the time in a list to the millisecond or the second, and in the
 * fields of an object in whole seconds, rounded down or up: times less than S3_VERSION_APART_MS
 * apart are the same.
 *
 * Format: versions are part of keys in the ledger, so their form never changes.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { S3_VERSION = 128, S3_VERSION_APART_MS = 1000 };

/* "2026-11-15T02:52:10.123Z", as in a list.  False: it is no time, or none before the year 2262. */
bool s3_version_time(struct str text, int64_t *ret_ms);

/* time_ms 0: it is not known. */
void s3_version_put(struct str etag, int64_t time_ms, char to[static S3_VERSION]);
/* Whether an object with this ETag and time is that version.  A time that is not known fits. */
bool s3_version_is(const char *version, struct str etag, int64_t time_ms);
/* The time of a version; 0: not known. */
int64_t s3_version_ms(const char *version);
/* Its ETag as a condition needs it, with quotes; false: it has none that can be asked for. */
bool s3_version_condition(const char *version, char to[static S3_VERSION]);
