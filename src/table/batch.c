#include "table/batch.h"

#include "base/varint.h"

enum { BATCH_ROW, BATCH_GONE };

static size_t batch_text_size(struct str s)
{
    return varint_size(s.len) + s.len;
}

size_t batch_size(const struct batch_entry *e)
{
    return 1 + varint_size((uint64_t)e->x) + varint_size((uint64_t)e->at_us) +
           batch_text_size(e->origin) + batch_text_size(e->key) +
           (e->gone ? 0 : batch_text_size(e->row));
}

bool batch_put(struct buf *to, const struct batch_entry *e, struct err *err)
{
    size_t size = batch_size(e);

    if (!buf_reserve(to, size, err))
        return err_context(err, "an entry of %zu bytes", size);
    char *at = to->ptr + to->len;

    *at++ = e->gone ? BATCH_GONE : BATCH_ROW;
    at = varint_put(at, (uint64_t)e->x);
    at = varint_put(at, (uint64_t)e->at_us);
    at = varint_put_text(at, e->origin);
    at = varint_put_text(at, e->key);
    if (!e->gone)
        (void)varint_put_text(at, e->row);
    buf_added(to, size);
    return true;
}

static bool batch_take_text(struct str *from, struct str *ret)
{
    uint64_t len;

    if (!varint_take_least(from, &len) || len > from->len)
        return false;
    *ret = str_mem(from->ptr, (size_t)len);
    *from = str_from(*from, (size_t)len);
    return true;
}

bool batch_take(struct str *from, struct batch_entry *ret, struct err *err)
{
    struct batch_entry e = { .row = STR("") };
    struct str rest = str_from(*from, 1);
    uint64_t x, at_us;
    char kind = from->len > 0 ? from->ptr[0] : -1;

    e.gone = kind == BATCH_GONE;
    if ((kind != BATCH_ROW && kind != BATCH_GONE) || !varint_take_least(&rest, &x) ||
        !varint_take_least(&rest, &at_us) || !batch_take_text(&rest, &e.origin) ||
        !batch_take_text(&rest, &e.key) || (!e.gone && !batch_take_text(&rest, &e.row)))
        return err_set(err, ERR_PERMANENT, 0, "an entry of a batch is damaged or cut off");
    e.x = (int64_t)x;
    e.at_us = (int64_t)at_us;
    *ret = e;
    *from = rest;
    return true;
}
