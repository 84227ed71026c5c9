/* feed.h - the claimer: what waits in the store is claimed, loaded and sent on its road.
 *
 * One thread that may block.  It sleeps until somebody says that there is work, until the
 * next delivery is due, or for a second: nothing waits on an event that can be missed.
 * What was interrupted by a crash stands first in its queue and runs first.
 */
#pragma once

void *claimer_main(void *road);
