/* step_end.h - what follows a step of a chain that runs a service.
 *
 * Threads: the one that holds the flight.
 */
#pragma once

#include "engine/flight/flight.h"

/* Where a walk goes after a step. */
enum way {
    WAY_ON,             /* to the next step */
    WAY_ENDS,           /* the chain ends here */
    WAY_BACK_TO_ROUTER, /* the document has other facts */
    WAY_DEAD,           /* dead, or to be tried again: settle.end */
    WAY_WAITS,          /* the step has not run: f->walk.need */
};

enum way step_dead(struct flight *f, const struct plan_step *s, enum dead_code code,
                   int64_t took_us, const char *message);
/* The line of a step that ran. */
void step_note_done(struct flight *f, const struct plan_step *s, int64_t from_us);
/* What the step made is what the next one reads; f->walk.bytes: nothing has changed. */
enum way step_go_on(struct flight *f, const struct plan_step *s, struct variant *made,
                    int64_t from_us);
/* What an earlier run has stored stands for what the step makes: *ret, and a line says so.  The
 * store is read on a thread that may block. */
enum way step_take_kept(struct flight *f, const struct plan_step *s,
                        const struct payload_source *stored, const char *note,
                        struct variant **ret);
/* The step has made no document: done. */
enum way step_none(struct flight *f, const struct plan_step *s, int64_t from_us);
/* The step before which the walk stands is put off: what a process made for it is kept. */
void step_keep_made(struct flight *f);

/* A step takes all of what it reads into memory: of large documents one at a time, until the walk
 * ends or waits.  Blocks. */
void step_hold_large(struct flight *f);
/* Brings what the step reads into memory, of one large document at a time. */
bool step_load(struct flight *f, struct err *err);
/* What a service is told of the document. */
struct service_document step_document(const struct flight *f);
