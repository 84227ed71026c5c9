#include "engine/flight/step_io.h"

#include <stdio.h>

#include "base/container_of.h"
#include "engine/flight/bytes.h"
#include "extract/extract.h"
#include "store/payload/payload.h"
#include "store/store.h"

enum { FOUND_MOST = 64 << 20 };

static struct step_io *io_of(struct service_io *io)
{
    return container_of(io, struct step_io, io);
}

/* The message is for a step that repeats it: the walk looks at `err` and `wants_thread` first. */
static bool store_failed(struct step_io *x, struct service_failure *ret_failure)
{
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s", x->err.text);
}

static bool needs_thread(struct step_io *x, struct service_failure *ret_failure)
{
    if (x->flight->may_block || x->flight->dry)
        return false;
    x->wants_thread = true;
    (void)service_fail(ret_failure, DEAD_SERVICE_FAILED, "it has to run on another thread");
    return true;
}

/* ---- in ---- */

static bool step_next_stored(struct step_io *x, struct str *ret,
                             struct service_failure *ret_failure)
{
    if (x->reader == NULL && needs_thread(x, ret_failure))
        return false;
    if (x->reader == NULL &&
        !payload_open(x->flight->stock->store, &x->in->source, &x->reader, &x->err))
        return store_failed(x, ret_failure);
    return payload_next(x->reader, ret, &x->err) || store_failed(x, ret_failure);
}

static bool step_next(struct service_io *io, struct str *ret, struct service_failure *ret_failure)
{
    struct step_io *x = io_of(io);

    if (!variant_is_in_memory(x->in))
        return step_next_stored(x, ret, ret_failure);
    *ret = str_from(buf_view(&x->in->buf), x->at);
    x->at += ret->len;
    return true;
}

static bool step_rewind(struct service_io *io, struct service_failure *ret_failure)
{
    struct step_io *x = io_of(io);

    (void)ret_failure;
    x->at = 0;
    payload_close(x->reader);
    x->reader = NULL;
    return true;
}

/* ---- out ---- */

static bool spill(struct step_io *x, struct str bytes, struct service_failure *ret_failure)
{
    if (x->upload == NULL) {
        if (needs_thread(x, ret_failure))
            return false;
        if (!upload_open(x->flight->stock->store, &x->upload, &x->err))
            return store_failed(x, ret_failure);
        x->digest = digest_start();
    }
    if (!upload_add(x->upload, bytes, &x->err))
        return store_failed(x, ret_failure);
    digest_add(&x->digest, bytes);
    return true;
}

static bool spill_all(struct step_io *x, struct service_failure *ret_failure)
{
    if (x->out.len > 0 && !spill(x, buf_view(&x->out), ret_failure))
        return false;
    buf_clear(&x->out);
    return true;
}

static bool step_put(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    struct step_io *x = io_of(io);

    if ((int64_t)piece.len > x->most - x->size)
        return service_fail(ret_failure, DEAD_LIMIT, "what comes out is larger than %lld bytes",
                            (long long)x->most);
    x->is_too_large = x->flight->dry && piece.len > x->out.cap - x->out.len;
    if (x->is_too_large)
        return service_fail(ret_failure, DEAD_LIMIT, "what comes out is larger than %zu bytes",
                            x->out.cap);
    if (piece.len > x->out.cap - x->out.len && !spill_all(x, ret_failure))
        return false;
    x->size += (int64_t)piece.len;
    return piece.len > x->out.cap ? spill(x, piece, ret_failure)
                                  : buf_append(&x->out, piece, &x->err);
}

/* ---- parts ---- */

static bool step_describe(struct service_io *io, struct str part, struct service_part *head,
                          struct service_failure *ret_failure)
{
    struct step_io *x = io_of(io);
    struct extract_source source = {
        .body = part, .whole = true, .head = x->flight->head, .name = x->flight->name
    };
    struct extract_failure failure;
    struct facts found = { 0 };

    arena_reset(&x->found);
    bool ok = extract_run(x->extractor, &source, &x->found, &found, &failure);

    if (found.sender.ptr != NULL)
        head->sender = found.sender;
    if (found.receiver.ptr != NULL)
        head->receiver = found.receiver;
    if (found.type.ptr != NULL)
        head->type = found.type;
    if (found.attribute_count > 0) {
        head->attributes = found.attributes;
        head->attribute_count = found.attribute_count;
    }
    return ok || service_fail(ret_failure, failure.code, "%s", failure.message);
}

static bool step_none(struct service_io *io, struct service_failure *ret_failure)
{
    (void)ret_failure;
    io_of(io)->is_none = true;
    return true;
}

static void step_note(struct service_io *io, struct str line)
{
    struct step_io *x = io_of(io);

    if (x->note_count < SERVICE_NOTES_MOST)
        x->notes[x->note_count++] =
            arena_copy(&x->flight->arena, str_first(line, SERVICE_NOTE_BYTES));
}

/* ---- life ---- */

void step_io_init(struct step_io *x, struct flight *f, const struct plan_step *s, int64_t most,
                  step_begins_part *part)
{
    *x = (struct step_io){
        .io = { .document = &x->document,
                .size = variant_size(f->walk.bytes),
                .next = step_next,
                .rewind = step_rewind,
                .put = step_put,
                .part = part,
                .describe = s->extractor != NULL ? step_describe : NULL,
                .none = step_none,
                .note = step_note },
        .document = { .id = f->source.id,
                      .received_us = f->received_us,
                      .facts = &f->facts,
                      .name = f->name,
                      .ctype = f->ctype,
                      .gateway = name_text(f->stock->store, f->gateway) },
        .flight = f,
        .in = f->walk.bytes,
        .most = most,
        .extractor = s->extractor,
        .found = ARENA_INIT(FOUND_MOST),
        .out = BUF_INIT(f->dry ? SERVICE_BYTES_MOST : SEGMENT_PAYLOAD_MOST),
    };
}

void step_io_done(struct step_io *x)
{
    payload_close(x->reader);
    x->reader = NULL;
    upload_close(x->upload);
    x->upload = NULL;
    digest_drop(&x->digest);
    buf_done(&x->out);
    arena_done(&x->found);
}

bool step_io_each(struct step_io *x, step_io_put *put, void *arg, struct err *err)
{
    struct service_failure ignored;
    struct str piece;

    if (!x->io.rewind(&x->io, &ignored))
        return false;
    do {
        if (!x->io.next(&x->io, &piece, &ignored))
            return false;
        if (piece.len > 0 && !put(arg, piece, err))
            return false;
    } while (piece.len > 0);
    return true;
}

void step_io_tell(struct step_io *x, struct str step)
{
    char line[SERVICE_NOTE_BYTES + 1];

    for (size_t i = 0; i < x->note_count; i++) {
        (void)snprintf(line, sizeof line, "%.*s", STR_ARG(x->notes[i]));
        flight_note(x->flight, TIMELINE_STEP, TIMELINE_NOTED, step, -1, line);
    }
}

/* ---- the result ---- */

/* Bytes in memory have no digest yet. */
static bool is_unchanged(const struct step_io *x, const struct sha256 *sum)
{
    if (x->size != variant_size(x->in))
        return false;
    struct sha256 before =
        variant_is_in_memory(x->in) ? digest_of(buf_view(&x->in->buf)) : x->in->source.sha256;

    return digest_same(sum, &before);
}

static bool take_upload(struct step_io *x, struct str step, struct variant **ret)
{
    struct service_failure ignored;
    struct payload_ref place;

    if (!spill_all(x, &ignored) || !upload_finish(x->upload, &place, &x->err))
        return false;
    struct sha256 sum = digest_end(&x->digest);

    if (is_unchanged(x, &sum)) {
        upload_drop(x->flight->stock->store, place);
        *ret = x->in;
        return true;
    }
    *ret = flight_add_made(x->flight, step, &x->out);
    variant_set_stored(x->flight, *ret, place, x->size, &sum);
    return true;
}

bool step_io_take(struct step_io *x, struct str step, struct variant **ret)
{
    if (x->upload != NULL)
        return take_upload(x, step, ret);
    bool same = variant_is_in_memory(x->in) && str_eq(buf_view(&x->out), buf_view(&x->in->buf));

    *ret = same ? x->in : flight_add_made(x->flight, step, &x->out);
    return true;
}
