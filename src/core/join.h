/* join.h - the documents of a batch as one: a text, a JSON array, an XML element, a zip file.
 *
 * Members go in piece by piece and go out as they come: nothing is kept but what a format needs.
 * A member of `json` is one JSON value, one of `xml` a document without a DOCTYPE in UTF-8, of
 * which the outermost element is taken; anything else is ERR_PERMANENT with JOIN_BAD in err.sys,
 * and so is nothing else: what was written is then to be thrown away.
 *
 * zip: entries are stored, not compressed, in the order of the members; sizes and digests (CRC-32)
 * stand before the bytes, so they are told first.  No zip64: a batch is below 65 535 members and 4
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
    struct str root;                      /* empty: `batch` of xml, no object of json */
};

struct join_member {
    struct str name; /* of the file in a zip, made safe here; may be empty */
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
bool join_close(struct joiner *j, struct err *err); /* of this member */
bool join_end(struct joiner *j, struct err *err);

/* Whether these bytes could be a member. */
bool join_check(enum join_kind kind, struct str bytes, struct err *err);

/* Starts with 0. */
uint32_t join_crc(uint32_t crc, struct str bytes);

/* application/json, ... and json, ... */
const char *join_content_type(enum join_kind kind);
const char *join_suffix(enum join_kind kind);
