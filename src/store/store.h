/* store.h - the source of truth: documents, tasks, configuration versions, keys, nodes.
 *
 * Speaks the domain, never SQL.  One store is open per process; behind it stands
 * SQLite in the data folder, or PostgreSQL with the data folder for what is the
 * node's own (token, lock, spool).
 *
 * For the layers above: what all of them need.  The rooms have the rest:
 *
 *   open.h                open (with recovery),     road/task.h           claim, finish, fail
 *                         close                     road/delivery.h       read deliveries
 *   road/accept.h         accept a document         road/recorder.h       what ran at a crash
 *   road/settle.h         the outcome of a task     payload/payload.h     payload bytes
 *   road/order.h          deliveries in order       search/document.h     read documents
 *   batch/batch.h         documents that go         govern/hold.h         holds of systems
 *                         together                  manual/operate.h      what operators do
 *   govern/version.h      configuration versions                          to documents
 *   govern/pause.h        pauses of nodes           people/role.h         rights of people
 *   people/caller.h       keys of senders           audit/audit.h         the audit log
 *   people/admin_key.h    keys of machines          backup/backup.h       online backup
 *   retention/retain.h    deleting what expired     watch/check.h         consistency checks
 *   watch/alert.h         alerts                    job/job.h             recurring work
 */
#pragma once

#include "store/kernel/names.h"
#include "store/kernel/store.h"
#include "store/kernel/writer.h"
