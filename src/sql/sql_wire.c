#include "sql/sql_wire.h"

enum { FAILURE_LEAST = 2 + sizeof(int32_t) };

static void sql_wire_put_text(struct buf *to, struct str text)
{
    char number[VARINT_MOST];

    buf_put(to, str_mem(number, (size_t)(varint_put(number, text.len) - number)));
    buf_put(to, text);
}

/* ---- short messages ---- */

void sql_wire_put_open(struct buf *to, const struct sql_wire_open *o)
{
    const struct str texts[] = { o->connect, o->driver, o->file,         o->ca,
                                 o->drivers, o->port,   o->login_seconds };
    size_t begun = frame_begin(to, (enum frame_kind)SQL_WORD_OPEN);

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        sql_wire_put_text(to, texts[i]);
    frame_end(to, begun, true);
}

bool sql_wire_take_open(struct str body, struct sql_wire_open *ret)
{
    return varint_take_text(&body, &ret->connect) && varint_take_text(&body, &ret->driver) &&
           varint_take_text(&body, &ret->file) && varint_take_text(&body, &ret->ca) &&
           varint_take_text(&body, &ret->drivers) && varint_take_text(&body, &ret->port) &&
           varint_take_text(&body, &ret->login_seconds) && body.len == 0;
}

void sql_wire_put_failure(struct buf *to, const struct sql_failure *f, bool gone)
{
    size_t begun = frame_begin(to, (enum frame_kind)SQL_WORD_FAILED);

    buf_putc(to, (char)f->kind);
    buf_putc(to, (char)gone);
    buf_put(to, str_mem(&f->native, sizeof f->native));
    sql_wire_put_text(to, str_of(f->state));
    sql_wire_put_text(to, str_of(f->text));
    frame_end(to, begun, true);
}

bool sql_wire_take_failure(struct str body, struct sql_failure *ret, bool *ret_gone)
{
    struct str state, text;
    int32_t native;

    if (body.len < FAILURE_LEAST)
        return false;
    unsigned char kind = (unsigned char)body.ptr[0];

    *ret_gone = body.ptr[1] != 0;
    memcpy(&native, body.ptr + 2, sizeof native);
    body = str_from(body, FAILURE_LEAST);
    if (!varint_take_text(&body, &state) || !varint_take_text(&body, &text) || body.len > 0 ||
        kind == SQL_FAULT_NONE || kind > SQL_FAULT_DOUBT || state.len >= SQL_STATE_SIZE ||
        text.len >= SQL_TEXT_MOST)
        return false;
    (void)sql_fail(ret, (enum sql_fault)kind, "%.*s", STR_ARG(text));
    if (!str_is_utf8(str_of(ret->text)))
        for (char *c = ret->text; *c != '\0'; c++)
            *c = (unsigned char)*c >= 0x80 ? '?' : *c;
    for (size_t i = 0; i < state.len; i++)
        ret->state[i] = state.ptr[i] > ' ' && state.ptr[i] < 0x7f ? state.ptr[i] : '?';
    ret->native = native;
    return true;
}

/* ---- long ones ---- */

void sql_wire_begin(struct sql_wire_writer *w, enum sql_word word)
{
    w->word = word;
    w->failed = false;
    w->begun = frame_begin(w->to, (enum frame_kind)word);
}

static size_t room_in_frame(const struct sql_wire_writer *w)
{
    return FRAME_BODY_MOST - (w->to->len - w->begun - FRAME_HEADER);
}

static void sql_wire_bytes(struct sql_wire_writer *w, struct str bytes)
{
    while (!w->failed && bytes.len > 0) {
        size_t n = room_in_frame(w);

        n = n < bytes.len ? n : bytes.len;
        buf_put(w->to, str_mem(bytes.ptr, n));
        bytes = str_from(bytes, n);
        if (room_in_frame(w) == 0) {
            frame_end(w->to, w->begun, false);
            w->failed = !w->flush(w->arg);
            w->begun = frame_begin(w->to, (enum frame_kind)w->word);
        }
    }
}

void sql_wire_number(struct sql_wire_writer *w, uint64_t n)
{
    char text[VARINT_MOST];

    sql_wire_bytes(w, str_mem(text, (size_t)(varint_put(text, n) - text)));
}

void sql_wire_text(struct sql_wire_writer *w, struct str text)
{
    sql_wire_number(w, text.len);
    sql_wire_bytes(w, text);
}

void sql_wire_datum(struct sql_wire_writer *w, const struct datum *d)
{
    char kind = (char)d->kind;

    sql_wire_bytes(w, str_mem(&kind, 1));
    sql_wire_text(w, d->bytes);
}

bool sql_wire_end(struct sql_wire_writer *w)
{
    frame_end(w->to, w->begun, true);
    return !w->failed;
}

bool sql_wire_take_datum(struct str *from, struct datum *ret)
{
    if (from->len == 0 || (unsigned char)from->ptr[0] > DATUM_FAILED)
        return false;
    ret->kind = (enum datum_kind)(unsigned char)from->ptr[0];
    *from = str_from(*from, 1);
    return varint_take_text(from, &ret->bytes);
}
