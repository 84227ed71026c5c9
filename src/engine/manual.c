#include "engine/manual.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "core/head.h"
#include "engine/intake/intake.h"
#include "engine/rehearse/dry.h"
#include "engine/road/road.h"
#include "engine/upkeep/live.h"
#include "router/router.h"
#include "store/manual/edit.h"
#include "store/payload/payload.h"
#include "store/road/retain_days.h"
#include "store/search/document.h"
#include "store/store.h"

enum { ARENA_MOST = 64 << 20, WHAT_MOST = 900 };

/* One request. */
struct work {
    const struct manual *parts;
    struct store *store;
    const struct manual_request *q;
    struct manual_result *ret;
    struct arena arena;
    struct plan *plan;
    const struct config_gateway *gateway; /* NULL: not in this configuration */
    int64_t word;                         /* the name id of the gateway */
    struct document original;
    struct facts before, facts; /* of the original; of the new document */
    int64_t sender, receiver, type;
};

static struct metric edits = { .name = "waybill_documents_manual_total",
                               .help = "Documents that people made, through the admin API.",
                               .labels = "kind=\"edit\"" };
static struct metric sends = { .name = "waybill_documents_manual_total",
                               .help = "Documents that people made, through the admin API.",
                               .labels = "kind=\"send\"" };

void manual_metrics_register(void)
{
    metrics_register(&edits);
    metrics_register(&sends);
}

void manual_metrics_forget(void)
{
    metrics_forget(&edits);
    metrics_forget(&sends);
}

static void work_done(struct work *k)
{
    plan_unref(k->plan);
    arena_done(&k->arena);
}

static bool manual_say(struct work *k, enum operate_result result, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Always true: a refusal is an answer, not a failure. */
static bool manual_say(struct work *k, enum operate_result result, const char *fmt, ...)
{
    va_list ap;

    k->ret->result = result;
    va_start(ap, fmt);
    (void)vsnprintf(k->ret->text, sizeof k->ret->text, fmt, ap);
    va_end(ap);
    return true;
}

/* ---- the original and the gateway ---- */

/* A paused intake does not count: the pause is meant for gateways, not for people. */
static bool may_come_in(const struct manual *m, struct err *err)
{
    bool space;
    const char *why = intake_shut_why(m->intake, &space);

    if (why == NULL)
        return true;
    return space ? err_set(err, ERR_LIMIT, ENOSPC, "%s", why)
                 : err_set(err, ERR_TRANSIENT, 0, "%s", why);
}

static struct str manual_name_of(struct work *k, int64_t word)
{
    return word != 0 ? name_text(k->store, word) : (struct str){ 0 };
}

static bool sees(const struct work *k, int64_t sender, int64_t receiver)
{
    return k->q->sees == NULL || k->q->sees(k->q->sees_arg, sender, receiver);
}

static bool may_send(const struct work *k, int64_t sender)
{
    return k->q->sees == NULL || k->q->sends(k->q->sees_arg, sender);
}

static bool load_original(struct work *k, struct err *err)
{
    struct document *d = &k->original;

    if (!document_get(k->store, &k->q->original, &k->arena, d, err))
        return err->kind == ERR_NONE && manual_say(k, OPERATE_NONE, "there is no such document");
    if (!sees(k, d->sender, d->receiver))
        return manual_say(k, OPERATE_NONE, "there is no such document");
    k->word = d->gateway;
    k->before = (struct facts){ .sender = manual_name_of(k, d->sender),
                                .receiver = manual_name_of(k, d->receiver),
                                .type = manual_name_of(k, d->type) };
    if (d->facts.len > 0)
        (void)facts_read(d->facts, &k->arena, &k->before); /* unreadable facts are ignored */
    return true;
}

static bool manual_find_gateway(struct work *k)
{
    const struct plan_gateway *g;

    if (!k->q->is_edit && !name_find(k->store, NAME_GATEWAY, k->q->gateway, &k->word))
        k->word = 0;
    g = k->word != 0 ? plan_gateway_find(k->plan, k->word) : NULL;
    k->gateway = g != NULL ? config_gateway_find(k->plan->config, g->name) : NULL;
    if (k->gateway != NULL || (k->q->is_edit && k->q->to_router))
        return true;
    struct str name = str_first(k->q->is_edit ? manual_name_of(k, k->word) : k->q->gateway, 64);

    return manual_say(k, OPERATE_NOTHING,
                      k->q->is_edit
                          ? "its gateway `%.*s` is gone; send the edit straight to the router"
                          : "there is no gateway `%.*s`",
                      STR_ARG(name));
}

/* ---- facts ---- */

static struct str given_or(struct str given, struct str before)
{
    if (given.ptr == NULL)
        return before;
    return given.len > 0 ? given : (struct str){ 0 };
}

/* A given attribute replaces the original's of the same name; an empty one removes it. */
static void merge_attributes(struct work *k)
{
    const struct facts *before = &k->before, *given = &k->q->given;
    struct facts *f = &k->facts;

    f->attributes =
        ARENA_ARRAY(&k->arena, struct fact, before->attribute_count + given->attribute_count);
    for (size_t i = 0; i < before->attribute_count; i++)
        if (facts_attribute(given, before->attributes[i].name).ptr == NULL)
            f->attributes[f->attribute_count++] = before->attributes[i];
    for (size_t i = 0; i < given->attribute_count; i++)
        if (given->attributes[i].value.len > 0)
            f->attributes[f->attribute_count++] = given->attributes[i];
}

/* A name or id that no system has stays as it is: the router reports it. */
static void manual_find_system(struct work *k, struct str *name, bool *ret_unknown,
                               int64_t *ret_word)
{
    struct str system = name->ptr != NULL ? router_system(k->plan->router, *name) : *name;

    *ret_word = 0;
    if (system.ptr != NULL && name_find(k->store, NAME_SYSTEM, system, ret_word))
        *name = system;
    *ret_unknown = *ret_word == 0 && name->ptr != NULL;
}

static bool say_foreign(struct work *k)
{
    return manual_say(k, OPERATE_NOTHING, "its sender is no system that you may edit for");
}

static bool manual_find_facts(struct work *k)
{
    const struct facts *given = &k->q->given;
    struct facts *f = &k->facts;

    if (!k->q->to_router)
        return true;
    f->sender = given_or(given->sender, k->before.sender);
    f->receiver = given_or(given->receiver, k->before.receiver);
    f->type = given_or(given->type, k->before.type);
    merge_attributes(k);
    if (f->sender.ptr == NULL && f->receiver.ptr == NULL && f->type.ptr == NULL &&
        f->attribute_count == 0)
        return manual_say(k, OPERATE_NOTHING,
                          "the router goes by sender, receiver and type: say at least one");
    if (!facts_fit(f))
        return manual_say(k, OPERATE_NOTHING, "its names or attributes are too long, or too many");
    manual_find_system(k, &f->sender, &f->sender_unknown, &k->sender);
    manual_find_system(k, &f->receiver, &f->receiver_unknown, &k->receiver);
    f->type_unknown = f->type.ptr != NULL && !name_find(k->store, NAME_TYPE, f->type, &k->type);
    return may_send(k, k->sender) || say_foreign(k);
}

/* ---- differences ---- */

static bool manual_is_same(struct str a, struct str b)
{
    return a.ptr == NULL || b.ptr == NULL ? a.ptr == b.ptr : str_eq(a, b);
}

static struct str manual_shown(struct str s)
{
    return s.ptr == NULL ? STR("-") : str_first(s, 60);
}

static void put_change(struct buf *to, const char *what, struct str from, struct str now)
{
    if (!manual_is_same(from, now))
        buf_printf(to, ", %s %.*s -> %.*s", what, STR_ARG(manual_shown(from)),
                   STR_ARG(manual_shown(now)));
}

static bool attributes_differ(const struct facts *a, const struct facts *b)
{
    bool same = a->attribute_count == b->attribute_count;

    for (size_t i = 0; same && i < a->attribute_count; i++)
        same = manual_is_same(a->attributes[i].value, facts_attribute(b, a->attributes[i].name));
    return !same;
}

static void tell_differences(struct work *k, const struct manual_bytes *bytes, struct buf *to)
{
    if (k->q->is_edit && digest_same(&bytes->sha256, &k->original.source.sha256))
        buf_puts(to, "the same bytes");
    else if (k->q->is_edit)
        buf_printf(to, "%lld -> %lld bytes", (long long)k->original.source.size,
                   (long long)bytes->size);
    if (!k->q->to_router)
        return;
    buf_puts(to, to->len > 0 ? ", straight to the router" : "sent straight to the router");
    if (!k->q->is_edit)
        return;
    put_change(to, "sender", k->before.sender, k->facts.sender);
    put_change(to, "receiver", k->before.receiver, k->facts.receiver);
    put_change(to, "type", k->before.type, k->facts.type);
    if (attributes_differ(&k->before, &k->facts))
        buf_puts(to, ", other attributes");
}

/* ---- the requests ---- */

/* Checks everything but the bytes; the result is OPERATE_DONE when the document can be made. */
static bool manual_prepare(struct work *k, const struct manual *m, const struct manual_request *q,
                           struct manual_result *ret, struct err *err)
{
    *k = (struct work){ .parts = m,
                        .store = m->store,
                        .q = q,
                        .ret = ret,
                        .arena = ARENA_INIT(ARENA_MOST),
                        .plan = road_plan(m->road) };
    *ret = (struct manual_result){ .result = OPERATE_DONE };
    if (!may_come_in(m, err) || (q->is_edit && !load_original(k, err)))
        return false;
    return ret->result != OPERATE_DONE ||
           (manual_find_gateway(k) && (ret->result != OPERATE_DONE || manual_find_facts(k)));
}

static int64_t manual_size_most(const struct work *k)
{
    return k->gateway != NULL ? (int64_t)k->gateway->size_bytes : MANUAL_SIZE_MOST;
}

bool manual_ask(const struct manual *m, const struct manual_request *q, struct manual_result *ret,
                int64_t *ret_size_most, struct err *err)
{
    struct work k;
    bool ok = manual_prepare(&k, m, q, ret, err);

    *ret_size_most = manual_size_most(&k);
    work_done(&k);
    return ok;
}

bool manual_store(const struct manual *m, struct manual_bytes *io, struct err *err)
{
    struct upload *u;

    if (!may_come_in(m, err) || !upload_open(m->store, &u, err))
        return false;
    io->is_spooled = upload_add(u, io->body, err) && upload_finish(u, &io->place, err);
    upload_close(u);
    return io->is_spooled;
}

/* A key is unique only within the document it edits, or the gateway and the sender. */
static struct sha256 manual_key_digest(const struct work *k)
{
    struct digest d = digest_start();

    digest_add(&d, k->q->is_edit ? STR("edit") : STR("send"));
    if (k->q->is_edit)
        digest_add(&d, str_mem(k->q->original.bytes, sizeof k->q->original.bytes));
    else
        digest_add(&d, str_mem(&k->word, sizeof k->word));
    if (!k->q->is_edit) {
        digest_add(&d, str_mem(&k->q->owner.len, sizeof k->q->owner.len));
        digest_add(&d, k->q->owner);
    }
    digest_add(&d, k->q->key);
    return digest_end(&d);
}

static struct accept_op manual_document_of(const struct work *k, const struct manual_bytes *bytes)
{
    const struct manual_request *q = k->q;
    const struct document *d = &k->original;
    struct accept_op o = { .gateway = k->word,
                           .caller = CALLER_ADMIN,
                           .config = k->plan->version,
                           .received_us = clock_wall_us(),
                           .size = bytes->size,
                           .sha256 = bytes->sha256,
                           .body = bytes->body,
                           .is_spooled = bytes->is_spooled,
                           .spooled = bytes->place,
                           .name = q->name.ptr != NULL ? q->name : d->name,
                           .ctype = q->ctype.ptr != NULL ? q->ctype : d->ctype,
                           .head = head_unbound(d->head) };

    o.key_period_us = live_key_period_us(k->parts->live);
    o.has_key = q->key.len > 0 && o.key_period_us > 0;
    if (o.has_key)
        o.key = manual_key_digest(k);
    return o;
}

static void log_made(const struct work *k)
{
    char id[ID_TEXT], original[ID_TEXT] = "";

    if (k->q->is_edit)
        (void)id_text(&k->q->original, original);
    log_event(LOG_INFO, "document.manual", kv_z("document", id_text(&k->ret->id, id)),
              kv_z("original", original),
              kv_z("as", !k->q->is_edit ? ""
                         : k->q->beside ? "beside"
                                        : "supersede"),
              kv_str("who", k->q->who));
}

/* Fills in the result; a new document is counted, logged and reported to the road. */
static void manual_tell(struct work *k, const struct accept_op *o)
{
    k->ret->id = o->id;
    k->ret->repeated = o->result == ACCEPT_REPEATED;
    if (o->result == ACCEPT_KEY_DIFFERS) {
        k->ret->key_differs = true;
        (void)manual_say(k, OPERATE_NOTHING, "this key was used for other bytes");
    }
    if (k->ret->result != OPERATE_DONE || k->ret->repeated)
        return;
    metric_add(k->q->is_edit ? &edits : &sends, 1);
    road_note_backlog(k->parts->road);
    log_made(k);
}

static int64_t manual_word_of(struct work *k, struct str name, bool unknown)
{
    int64_t word;

    return !unknown && name_find(k->store, NAME_SYSTEM, name, &word) ? word : 0;
}

/* Callers with a scope: extract first, and refuse a document that would be outside of it. */
static bool check_read(struct work *k, const struct manual_bytes *bytes, struct err *err)
{
    struct dry_result *r = ARENA_NEW(&k->arena, struct dry_result);
    struct dry_request q = { .gateway = str_of(k->gateway->name),
                             .body = bytes->body,
                             .head = head_unbound(k->original.head),
                             .name = k->q->name.ptr != NULL ? k->q->name : k->original.name };

    if (bytes->is_spooled)
        return manual_say(k, OPERATE_NOTHING,
                          "it is large: say whose it is, and send it to the router");
    if (!dry_run(k->parts->road, &q, &k->arena, r, err))
        return false;
    return may_send(k, manual_word_of(k, r->facts.sender, r->facts.sender_unknown)) ||
           say_foreign(k);
}

static bool engine_manual_make(struct work *k, const struct manual_bytes *bytes,
                               struct accept_op *o, struct err *err)
{
    AUTO(buf_done) struct buf facts = BUF_INIT(FACTS_BYTES_MOST);
    AUTO(buf_done) struct buf what = BUF_INIT(WHAT_MOST * 2);
    struct edit_order order = { .has_original = k->q->is_edit,
                                .supersede = k->q->is_edit && !k->q->beside,
                                .original = k->q->original,
                                .who = k->q->who,
                                .keep_days = RETAIN_BY_RULE,
                                .has_facts = k->q->to_router,
                                .sender = k->sender,
                                .receiver = k->receiver,
                                .type = k->type };
    struct operate_answer answer;

    tell_differences(k, bytes, &what);
    order.what = str_first(buf_view(&what), WHAT_MOST);
    if (k->q->to_router)
        facts_write(&k->facts, &facts);
    order.facts = buf_view(&facts);
    *o = manual_document_of(k, bytes);
    if (!edit(k->store, o, &order, &answer, err))
        return false;
    (void)manual_say(k, answer.result, "%s", answer.text);
    manual_tell(k, o);
    return true;
}

bool manual_make(const struct manual *m, const struct manual_request *q,
                 const struct manual_bytes *bytes, struct manual_result *ret, struct err *err)
{
    struct accept_op o = { .result = ACCEPT_KEY_DIFFERS };
    struct work k;
    bool ok = manual_prepare(&k, m, q, ret, err);

    if (ok && ret->result == OPERATE_DONE && bytes->size > manual_size_most(&k))
        ok = err_set(err, ERR_LIMIT, EFBIG, "it is larger than limits.size of its gateway");
    if (ok && ret->result == OPERATE_DONE && !q->to_router && q->sees != NULL)
        ok = check_read(&k, bytes, err);
    if (ok && ret->result == OPERATE_DONE)
        ok = engine_manual_make(&k, bytes, &o, err);
    bool taken = ok ? ret->result == OPERATE_DONE && !ret->repeated : err->kind == ERR_UNCERTAIN;

    if (bytes->is_spooled && !taken)
        upload_drop(k.store, bytes->place);
    work_done(&k);
    return ok;
}
