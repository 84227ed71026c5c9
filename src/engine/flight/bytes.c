#include "engine/flight/bytes.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/require.h"
#include "store/payload/payload.h"
#include "store/store.h"

static bool read_all(struct store *s, const struct payload_source *source, struct buf *to,
                     size_t most, struct err *err)
{
    struct payload_reader *reader;
    struct str piece;
    bool ok;

    if (!payload_open(s, source, &reader, err))
        return false;
    do {
        ok = payload_next(reader, &piece, err);
        if (ok && to->len + piece.len > most)
            piece.len = most - to->len;
        ok = ok && buf_append(to, piece, err);
    } while (ok && piece.len > 0 && to->len < most);
    payload_close(reader);
    return ok;
}

bool bytes_peek(struct flight *f, size_t most, struct err *err)
{
    return read_all(f->stock->store, &f->source, &f->received.buf, most, err);
}

bool variant_load(struct flight *f, struct variant *v, struct err *err)
{
    int64_t size = v->source.size;

    if (size == 0 || (int64_t)v->buf.len == size)
        return true;
    if (size > SERVICE_BYTES_MOST)
        return err_set(err, ERR_LIMIT, 0, "too large for a step: %lld bytes, at most %d",
                       (long long)size, SERVICE_BYTES_MOST);
    buf_clear(&v->buf);
    return read_all(f->stock->store, &v->source, &v->buf, SERVICE_BYTES_MOST, err);
}

/* ---- variants ---- */

static bool upload(struct flight *f, struct variant *v, struct err *err)
{
    struct upload *u;
    struct payload_source *to = &v->settle.stored;

    if (!upload_open(f->stock->store, &u, err))
        return false;
    bool ok = upload_add(u, buf_view(&v->buf), err) && upload_finish(u, &to->place, err);

    upload_close(u);
    v->settle.uploaded = ok;
    return ok;
}

/* Upload the variant and free its memory; from here on it is read from the store. */
static bool to_store(struct flight *f, struct variant *v, struct err *err)
{
    if (!upload(f, v, err)) {
        v->settle.size = 0; /* not sealed: the next call tries again */
        return false;
    }
    v->settle.stored.id = f->source.id;
    v->settle.stored.size = v->settle.size;
    v->settle.stored.sha256 = v->settle.sha256;
    v->source = v->settle.stored;
    buf_done(&v->buf);
    return true;
}

bool variant_is_used(const struct flight *f, const struct variant *v)
{
    for (size_t i = 0; i < f->leg_count; i++)
        if (f->legs[i]->variant == v)
            return true;
    return f->joins == v;
}

void variant_let_go(struct flight *f, struct variant *v)
{
    if (v != &f->received && !f->keeps_all && !variant_is_used(f, v))
        buf_done(&v->buf);
}

bool variants_seal(struct flight *f, struct err *err)
{
    for (size_t i = 0; i < f->made_count; i++) {
        struct variant *v = f->made[i];

        if (!variant_is_used(f, v) || v->settle.size > 0)
            continue;
        v->settle.size = (int64_t)v->buf.len;
        v->settle.sha256 = digest_of(buf_view(&v->buf));
        v->line = (struct timeline_line){ .at_us = clock_wall_us(),
                                          .node = store_node(f->stock->store),
                                          .stage = TIMELINE_STEP,
                                          .outcome = TIMELINE_DONE,
                                          .took_us = -1,
                                          .attempt = v->step_number,
                                          .what = v->step,
                                          .message = STR("the bytes from here on") };
        v->settle.line = &v->line;
        if (v->buf.len <= SEGMENT_PAYLOAD_MOST)
            v->settle.bytes = buf_view(&v->buf);
        else if (!to_store(f, v, err))
            return false;
    }
    return true;
}
