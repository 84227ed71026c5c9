/* record.h - the record of accept: what a segment entry says of its document besides the bytes.
 *
 * Everything that the row of a document has when it is accepted, and its idempotency key.  It
 * stands behind the payload in its segment entry (segment.h), is written with the same sync, and is
 * what the document is taken in again by, if the database lost the commit (store/recover.h).
 *
 * Names are texts, not name ids: a database that went back may give an id to another name.
 *
 * Format      numbers little-endian
 *      0  u32 magic "WBR1"     4  u32 zero          8  i64 identity of the store
 *     16  i64 number          24  i64 number of the commit of accept (kernel/told.h)
 *     32  i64 caller          40  i64 configuration version
 *     48  i64 received_us     56  i64 number in the order of acceptance (0: none)
 *     64  i64 time at which the key expires (0: no key)             72  sha256 of the key (32)
 *    104  i64 large file that has the bytes, if the entry's are elsewhere
 *    112  u32 lengths of gateway, name, type, head
 *    128  gateway, name, type, head
 *
 * Threads: any; all functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/str.h"

enum { RECORD_HEAD = 128 };

struct record {
    int64_t store, num, commit, caller, config, received_us, seq;
    int64_t key_until_us; /* 0: no key */
    struct sha256 key;
    int64_t large;
    struct str gateway, name, ctype, head;
};

size_t record_size(const struct record *r);
void record_write(const struct record *r, char *to); /* record_size() bytes */
/* False: these bytes are no record.  The texts are lent from `bytes`. */
bool record_read(struct str bytes, struct record *ret);
