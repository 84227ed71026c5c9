/* reserve.h - space that is set aside for what must be written when the disk is full.
 *
 * Outcomes of deliveries, retention and a start write, although nothing more is accepted.  The
 * file `reserve` in the node's folder holds blocks for them, up to RESERVE_MOST and an eighth of
 * what is free.  It is given up at a start without space and when a group finds none; as long as it
 * is not there again nothing is accepted, so that accepts do not take what it gave.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RESERVE_MOST = 16 << 20, RESERVE_LEAST = 1 << 20 };

struct store;

/* At a start, before anything is written: gives the reserve up if there is too little space. */
void reserve_before_start(int data_fd);
/* Gives it up; true: this made room, try again. */
bool reserve_give_up(struct store *s);
/* Makes it, or makes it larger, if there is space.  False: there is none. */
bool reserve_keep(struct store *s);
