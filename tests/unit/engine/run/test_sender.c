/* Recoveries of endpoints: a few at a time, every one in the end.  A real road; recover() waits. */
#include "engine/run/sender.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/registry.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/require.h"
#include "engine/dispatch/govern.h"
#include "engine/plan/plan.h"
#include "engine/run/life.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/ways.h"
#include "engine/threads/crew.h"
#include "engine/threads/pool.h"
#include "folder.h"
#include "store/open.h"
#include "store/store.h"
#include "test.h"

enum { ENDPOINTS = 40, SECONDS = 30 };

/* ---- endpoints whose recovery waits at a gate ---- */

static struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int inside, most, ended;
    bool open;
} gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static bool make_endpoint(const struct settings *s, void **ret_self, struct err *err)
{
    static char self;

    (void)s, (void)err;
    *ret_self = &self;
    return true;
}

static void recover_at_gate(void *self, struct call *c)
{
    (void)self, (void)c;
    (void)pthread_mutex_lock(&gate.mutex);
    gate.inside++;
    gate.most = gate.inside > gate.most ? gate.inside : gate.most;
    (void)pthread_cond_broadcast(&gate.changed);
    while (!gate.open)
        (void)pthread_cond_wait(&gate.changed, &gate.mutex);
    gate.inside--;
    gate.ended++;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.mutex);
}

static void gate_set(bool open)
{
    (void)pthread_mutex_lock(&gate.mutex);
    gate.open = open;
    if (!open)
        gate.most = gate.ended = 0;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.mutex);
}

static bool gate_reaches(const int *what, int count)
{
    bool there = false;

    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; !there && clock_mono_us() < until;) {
        (void)pthread_mutex_lock(&gate.mutex);
        there = *what == count;
        (void)pthread_mutex_unlock(&gate.mutex);
        clock_sleep_us(1000);
    }
    return there;
}

static const struct endpoint_type gated = { .kind = { .name = "http" },
                                            .make = make_endpoint,
                                            .recover = recover_at_gate };
static const struct endpoint_type *const endpoints[] = { &gated, NULL };
static const struct service_type *const services[] = { NULL };
static const struct gateway_type *const gateways[] = { NULL };
static const struct connectors connectors = { gateways, services, endpoints };

/* ---- a road ---- */

struct setting {
    struct folder folder;
    struct store *store;
    struct govern *govern;
    struct mishaps *mishaps;
    struct ways *ways;
    struct pool *pool;
    struct crew *senders;
    struct road *road;
};

static struct setting setting_open(void)
{
    struct setting s = { .folder = folder_make(),
                         .govern = govern_new(),
                         .mishaps = mishaps_new(),
                         .ways = ways_new(),
                         .pool = pool_new(2),
                         .senders = crew_new("sender", SENDERS, SENDERS_LOST_MOST) };
    struct err err = { 0 };

    require(store_open(&(struct store_options){ .data = s.folder.path, .area = "internal" },
                       &s.store, &err));
    require(road_start(&(struct road_options){ .store = s.store,
                                               .pool = s.pool,
                                               .senders = s.senders,
                                               .govern = s.govern,
                                               .mishaps = s.mishaps,
                                               .ways = s.ways,
                                               .workers = 1,
                                               .bytes_most = 1 << 20 },
                       &s.road, &err));
    return s;
}

static void setting_close(struct setting *s)
{
    road_rest(s->road);
    road_stop(s->road);
    require(crew_free(s->senders) == 0);
    pool_free(s->pool);
    road_drain(s->road);
    road_free(s->road);
    govern_free(s->govern);
    mishaps_free(s->mishaps);
    ways_free(s->ways);
    store_close(s->store);
    folder_done(&s->folder);
}

static void use(struct setting *s, int64_t version)
{
    static const struct config_options options = { .connectors = &registry };
    struct config_report report = CONFIG_REPORT_INIT;
    struct buf text = BUF_INIT(1 << 16);
    struct plan *p = NULL;
    struct err err = { 0 };

    buf_puts(&text, "systems: { shop: {} }\nendpoints:\n");
    for (int i = 0; i < ENDPOINTS; i++)
        buf_printf(&text, "  e%d: { kind: http, url: \"http://x/\", system: shop }\n", i);
    struct config *c = config_load(buf_view(&text), "test", &options, &report);

    require(c != NULL && plan_build(c, version, &connectors, s->store, NULL, &p, &err));
    road_use(s->road, p);
    plan_unref(p);
    config_unref(c);
    config_report_done(&report);
    buf_done(&text);
}

/* proves: QC7 */
TEST(a_few_endpoints_recover_at_a_time)
{
    struct setting s = setting_open();
    struct crew_look look;

    gate_set(false);
    use(&s, 1);
    CHECK(gate_reaches(&gate.inside, RECOVERIES_MOST));
    crew_look(s.senders, &look);
    CHECK(look.busy == RECOVERIES_MOST && look.waiting == 0); /* the others are for sends */
    gate_set(true);
    CHECK(gate_reaches(&gate.ended, ENDPOINTS));
    CHECK(gate.most == RECOVERIES_MOST);
    setting_close(&s);
}

TEST(a_new_plan_recovers_in_place_of_the_one_before)
{
    struct setting s = setting_open();

    gate_set(false);
    use(&s, 1);
    CHECK(gate_reaches(&gate.inside, RECOVERIES_MOST));
    use(&s, 2);
    CHECK(gate_reaches(&gate.inside, RECOVERIES_MOST));
    gate_set(true);
    CHECK(gate_reaches(&gate.ended, RECOVERIES_MOST + ENDPOINTS));
    CHECK(gate.most == RECOVERIES_MOST);
    setting_close(&s);
}

TEST(a_stop_ends_the_recoveries)
{
    struct setting s = setting_open();

    gate_set(false);
    use(&s, 1);
    CHECK(gate_reaches(&gate.inside, RECOVERIES_MOST));
    road_stop(s.road);
    gate_set(true);
    CHECK(gate_reaches(&gate.ended, RECOVERIES_MOST));
    setting_close(&s);
    CHECK(gate.ended == RECOVERIES_MOST);
}

int main(void)
{
    return test_main();
}
