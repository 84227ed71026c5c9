/* settle_trim.h - makes room in the stored timelines of documents that are settled.
 *
 * Settlements append to a timeline in the database, without reading it.  A flight that saw at its
 * load that the timeline is full asks for this (settle_op.trims); so a document is trimmed once in
 * some hundred attempts, and the others pay nothing.
 *
 * Threads: the writers, in an open transaction.
 */
#pragma once

#include "store/road/settle.h"

bool settle_trim(struct writer *w, struct settle_op **ops, size_t count, struct err *err);
