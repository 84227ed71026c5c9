#include "table/key.h"

#include <endian.h>

#include "table/cell_cast.h"
#include "table/cell_time.h"
#include "table/shape.h"

enum { NUMBER_BYTES = 8 };

bool key_type_fits(enum cell_type type)
{
    switch (type) {
    case CELL_INT:
    case CELL_TEXT:
    case CELL_BYTES:
    case CELL_BOOL:
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_DATE:
    case CELL_TIME:
    case CELL_UUID:
        return true;
    default:
        return false;
    }
}

/* ---- writing ---- */

static size_t key_nul_count(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += s.ptr[i] == '\0';
    return n;
}

/* 0: it cannot be in a key. */
static size_t key_cell_size(const struct cell *c)
{
    switch (c->type) {
    case CELL_TEXT:
    case CELL_BYTES:
        return c->s.len > SHAPE_KEY_BYTES ? SHAPE_KEY_BYTES + 1
                                          : c->s.len + key_nul_count(c->s) + 2;
    case CELL_BOOL:
        return 1;
    case CELL_UUID:
        return c->s.len == CELL_UUID_BYTES ? CELL_UUID_BYTES : 0;
    default:
        return key_type_fits(c->type) ? NUMBER_BYTES : 0;
    }
}

static char *key_put_bytes(struct str s, char *to)
{
    for (size_t i = 0; i < s.len; i++) {
        *to++ = s.ptr[i];
        if (s.ptr[i] == '\0')
            *to++ = (char)0xff;
    }
    *to++ = '\0';
    *to++ = '\0';
    return to;
}

static char *key_put_cell(const struct cell *c, char *to)
{
    uint64_t n;

    switch (c->type) {
    case CELL_TEXT:
    case CELL_BYTES:
        return key_put_bytes(c->s, to);
    case CELL_BOOL:
        *to = (char)(c->i != 0);
        return to + 1;
    case CELL_UUID:
        memcpy(to, c->s.ptr, CELL_UUID_BYTES);
        return to + CELL_UUID_BYTES;
    default:
        n = htobe64((uint64_t)c->i ^ UINT64_C(1) << 63);
        memcpy(to, &n, sizeof n);
        return to + sizeof n;
    }
}

bool key_put(struct buf *to, const struct cell *cells, size_t count, struct err *err)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        size_t more = key_cell_size(&cells[i]);

        if (more == 0)
            return err_set(err, ERR_PERMANENT, 0, "column %zu of the key is %s", i + 1,
                           cells[i].type == CELL_NULL ? "NULL" : "of a type that cannot be in one");
        size += more;
        if (size > SHAPE_KEY_BYTES)
            return err_set(err, ERR_LIMIT, 0, "the key is longer than %d bytes", SHAPE_KEY_BYTES);
    }
    if (!buf_reserve(to, size, err))
        return false;
    char *at = to->ptr + to->len;

    for (size_t i = 0; i < count; i++)
        at = key_put_cell(&cells[i], at);
    buf_added(to, size);
    return true;
}

/* ---- reading ---- */

/* A text up to its end; lent if it has no zeros. */
static bool key_take_bytes(struct str *s, struct arena *a, struct str *ret)
{
    size_t zeros = 0, at = 0;
    char *to;

    for (;; at++) {
        if (at + 1 >= s->len)
            return false;
        if (s->ptr[at] != '\0')
            continue;
        if (s->ptr[at + 1] == '\0')
            break;
        if ((unsigned char)s->ptr[++at] != 0xff)
            return false;
        zeros++;
    }
    *ret = str_mem(s->ptr, at);
    if (zeros > 0) {
        to = arena_alloc(a, at);
        for (size_t i = 0, n = 0; i < at; n++) {
            to[n] = s->ptr[i];
            i += s->ptr[i] == '\0' ? 2 : 1;
        }
        *ret = str_mem(to, at - zeros);
    }
    *s = str_from(*s, at + 2);
    return true;
}

static bool key_take_cell(struct str *s, enum cell_type type, struct arena *a, struct cell *ret)
{
    size_t len = type == CELL_BOOL ? 1 : type == CELL_UUID ? CELL_UUID_BYTES : NUMBER_BYTES;
    struct cell c = { .type = type };
    uint64_t n;

    if (type == CELL_TEXT || type == CELL_BYTES) {
        if (!key_take_bytes(s, a, &c.s) || (type == CELL_TEXT && !cell_text_is_fine(c.s)))
            return false;
        *ret = c;
        return true;
    }
    if (!key_type_fits(type) || s->len < len)
        return false;
    if (type == CELL_UUID) {
        c.s = str_mem(s->ptr, len);
    } else if (type == CELL_BOOL) {
        c.i = (unsigned char)s->ptr[0];
        if (c.i > 1)
            return false;
    } else {
        memcpy(&n, s->ptr, sizeof n);
        c.i = (int64_t)(be64toh(n) ^ UINT64_C(1) << 63);
        if (!cell_time_is_fine(type, c.i))
            return false;
    }
    *s = str_from(*s, len);
    *ret = c;
    return true;
}

bool key_take(struct str bytes, const enum cell_type *types, size_t count, struct arena *a,
              struct cell *cells, struct err *err)
{
    if (bytes.len > SHAPE_KEY_BYTES)
        return err_set(err, ERR_PERMANENT, 0, "the key is longer than %d bytes", SHAPE_KEY_BYTES);
    for (size_t i = 0; i < count; i++)
        if (!key_take_cell(&bytes, types[i], a, &cells[i]))
            return err_set(err, ERR_PERMANENT, 0, "column %zu of the key is no %s", i + 1,
                           cell_types[types[i]]);
    if (bytes.len > 0)
        return err_set(err, ERR_PERMANENT, 0, "something stands behind the key");
    return true;
}
