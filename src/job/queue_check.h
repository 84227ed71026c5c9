/* queue_check.h - what should move and does not: a check of the queues of jobs, on every node.
 *
 *   a run that lasts     a claim that lasts for longer than `timeout` and the time to end it,
 *                        although its node lives, is taken away: the run is due again, and the
 *                        third time in a row its job is suspended
 *   a run beside others  whose time is over, or whose node died, is ended as failed
 *   a pause              that has an end is resumed then
 *   due, and not taken   for three intervals: told
 *   without a token      a job that would never run again: told
 *   a backfill           goes on with its next time when the job rests
 *   suspended            as long as it is, there is an alert
 *   gone                 one that left the configuration 45 days ago is forgotten
 *
 * Claims of dead nodes are rescued with those of documents (store/road/rescue.h).
 *
 * Every node checks everything: there is no leader, and whatever is done is decided by the store.
 *
 * Threads: one of its own, beside the scheduler, which makes no query; the rest from any.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

struct jobs;
struct queue_check;

struct queue_check *queue_check_start(struct jobs *j);
void queue_check_stop(struct queue_check *q); /* NULL is fine */

/* A backfill may go on. */
void queue_check_backfills(struct queue_check *q);

/* When the last round ended that could ask the store everything; wall clock, 0: none yet. */
int64_t queue_check_last_us(struct queue_check *q);
/* Appends a line if that is long ago. */
void queue_check_tell(struct queue_check *q, struct buf *to);
