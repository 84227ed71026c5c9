#include "core/service.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/container_of.h"

enum { PARTS_MOST = 1000000 }; /* of one document in memory */

bool service_fail(struct service_failure *ret, enum dead_code code, const char *format, ...)
{
    va_list args;

    ret->code = code;
    ret->later = false;
    va_start(args, format);
    (void)vsnprintf(ret->message, sizeof ret->message, format, args);
    va_end(args);
    return false;
}

/* ---- running ---- */

bool service_gather(struct service_io *io, struct buf *to, struct service_failure *ret_failure)
{
    struct str piece;
    struct err err;

    do {
        if (!io->next(io, &piece, ret_failure))
            return false;
        if (!buf_append(to, piece, &err))
            return service_fail(ret_failure, DEAD_LIMIT,
                                "too large for this step: more than %d bytes", SERVICE_BYTES_MOST);
    } while (piece.len > 0);
    return true;
}

bool service_run(const struct service_type *t, void *self, struct service_io *io,
                 struct service_failure *ret_failure)
{
    if (t->stream != NULL)
        return t->stream(self, io, ret_failure);
    if (t->http != NULL)
        return service_fail(ret_failure, DEAD_SERVICE_FAILED,
                            "it asks another service, which is not done here");
    AUTO(buf_done) struct buf in = BUF_INIT(SERVICE_BYTES_MOST);
    AUTO(buf_done) struct buf out = BUF_INIT(SERVICE_BYTES_MOST);

    return service_gather(io, &in, ret_failure) &&
           t->run(self, buf_view(&in), io->document, &out, ret_failure) &&
           io->put(io, buf_view(&out), ret_failure);
}

/* ---- an io in memory ---- */

static bool memory_next(struct service_io *io, struct str *ret, struct service_failure *ret_failure)
{
    struct service_memory *m = container_of(io, struct service_memory, io);
    size_t left = m->in.len - m->at;

    (void)ret_failure;
    *ret = str_mem(m->in.ptr + m->at, m->piece != 0 && m->piece < left ? m->piece : left);
    m->at += ret->len;
    return true;
}

static bool memory_rewind(struct service_io *io, struct service_failure *ret_failure)
{
    (void)ret_failure;
    container_of(io, struct service_memory, io)->at = 0;
    return true;
}

static bool memory_put(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    struct service_memory *m = container_of(io, struct service_memory, io);
    struct err err;

    if (buf_append(&m->out, piece, &err))
        return true;
    return service_fail(ret_failure, DEAD_LIMIT, "what comes out is larger than %zu bytes",
                        m->out.cap);
}

static struct str memory_copy(struct service_memory *m, struct str s)
{
    return s.ptr != NULL ? arena_copy(m->arena, s) : s;
}

static struct service_part memory_head(struct service_memory *m, const struct service_part *head)
{
    struct service_part h = *head;
    struct fact *attributes = ARENA_ARRAY(m->arena, struct fact, head->attribute_count);

    h.sender = memory_copy(m, head->sender);
    h.receiver = memory_copy(m, head->receiver);
    h.type = memory_copy(m, head->type);
    h.name = memory_copy(m, head->name);
    h.ctype = memory_copy(m, head->ctype);
    for (size_t i = 0; i < head->attribute_count; i++)
        attributes[i] = (struct fact){ .name = memory_copy(m, head->attributes[i].name),
                                       .value = memory_copy(m, head->attributes[i].value) };
    h.attributes = attributes;
    if (head->failure != NULL) {
        struct service_failure *failure = ARENA_NEW(m->arena, struct service_failure);

        *failure = *head->failure;
        h.failure = failure;
    }
    return h;
}

static bool memory_part(struct service_io *io, const struct service_part *head,
                        struct service_failure *ret_failure)
{
    struct service_memory *m = container_of(io, struct service_memory, io);

    if (m->part_count == PARTS_MOST)
        return service_fail(ret_failure, DEAD_LIMIT, "more than %d documents come out", PARTS_MOST);
    if (m->part_count == m->part_room) {
        m->part_room = m->part_room == 0 ? 16 : 2 * m->part_room;
        m->parts = xrealloc(m->parts, m->part_room * sizeof *m->parts);
    }
    m->parts[m->part_count++] =
        (struct service_memory_part){ .head = memory_head(m, head), .from = m->out.len };
    return true;
}

static bool memory_none(struct service_io *io, struct service_failure *ret_failure)
{
    (void)ret_failure;
    container_of(io, struct service_memory, io)->is_none = true;
    return true;
}

static bool memory_record(struct service_io *io, struct service_record *ret,
                          struct service_failure *ret_failure)
{
    (void)ret_failure;
    *ret = container_of(io, struct service_memory, io)->record;
    return true;
}

static bool memory_keep(struct service_io *io, struct str value,
                        struct service_failure *ret_failure)
{
    struct service_memory *m = container_of(io, struct service_memory, io);

    (void)ret_failure;
    m->kept = arena_copy(m->arena, value);
    return true;
}

static bool memory_stays(struct service_io *io, struct service_failure *ret_failure)
{
    (void)ret_failure;
    container_of(io, struct service_memory, io)->is_same = true;
    return true;
}

static void memory_note(struct service_io *io, struct str line)
{
    struct service_memory *m = container_of(io, struct service_memory, io);

    if (m->note_count < SERVICE_NOTES_MOST)
        m->notes[m->note_count++] = arena_copy(m->arena, str_first(line, SERVICE_NOTE_BYTES));
}

void service_memory_init(struct service_memory *m, const struct service_document *d, struct str in,
                         size_t out_most, struct arena *a)
{
    *m = (struct service_memory){
        .io = { .document = d,
                .size = (int64_t)in.len,
                .next = memory_next,
                .rewind = memory_rewind,
                .put = memory_put,
                .part = memory_part,
                .none = memory_none,
                .record = memory_record,
                .keep = memory_keep,
                .stays = memory_stays,
                .note = memory_note },
        .in = in,
        .out = BUF_INIT(out_most),
        .arena = a,
    };
}

void service_memory_done(struct service_memory *m)
{
    buf_done(&m->out);
    free(m->parts);
    m->parts = NULL;
}

struct str service_memory_bytes(const struct service_memory *m, size_t part)
{
    size_t from = m->parts[part].from;
    size_t to = part + 1 < m->part_count ? m->parts[part + 1].from : m->out.len;

    return str_mem(m->out.ptr + from, to - from);
}
