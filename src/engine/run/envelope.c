#include "engine/run/envelope.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/flight/flight.h"

/* The next piece of a large body, on a thread that may block. */
static bool envelope_next(void *arg, struct str *ret, struct err *err)
{
    struct leg *p = arg;
    struct leg_envelope *e = &p->envelope;

    if (e->stage == ENVELOPE_BEFORE) {
        e->stage = ENVELOPE_BYTES;
        *ret = p->request->before;
        return true;
    }
    while (e->stage == ENVELOPE_BYTES) {
        if (!e->next(arg, ret, err))
            return false;
        if (ret->len == 0) {
            e->stage = ENVELOPE_OVER;
            *ret = p->request->after;
            return true;
        }
        size_t skip = e->skip < ret->len ? e->skip : ret->len;

        e->skip -= skip;
        *ret = str_from(*ret, skip);
        if (ret->len > 0)
            return true;
    }
    *ret = (struct str){ 0 };
    return true;
}

/* One buffer for all of it. */
static struct str envelope_copy(struct leg *p)
{
    const struct http_out_request *r = p->request;
    struct str inner = str_from(p->sending.bytes, r->skip);
    size_t len = r->before.len + inner.len + r->after.len;
    char *to = xmalloc(len + 1);

    free(p->envelope.bytes);
    p->envelope.bytes = to;
    memcpy(to, r->before.ptr, r->before.len);
    memcpy(to + r->before.len, inner.ptr, inner.len);
    memcpy(to + r->before.len + inner.len, r->after.ptr, r->after.len);
    to[len] = '\0';
    return str_mem(to, len);
}

void envelope_put(struct leg *p)
{
    const struct http_out_request *r = p->request;
    struct sending *s = &p->sending;

    if (s->next == NULL) {
        s->bytes = envelope_copy(p);
        s->size = (int64_t)s->bytes.len;
        return;
    }
    p->envelope.stage = ENVELOPE_BEFORE;
    p->envelope.skip = r->skip;
    p->envelope.next = s->next;
    s->next = envelope_next;
    s->size += (int64_t)(r->before.len + r->after.len) - (int64_t)r->skip;
}
