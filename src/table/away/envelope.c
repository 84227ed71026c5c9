/* envelope.c - the frame around the content of a message (message.h). */
#include <string.h>

#include "table/away/message.h"

static const char envelope_magic[3] = { 'W', 'B', 'P' };

enum { ENVELOPE_HEAD = sizeof envelope_magic + 2 };

_Static_assert(ENVELOPE_OVERHEAD == ENVELOPE_HEAD + SHA256_SIZE, "head and digest");

bool envelope_begin(struct buf *to, enum envelope_what what, struct err *err)
{
    const char head[ENVELOPE_HEAD] = { envelope_magic[0], envelope_magic[1], envelope_magic[2],
                                       ENVELOPE_VERSION, (char)what };

    buf_clear(to);
    return buf_append(to, str_mem(head, sizeof head), err);
}

bool envelope_end(struct buf *to, struct err *err)
{
    struct sha256 digest = digest_of(buf_view(to));

    return buf_append(to, str_mem((const char *)digest.bytes, sizeof digest.bytes), err);
}

bool envelope_take(struct str bytes, enum envelope_what *ret, struct str *ret_content,
                   struct err *err)
{
    struct sha256 is, said;

    if (bytes.len < ENVELOPE_OVERHEAD ||
        memcmp(bytes.ptr, envelope_magic, sizeof envelope_magic) != 0)
        return err_set(err, ERR_PERMANENT, 0, "this is no message of a location");
    if (bytes.ptr[sizeof envelope_magic] != ENVELOPE_VERSION)
        return err_set(err, ERR_PERMANENT, 0,
                       "a message of version %d, and version %d is spoken here: both locations "
                       "need the same",
                       bytes.ptr[sizeof envelope_magic], ENVELOPE_VERSION);
    struct str rest = str_mem(bytes.ptr, bytes.len - sizeof said.bytes);

    memcpy(said.bytes, rest.ptr + rest.len, sizeof said.bytes);
    is = digest_of(rest);
    if (!digest_same(&is, &said))
        return err_set(err, ERR_PERMANENT, 0, "a message is damaged or cut off");
    unsigned char what = (unsigned char)rest.ptr[ENVELOPE_HEAD - 1];

    if (what >= ENVELOPES)
        return err_set(err, ERR_PERMANENT, 0, "a message of an unknown kind");
    *ret = (enum envelope_what)what;
    *ret_content = str_from(rest, ENVELOPE_HEAD);
    return true;
}

void envelope_part(struct wire *w, struct envelope_part *p)
{
    wire_bytes(w, p->id, sizeof p->id);
    wire_size(w, &p->total, SIZE_MAX);
    wire_size(w, &p->at, SIZE_MAX);
}

void envelope_error(struct wire *w, struct err *why)
{
    bool refused = why->kind == ERR_CONFIG && why->sys == SIDE_REFUSED;

    WIRE_ENUM(w, &why->kind, ERR_CONFIG + 1);
    wire_bool(w, &refused);
    why->sys = refused ? SIDE_REFUSED : 0;
    wire_chars(w, why->text, sizeof why->text);
}
