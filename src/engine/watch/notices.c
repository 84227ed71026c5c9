#include "engine/watch/notices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/run/sender.h"
#include "engine/transfer/transfer.h"
#include "engine/watch/notice_text.h"
#include "store/store.h"
#include "store/watch/alert.h"

enum {
    FLYING_MOST = 2 /* per target */,
    DUE_MOST = 8,
    ORPHANS_MOST = 64,
    ARENA_MOST = 1 << 20,
    ERROR_MOST = 300,
    TARGET = 128,
    ORPHANS_US = 10 * CLOCK_S
};

/* One notice being sent. */
struct flying {
    struct transfer transfer;
    struct notices *notices;
    struct flying *next;
    struct plan *plan; /* keeps the target alive; a reference */
    const struct alert_target *target;
    struct notice notice; /* its texts are on the arena */
    struct arena arena;
    struct http_out_request request; /* to a URL */
    struct sending sending;
    struct facts facts; /* of it, through an endpoint */
    bool over, heard;   /* over: guarded by the mutex */
    char error[ERROR_MOST];
};

struct notices {
    struct store *store;
    struct road *road;
    pthread_mutex_t mutex;
    struct flying *flying;                    /* used by the housekeeper, except for `over` */
    int64_t orphans_us;                       /* monotonic: the next end_orphans() */
    char failing[ALERT_TARGETS_MOST][TARGET]; /* targets logged as failing; empty: free */
};

struct notices *notices_new(struct store *s, struct road *r)
{
    struct notices *n = NEW(struct notices);

    n->store = s;
    n->road = r;
    (void)pthread_mutex_init(&n->mutex, NULL);
    return n;
}

static void flying_free(struct flying *f)
{
    plan_unref(f->plan);
    arena_done(&f->arena);
    free(f);
}

void notices_free(struct notices *n)
{
    if (n == NULL)
        return;
    for (struct flying *f = n->flying, *next; f != NULL; f = next) {
        next = f->next;
        flying_free(f);
    }
    free(n);
}

/* ---- to a URL ---- */

static void notices_put_field(struct http_out_request *r, struct str name, struct str value)
{
    require(r->field_count < HTTP_OUT_FIELDS);
    r->fields[r->field_count++] = (struct http_out_field){ .name = name, .value = value };
}

static void notices_over(struct flying *f, bool heard, const char *error)
{
    (void)pthread_mutex_lock(&f->notices->mutex);
    f->heard = heard;
    (void)snprintf(f->error, sizeof f->error, "%s", error);
    f->over = true;
    (void)pthread_mutex_unlock(&f->notices->mutex);
}

/* On the transfer thread. */
static void notices_on_answer(struct transfer *t)
{
    struct flying *f = container_of(t, struct flying, transfer);
    const struct http_out_answer *got = &t->answer;
    char status[64];

    (void)snprintf(status, sizeof status, "answered %lld", (long long)got->status);
    notices_over(f, got->reach == HTTP_OUT_ANSWERED && got->status >= 200 && got->status < 300,
                 got->reach == HTTP_OUT_ANSWERED ? status
                 : got->failure != NULL          ? got->failure
                                                 : "not sent");
}

/* False: the node stops. */
static bool notices_post(struct flying *f, const struct alert *a)
{
    AUTO(buf_done) struct buf body = BUF_INIT(NOTICE_TEXT_MOST);
    const struct alert_target *t = f->target;

    notice_put_json(&body, &f->notice, a);
    f->sending.bytes = arena_copy(&f->arena, buf_view(&body));
    f->sending.size = (int64_t)body.len;
    f->request.method = STR("POST");
    f->request.url = t->url;
    notices_put_field(&f->request, STR("Content-Type"), STR("application/json"));
    notices_put_field(
        &f->request, STR("Idempotency-Key"),
        str_of(arena_printf(&f->arena, "alert-notice-%lld", (long long)f->notice.num)));
    for (size_t i = 0; i < t->field_count; i++)
        notices_put_field(&f->request, t->fields[i].name, t->fields[i].value);
    f->transfer = (struct transfer){ .options = &t->http,
                                     .request = &f->request,
                                     .sending = &f->sending,
                                     .done = notices_on_answer };
    return road_transfer(f->notices->road, &f->transfer);
}

/* ---- through an endpoint ---- */

/* On any thread. */
static void notices_on_verdict(void *arg, const struct verdict *v)
{
    notices_over(arg, v->kind == VERDICT_DELIVERED, v->message);
}

/* What templates of the endpoint may use beside the words that documents have. */
static void notices_name(struct flying *f, const struct alert *a)
{
    const struct fact known[] = { { STR("notice"), str_of(notice_kinds[f->notice.kind]) },
                                  { STR("code"), a->code },
                                  { STR("object"), a->object },
                                  { STR("message"), str_first(a->message, FACTS_VALUE_MOST) } };
    size_t count = sizeof known / sizeof known[0];

    f->facts = (struct facts){ .sender = STR("waybill"), .type = STR("alert") };
    if (f->target->endpoint->system != NULL)
        f->facts.receiver = f->target->endpoint->system->name;
    f->facts.attributes = ARENA_ARRAY(&f->arena, struct fact, count);
    f->facts.attribute_count = count;
    for (size_t i = 0; i < count; i++)
        f->facts.attributes[i] =
            (struct fact){ known[i].name, arena_copy(&f->arena, known[i].value) };
}

/* False: the node stops. */
static bool notices_hand_over(struct flying *f, const struct alert *a)
{
    AUTO(buf_done) struct buf body = BUF_INIT(NOTICE_TEXT_MOST);
    long long num = f->notice.num;

    notice_put_lines(&body, &f->notice, a);
    notices_name(f, a);
    f->sending =
        (struct sending){ .document =
                              str_of(arena_printf(&f->arena, "%.*s-%s-%lld", STR_ARG(a->code),
                                                  notice_kinds[f->notice.kind], num)),
                          .delivery = str_of(arena_printf(&f->arena, "alert-notice-%lld", num)),
                          .facts = &f->facts,
                          .ctype = STR("text/plain; charset=utf-8"),
                          .gateway = STR("alerts"),
                          .endpoint = f->target->endpoint->name,
                          .received_us = f->notice.made_us,
                          .attempt = f->notice.attempts + 1,
                          .size = (int64_t)body.len,
                          .bytes = buf_view(&body) };
    f->sending.name = str_of(arena_printf(&f->arena, "%.*s.txt", STR_ARG(f->sending.document)));
    return sender_tell(f->notices->road, f->plan, f->target->endpoint, &f->sending,
                       notices_on_verdict, f);
}

static void notices_begin(struct notices *n, struct plan *p, const struct alert_target *t,
                          const struct notice *w, const struct alert *a)
{
    struct flying *f = NEW(struct flying);

    *f = (struct flying){ .notices = n, .next = n->flying, .plan = plan_ref(p), .target = t };
    f->arena = (struct arena)ARENA_INIT(ARENA_MOST);
    f->notice = *w;
    f->notice.target = arena_copy(&f->arena, w->target);
    n->flying = f;
    if (!(t->endpoint != NULL ? notices_hand_over : notices_post)(f, a))
        notices_over(f, false, "the node stops");
}

/* ---- results ---- */

/* Whether to log: only when a target begins or stops failing.  With too many failing targets, each
 * time. */
static bool changes(struct notices *n, struct str target, bool fails)
{
    size_t room = ALERT_TARGETS_MOST;

    target = str_first(target, TARGET - 1);
    for (size_t i = 0; i < ALERT_TARGETS_MOST; i++) {
        if (n->failing[i][0] == '\0' && room == ALERT_TARGETS_MOST)
            room = i;
        if (!str_is(target, n->failing[i]))
            continue;
        if (!fails)
            n->failing[i][0] = '\0';
        return !fails;
    }
    if (fails && room < ALERT_TARGETS_MOST)
        (void)snprintf(n->failing[room], TARGET, "%.*s", STR_ARG(target));
    return fails;
}

static bool notices_end_one(struct notices *n, const struct flying *f, struct err *err)
{
    const struct notice *w = &f->notice;
    const struct retry_rule *rule = &f->target->retry;
    int64_t wait = rule->first_us / 2 + retry_wait_us(rule, w->attempts + 1, chance_u64()) / 2;
    bool over = retry_is_over(rule, w->made_us, road_now_us(n->road) + wait);
    enum notice_state state = f->heard ? NOTICE_SENT : over ? NOTICE_GIVEN_UP : NOTICE_WAITS;

    if (!notice_end(n->store, w->num, state, f->heard ? 0 : wait,
                    f->heard ? STR("") : str_of(f->error), err))
        return false;
    if (!changes(n, w->target, !f->heard))
        return true;
    if (!f->heard)
        log_event(LOG_WARN, "alert.unsent", kv_int("alert", w->alert), kv_str("to", w->target),
                  kv_z("why", f->error), kv_bool("given_up", over),
                  kv_z("hint", "It is tried again; `waybill alerts ls` shows what was not heard."));
    else
        log_event(LOG_INFO, "alert.sent", kv_int("alert", w->alert), kv_str("to", w->target));
    return true;
}

static bool end_all(struct notices *n, struct err *err)
{
    for (struct flying **at = &n->flying; *at != NULL;) {
        struct flying *f = *at;

        (void)pthread_mutex_lock(&n->mutex);
        bool over = f->over;

        (void)pthread_mutex_unlock(&n->mutex);
        if (!over) {
            at = &f->next;
            continue;
        }
        if (!notices_end_one(n, f, err))
            return false;
        *at = f->next;
        flying_free(f);
    }
    return true;
}

void notices_stop(struct notices *n)
{
    for (const struct flying *f = n->flying; f != NULL; f = f->next) {
        struct err err = { 0 };

        if (f->over && f->heard)
            (void)notices_end_one(n, f, &err); /* or the notice is sent again, with the same key */
    }
}

/* ---- due notices ---- */

static bool is_flying(const struct notices *n, int64_t num)
{
    for (const struct flying *f = n->flying; f != NULL; f = f->next)
        if (f->notice.num == num)
            return true;
    return false;
}

static size_t flying_to(const struct notices *n, struct str target)
{
    size_t count = 0;

    for (const struct flying *f = n->flying; f != NULL; f = f->next)
        count += str_eq(f->notice.target, target);
    return count;
}

static bool begin_one(struct notices *n, struct plan *p, const struct alert_target *t,
                      const struct notice *w, struct arena *a, struct err *err)
{
    const char *broken = t->endpoint != NULL && t->broken == NULL ? t->endpoint->broken : t->broken;
    struct alert alert;

    if (broken != NULL) {
        bool over = retry_is_over(&t->retry, w->made_us, road_now_us(n->road));

        return notice_end(n->store, w->num, over ? NOTICE_GIVEN_UP : NOTICE_WAITS,
                          t->retry.first_us, str_of(broken), err);
    }
    if (!alert_get(n->store, w->alert, a, &alert, err))
        return err->kind == ERR_NONE &&
               notice_end(n->store, w->num, NOTICE_GIVEN_UP, 0, STR("its alert is gone"), err);
    notices_begin(n, p, t, w, &alert);
    return true;
}

/* Limits are per target, so that a dead one does not delay the others. */
static bool notices_begin_due(struct notices *n, struct plan *p, const struct alert_target *t,
                              struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct notice due[DUE_MOST];
    size_t count, flying = flying_to(n, t->name);

    if (flying >= FLYING_MOST)
        return true;
    if (!notice_due(n->store, t->name, &a, due, DUE_MOST, &count, err))
        return false;
    for (size_t i = 0; i < count && flying < FLYING_MOST; i++) {
        if (is_flying(n, due[i].num))
            continue;
        if (!begin_one(n, p, t, &due[i], &a, err))
            return false;
        flying++;
    }
    return true;
}

/* Ends notices for targets that the configuration does not name any more. */
static bool end_orphans(struct notices *n, const struct plan *p, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct notice *due = ARENA_ARRAY(&a, struct notice, ORPHANS_MOST);
    size_t count;

    if (!notice_due(n->store, STR(""), &a, due, ORPHANS_MOST, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (alert_target_find(&p->alerts, due[i].target) == NULL &&
            !notice_end(n->store, due[i].num, NOTICE_GIVEN_UP, 0,
                        STR("the configuration has no such target any more"), err))
            return false;
    return true;
}

static bool notices_begin_all(struct notices *n, struct plan *p, struct err *err)
{
    int64_t now = clock_mono_us();

    for (size_t i = 0; i < p->alerts.target_count; i++)
        if (!notices_begin_due(n, p, &p->alerts.targets[i], err))
            return false;
    if (now < n->orphans_us)
        return true;
    n->orphans_us = now + ORPHANS_US;
    return end_orphans(n, p, err);
}

bool notices_tend(struct notices *n, bool turn, struct err *err)
{
    if (!end_all(n, err))
        return false;
    if (!turn)
        return true;
    struct plan *p = road_plan(n->road);
    bool ok = p == NULL || notices_begin_all(n, p, err);

    plan_unref(p);
    return ok;
}
