#include "engine/transfer/transfer_feed.h"

#include <curl/curl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/require.h"

struct feed *feed_new(const struct feed_owner *owner, struct handle *handle,
                      const struct sending *s)
{
    struct feed *f = NEW(struct feed);

    f->owner = *owner;
    f->handle = handle;
    f->sending = s;
    f->left = s->size;
    for (size_t i = 0; i < FEED_PIECES; i++)
        f->pieces[i] = (struct buf)BUF_INIT(FEED_PIECE_MOST);
    return f;
}

void feed_free(struct feed *f)
{
    if (f == NULL)
        return;
    require(!f->reading);
    for (size_t i = 0; i < FEED_PIECES; i++)
        buf_done(&f->pieces[i]);
    free(f);
}

/* A document whose length differs from what the store says is damaged. */
static bool transfer_feed_read_piece(struct feed *f, struct err *err)
{
    struct str piece;

    buf_clear(f->into);
    if (!f->sending->next(f->sending->next_arg, &piece, err))
        return false;
    if (piece.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "the document is %lld bytes shorter than recorded",
                       (long long)f->left);
    if ((int64_t)piece.len > f->left)
        return err_set(err, ERR_PERMANENT, 0, "the document is longer than recorded");
    return buf_append(f->into, piece, err);
}

static void feed_run(struct pool_job *job)
{
    struct feed *f = container_of(job, struct feed, job);

    f->read_ok = transfer_feed_read_piece(f, &f->err);
    f->owner.back(f->owner.arg, f);
}

void feed_pull(struct feed *f)
{
    if (f->reading || f->failed || f->left == 0 || f->filled == FEED_PIECES)
        return;
    f->reading = true;
    f->into = &f->pieces[(f->first + f->filled) % FEED_PIECES];
    f->job.run = feed_run;
    pool_submit(f->owner.pool, &f->job);
}

void feed_returned(struct feed *f)
{
    require(f->reading);
    f->reading = false;
    f->failed = !f->read_ok;
    if (!f->read_ok)
        return;
    f->left -= (int64_t)f->into->len;
    f->filled++;
}

size_t feed_read(struct feed *f, char *to, size_t room)
{
    if (f->failed)
        return CURL_READFUNC_ABORT;
    if (f->filled == 0) {
        f->paused = f->left > 0;
        return f->paused ? CURL_READFUNC_PAUSE : 0;
    }
    struct str rest = str_from(buf_view(&f->pieces[f->first]), f->at);
    size_t n = rest.len < room ? rest.len : room;

    memcpy(to, rest.ptr, n);
    f->at += n;
    if (n == rest.len) {
        f->first = (f->first + 1) % FEED_PIECES;
        f->filled--;
        f->at = 0;
    }
    return n;
}
