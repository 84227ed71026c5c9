/* key.h - the secrets that we make for others: keys, tokens, sessions, links.
 *
 * Letters and digits only, so that they survive headers, addresses, shells and a double click.
 * Whoever makes one shows it once and keeps its SHA-256.
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

/* A key that is looked up: wbk_NAME_SECRET.  NAME finds it, the digest of the whole proves it. */
struct sha256 key_make(char ret_name[static KEY_NAME], char ret_text[static KEY_TEXT]);
struct str key_name(struct str text); /* empty: it is no such key */
