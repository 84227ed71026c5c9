/* nonsense.h - frames that no honest process sends, as documents of the act `raw`. */
#pragma once

#include "cage/frame.h"

static const struct nonsense {
    unsigned length;
    unsigned char kind, flags;
    const char *body, *message; /* message: part of what its death is called */
} nonsense[] = {
    { 0xffffffff, FRAME_OUT, 0, "", "malformed" },
    { FRAME_BODY_MOST + 1, FRAME_OUT, 0, "", "malformed" },
    { 0, 99, 0, "", "malformed" },
    { 0, FRAME_OUT, 8, "", "malformed" },
    { 0, FRAME_DOCUMENT, 0, "", "another kind" },
    { 0, FRAME_READY, 0, "", "another kind" },
    { 0, FRAME_WANT, 0, "", "asked for" },
    { 0, FRAME_REWIND, 0, "", "rewind" },
    { 0, FRAME_FAIL, 0, "", "code" },
    { 2, FRAME_FAIL, 0, "\x7fx", "code" },
    { 3, FRAME_PART, 0, "\xff\xff\x7f", "head of a part" },
};

enum { NONSENSE = sizeof nonsense / sizeof nonsense[0], NONSENSE_ROOM = 64 };

static struct str nonsense_document(const struct nonsense *n, char to[static NONSENSE_ROOM])
{
    size_t length = strlen(n->body);

    memcpy(to, "raw ", 4);
    memcpy(to + 4, &(uint32_t){ n->length }, 4);
    to[8] = (char)n->kind;
    to[9] = (char)n->flags;
    memset(to + 10, 0, 2);
    memcpy(to + 12, n->body, length);
    return str_mem(to, 12 + length);
}
