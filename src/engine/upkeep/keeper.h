/* keeper.h - the clock thread: what must happen now and then.
 *
 * Heartbeat and rescue (PostgreSQL), free space, following holds, pauses and configuration
 * versions, tables of idempotency keys.  Each has its own period; one that fails is reported once
 * and tried again at its next turn.  What it finds it notes with the intake, so that
 * senders are refused at the door.
 */
#pragma once

struct engine;
struct keeper;

struct keeper *keeper_start(struct engine *e);
void keeper_stop(struct keeper *k);
