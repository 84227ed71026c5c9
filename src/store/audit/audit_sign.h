/* audit_sign.h - checkpoints of the audit log (core/checkpoint.h), signed by this node.
 *
 * The key is in the file audit.key of the data folder, or in the one that WAYBILL_AUDIT_KEY_FILE
 * names, never in the database: whoever can write the database cannot sign.  It is made with the
 * first checkpoint.  Nodes that share a store have a key each, unless that file is the same one.  A
 * backup does not have it.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "core/checkpoint.h"

struct store;

/* Verifies the whole chain and signs its head.  ERR_PERMANENT: the chain is broken, or there is no
 * line. */
bool audit_sign(struct store *s, struct checkpoint *ret, char ret_text[static CHECKPOINT_TEXT],
                struct err *err);
/* The public key of this node; empty: there is none yet. */
bool audit_sign_key(struct store *s, char ret[static CHECKPOINT_KEY], struct err *err);
