/* some_cells.h - values at random, the same ones in every run. */
#pragma once

#include <stdio.h>

#include "table/cell.h"

static uint64_t some_state = 0x9e3779b97f4a7c15u;

static inline uint64_t some_number(void)
{
    some_state ^= some_state << 13;
    some_state ^= some_state >> 7;
    some_state ^= some_state << 17;
    return some_state;
}

static inline size_t some_below(size_t n)
{
    return (size_t)(some_number() >> 11) % n;
}

/* Small ones, large ones and those in between. */
static inline int64_t some_int(void)
{
    return (int64_t)(some_number() >> some_below(64)) * (some_below(2) == 0 ? 1 : -1);
}

/* Of few different bytes, so that many are alike at the front. */
static inline struct str some_bytes(struct arena *a)
{
    static const char few[] = { 0, 1, 'a', 'b', (char)0xff, (char)0xfe };
    size_t len = some_below(6);
    char *p = arena_alloc(a, len + 1);

    for (size_t i = 0; i < len; i++)
        p[i] = few[some_below(sizeof few)];
    return str_mem(p, len);
}

static inline struct str some_text(struct arena *a)
{
    static const char *const few[] = {
        "\x01", "a", "b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"
    };
    char *p = arena_alloc(a, 40);
    size_t len = 0;

    for (size_t n = some_below(6); n > 0; n--)
        len += (size_t)snprintf(p + len, 8, "%s", few[some_below(6)]);
    return str_mem(p, len);
}

static inline struct str some_dec(struct arena *a)
{
    return str_of(arena_printf(a, "%lld.%llu", (long long)some_int(),
                               (unsigned long long)(some_number() >> some_below(64))));
}

static inline double some_float(void)
{
    uint64_t bits = some_number();
    double f;

    if (some_below(2) == 0)
        return (double)some_int() / 1000;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* A value in its one form. */
static inline struct cell some_cell(enum cell_type type, struct arena *a)
{
    struct cell c = { .type = type }, ret = { 0 };
    struct err err;

    switch (type) {
    case CELL_INT:
    case CELL_INSTANT:
    case CELL_LOCAL:
        c.i = some_int();
        break;
    case CELL_BOOL:
        c.i = (int64_t)some_below(2);
        break;
    case CELL_DATE:
        c.i = some_int() % 2000000000;
        break;
    case CELL_TIME:
        c.i = some_int() % (INT64_C(86400) * 1000000);
        break;
    case CELL_FLOAT:
        c.f = some_float();
        break;
    case CELL_TEXT:
        c.s = some_text(a);
        break;
    case CELL_BYTES:
        c.s = some_bytes(a);
        break;
    case CELL_UUID:
        c.s = arena_copy(a, str_mem((uint64_t[]){ some_number(), some_number() }, 16));
        break;
    case CELL_DEC:
        c.s = some_dec(a);
        break;
    case CELL_JSON:
        c.s = str_of(
            arena_printf(a, "{\"b\": [%lld, null], \"a\": {\"x\": true}}", (long long)some_int()));
        break;
    default:
        break;
    }
    if (!cell_cast(&c, type, a, &ret, &err))
        printf("# %s\n", err.text);
    return ret;
}
