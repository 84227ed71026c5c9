/* keyed.h - a step that reads or keeps a record (core/service.h: `keyed`).
 *
 * Such a step is no pure computation: the next run may find another record.  So it is different in
 * four things.  It runs on a thread that may block, and one that keeps a record only when it has
 * the turn at it (turns.h).  What it made is stored with the document, because it cannot be made
 * again.  What the run sends is stored first and sent from there, so that a crash in between sends
 * nothing else (dispatch.c: needs_row).  And a record that it keeps, f->settle.records, is written
 * by the settlement of the flight.
 *
 * A run that makes more documents than one commit has (parts.h) is repeated with what it read: what
 * its steps made of records is stored first, and the next runs take it from there.
 *
 * A dry flight reads the record and writes nothing; one that repeats a past run takes what was
 * kept.
 *
 * Threads: the one that holds the flight.
 */
#pragma once

#include "engine/flight/step_io.h"
#include "engine/walk/step.h"

/* An earlier run was to be repeated with what it read (parts.h): the step goes on with what it made
 * then.  False: it runs. */
bool keyed_use_kept(struct flight *f, const struct plan_step *s, enum way *ret);
/* Before the step runs: WAY_ON: it may, WAY_WAITS: not on this thread or not yet, WAY_DEAD: the
 * document has no such key. */
enum way keyed_enter(struct flight *f, const struct plan_step *s);
/* Gives the io of the step its record. */
void keyed_open(struct step_io *x, const struct plan_step *s);
/* What the step made; f->walk.bytes: nothing has changed. */
void keyed_made(struct flight *f, const struct plan_step *s, struct variant *made);
/* The step failed for now (service_failure.later): it is tried again, or the time for that is over.
 */
enum way keyed_later(struct flight *f, const struct plan_step *s, int64_t took_us,
                     const char *message);
/* The records of the flight stay as they are: it is dead, or runs again. */
void keyed_drop(struct flight *f);
