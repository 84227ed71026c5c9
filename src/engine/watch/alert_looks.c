#include "engine/watch/alert_looks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/config.h"
#include "core/yaml.h"
#include "engine/dispatch/dispatch.h"
#include "engine/plan/areas.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/threads/crew.h"
#include "store/govern/failing.h"
#include "store/govern/version.h"
#include "store/kernel/node.h"
#include "store/road/awaited.h"
#include "store/search/document.h"
#include "store/store.h"

enum {
    SILENCE_US = CLOCK_S / 2,
    SILENCE_MOST_US = 60 * CLOCK_S,
    LOOK_SHARE = 100,
    REPORTS_SHARE = 10, /* two short queries */
    ARENA_MOST = 4 << 20,
    VERSION_MOST = 16 << 20,
    HOST = 64
};

void alert_looks_init(struct alert_looks *l, const struct alerts_options *o)
{
    char host[HOST] = "", folder[128] = "", link[40];
    ssize_t n;

    *l = (struct alert_looks){ 0 };
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", store_data_fd(o->store));
    n = readlink(link, folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = '\0';
    (void)snprintf(l->own, sizeof l->own, "node %s:%s", host, folder);
}

void alert_looks_done(struct alert_looks *l)
{
    free(l->silences);
    callee_looks_done(&l->callees);
}

/* ---- receivers ---- */

enum { WHY_MOST = 400 };

/* What all nodes report, read once for all gateways and endpoints. */
struct reports {
    struct failing *list;
    size_t count;
    unsigned served; /* areas */
};

static bool read_reports(struct store *s, struct arena *a, struct reports *ret, struct err *err)
{
    ret->list = ARENA_ARRAY(a, struct failing, FAILINGS_MOST);
    return failing_list(s, a, ret->list, &ret->count, err) && areas_served(s, &ret->served, err);
}

/* NULL: no node complains. */
static const struct failing *report_of(const struct reports *r, int64_t word,
                                       char text[static WHY_MOST])
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].word == word) {
            (void)snprintf(text, WHY_MOST, "node on %.*s: %.*s", STR_ARG(r->list[i].host),
                           STR_ARG(r->list[i].message));
            return &r->list[i];
        }
    return NULL;
}

/* Why a node, or every node, cannot run it; false: nobody complains. */
static bool is_reported(const struct reports *r, int64_t word, enum config_area area,
                        char text[static WHY_MOST])
{
    char room[AREAS_TEXT];
    const char *unserved = areas_why(r->served, area, room);

    if (unserved == NULL)
        return report_of(r, word, text) != NULL;
    (void)snprintf(text, WHY_MOST, "%s", unserved);
    return true;
}

/* Its own alert, because the remedy is another one: the receiver is there, and its dead letters are
 * to be sent again when it is mended. */
static bool look_at_rejections(struct alerts *a, struct str name, const struct endpoint_look *look)
{
    char text[WHY_MOST];

    (void)snprintf(text, sizeof text, "%s; deliveries to it wait, one probes now and then",
                   look->rejecting_why);
    alerts_see_if(a, ALERT_RECEIVER_REJECTING, name, look->rejecting, text);
    return look->rejecting;
}

static void look_at_endpoints(struct alerts *a, struct road *r, const struct plan *p,
                              const struct reports *all)
{
    for (size_t i = 0; i < p->endpoint_count; i++) {
        const struct plan_endpoint *e = &p->endpoints[i];
        struct endpoint_look look = { 0 };
        char why[WHY_MOST] = "";
        bool known = dispatch_look(road_dispatch(r), e->word, &look);
        bool rejecting = look_at_rejections(a, e->name, &look);
        bool broken = e->broken != NULL && e->type != NULL; /* not a planned kind */
        char text[WHY_MOST + 40];

        if (broken)
            (void)snprintf(why, sizeof why, "%s", e->broken);
        else
            broken = is_reported(all, e->word, e->area, why);
        if (broken)
            (void)snprintf(text, sizeof text, "it cannot be used: %s", why);
        else
            (void)snprintf(text, sizeof text,
                           "its breaker is open: deliveries to it wait, one probes now and then");
        alerts_see_if(a, ALERT_RECEIVER_FAILING, e->name,
                      !rejecting && (broken || (known && look.open)), text);
    }
}

/* A step that asks a service is told of as an endpoint is. */
static void look_at_callees(struct alerts *a, const struct plan *p, const struct reports *all)
{
    for (const struct plan_asking *one = p->asking; one != NULL; one = one->next) {
        char text[WHY_MOST] = "";
        const struct failing *f = report_of(all, one->word, text);
        bool rejecting = f != NULL && callee_looks_is_rejecting(f->message);

        alerts_see_if(a, ALERT_RECEIVER_REJECTING, one->name, rejecting, text);
        alerts_see_if(a, ALERT_RECEIVER_FAILING, one->name, f != NULL && !rejecting, text);
    }
}

static void look_at_gateways(struct alerts *a, const struct plan *p, const struct reports *all)
{
    for (size_t i = 0; i < p->gateway_count; i++) {
        const struct plan_gateway *g = &p->gateways[i];
        char text[WHY_MOST] = "";
        bool failing = is_reported(all, g->word, g->area, text);

        alerts_see_if(a, ALERT_GATEWAY_FAILING, g->name, failing, text);
    }
}

static bool look_at_reports(struct alerts *a, const struct alerts_options *o, const struct plan *p,
                            struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct reports all = { 0 };

    if (!read_reports(o->store, &arena, &all, err))
        return false;
    look_at_endpoints(a, o->road, p, &all);
    look_at_gateways(a, p, &all);
    look_at_callees(a, p, &all);
    return true;
}

/* ---- silence ---- */

static void remember_silences(struct alert_looks *l, const struct plan *p)
{
    size_t count = p->alerts.silence_count;

    if (l->silences != NULL && l->silences_of == p->version && l->silence_count == count)
        return;
    free(l->silences);
    l->silences = xcalloc(count + 1, sizeof *l->silences);
    l->silence_count = count;
    l->silences_of = p->version;
}

static bool asks_for(const struct yaml_node *root, struct str gateway)
{
    const struct yaml_node *list = yaml_get(yaml_get(root, "alerts"), "silence");

    if (list == NULL || list->kind != YAML_MAP)
        return false;
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next)
        if (str_eq(n->key->text, gateway))
            return true;
    return false;
}

/* Reads a version once for all silences with the same period. */
static bool alert_looks_read_version(struct alert_looks *l, struct store *s, const struct plan *p,
                                     int64_t after_us, int64_t version, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(VERSION_MOST + YAML_ARENA);
    struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *root = NULL;
    struct version v;

    if (version_get(s, version, &a, &v, err))
        root = yaml_load(v.body, &a, &problems);
    else if (err->kind != ERR_NONE)
        return false;
    for (size_t i = 0; i < p->alerts.silence_count; i++)
        if (p->alerts.silences[i].after_us == after_us)
            l->silences[i] =
                (struct silence_known){ version, asks_for(root, p->alerts.silences[i].gateway) };
    problem_list_done(&problems);
    return true;
}

/* A gateway can only be late if the configuration has demanded documents for the whole period.  The
 * version in force may be younger, since every change makes a new one: check the version that was
 * in force then. */
static bool was_asked(struct alert_looks *l, struct store *s, const struct plan *p, size_t at,
                      int64_t since_us, bool *ret, struct err *err)
{
    const struct silence_known *known = &l->silences[at];
    int64_t then;

    if (!version_at(s, since_us, &then, err))
        return false;
    *ret = then >= p->version;
    if (then == 0 || *ret)
        return true;
    if (known->version != then &&
        !alert_looks_read_version(l, s, p, p->alerts.silences[at].after_us, then, err))
        return false;
    *ret = known->asked;
    return true;
}

static bool look_at_silences(struct alert_looks *l, struct alerts *a, struct store *s,
                             const struct plan *p, int64_t now_us, struct err *err)
{
    remember_silences(l, p);
    for (size_t i = 0; i < p->alerts.silence_count; i++) {
        const struct alert_silence *one = &p->alerts.silences[i];
        int64_t word, since = now_us - one->after_us;
        /* an open alert is cleared only by a received document */
        bool asked = alerts_is_open(a, ALERT_SILENCE, one->gateway), heard = false;
        char text[120];

        if (!name_find(s, NAME_GATEWAY, one->gateway, &word))
            continue;
        if (!asked && !was_asked(l, s, p, i, since, &asked, err))
            return false;
        if (asked && !document_received(s, word, since, &heard, err))
            return false;
        (void)snprintf(text, sizeof text, "nothing was received for over %lld seconds",
                       (long long)(one->after_us / CLOCK_S));
        alerts_see_if(a, ALERT_SILENCE, one->gateway, asked && !heard, text);
    }
    return true;
}

/* ---- answers ---- */

static bool look_at_answers(struct alerts *a, struct store *s, const struct plan *p, int64_t now_us,
                            struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);

    for (const struct plan_answer *one = p->answers; one != NULL; one = one->next) {
        char text[WHY_MOST] = "", since[CLOCK_TEXT];
        struct awaited_late late;

        if (!awaited_overdue(s, one->word, now_us, &arena, &late, err))
            return false;
        if (late.count > 0)
            (void)snprintf(text, sizeof text,
                           "%lld%s answers are overdue, the first since %s: that of delivery %.*s",
                           (long long)late.count, late.count < AWAITED_COUNT_MOST ? "" : " or more",
                           clock_utc_text(late.oldest_us, since), STR_ARG(late.delivery));
        alerts_see(a, ALERT_UNANSWERED, one->name, late.count, text);
    }
    return true;
}

/* ---- the disk ---- */

static bool alert_looks_look_at_disk(struct alerts *a, struct store *s, struct err *err)
{
    char text[120];
    int64_t bytes;

    if (!file_free_bytes(store_data_fd(s), &bytes, err))
        return false;
    (void)snprintf(text, sizeof text, "%lld MiB are free on the disk of the data folder",
                   (long long)(bytes >> 20));
    alerts_see(a, ALERT_DISK, alerts_own_name(a), -bytes, text);
    return true;
}

/* ---- threads ---- */

static void look_at_threads(struct alerts *a, const struct alerts_options *o)
{
    AUTO(buf_done) struct buf text = BUF_INIT(600);
    bool waits = crew_tell(o->senders, "deliveries", &text);

    waits = crew_tell(o->looks, "looks of gateways", &text) || waits;
    alerts_see_if(a, ALERT_THREADS, alerts_own_name(a), waits, text.ptr);
}

/* ---- the database ---- */

static void look_at_servers(struct alerts *a, struct store *s)
{
    char text[300] = "";
    bool any = store_passed_over(s, text, sizeof text);

    alerts_see_if(a, ALERT_OLD_SERVER, alerts_own_name(a), any, text);
}

/* After a look that began at `from_us`: limits the cost to 1/share of the time. */
static int64_t next_look_us(int64_t from_us, int64_t share)
{
    int64_t took = clock_mono_us() - from_us;

    took = took < SILENCE_MOST_US / share ? took : SILENCE_MOST_US / share;
    return from_us + SILENCE_US + took * share;
}

bool alert_looks_run(struct alert_looks *l, struct alerts *a, const struct alerts_options *o,
                     bool turn, struct err *err)
{
    struct plan *p = road_plan(o->road);
    int64_t now = clock_mono_us();
    bool ok = alert_looks_look_at_disk(a, o->store, err);

    look_at_servers(a, o->store);
    look_at_threads(a, o);
    if (ok && p != NULL)
        ok = callee_looks_report(&l->callees, o->store, o->road, p, err);
    if (ok && p != NULL && turn && now >= l->silence_due_us) {
        ok = look_at_silences(l, a, o->store, p, road_now_us(o->road), err);
        l->silence_due_us = next_look_us(now, LOOK_SHARE);
    }
    now = clock_mono_us();
    if (ok && p != NULL && turn && now >= l->answers_due_us) {
        ok = look_at_answers(a, o->store, p, road_now_us(o->road), err);
        l->answers_due_us = next_look_us(now, LOOK_SHARE);
    }
    now = clock_mono_us();
    if (ok && p != NULL && turn && now >= l->reports_due_us) {
        ok = look_at_reports(a, o, p, err);
        l->reports_due_us = next_look_us(now, REPORTS_SHARE);
    }
    plan_unref(p);
    return ok;
}
