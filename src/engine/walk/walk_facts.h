/* walk_facts.h - who a document is from and for, and what it is: the first part of a walk.
 *
 * Threads: the one that holds the flight; the beginning of its bytes is in memory.
 */
#pragma once

#include "engine/flight/flight.h"

struct extract_source;

/* Extracts the facts, or takes those of an earlier run, and finds what it answers (answering.h).
 * False: the document is dead, or is tried again. */
bool walk_find_facts(struct flight *f);
/* Finds the systems that sender and receiver name.  False: dead, for one is unknown. */
bool walk_look_up(struct flight *f, int64_t from_us);
/* Who has a key for some systems sends in the name of no other.  False: dead, this one does.  Asked
 * whenever the document starts, so that a retry does not get around it, and when a step finds a
 * sender in it: a person who may edit can send it anyway. */
bool walk_is_own_sender(struct flight *f, int64_t from_us);
/* Extracts the search attributes (`search` of the type).  Also called for a document that dies of
 * an unknown sender or receiver, because dead letters are searched for.  A failure is a line in the
 * timeline and does not stop the document. */
void walk_find_search(struct flight *f, const struct extract_source *source);
