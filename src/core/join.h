/* join.h - the documents of a batch as one: a text, a JSON array, an XML element, a zip file.
 *
 * Members are read and written piece by piece; only what a format needs is kept in memory.  A
 * member of `json` is one JSON value.  A member of `xml` is a document in UTF-8 without a DOCTYPE,
 * and its outermost element is written.  Any other member fails with ERR_PERMANENT and JOIN_BAD in
 * err.sys, which no other failure has; the caller then discards the output.
 *
 * zip: entries are stored, not compressed, in the order of the members.  Their sizes and CRC-32
 * precede the bytes, so join_open() needs both.  No zip64: a batch is below 65 535 members and 4
 * GiB.
 *
 * Threads: a joiner belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum join_kind { JOIN_TEXT, JOIN_JSON, JOIN_XML, JOIN_ZIP, JOIN_EACH };

enum { JOIN_BAD = 4242, JOIN_DEPTH_MOST = 512 };

struct join_rule {
    enum join_kind kind; /* not JOIN_EACH */
    bool has_header, has_footer;
    struct str header, separator, footer; /* lent until join_free() */
    struct str root; /* empty: the element `batch` in xml, no object around it in json */
};

struct join_member {
    struct str name; /* of the file in a zip, sanitized here; may be empty */
    struct str id;
    int64_t size, received_us;
    uint32_t crc; /* zip: join_crc() of its bytes */
};

struct joiner;

typedef bool join_write(void *arg, struct str bytes, struct err *err);

struct joiner *join_new(const struct join_rule *rule, join_write *write, void *arg);
void join_free(struct joiner *j); /* NULL is fine */

bool join_begin(struct joiner *j, struct err *err);
bool join_open(struct joiner *j, const struct join_member *m, struct err *err);
bool join_add(struct joiner *j, struct str bytes, struct err *err);
bool join_close(struct joiner *j, struct err *err); /* ends the member */
bool join_end(struct joiner *j, struct err *err);

/* Fails with JOIN_BAD if these bytes cannot be a member. */
bool join_check(enum join_kind kind, struct str bytes, struct err *err);

/* CRC-32 in pieces; the first call has crc 0. */
uint32_t join_crc(uint32_t crc, struct str bytes);

/* The content type (application/json) and the file suffix (json) of the result. */
const char *join_content_type(enum join_kind kind);
const char *join_suffix(enum join_kind kind);
