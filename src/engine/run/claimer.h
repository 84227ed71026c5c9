/* claimer.h - the claimer: the thread that claims tasks from the store and loads them.
 *
 * It may block.  It sleeps until it is woken, until the next task is due, or for a second, so no
 * task depends on a wake-up that can be missed.  Tasks that a crash interrupted keep their place in
 * their queue, and so run before younger ones.
 */
#pragma once

void *claimer_main(void *road);
