/* Polls that hang and come back, and whose turn it is, with a real store and crew.  The connector
 * waits at a gate. */
#include "engine/intake/poller.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/registry.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/require.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "engine/threads/crew.h"
#include "folder.h"
#include "store/open.h"
#include "store/store.h"
#include "test.h"

enum { SECONDS = 30, MADE_MOST = 64 };

static const char with_gateway[] = "systems: { shop: {} }\n"
                                   "gateways: { far: { kind: file, path: /x, every: 10ms, "
                                   "min_age: 0s, after: delete, timeout: 500ms } }\n";
static const char without_gateway[] = "systems: { shop: {} }\n"
                                      "gateways: { web: { kind: http } }\n";

enum { MANY = POLLS_MOST + 4 };

/* ---- a connector that hangs where it is told, in its first instances ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool in_make, in_look; /* where the first one waits */
    int wait_most;         /* ... and how many wait in their looks */
    bool is_full;          /* each look takes as many as one may */
    bool open;
    int made, inside;
    int looks[MADE_MOST]; /* by instance */
} gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static char selfs[MADE_MOST];

/* With the mutex held. */
static void wait_at_gate(void)
{
    gate.inside++;
    while (!gate.open)
        (void)pthread_cond_wait(&gate.changed, &gate.mutex);
    gate.inside--;
}

static bool make_gateway(const struct settings *s, void **ret_self, struct err *err)
{
    (void)s, (void)err;
    (void)pthread_mutex_lock(&gate.mutex);
    require(gate.made < MADE_MOST);
    *ret_self = &selfs[gate.made++];
    if (*ret_self == &selfs[0] && gate.in_make)
        wait_at_gate();
    (void)pthread_mutex_unlock(&gate.mutex);
    return true;
}

static void unmake_gateway(void *self)
{
    (void)self;
}

static bool look_gateway(void *self, const struct deposit_port *port, void *arg, int64_t *ret_taken,
                         struct err *err)
{
    (void)port, (void)arg, (void)err;
    (void)pthread_mutex_lock(&gate.mutex);
    gate.looks[(char *)self - selfs]++;
    if (((char *)self - selfs) < gate.wait_most && gate.in_look)
        wait_at_gate();
    *ret_taken = gate.is_full ? DEPOSIT_LOOK_MOST : 0;
    (void)pthread_mutex_unlock(&gate.mutex);
    return true;
}

static void gate_set(bool open, bool in_make, bool in_look)
{
    (void)pthread_mutex_lock(&gate.mutex);
    if (!open) {
        gate.made = 0;
        memset(gate.looks, 0, sizeof gate.looks);
        gate.in_make = in_make;
        gate.in_look = in_look;
        gate.wait_most = 1;
        gate.is_full = false;
    }
    gate.open = open;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.mutex);
}

static int looks_of(int self)
{
    (void)pthread_mutex_lock(&gate.mutex);
    int n = gate.looks[self];

    (void)pthread_mutex_unlock(&gate.mutex);
    return n;
}

static int made_so_far(void)
{
    (void)pthread_mutex_lock(&gate.mutex);
    int n = gate.made;

    (void)pthread_mutex_unlock(&gate.mutex);
    return n;
}

/* ---- a poller ---- */

struct setting {
    struct folder folder;
    struct store *store;
    struct crew *looks;
    struct poller *poller;
    struct gateway_type type;
    const struct gateway_type *gateways[2];
    struct connectors connectors;
};

static struct config *config_of(const char *text)
{
    static const struct config_options options = { .connectors = &registry };
    struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(str_of(text), "test", &options, &report);

    require(c != NULL);
    config_report_done(&report);
    return c;
}

static void use(struct setting *s, const char *text, int64_t version)
{
    struct config *c = config_of(text);

    poller_use(s->poller, c, version);
    config_unref(c);
}

static void setting_open_with(struct setting *s, const char *config)
{
    static const struct service_type *const services[] = { NULL };
    static const struct endpoint_type *const endpoints[] = { NULL };
    struct err err = { 0 };

    *s = (struct setting){ .folder = folder_make(),
                           .looks = crew_new("look", LOOKS_MOST, 8),
                           .type = *connector_gateway(&registry, STR("file")) };
    s->type.make = make_gateway;
    s->type.unmake = unmake_gateway;
    s->type.look = look_gateway;
    s->gateways[0] = &s->type;
    s->connectors = (struct connectors){ s->gateways, services, endpoints };
    require(store_open(&(struct store_options){ .data = s->folder.path, .area = "internal" },
                       &s->store, &err));
    s->poller = poller_new(&(struct poller_options){
        .store = s->store, .looks = s->looks, .connectors = &s->connectors });
    use(s, config, 1);
    poller_run(s->poller);
}

static void setting_open(struct setting *s)
{
    setting_open_with(s, with_gateway);
}

static void setting_close(struct setting *s)
{
    poller_stop(s->poller);
    require(crew_free(s->looks) == 0);
    poller_free(s->poller);
    store_close(s->store);
    folder_done(&s->folder);
}

static bool lost_reaches(struct setting *s, size_t count)
{
    struct crew_look look = { 0 };

    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; clock_mono_us() < until;) {
        crew_look(s->looks, &look);
        if (look.lost == count)
            return true;
        clock_sleep_us(1000);
    }
    return false;
}

static bool looks_reach(int self, int least)
{
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; clock_mono_us() < until;) {
        if (looks_of(self) >= least)
            return true;
        clock_sleep_us(1000);
    }
    return false;
}

static bool trouble_reaches(struct setting *s, bool wanted)
{
    bool is = !wanted;

    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S;
         is != wanted && clock_mono_us() < until;) {
        struct buf text = BUF_INIT(4096);

        poller_troubles(s->poller, &text);
        is = text.len > 0;
        buf_done(&text);
        clock_sleep_us(1000);
    }
    return is == wanted;
}

static bool has_series(void)
{
    struct buf text = BUF_INIT(1 << 20);

    metrics_print(&text);
    bool has = strstr(text.ptr, "gateway=\"far\"") != NULL;

    buf_done(&text);
    return has;
}

/* proves: QC7 */
TEST(a_look_that_was_given_up_in_its_set_up_does_not_look)
{
    struct setting s;

    gate_set(false, true, false);
    setting_open(&s);
    CHECK(lost_reaches(&s, 1));
    CHECK(looks_reach(1, 1)); /* the next one does its work meanwhile */
    gate_set(true, false, false);
    CHECK(lost_reaches(&s, 0));
    CHECK(looks_of(0) == 0);
    setting_close(&s);
}

/* proves: QC7 */
TEST(a_gateway_that_is_removed_while_it_hangs_is_forgotten)
{
    struct setting s;

    gate_set(false, false, true);
    setting_open(&s);
    CHECK(trouble_reaches(&s, true));
    use(&s, without_gateway, 2);
    CHECK(trouble_reaches(&s, false) && lost_reaches(&s, 1) && has_series());
    gate_set(true, false, false);
    CHECK(lost_reaches(&s, 0));
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S;
         has_series() && clock_mono_us() < until;)
        clock_sleep_us(1000);
    CHECK(!has_series());
    setting_close(&s);
}

/* proves: QC7 */
TEST(a_gateway_that_comes_back_while_it_hangs_is_polled)
{
    struct setting s;

    gate_set(false, false, true);
    setting_open(&s);
    CHECK(lost_reaches(&s, 1));
    use(&s, without_gateway, 2);
    int made = made_so_far();

    use(&s, with_gateway, 3);
    CHECK(looks_reach(made, 1));
    gate_set(true, false, false);
    CHECK(lost_reaches(&s, 0));
    setting_close(&s);
}

/* With the gateway `name`, and MANY others whose looks may take a minute each. */
static void use_many(struct setting *s, const char *name, int64_t version)
{
    struct buf text = BUF_INIT(1 << 16);

    buf_puts(&text, "systems: { shop: {} }\ngateways:\n");
    for (int i = 0; i < MANY; i++)
        buf_printf(&text,
                   "  slow%d: { kind: file, path: /x%d, every: 10ms, min_age: 0s, after: delete, "
                   "timeout: 60s }\n",
                   i, i);
    if (name != NULL)
        buf_printf(&text,
                   "  %s: { kind: file, path: /y, every: 10ms, min_age: 0s, after: delete }\n",
                   name);
    use(s, text.ptr, version);
    buf_done(&text);
}

static int inside_now(void)
{
    (void)pthread_mutex_lock(&gate.mutex);
    int n = gate.inside;

    (void)pthread_mutex_unlock(&gate.mutex);
    return n;
}

/* proves: QC7 */
TEST(looks_that_wait_take_no_place_from_others)
{
    struct setting s;

    setting_open_with(&s, without_gateway);
    gate_set(false, false, true);
    gate.wait_most = MANY; /* nothing looks yet */
    use_many(&s, NULL, 2);
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S;
         inside_now() < MANY && clock_mono_us() < until;)
        clock_sleep_us(1000);
    CHECK(inside_now() == MANY); /* more than work at once, and none is given up */
    use_many(&s, "well", 3);
    CHECK(looks_reach(MANY, 3));
    CHECK(inside_now() == MANY && lost_reaches(&s, 0));
    gate_set(true, false, false);
    setting_close(&s);
}

/* More gateways than places, and each is due again as soon as its look ends: those that come first
 * in the list do not keep the others from theirs. */
TEST(gateways_that_always_have_more_take_turns)
{
    struct setting s;

    setting_open_with(&s, without_gateway);
    gate_set(false, false, false);
    gate.is_full = true; /* nothing looks yet */
    use_many(&s, NULL, 2);
    for (int i = 0; i < MANY; i++)
        CHECK(looks_reach(i, 3));
    gate_set(true, false, false);
    setting_close(&s);
}

int main(void)
{
    return test_main();
}
