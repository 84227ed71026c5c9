/* caller.h - the sender of a document waited for its receiver (`reply: receiver`), and does not any
 * more: the node that kept its request open has ended.
 *
 * The document goes on, and its timeline says `caller gone`, once.  The node is in the head of the
 * document (core/head.h); an id of a node is of one life of it.
 *
 * Threads: one that may block, which holds the flight.
 */
#pragma once

struct flight;

/* For a flight that was loaded, with its stored timeline. */
void caller_note_gone(struct flight *f);
