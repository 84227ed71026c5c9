#include "base/sftp_fetch.h"

#include "base/require.h"
#include "base/sftp_exchange.h"

/* ---- names ---- */

bool sftp_fetch_stat(struct sftp_client *s, struct str path, bool follow, struct sftp_attrs *ret,
                     struct err *err)
{
    struct sftp_answer a;

    (follow ? sftp_put_stat : sftp_put_lstat)(&s->out, sftp_exchange_id(s), path);
    if (!sftp_exchange(s, SFTP_ATTRS, &a, err))
        return false;
    *ret = a.attrs;
    return true;
}

bool sftp_fetch_real(struct sftp_client *s, struct str path, struct buf *ret, struct err *err)
{
    struct sftp_attrs attrs;
    struct sftp_answer a;
    struct str name;

    sftp_put_realpath(&s->out, sftp_exchange_id(s), path);
    if (!sftp_exchange(s, SFTP_A_NAME, &a, err))
        return false;
    if (a.count != 1 || !sftp_take_name(&a.data, &name, &attrs, err))
        return sftp_exchange_confused(s, err);
    buf_clear(ret);
    return buf_append(ret, name, err);
}

/* The handle that was asked for last. */
static bool fetch_handle(struct sftp_client *s, char to[static SFTP_HANDLE_MOST], size_t *ret_len,
                         struct err *err)
{
    struct sftp_answer a;

    if (!sftp_exchange(s, SFTP_A_HANDLE, &a, err))
        return false;
    memcpy(to, a.data.ptr, a.data.len);
    *ret_len = a.data.len;
    return true;
}

/* ---- folders ---- */

bool sftp_folder_open(struct sftp_client *s, struct str path, struct sftp_folder *ret,
                      struct err *err)
{
    *ret = (struct sftp_folder){ .page = BUF_INIT(SFTP_ANSWER_MOST) };
    sftp_put_opendir(&s->out, sftp_exchange_id(s), path);
    return fetch_handle(s, ret->handle, &ret->handle_len, err);
}

/* The page is a copy: other requests come between two names. */
static bool folder_turn_page(struct sftp_client *s, struct sftp_folder *f, struct err *err)
{
    struct sftp_answer a;

    buf_clear(&f->page);
    f->left = 0;
    sftp_put_readdir(&s->out, sftp_exchange_id(s), str_mem(f->handle, f->handle_len));
    if (!sftp_exchange(s, SFTP_A_NAME, &a, err)) {
        if (s->lost || a.status != SFTP_EOF)
            return false;
        *err = (struct err){ 0 };
        f->end = true;
        return true;
    }
    if (a.count == 0) /* it would go on like this for ever */
        return sftp_exchange_confused(s, err);
    if (!buf_append(&f->page, a.data, err))
        return false;
    f->rest = buf_view(&f->page);
    f->left = a.count;
    return true;
}

bool sftp_folder_next(struct sftp_client *s, struct sftp_folder *f, struct str *ret_name,
                      struct sftp_attrs *ret_attrs, bool *ret_end, struct err *err)
{
    if (f->left == 0 && !f->end && !folder_turn_page(s, f, err))
        return false;
    *ret_end = f->end;
    if (f->end)
        return true;
    f->left--;
    if (sftp_take_name(&f->rest, ret_name, ret_attrs, err))
        return true;
    s->lost = true;
    return false;
}

void sftp_folder_close(struct sftp_client *s, struct sftp_folder *f)
{
    struct err err = { 0 };

    if (f->handle_len > 0 && !s->lost) {
        sftp_put_close(&s->out, sftp_exchange_id(s), str_mem(f->handle, f->handle_len));
        (void)sftp_exchange_status(s, &err); /* a connection that is lost by it is seen later */
    }
    f->handle_len = 0;
    buf_done(&f->page);
}

/* ---- files: what is asked ---- */

static struct str fetch_handle_of(const struct sftp_fetch *f)
{
    return str_mem(f->handle, f->handle_len);
}

static struct sftp_piece *fetch_piece(struct sftp_fetch *f, unsigned i)
{
    return &f->pieces[(f->first + i) % SFTP_FETCH_WINDOW];
}

static void piece_ask(struct sftp_client *s, const struct sftp_fetch *f, struct sftp_piece *p)
{
    p->id = sftp_exchange_id(s);
    sftp_put_read(&s->out, p->id, fetch_handle_of(f), p->offset, p->len);
}

static void fetch_ask_next(struct sftp_client *s, struct sftp_fetch *f)
{
    struct sftp_piece *p = fetch_piece(f, f->count++);
    size_t len = s->read_most < SFTP_FETCH_PIECE ? s->read_most : SFTP_FETCH_PIECE;

    p->offset = f->asked;
    p->len = (uint32_t)len;
    p->end = false;
    p->error = (struct err){ 0 };
    p->given = 0;
    buf_clear(&p->bytes);
    piece_ask(s, f, p);
    f->asked += p->len;
}

static void fetch_ask_stat(struct sftp_client *s, struct sftp_fetch *f)
{
    f->stat = sftp_exchange_id(s);
    sftp_put_fstat(&s->out, f->stat, fetch_handle_of(f));
}

static void fetch_ask_close(struct sftp_client *s, struct sftp_fetch *f)
{
    f->close = sftp_exchange_id(s);
    sftp_put_close(&s->out, f->close, fetch_handle_of(f));
    f->handle_len = 0;
}

/* ---- files: what is answered ---- */

static bool piece_hear(struct sftp_client *s, struct sftp_piece *p, const struct sftp_answer *a,
                       struct err *err)
{
    if (a->kind == SFTP_A_DATA && a->data.len > 0 && a->data.len <= p->len)
        return buf_append(&p->bytes, a->data, err);
    if (a->kind != SFTP_A_STATUS || a->status == SFTP_OK)
        return sftp_exchange_confused(s, err);
    p->end = a->status == SFTP_EOF;
    if (!p->end)
        (void)sftp_exchange_refused(a, &p->error);
    return true;
}

static bool fetch_hear_stat(struct sftp_client *s, struct sftp_fetch *f,
                            const struct sftp_answer *a, struct err *err)
{
    if (a->kind == SFTP_ATTRS)
        f->after = a->attrs;
    else if (a->kind != SFTP_A_STATUS || a->status == SFTP_OK)
        return sftp_exchange_confused(s, err);
    else
        (void)sftp_exchange_refused(a, &f->failed);
    return true;
}

/* One answer, to whichever request.  That a close is refused does not matter to who has read. */
static bool fetch_hear(struct sftp_client *s, struct sftp_fetch *f, struct err *err)
{
    struct sftp_answer a;

    if (!sftp_exchange_hear(s, &a, err))
        return false;
    for (unsigned i = 0; i < f->count; i++) {
        struct sftp_piece *p = fetch_piece(f, i);

        if (p->id == a.id && a.id != 0) {
            p->id = 0;
            return piece_hear(s, p, &a, err);
        }
    }
    if (f->stat == a.id && a.id != 0) {
        f->stat = 0;
        return fetch_hear_stat(s, f, &a, err);
    }
    if (f->close != a.id || a.id == 0 || a.kind != SFTP_A_STATUS)
        return sftp_exchange_confused(s, err);
    f->close = 0;
    return true;
}

static bool fetch_is_waiting(struct sftp_fetch *f)
{
    for (unsigned i = 0; i < f->count; i++)
        if (fetch_piece(f, i)->id != 0)
            return true;
    return f->stat != 0 || f->close != 0;
}

static bool fetch_hear_all(struct sftp_client *s, struct sftp_fetch *f, struct err *err)
{
    while (fetch_is_waiting(f))
        if (!fetch_hear(s, f, err))
            return false;
    return true;
}

/* ---- files ---- */

bool sftp_fetch_open(struct sftp_client *s, struct str path, struct sftp_fetch *ret,
                     struct err *err)
{
    *ret = (struct sftp_fetch){ 0 };
    for (unsigned i = 0; i < SFTP_FETCH_WINDOW; i++)
        ret->pieces[i].bytes = (struct buf)BUF_INIT(SFTP_FETCH_PIECE);
    sftp_put_open(&s->out, sftp_exchange_id(s), path, SFTP_READ);
    if (!fetch_handle(s, ret->handle, &ret->handle_len, err))
        return false;
    fetch_ask_stat(s, ret);
    fetch_ask_next(s, ret);
    if (sftp_exchange_flush(s, err) && fetch_hear_all(s, ret, err) &&
        ret->failed.kind == ERR_NONE) {
        ret->attrs = ret->after;
        return true;
    }
    if (err->kind == ERR_NONE)
        *err = ret->failed;
    sftp_fetch_close(s, ret);
    return false;
}

/* Nothing more is to come: how is the file now? */
static bool fetch_end(struct sftp_client *s, struct sftp_fetch *f, struct err *err)
{
    if (!fetch_hear_all(s, f, err))
        return false;
    f->count = 0;
    if (!f->at_end && !f->odd) {
        f->asked = f->attrs.size;
        fetch_ask_next(s, f); /* there must be nothing */
    }
    fetch_ask_stat(s, f);
    fetch_ask_close(s, f);
    if (!sftp_exchange_flush(s, err) || !fetch_hear_all(s, f, err))
        return false;
    f->ended = true;
    for (unsigned i = 0; i < f->count; i++)
        f->odd = f->odd || !fetch_piece(f, i)->end;
    f->count = 0;
    if (f->failed.kind != ERR_NONE) {
        *err = f->failed;
        return false;
    }
    f->whole = !f->odd && f->after.has_size && f->after.size == f->attrs.size;
    return true;
}

/* Bytes of the first piece.  What a short answer left out is asked for again, at the same place of
 * the ring. */
static void fetch_give(struct sftp_client *s, struct sftp_fetch *f, char *to, size_t room,
                       size_t *ret_len)
{
    struct sftp_piece *p = fetch_piece(f, 0);
    size_t left = p->bytes.len - p->given, len = left < room ? left : room;

    memcpy(to, p->bytes.ptr + p->given, len);
    p->given += len;
    *ret_len = len;
    if (p->given < p->bytes.len)
        return;
    p->offset += p->bytes.len;
    p->len -= (uint32_t)p->bytes.len;
    p->given = 0;
    buf_clear(&p->bytes);
    if (p->len > 0 && p->offset < f->attrs.size) {
        piece_ask(s, f, p);
        return;
    }
    f->first = (f->first + 1) % SFTP_FETCH_WINDOW;
    f->count--;
}

/* The first piece is answered: whether it has bytes to give. */
static bool fetch_has_bytes(struct sftp_fetch *f)
{
    const struct sftp_piece *p = fetch_piece(f, 0);

    f->at_end = f->at_end || p->end;
    f->odd =
        f->odd || (p->end && p->offset < f->attrs.size) || p->offset + p->bytes.len > f->attrs.size;
    return !f->at_end && !f->odd;
}

bool sftp_fetch_read(struct sftp_client *s, struct sftp_fetch *f, char *to, size_t room,
                     size_t *ret_len, struct err *err)
{
    bool more = !f->ended;

    *ret_len = 0;
    require(room > 0);
    while (more && f->count < SFTP_FETCH_WINDOW && f->asked < f->attrs.size)
        fetch_ask_next(s, f);
    if (more && s->out.len > 0 && !sftp_exchange_flush(s, err))
        return false;
    if (more && f->count > 0) {
        while (fetch_piece(f, 0)->id != 0)
            if (!fetch_hear(s, f, err))
                return false;
        if (fetch_piece(f, 0)->error.kind != ERR_NONE) {
            *err = fetch_piece(f, 0)->error;
            return false;
        }
        more = fetch_has_bytes(f);
        if (more)
            fetch_give(s, f, to, room, ret_len);
    } else {
        more = false;
    }
    return more || f->ended || fetch_end(s, f, err);
}

void sftp_fetch_close(struct sftp_client *s, struct sftp_fetch *f)
{
    struct err err = { 0 };

    if (f->handle_len > 0 && !s->lost) {
        fetch_ask_close(s, f);
        (void)(sftp_exchange_flush(s, &err) && fetch_hear_all(s, f, &err));
    }
    f->handle_len = 0;
    for (unsigned i = 0; i < SFTP_FETCH_WINDOW; i++)
        buf_done(&f->pieces[i].bytes);
}
