/* work.h - one-way methods: the answer comes before the work is done.
 *
 *   POST /work/run             {"job": N, "claim": N}: another node hands a claimed job over
 *                              (job/handover.c); needs the right `work`.  202: this node has it;
 *                              409: whoever handed it over does not have it any more; 503: no slot
 *                              is free
 *   POST /work/ack?run=NAME    somebody outside acknowledges the run that was left to him
 *                              (job/acking.c), with the secret of the run in Waybill-Ack-Token.
 *                              200, also for the same once more; 403: another secret; 410: too late
 *
 * A body is at most node.limits.message_limit bytes long: 413.
 */
#pragma once

#include "base/http_server.h"

extern const struct http_handler http_work_handler; /* the handler's arg is a struct identify */
