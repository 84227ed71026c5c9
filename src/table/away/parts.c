#include "table/away/parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "table/away/away.h"

enum { SLOTS = 8, BYTES_MOST = 2 * AWAY_WHOLE_MOST /* of all */ };

#define SLOT_LASTS_US (60 * CLOCK_S) /* without a part of it */

struct parts {
    pthread_mutex_t mutex;
    struct parts_slot {
        bool used, is_answer;
        uint8_t id[ENVELOPE_ID];
        struct sha256 peer; /* of its name: nobody has parts of others */
        size_t total;
        int64_t at_us;
        struct buf bytes;
    } slots[SLOTS];
};

struct parts *parts_new(void)
{
    struct parts *p = NEW(struct parts);

    (void)pthread_mutex_init(&p->mutex, NULL);
    for (size_t i = 0; i < SLOTS; i++)
        p->slots[i].bytes = (struct buf)BUF_INIT(AWAY_WHOLE_MOST);
    return p;
}

void parts_free(struct parts *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        buf_done(&p->slots[i].bytes);
    (void)pthread_mutex_destroy(&p->mutex);
    free(p);
}

/* ---- slots ---- */

static void parts_drop(struct parts_slot *s)
{
    buf_done(&s->bytes);
    *s = (struct parts_slot){ .bytes = BUF_INIT(AWAY_WHOLE_MOST) };
}

static struct parts_slot *parts_find(struct parts *p, struct str peer, const uint8_t *id,
                                     bool is_answer)
{
    struct sha256 of = digest_of(peer);

    for (size_t i = 0; i < SLOTS; i++) {
        struct parts_slot *s = &p->slots[i];

        if (s->used && s->is_answer == is_answer && memcmp(s->id, id, ENVELOPE_ID) == 0 &&
            digest_same(&s->peer, &of))
            return s;
    }
    return NULL;
}

/* A free one, or that which was silent for longest; NULL: all are busy. */
static struct parts_slot *parts_begin(struct parts *p, struct str peer, bool is_answer,
                                      size_t total, int64_t now_us)
{
    struct parts_slot *best = NULL;
    size_t held = total;

    for (size_t i = 0; i < SLOTS; i++) {
        struct parts_slot *s = &p->slots[i];

        if (s->used && now_us - s->at_us > SLOT_LASTS_US)
            parts_drop(s);
        held += s->used ? s->total : 0;
        if (!s->used && best == NULL)
            best = s;
    }
    if (best == NULL || held > BYTES_MOST)
        return NULL;
    best->used = true;
    best->is_answer = is_answer;
    best->peer = digest_of(peer);
    best->total = total;
    best->at_us = now_us;
    return best;
}

/* ---- questions ---- */

static bool parts_take(struct parts *p, struct str peer, const struct envelope_part *part,
                       struct str bytes, int64_t now_us, struct buf *to, bool *ret_whole,
                       struct err *err)
{
    struct parts_slot *s = parts_find(p, peer, part->id, false);

    if (part->total > AWAY_WHOLE_MOST)
        return err_set(err, ERR_LIMIT, 0, "a question has at most %d bytes", AWAY_WHOLE_MOST);
    if (s == NULL && part->at == 0) {
        s = parts_begin(p, peer, false, part->total, now_us);
        if (s == NULL)
            return err_set(err, ERR_TRANSIENT, 0, "too many large questions at once");
        memcpy(s->id, part->id, ENVELOPE_ID);
    }
    if (s == NULL)
        return err_set(err, ERR_TRANSIENT, 0, "the parts before are not there any more");
    if (part->at != s->bytes.len || part->total != s->total || bytes.len == 0 ||
        bytes.len > s->total - s->bytes.len) {
        parts_drop(s);
        return err_set(err, ERR_PERMANENT, 0, "a part of a question does not fit to those before");
    }
    s->at_us = now_us;
    if (!buf_append(&s->bytes, bytes, err))
        return false;
    *ret_whole = s->bytes.len == s->total;
    bool ok = !*ret_whole || buf_append(to, buf_view(&s->bytes), err);

    if (*ret_whole)
        parts_drop(s);
    return ok;
}

bool parts_put(struct parts *p, struct str peer, const struct envelope_part *part, struct str bytes,
               int64_t now_us, struct buf *to, bool *ret_whole, struct err *err)
{
    *ret_whole = false;
    (void)pthread_mutex_lock(&p->mutex);
    bool ok = parts_take(p, peer, part, bytes, now_us, to, ret_whole, err);

    (void)pthread_mutex_unlock(&p->mutex);
    return ok;
}

/* ---- answers ---- */

bool parts_keep(struct parts *p, struct str peer, struct str answer, int64_t now_us,
                struct envelope_part *ret, struct err *err)
{
    *ret = (struct envelope_part){ .total = answer.len };
    (void)pthread_mutex_lock(&p->mutex);
    struct parts_slot *s = parts_begin(p, peer, true, answer.len, now_us);
    bool ok = s != NULL ? buf_append(&s->bytes, answer, err)
                        : err_set(err, ERR_TRANSIENT, 0, "too many large answers at once");

    if (ok) {
        chance_bytes(s->id, sizeof s->id);
        memcpy(ret->id, s->id, sizeof s->id);
    } else if (s != NULL) {
        parts_drop(s);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return ok;
}

static bool parts_frame(struct parts_slot *s, struct envelope_part *part, size_t most,
                        struct buf *to, struct err *err)
{
    size_t room = most - ENVELOPE_OVERHEAD - ENVELOPE_PART_HEAD;

    if (part->at >= s->total)
        return err_set(err, ERR_PERMANENT, 0, "there is no such part");
    part->total = s->total;
    if (!envelope_begin(to, ENVELOPE_PART, err))
        return false;
    struct wire w = wire_put(to);
    struct str bytes = envelope_cut(str_from(buf_view(&s->bytes), part->at), room);

    envelope_part(&w, part);
    if (!wire_end(&w, err) || !buf_append(to, bytes, err) || !envelope_end(to, err))
        return false;
    if (part->at + bytes.len == s->total)
        parts_drop(s);
    return true;
}

bool parts_get(struct parts *p, struct str peer, struct envelope_part *part, size_t most,
               int64_t now_us, struct buf *to, struct err *err)
{
    (void)pthread_mutex_lock(&p->mutex);
    struct parts_slot *s = parts_find(p, peer, part->id, true);
    bool ok = s != NULL ? parts_frame(s, part, most, to, err)
                        : err_set(err, ERR_TRANSIENT, 0, "the answer is not there any more");

    if (ok && s->used)
        s->at_us = now_us;
    (void)pthread_mutex_unlock(&p->mutex);
    return ok;
}
