#include "engine/intake/reply_read.h"

#include <stdio.h>

#include "base/auto.h"
#include "core/reply.h"
#include "store/payload/payload.h"
#include "store/search/document.h"
#include "store/store.h"

enum { ARENA_MOST = 2 << 20 };

void reply_read_done(struct reply_read *r)
{
    buf_done(&r->body);
}

static void reply_copy_text(char *to, size_t room, struct str text)
{
    (void)snprintf(to, room, "%.*s", STR_ARG(str_first(text, room - 1)));
}

static void say_dead(struct reply_read *r, struct str code, struct str message)
{
    r->reply.kind = REPLY_DEAD;
    reply_copy_text(r->code, sizeof r->code, code);
    reply_copy_text(r->message, sizeof r->message, message);
    r->reply.code = r->code;
    r->reply.message = r->message;
}

static bool read_answer_bytes(struct store *s, const struct payload_source *source, struct buf *to,
                              struct err *err)
{
    struct payload_reader *reader;
    struct str piece;
    bool ok;

    if (!payload_open(s, source, &reader, err))
        return false;
    while ((ok = payload_next(reader, &piece, err)) && piece.len > 0 &&
           (ok = buf_append(to, piece, err))) {
    }
    payload_close(reader);
    return ok;
}

/* An answer whose bytes are gone (purged, damaged) is not known any more. */
static bool read_answer(struct store *s, const struct document *d, const struct reply_end *end,
                        struct reply_read *r, struct err *err)
{
    struct payload_source source = { .id = d->source.id,
                                     .num = end->answer.num,
                                     .size = end->answer.size,
                                     .sha256 = end->answer.sha256,
                                     .place = { end->answer.seg, end->answer.pos } };

    buf_done(&r->body); /* of an earlier try */
    r->body = (struct buf)BUF_INIT(VERDICT_ANSWER_MOST);
    if (!read_answer_bytes(s, &source, &r->body, err)) {
        buf_clear(&r->body);
        r->reply.kind = REPLY_ENDED;
        return err->kind == ERR_PERMANENT;
    }
    reply_copy_text(r->ctype, sizeof r->ctype, end->answer.ctype);
    r->reply.ctype = str_of(r->ctype);
    r->reply.body = buf_view(&r->body);
    r->reply.came = end->answer.came;
    return true;
}

/* The receiver's own word is given where it took or rejected the document; what gave up for another
 * reason (retries, expiry) has none. */
static bool answers_itself(const struct document *d, const struct reply_end *end)
{
    return reply_may_pass(end->line.status) &&
           (end->is_delivered || str_is(d->code, dead_codes[DEAD_REJECTED]));
}

static bool read_delivery_end(struct store *s, const struct document *d,
                              const struct reply_end *end, struct reply_read *r, struct err *err)
{
    if (answers_itself(d, end)) {
        r->reply.kind = REPLY_ANSWERED;
        r->reply.status = end->line.status;
        r->reply.is_taken = end->is_delivered;
        return !end->has_answer || read_answer(s, d, end, r, err);
    }
    if (!end->is_delivered)
        say_dead(r, d->code.len > 0 ? d->code : d->state, end->line.message);
    else if (str_starts(end->line.message, STR("unconfirmed")))
        r->reply.kind = REPLY_ENDED;
    else
        r->reply.kind = REPLY_DELIVERED;
    return true;
}

bool reply_read(struct store *s, struct reply_read *r, bool *ret_ended, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct document d;
    bool found;

    *ret_ended = false;
    if (!document_numbered(s, id_row(&r->reply.id), &a, &d, &found, err))
        return false;
    if (!found) { /* purged since */
        r->reply.kind = REPLY_ENDED;
        *ret_ended = true;
        return true;
    }
    struct reply_end end = reply_find(d.timeline);

    if (end.has_ended) {
        *ret_ended = read_delivery_end(s, &d, &end, r, err);
        return *ret_ended;
    }
    *ret_ended = true;
    if (d.is == DOCUMENT_DEAD)
        say_dead(r, d.code, d.message);
    else if (d.is == DOCUMENT_CANCELLED || d.is == DOCUMENT_SUPERSEDED)
        say_dead(r, d.state, STR("An operator ended the document."));
    else if (document_is_over(d.is))
        r->reply.kind = REPLY_ENDED;
    else
        *ret_ended = false;
    return true;
}
