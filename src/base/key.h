/* key.h - the secrets that we generate: keys, tokens, sessions, links.
 *
 * Letters and digits only, so that they are safe in headers, URLs and shells, and selected by a
 * double click.  The caller shows a secret once and stores its SHA-256.
 */
#pragma once

#include "base/digest.h"
#include "base/str.h"

enum {
    KEY_SECRET = 44, /* 43 letters: 255 bits */
    KEY_NAME = 16,
    KEY_TEXT = 80,
};

void key_secret(char ret[static KEY_SECRET]);

/* A key with a name: wbk_NAME_SECRET.  NAME is the lookup key; the digest of the whole text is
 * compared. */
struct sha256 key_make(char ret_name[static KEY_NAME], char ret_text[static KEY_TEXT]);
struct str key_name(struct str text); /* empty: not a key of this form */
