/* postgres_copy.c - rows by COPY in binary form, cell by cell as they come.
 *
 * Format   a head: eleven bytes of signature, uint32 flags, uint32 length of what follows them;
 *          then rows: int16 count of fields, of each int32 length (-1: NULL) and as many bytes;
 *          at the end int16 -1.  All big-endian.  The server sends each row in a message of its
 *          own, the first one behind the head.
 *
 * A COPY has no end before its last row: of what its reader has ended the rest is passed over.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "table/postgres/postgres.h"

enum { HEAD_BYTES = 19, LENGTH_AT = 15, END_OF_ROWS = 0xffff };

static const char copy_signature[11] = "PGCOPY\n\377\r\n"; /* with the NUL at its end */

static uint32_t copy_32(const char *from)
{
    uint32_t big;

    memcpy(&big, from, sizeof big);
    return be32toh(big);
}

static uint16_t copy_16(const char *from)
{
    uint16_t big;

    memcpy(&big, from, sizeof big);
    return be16toh(big);
}

static bool copy_head(struct str *s)
{
    if (s->len < HEAD_BYTES || memcmp(s->ptr, copy_signature, sizeof copy_signature) != 0 ||
        copy_32(s->ptr + sizeof copy_signature) != 0 ||
        copy_32(s->ptr + LENGTH_AT) > s->len - HEAD_BYTES)
        return false;
    *s = str_from(*s, HEAD_BYTES + (size_t)copy_32(s->ptr + LENGTH_AT));
    return true;
}

/* The fields of a row as cells. */
static bool copied_row(struct postgres *p, struct postgres_copy *c, struct str *s)
{
    const char *at = s->ptr, *end = s->ptr + s->len;

    arena_reset(&p->row);
    for (size_t i = 0; i < c->count; i++) {
        if ((size_t)(end - at) < sizeof(uint32_t))
            return false;
        uint32_t len = copy_32(at);

        at += sizeof len;
        if (len == UINT32_MAX) {
            c->cells[i] = (struct cell){ .type = CELL_NULL };
            continue;
        }
        if (len > (size_t)(end - at))
            return false;
        c->cells[i] = postgres_value(p, &c->fields[i], str_mem(at, len));
        at += len;
    }
    *s = str_mem(at, (size_t)(end - at));
    return true;
}

/* The rows of a message.  *ret_odd: it is none of COPY. */
static bool copy_message(struct postgres *p, struct postgres_copy *c, struct str s, bool *ret_odd,
                         struct err *err)
{
    *ret_odd = !c->begun && !copy_head(&s);
    c->begun = true;
    while (!*ret_odd && s.len > 0 && !c->ended) {
        size_t left = s.len, count = left < sizeof(uint16_t) ? 0 : copy_16(s.ptr);

        if (count == END_OF_ROWS)
            return true;
        s = str_from(s, left < sizeof(uint16_t) ? left : sizeof(uint16_t));
        *ret_odd = count != c->count || !copied_row(p, c, &s);
        if (*ret_odd)
            break;
        c->rows++;
        c->bytes += left - s.len;
        if (!c->fn(c->arg, c->cells, err)) {
            c->ended = true;
            return err->kind == ERR_NONE;
        }
    }
    return !*ret_odd;
}

static bool copy_odd(struct postgres *p, struct err *err)
{
    p->broken = true;
    return err_set(err, ERR_TRANSIENT, EPROTO, "the server sends rows that cannot be read");
}

bool postgres_copy_take(struct postgres *p, struct postgres_copy *c, struct err *err)
{
    int64_t until_us = 0;
    struct err why = { 0 };
    bool ok = true, odd = false;

    for (;;) {
        char *bytes = NULL;
        int len = PQgetCopyData(p->conn, &bytes, 1);

        if (len > 0) {
            until_us = 0;
            if (!c->ended)
                ok = copy_message(p, c, str_mem(bytes, (size_t)len), &odd, err);
            PQfreemem(bytes);
            if (odd)
                return copy_odd(p, err);
        } else if (len == -1) {
            return ok;
        } else if (len == 0 ? !postgres_await(p, &until_us, false, &why)
                            : !postgres_lost(p, &why)) {
            if (ok)
                *err = why;
            return false;
        }
    }
}
