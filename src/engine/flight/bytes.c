#include "engine/flight/bytes.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/require.h"
#include "engine/flight/tries.h"
#include "extract/extract.h"
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

bool bytes_read_first(struct flight *f, size_t most, struct err *err)
{
    return read_all(f->stock->store, &f->source, &f->received.buf, most, err);
}

struct sha256 variant_sha256(const struct flight *f, const struct variant *v)
{
    return v == &f->received                    ? f->source.sha256
           : v->settle.uploaded || v->is_stored ? v->settle.sha256
                                                : digest_of(buf_view(&v->buf));
}

bool variant_peek(struct flight *f, struct variant *v, struct err *err)
{
    if (v->source.size <= SEGMENT_PAYLOAD_MOST || v->buf.len > 0)
        return true; /* all of it is in memory, or its beginning */
    require(f->peeked == NULL);
    (void)pthread_mutex_lock(&f->stock->peeking);
    f->peeked = v;
    if (read_all(f->stock->store, &v->source, &v->buf, EXTRACT_BYTES_MOST, err))
        return true;
    variant_unpeek(f);
    return false;
}

void variant_unpeek(struct flight *f)
{
    if (f->peeked == NULL)
        return;
    buf_done(&f->peeked->buf);
    f->peeked = NULL;
    (void)pthread_mutex_unlock(&f->stock->peeking);
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

/* ---- variants in the store ---- */

void variant_set_stored(struct flight *f, struct variant *v, struct payload_ref place, int64_t size,
                        const struct sha256 *sha256)
{
    v->settle.size = size;
    v->settle.sha256 = *sha256;
    v->settle.stored = (struct payload_source){
        .id = f->source.id, .size = size, .sha256 = *sha256, .place = place
    };
    v->settle.uploaded = true;
    v->source = v->settle.stored;
    buf_done(&v->buf);
}

/* Uploads the variant and frees its memory. */
static bool to_store(struct flight *f, struct variant *v, struct err *err)
{
    struct str bytes = buf_view(&v->buf);
    struct sha256 sum = digest_of(bytes);
    struct payload_ref place;
    struct upload *u;

    if (!upload_open(f->stock->store, &u, err))
        return false;
    bool ok = upload_add(u, bytes, err) && upload_finish(u, &place, err);

    upload_close(u);
    if (ok)
        variant_set_stored(f, v, place, (int64_t)bytes.len, &sum);
    return ok;
}

static void drop_upload(struct flight *f, struct variant *v)
{
    if (!v->settle.uploaded)
        return;
    v->settle.uploaded = false;
    upload_drop(f->stock->store, v->settle.stored.place);
}

bool variants_have_uploads(const struct flight *f)
{
    for (size_t i = 0; i < f->made_count; i++)
        if (f->made[i]->settle.uploaded)
            return true;
    return false;
}

void variants_drop_uploads(struct flight *f)
{
    for (size_t i = 0; i < f->made_count; i++)
        drop_upload(f, f->made[i]);
}

void variants_drop_unkept(struct flight *f)
{
    for (size_t i = 0; i < f->made_count; i++)
        if (!f->made[i]->is_kept && !(f->made[i]->is_of_record && f->settle.end != SETTLE_AGAIN))
            drop_upload(f, f->made[i]);
}

bool variants_may_differ(const struct flight *f)
{
    for (size_t i = 0; i < f->made_count; i++)
        if ((f->made[i]->is_kept || f->made[i]->is_of_record) && !f->made[i]->is_stored)
            return true;
    return f->passed != NULL;
}

void variants_keep(struct flight *f)
{
    for (size_t i = 0; i < f->made_count; i++)
        f->made[i]->is_kept = f->made[i]->is_kept || f->made[i]->is_of_record;
    for (const struct passed_step *p = f->passed; p != NULL; p = p->before)
        flight_note_passed(f, p);
}

/* It has its line in the timeline: nothing of it is stored again (variants_seal). */
struct variant *variant_of_past(struct flight *f, struct str step,
                                const struct payload_source *stored)
{
    struct buf none = BUF_INIT(SERVICE_BYTES_MOST);
    struct variant *v = flight_add_made(f, step, &none);

    v->is_stored = true;
    v->source = *stored;
    v->settle = (struct settle_bytes){
        .size = stored->size, .sha256 = stored->sha256, .stored = *stored, .line = &v->line
    };
    return v;
}

/* ---- who needs them ---- */

/* A leg sends these bytes, a batch gets them, or they are kept. */
static bool variant_is_used(const struct flight *f, const struct variant *v)
{
    if (f->keeps_stages || v->is_kept || v->is_of_record)
        return true;
    for (size_t i = 0; i < f->leg_count; i++)
        if (f->legs[i]->variant == v)
            return true;
    return f->joins == v;
}

void variant_let_go(struct flight *f, struct variant *v)
{
    bool large = variant_size(v) > SEGMENT_PAYLOAD_MOST;
    struct err err;

    if (v == &f->received) {
        if (large && !f->dry)
            buf_done(&v->buf);
        return;
    }
    if (f->keeps_all)
        return;
    if (variant_is_used(f, v)) { /* if it fails here, variants_seal() tries again */
        if (large && !f->dry && !v->is_stored)
            (void)(v->settle.uploaded || to_store(f, v, &err));
        return;
    }
    buf_done(&v->buf);
    drop_upload(f, v);
}

bool variant_rest(struct flight *f, struct variant *v, struct err *err)
{
    if (variant_size(v) <= SEGMENT_PAYLOAD_MOST)
        return true;
    if (v != &f->received && !v->settle.uploaded && !v->is_stored)
        return to_store(f, v, err);
    buf_done(&v->buf);
    return true;
}

static struct timeline_line line_of_bytes(struct flight *f, const struct variant *v)
{
    struct str message = STR("the bytes from here on");

    if (v->is_kept && (v->is_of_record || v->is_costly))
        message = str_of(
            arena_printf(&f->arena, "%.*s, %.*s", STR_ARG(message), STR_ARG(TRIES_NEXT_RUN)));
    if (v->question.len > 0)
        message = str_of(arena_printf(&f->arena, "%.*s; it was asked with %.*s", STR_ARG(message),
                                      STR_ARG(v->question)));
    return (struct timeline_line){ .at_us = clock_wall_us(),
                                   .node = store_node(f->stock->store),
                                   .stage = TIMELINE_STEP,
                                   .outcome = TIMELINE_DONE,
                                   .took_us = -1,
                                   .attempt = v->step_number,
                                   .status = v->status,
                                   .what = v->step,
                                   .message = message,
                                   .came = variant_size(v),
                                   .ctype = v->ctype };
}

bool variants_seal(struct flight *f, struct err *err)
{
    for (size_t i = 0; i < f->made_count; i++) {
        struct variant *v = f->made[i];

        if (!variant_is_used(f, v) || v->settle.line != NULL)
            continue;
        if (v->buf.len > SEGMENT_PAYLOAD_MOST && !to_store(f, v, err))
            return false;
        if (!v->settle.uploaded) {
            v->settle.size = (int64_t)v->buf.len;
            v->settle.sha256 = digest_of(buf_view(&v->buf));
            v->settle.bytes = buf_view(&v->buf);
        }
        v->line = line_of_bytes(f, v);
        v->settle.line = &v->line;
    }
    return true;
}
