#include "engine/road/answers.h"

#include "base/digest.h"
#include "engine/flight/flight.h"
#include "engine/plan/plan.h"
#include "store/store.h"

enum { ANSWERS_MOST = 32, ANSWERS_BYTES_MOST = 1 << 20 };

static bool answers_wants(const struct leg *p, const struct http_out_answer *a)
{
    if (p->asking || a->body.len == 0)
        return false;
    switch (p->endpoint->answers) {
    case ANSWERS_ALL:
        return true;
    case ANSWERS_NONE:
        return false;
    case ANSWERS_OF_FAILURES:
        break;
    }
    return p->verdict.kind != VERDICT_DELIVERED || flight_has_caller(p->flight);
}

void answers_take(struct leg *p, const struct http_out_answer *a)
{
    if (!answers_wants(p, a))
        return;
    struct leg_answer *kept = ARENA_NEW(&p->own, struct leg_answer);

    kept->came = a->came;
    kept->ctype = arena_copy(&p->own, str_first(a->ctype, TIMELINE_NAME_MOST));
    kept->settle = (struct settle_bytes){ .bytes = arena_copy(&p->own, a->body),
                                          .size = (int64_t)a->body.len,
                                          .sha256 = digest_of(a->body),
                                          .stored = { .id = p->flight->source.id },
                                          .line = &kept->line };
    p->answer = kept;
}

/* What the stored timeline says of earlier answers. */
struct earlier {
    size_t count;
    int64_t bytes;
    bool repeats; /* the last one of this delivery was the same */
};

static struct earlier look_back(const struct leg *p)
{
    struct str endpoint = name_text(p->flight->stock->store, p->row.endpoint);
    struct timeline_reader r = timeline_read(p->flight->past);
    struct timeline_line line;
    struct earlier e = { 0 };
    bool damaged;

    while (timeline_next(&r, &line, &damaged)) {
        if (!line.is_answer)
            continue;
        e.count++;
        e.bytes += line.size;
        if (str_eq(line.what, endpoint))
            e.repeats = line.status == p->row.status &&
                        digest_same(&line.sha256, &p->answer->settle.sha256);
    }
    return e;
}

struct settle_bytes *answers_keep(struct leg *p)
{
    if (p->answer == NULL)
        return NULL;
    struct earlier e = look_back(p);
    bool ends = p->row.state == DELIVERY_DELIVERED || p->row.state == DELIVERY_DEAD ||
                p->row.state == DELIVERY_IN_DOUBT;
    bool room = e.count < ANSWERS_MOST && e.bytes + p->answer->settle.size <= ANSWERS_BYTES_MOST;

    if (e.repeats || (!ends && !room))
        p->answer = NULL;
    return p->answer != NULL ? &p->answer->settle : NULL;
}
