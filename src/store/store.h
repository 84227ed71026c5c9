/* store.h - the truth: documents, tasks, configuration versions, keys, nodes.
 *
 * Speaks the domain, never SQL.  One store is open per process; behind it stands
 * SQLite in the data folder, or PostgreSQL with the data folder for what is the
 * node's own (token, lock, spool).
 *
 * For the layers above: what everybody needs of a store.  The rooms have the rest:
 *
 *   open.h                opening, which is recovering; closing
 *   road/accept.h         a document comes in       road/task.h           claim, finish, fail
 *   road/settle.h         what came of a task       road/delivery.h       look at deliveries
 *   road/order.h          deliveries in order       road/recorder.h       what ran when we died
 *   batch/batch.h         documents that go         payload/payload.h     the bytes
 *                         together                  search/document.h     look at documents
 *   govern/version.h      configuration versions    govern/hold.h         holds of systems
 *   govern/pause.h        what nodes do not do now  manual/operate.h      what people do to them
 *   people/caller.h       keys of senders           people/role.h         what people may
 *   people/admin_key.h    keys of machines          audit/audit.h         who did what
 *   retention/retain.h    what was kept long enough backup/backup.h       a copy while it works
 *   watch/alert.h         what needs a person       watch/check.h         what must be true
 */
#pragma once

#include "store/kernel/names.h"
#include "store/kernel/store.h"
#include "store/kernel/writer.h"
