#include "engine/walk/answer_step.h"

#include "base/auto.h"
#include "engine/flight/bytes.h"
#include "engine/flight/step_io.h"
#include "engine/road/outcome.h"
#include "store/store.h"

/* Up to this size the copy is in memory until the settlement, as with deliveries. */
enum { COPIED_MOST = VERDICT_ANSWER_MOST };

static bool makes_document(const struct flight *f, const struct plan_step *s)
{
    return s->answer != NULL && !f->dry;
}

bool answer_step_needs_thread(const struct flight *f, const struct plan_step *s, int64_t size)
{
    return makes_document(f, s) && !f->may_block && size > COPIED_MOST;
}

/* It is the store that failed, not the payload that is damaged: the run is repeated. */
static bool copy_not_stored(struct err *err)
{
    if (err->kind == ERR_PERMANENT)
        err->kind = ERR_TRANSIENT;
    return false;
}

static bool upload_answer(struct flight *f, const struct plan_step *s, struct answer_upload *u,
                          struct err *err)
{
    AUTO(step_io_done) struct step_io x;
    struct err none = { 0 };

    answer_upload_init(u, f->stock->store, s->answer);
    step_io_init(&x, f, s, 0, NULL);
    if (step_io_each(&x, u->sink.put, u->sink.arg, err))
        return answer_upload_end(u, true, err) || copy_not_stored(err);
    if (answer_upload_is_open(u))
        (void)answer_upload_end(u, false, &none);
    if (err->kind != ERR_NONE)
        return copy_not_stored(err);
    *err = x.err;
    return false;
}

static bool copy_answer(struct flight *f, const struct plan_step *s, struct answer_doc *d,
                        int64_t size, struct err *err)
{
    if (size <= COPIED_MOST) {
        d->bytes = arena_copy(&f->arena, buf_view(&f->walk.bytes->buf));
        return true;
    }
    d->upload = ARENA_NEW(&f->arena, struct answer_upload);
    return upload_answer(f, s, d->upload, err);
}

bool answer_step_take(struct flight *f, const struct plan_step *s, const struct step_answer *a)
{
    const struct plan_answer *rule = s->answer;
    struct answer_doc *d;
    struct err err = { 0 };

    if (!makes_document(f, s))
        return true;
    d = ARENA_NEW(&f->arena, struct answer_doc);
    *d = (struct answer_doc){
        .rule = rule,
        .config = f->plan->version,
        .system = rule->system != NULL ? rule->system->name : (struct str){ 0 },
        .status = a->status,
        .ctype = a->ctype,
        .came = answer_came(rule, a->status, a->size),
        .key = a->key,
    };
    if (d->came == ANSWER_CAME && !copy_answer(f, s, d, a->size, &err)) {
        outcome_read_failed(f, &err);
        return false;
    }
    answer_doc_add(f, d);
    return true;
}
