/* slow.h - flights that take long are noted in the store, so that all nodes show them.
 *
 * See store/road/aloft.h.  A flight that ends within SLOW_US, as most do, is never noted.
 *
 * Threads: the claimer's.
 */
#pragma once

struct road;

/* Notes walks and legs of flights that have become slow.  Cheap when called often; does not block.
 */
void slow_note(struct road *r);
