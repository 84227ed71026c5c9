/* entry.h - the byte layout of a segment entry (segment.h, Format): headers, checks, file names.
 *
 * Only files of store/segment/ include it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/segment/segment.h"

enum {
    ENTRY_HEADER = 104,
    ENTRY_HEADER_FIRST = 96, /* of an entry "WBP1" */
    ENTRY_CHECK = 8,         /* at the end of a record */
    ENTRY_ORIGIN = 16,       /* before it, in a copy */
};

/* A header as it is read. */
struct entry_header {
    size_t bytes;       /* of the header itself */
    size_t len, record; /* of what follows it */
    int64_t plain, commit, size;
    bool is_copy;
    uint64_t check;
};

void entry_put_u64(char *at, uint64_t v);
uint64_t entry_get_u64(const char *at);

/* Detects torn and damaged entries; it is no protection against forgery. */
uint64_t entry_check(uint64_t h, const char *bytes, size_t len);

void entry_make(char h[static ENTRY_HEADER], int64_t seg, int64_t commit,
                const struct segment_payload *p, size_t record_len);
/* room: the bytes at `h`.  False: there is no valid header of this segment. */
bool entry_parse(const char *h, size_t room, int64_t seg, struct entry_header *ret);

void entry_file(int64_t seg, char name[static 32]);
