#include "cage/inside.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"

enum {
    IN_BYTES = FRAME_WHOLE_MOST * 2,
    OUT_FULL = 64 << 10, /* so much is sent at once */
    OUT_MOST = OUT_FULL + FRAME_WHOLE_MOST * 2,
    OLD_US = CLOCK_MS, /* an answer does not wait longer */
    ARENA_BYTES = 4 << 20
};

void inside_init(struct inside *s, int fd, struct progress *progress)
{
    struct err err;

    *s = (struct inside){
        .fd = fd, .progress = progress, .in = xmalloc(IN_BYTES), .out = BUF_INIT(OUT_MOST)
    };
    bool room = buf_reserve(&s->out, OUT_MOST, &err);

    require(room);
}

void inside_move(struct inside *s, int fd, struct progress *progress)
{
    s->fd = fd;
    s->progress = progress;
    s->at = s->len = 0;
    s->oldest_us = 0;
    s->flushed = false;
    buf_clear(&s->out);
}

/* ---- the socket ---- */

void inside_flush(struct inside *s)
{
    for (size_t at = 0; at < s->out.len;) {
        ssize_t n = write(s->fd, s->out.ptr + at, s->out.len - at);

        if (n < 0 && errno != EINTR)
            _exit(0); /* nobody hears us */
        at += n > 0 ? (size_t)n : 0;
    }
    s->flushed = s->out.len > 0;
    s->oldest_us = 0;
    buf_clear(&s->out);
}

/* More bytes.  The socket has a time-out: who waits so long for a document ends. */
static void inside_read(struct inside *s, bool between)
{
    if (s->at > 0) {
        memmove(s->in, s->in + s->at, s->len - s->at);
        s->len -= s->at;
        s->at = 0;
    }
    for (;;) {
        ssize_t n = read(s->fd, s->in + s->len, IN_BYTES - s->len);

        if (n > 0) {
            s->len += (size_t)n;
            return;
        }
        if (n == 0 || (errno != EINTR && (errno != EAGAIN || between)))
            _exit(0);
    }
}

static struct frame take_frame(struct inside *s, bool between)
{
    struct frame f;

    for (;;) {
        struct str rest = str_mem(s->in + s->at, s->len - s->at);
        enum frame_take got = frame_take(&rest, &f);

        require(got != FRAME_MALFORMED);
        if (got == FRAME_TAKEN) {
            s->at = s->len - rest.len;
            return f;
        }
        if (s->out.len > 0)
            inside_flush(s);
        inside_read(s, between);
    }
}

struct frame inside_take(struct inside *s)
{
    return take_frame(s, true);
}

/* ---- the io of a document ---- */

struct inside_io {
    struct service_io io;
    struct inside *s;
    struct str first; /* the bytes that came with the document */
    bool whole;       /* these are all */
    bool given;       /* ... and were given */
    bool ended;       /* no further piece follows */
    int64_t put;
    size_t notes;
};

static bool inside_next(struct service_io *io, struct str *ret, struct service_failure *ret_failure)
{
    struct inside_io *d = container_of(io, struct inside_io, io);

    *ret = (struct str){ 0 };
    if (!d->given) {
        d->given = true;
        *ret = d->first;
        if (ret->len > 0)
            return true;
    }
    if (d->ended)
        return true;
    frame_put(&d->s->out, FRAME_WANT, false, STR(""));
    struct frame f = take_frame(d->s, false);

    if (f.kind != FRAME_PIECE)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED, "the document cannot be read");
    d->ended = f.last;
    *ret = f.body;
    return true;
}

static bool inside_rewind(struct service_io *io, struct service_failure *ret_failure)
{
    struct inside_io *d = container_of(io, struct inside_io, io);

    (void)ret_failure;
    if (d->whole) {
        d->given = false;
        return true;
    }
    frame_put(&d->s->out, FRAME_REWIND, false, STR(""));
    d->given = true; /* the first bytes come again, as a piece */
    d->ended = false;
    return true;
}

/* The caller enforces it too; who fails by itself saves its process. */
static bool inside_count(struct inside_io *d, size_t bytes, struct service_failure *ret_failure)
{
    d->put += (int64_t)bytes;
    if (d->put <= d->s->limits.output)
        return true;
    return service_fail(ret_failure, DEAD_LIMIT, "what comes out is larger than %lld bytes",
                        (long long)d->s->limits.output);
}

static void flush_full(struct inside *s)
{
    if (s->out.len >= OUT_FULL)
        inside_flush(s);
}

static bool inside_put(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    struct inside_io *d = container_of(io, struct inside_io, io);

    if (!inside_count(d, piece.len, ret_failure))
        return false;
    while (piece.len > 0) {
        size_t n = piece.len < FRAME_BODY_MOST ? piece.len : FRAME_BODY_MOST;

        frame_put(&d->s->out, FRAME_OUT, false, str_mem(piece.ptr, n));
        flush_full(d->s);
        piece = str_from(piece, n);
    }
    return true;
}

static bool inside_part(struct service_io *io, const struct service_part *head,
                        struct service_failure *ret_failure)
{
    struct inside_io *d = container_of(io, struct inside_io, io);
    size_t begun = frame_begin(&d->s->out, FRAME_PART);

    if (!frame_put_part(&d->s->out, head)) {
        d->s->out.len = begun;
        return service_fail(ret_failure, DEAD_LIMIT, "the head of a part is too large");
    }
    frame_end(&d->s->out, begun, false);
    if (!inside_count(d, d->s->out.len - begun, ret_failure)) {
        d->s->out.len = begun;
        return false;
    }
    flush_full(d->s);
    return true;
}

static bool inside_none(struct service_io *io, struct service_failure *ret_failure)
{
    struct inside_io *d = container_of(io, struct inside_io, io);

    (void)ret_failure;
    frame_put(&d->s->out, FRAME_NONE, false, STR(""));
    return true;
}

static void inside_note(struct service_io *io, struct str line)
{
    struct inside_io *d = container_of(io, struct inside_io, io);

    if (d->notes++ < SERVICE_NOTES_MOST)
        frame_put(&d->s->out, FRAME_NOTE, false, str_first(line, SERVICE_NOTE_BYTES));
}

/* ---- one document after the other ---- */

static void inside_answer(struct inside *s, bool done, const struct service_failure *f)
{
    if (done) {
        frame_put(&s->out, FRAME_END, false, STR(""));
    } else {
        size_t at = frame_begin(&s->out, FRAME_FAIL);

        buf_putc(&s->out, (char)f->code);
        buf_puts(&s->out, f->message);
        frame_end(&s->out, at, false);
    }
    int64_t now_us = clock_mono_us();

    if (s->oldest_us == 0)
        s->oldest_us = now_us;
    if (s->flushed || s->out.len >= OUT_FULL || now_us - s->oldest_us > OLD_US)
        inside_flush(s);
}

static void serve_document(struct inside *s, const struct frame *f, struct arena *a,
                           const struct service_type *t, void *self)
{
    /* The bytes of a large one are overwritten by its pieces, and its head must stay. */
    struct str body = f->last ? f->body : arena_copy(a, f->body);
    struct service_failure failure = { .code = DEAD_SERVICE_FAILED };
    struct service_document document;
    int64_t size;
    bool understood = frame_take_document(&body, a, &document, &size);

    require(understood);
    struct inside_io d = { .io = { .document = &document,
                                   .size = f->last ? (int64_t)body.len : size,
                                   .next = inside_next,
                                   .rewind = inside_rewind,
                                   .put = inside_put,
                                   .part = inside_part,
                                   .none = inside_none,
                                   .note = inside_note },
                           .s = s,
                           .first = body,
                           .whole = f->last,
                           .ended = f->last };

    s->flushed = false;
    bool done = service_run(t, self, &d.io, &failure);

    inside_answer(s, done, &failure);
}

_Noreturn void inside_serve(struct inside *s, const struct service_type *t, void *self)
{
    struct arena arena = ARENA_INIT(ARENA_BYTES);
    uint64_t begun = 0;

    for (;;) {
        struct frame f = inside_take(s);

        require(f.kind == FRAME_DOCUMENT);
        atomic_store_explicit(&s->progress->begun, ++begun, memory_order_release);
        serve_document(s, &f, &arena, t, self);
        arena_reset(&arena);
    }
}
