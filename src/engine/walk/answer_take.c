#include "engine/walk/answer_take.h"

#include "store/payload/payload.h"
#include "store/road/awaited.h"

enum { WAITS_FIRST = 4, ACCEPTED = 202 };

/* ---- uploads ---- */

static bool answer_upload_put(void *arg, struct str piece, struct err *err)
{
    struct answer_upload *u = arg;

    if (u->open == NULL) {
        if (!upload_open(u->store, &u->open, err))
            return err_context(err, "the answer");
        u->digest = digest_start();
    }
    if (!upload_add(u->open, piece, err))
        return err_context(err, "the answer");
    digest_add(&u->digest, piece);
    u->size += (int64_t)piece.len;
    return true;
}

void answer_upload_init(struct answer_upload *u, struct store *s, const struct plan_answer *rule)
{
    *u = (struct answer_upload){ .sink = { .most = rule->most, .put = answer_upload_put, .arg = u },
                                 .store = s };
}

bool answer_upload_is_open(const struct answer_upload *u)
{
    return u->open != NULL;
}

bool answer_upload_end(struct answer_upload *u, bool keep, struct err *err)
{
    bool ok = !keep || upload_finish(u->open, &u->place, err);

    u->is_stored = keep && ok;
    if (u->is_stored)
        u->sha256 = digest_end(&u->digest);
    else
        digest_drop(&u->digest);
    upload_close(u->open);
    u->open = NULL;
    return ok;
}

/* ---- what came ---- */

enum answer_came answer_came(const struct plan_answer *rule, int64_t status, int64_t size)
{
    if (size == 0)
        return ANSWER_EMPTY;
    if (status == ACCEPTED && rule->within_us > 0)
        return ANSWER_LATER;
    return size > rule->most ? ANSWER_TOO_LARGE : ANSWER_CAME;
}

enum answer_came answer_take(const struct plan_answer *rule, const struct http_out_answer *a,
                             struct answer_upload *u, struct arena *arena, struct answer_doc **ret)
{
    bool drained = a->is_drained && u != NULL;
    enum answer_came came = answer_came(rule, a->status, a->came);

    if (came == ANSWER_CAME && (a->is_too_large || (!drained && a->came > (int64_t)a->body.len)))
        came = ANSWER_TOO_LARGE;
    if (came != ANSWER_CAME)
        return came;
    struct answer_doc *doc = ARENA_NEW(arena, struct answer_doc);

    *doc = (struct answer_doc){
        .rule = rule,
        .status = a->status,
        .ctype = arena_copy(arena, str_first(a->ctype, TIMELINE_NAME_MOST)),
    };
    if (drained)
        doc->upload = u;
    else
        doc->bytes = arena_copy(arena, a->body);
    *ret = doc;
    return ANSWER_CAME;
}

/* ---- waits ---- */

void answer_await(struct flight *f, const struct plan_answer *rule, struct str delivery,
                  int64_t system, int64_t due_us)
{
    struct settle_op *s = &f->settle;

    for (size_t i = 0; i < s->wait_count; i++)
        if (str_eq(f->awaits[i].delivery, delivery))
            return;
    if (s->wait_count == f->wait_room) {
        size_t room = f->wait_room > 0 ? 2 * f->wait_room : WAITS_FIRST;
        struct awaited *waits = ARENA_ARRAY(&f->arena, struct awaited, room);

        for (size_t i = 0; i < s->wait_count; i++)
            waits[i] = f->awaits[i];
        f->awaits = waits;
        f->wait_room = room;
    }
    f->awaits[s->wait_count++] = (struct awaited){
        .delivery = delivery, .endpoint = rule->word, .system = system, .due_us = due_us
    };
    s->waits = f->awaits;
}
