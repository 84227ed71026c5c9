/* redrive.h - dead letters for which a new configuration has an answer start again.
 *
 * Runs on a thread of the pool after each change of the configuration, page by page with
 * a rest in between, so that a hundred thousand of them stall nothing.
 */
#pragma once

struct flight;
struct plan;
struct road;

void redrive_start(struct road *r, struct plan *plan);
void redrive_newest(struct road *r);
/* It died of a configuration that was replaced meanwhile: the newest may have an answer. */
void redrive_note_dead(struct flight *f);
