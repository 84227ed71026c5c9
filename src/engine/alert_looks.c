#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/config.h"
#include "engine/alerts_inside.h"
#include "engine/dispatch.h"
#include "engine/plan.h"
#include "engine/road.h"
#include "store/document.h"
#include "store/node.h"
#include "store/store.h"
#include "store/version.h"

enum {
    SILENCE_US = CLOCK_S / 2,
    SILENCE_MOST_US = 60 * CLOCK_S,
    LOOK_SHARE = 100,
    PAGES_MOST = 20,
    ARENA_MOST = 4 << 20,
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

/* ---- receivers --------------------------------------------------------------------------------
 */

static void look_at_endpoints(struct alerts *a, struct road *r, const struct plan *p)
{
    for (size_t i = 0; i < p->endpoint_count; i++) {
        const struct plan_endpoint *e = &p->endpoints[i];
        struct endpoint_look look = { 0 };
        bool known = dispatch_look(road_dispatch(r), e->word, &look);
        bool broken = e->broken != NULL && e->type != NULL; /* what no build runs was told */
        char text[300];

        if (broken)
            (void)snprintf(text, sizeof text, "it cannot be used: %.200s", e->broken);
        else
            (void)snprintf(text, sizeof text,
                           "its breaker is open: deliveries to it wait, one probes now and then");
        alerts_see_if(a, ALERT_RECEIVER_FAILING, e->name, broken || (known && look.open), text);
    }
}

/* ---- silence ----------------------------------------------------------------------------------
 */

/* Whether something came in since then; a page may be short, and then there is another. */
static bool has_received(struct store *s, int64_t gateway, int64_t since_us, bool *ret,
                         struct err *err)
{
    struct document_filter f = { .gateway = gateway, .since_us = since_us };
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct document *one = ARENA_NEW(&a, struct document);
    int64_t below = 0;
    size_t n;

    for (int i = 0; i < PAGES_MOST; i++) {
        if (!document_list(s, &f, below, 1, &a, one, &n, &below, err))
            return false;
        *ret = n > 0;
        if (n > 0 || below == 0)
            return true;
    }
    *ret = true; /* that much else came in: nobody can say so yet */
    return true;
}

/* Nobody is late before the configuration that says so is old enough. */
static bool read_version(struct alert_looks *l, struct store *s, int64_t version, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct version v;

    if (l->version == version)
        return true;
    if (!version_get(s, version, &a, &v, err))
        return err->kind == ERR_NONE;
    l->version = version;
    l->version_made_us = v.made_us;
    return true;
}

static bool look_at_silences(struct alert_looks *l, struct alerts *a, struct store *s,
                             const struct plan *p, int64_t now_us, struct err *err)
{
    if (p->alerts.silence_count > 0 && !read_version(l, s, p->version, err))
        return false;
    for (size_t i = 0; i < p->alerts.silence_count; i++) {
        const struct alert_silence *one = &p->alerts.silences[i];
        int64_t word, since = now_us - one->after_us;
        bool heard = l->version_made_us > since;
        char text[120];

        if (!store_word_find(s, WORD_GATEWAY, one->gateway, &word))
            continue;
        if (!heard && !has_received(s, word, since, &heard, err))
            return false;
        (void)snprintf(text, sizeof text, "nothing was received for over %lld seconds",
                       (long long)(one->after_us / CLOCK_S));
        alerts_see_if(a, ALERT_SILENCE, one->gateway, !heard, text);
    }
    return true;
}

/* ---- the disk ---------------------------------------------------------------------------------
 */

static bool look_at_disk(struct alerts *a, struct store *s, struct err *err)
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

bool alert_looks_run(struct alert_looks *l, struct alerts *a, const struct alerts_options *o,
                     bool turn, struct err *err)
{
    struct plan *p = road_plan(o->road);
    int64_t now = clock_mono_us();
    bool ok = look_at_disk(a, o->store, err);

    if (p != NULL && turn) {
        look_at_endpoints(a, o->road, p);
        if (ok && now >= l->silence_due_us) {
            ok = look_at_silences(l, a, o->store, p, road_clock_us(o->road), err);
            /* it takes at most one part in LOOK_SHARE of the time */
            int64_t took = clock_mono_us() - now;

            took = took < SILENCE_MOST_US / LOOK_SHARE ? took : SILENCE_MOST_US / LOOK_SHARE;
            l->silence_due_us = now + SILENCE_US + took * LOOK_SHARE;
        }
    }
    plan_unref(p);
    return ok;
}
