/* checkpoint.h - the head of the audit log, signed, to be kept where the log's writers cannot
 * reach.
 *
 * Whoever can write the whole log can make a new chain of hashes; they cannot make it end in a head
 * that somebody else keeps.  The signature (Ed25519) says that the head was given out by a node,
 * and was not changed where it is kept.
 *
 * Format      five lines, each ended by a newline; the signature is over the bytes of the first
 * four waybill audit checkpoint 1 head SEQ:HASH                     as `audit verify` prints it
 *     time 2026-11-17T15:55:17.000000Z
 *     key PUBLIC-KEY                    64 hex digits
 *     signature SIGNATURE               128 hex digits
 *
 * Pure: no files, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/key_file.h"
#include "base/str.h"

enum {
    CHECKPOINT_KEY = 65,   /* of the public key as text, with its end */
    CHECKPOINT_TEXT = 600, /* of a whole checkpoint */
};

struct checkpoint {
    int64_t seq;
    struct sha256 hash;
    char time[CLOCK_TEXT], key[CHECKPOINT_KEY];
};

/* The public key of a seed (key_file.h). */
void checkpoint_key(const unsigned char seed[static KEY_FILE_BYTES],
                    char ret[static CHECKPOINT_KEY]);

/* Sets the key, and writes text and signature. */
void checkpoint_sign(struct checkpoint *io, const unsigned char seed[static KEY_FILE_BYTES],
                     char ret[static CHECKPOINT_TEXT]);

/* Reads a checkpoint whose signature is that of its key.  Whether the key is one to trust is for
 * the caller to say.  ERR_PERMANENT: the text is none, or was changed. */
bool checkpoint_read(struct str text, struct checkpoint *ret, struct err *err);
