/* settle_bytes.h - bytes that a settlement stores: of new deliveries, and receivers' answers.
 *
 * On SQLite they go into the segments of the group, before the rows that name them; on
 * PostgreSQL into table payload under a number of their own.  Large payloads were uploaded
 * before and are only adopted.  Bytes that several deliveries share are stored once.
 *
 * Threads: the writers, in an open transaction.
 */
#pragma once

#include "store/road/settle.h"

/* Fills in `stored` of the bytes.  lines[i]: the timeline lines of the steps that made bytes of
 * ops[i], to stand before its other lines; in the arena of the group. */
bool settle_place_bytes(struct writer *w, struct settle_op **ops, size_t count, struct str *lines,
                        struct err *err);

/* Stores the answers that deliveries of these settlements were given, and sets `told`. */
bool settle_place_answers(struct writer *w, struct settle_op **ops, size_t count, struct err *err);
