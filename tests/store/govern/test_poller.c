#include "engine/intake/poller.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/registry.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/metrics.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/grammar.h"
#include "engine/intake/deposit.h"
#include "engine/threads/crew.h"
#include "store/govern/ledger.h"
#include "store/road/accept.h"
#include "store_test.h"

/* ---- a gateway that does what the test says ---- */

static struct {
    _Atomic int looks, made, unmade, inside, most_inside;
    _Atomic int gives; /* documents for the next look */
    _Atomic bool fails, cannot, holds_up;
    _Atomic bool falters, is_full; /* each second look fails; each took as many as one may */
    _Atomic enum err_kind cannot_kind;
} script;

static void new_script(void)
{
    memset(&script, 0, sizeof script);
    script.cannot_kind = ERR_TRANSIENT;
}

static bool fake_make(const struct settings *s, void **ret_self, struct err *err)
{
    (void)s;
    if (script.cannot)
        return err_set(err, script.cannot_kind, 0, "the folder is not there");
    script.made++;
    *ret_self = NEW(int);
    return true;
}

static void fake_unmake(void *self)
{
    script.unmade++;
    free(self);
}

static bool give(const struct deposit_port *port, void *deposit, struct err *err)
{
    struct deposit *d;
    struct id id;
    bool repeated;
    char key[32];
    static _Atomic int number;

    (void)snprintf(key, sizeof key, "document %d", ++number);
    return port->open(deposit, STR("x"), STR(""), &d, err) && port->put(d, str_of(key), err) &&
           port->commit(d, str_of(key), &id, &repeated, err);
}

static bool fake_look(void *self, const struct deposit_port *port, void *deposit,
                      int64_t *ret_taken, struct err *err)
{
    int inside = ++script.inside;

    (void)self;
    if (inside > script.most_inside)
        script.most_inside = inside;
    script.looks++;
    bool ok = !(script.fails || (script.falters && script.looks % 2 == 0)) ||
              err_set(err, ERR_TRANSIENT, 0, "nobody answers");

    *ret_taken = script.is_full ? DEPOSIT_LOOK_MOST : 0;
    while (ok && script.gives > 0) {
        ok = give(port, deposit, err);
        script.gives--;
        *ret_taken += ok;
    }
    port->complain(deposit, STR("bad"), "it is a pipe", "Remove it.");
    while (script.holds_up && !port->stopping(deposit))
        clock_sleep_us(1000);
    script.inside--;
    return ok;
}

static const struct option fake_options[] = { OPTIONS(grammar_every), { 0 } };

static const struct gateway_type fake_gateway = {
    .kind = { .name = "file", .help = "fake", .keys = fake_options },
    .make = fake_make,
    .look = fake_look,
    .unmake = fake_unmake
};
static const struct gateway_type *const gateways[] = { &fake_gateway, NULL };
static const struct connectors connectors = { .gateways = gateways };

/* ---- a node of it ---- */

struct rig {
    struct store *store;
    struct crew *looks;
    struct poller *poller;
    int64_t forget_every_us; /* before it is started */
    _Atomic(const char *) closed;
};

static const char *closed(void *arg)
{
    return ((struct rig *)arg)->closed;
}

static struct config *config_of(const char *gateways_text)
{
    static const struct config_options options = { .connectors = &registry };
    struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(4096);

    buf_printf(&text, "systems: { hub: {} }\ntypes: { t: {} }\ngateways:\n%s", gateways_text);
    struct config *c = config_load(buf_view(&text), "test", &options, &report);

    if (c == NULL)
        printf("# %s\n", report.problems.items[0].message);
    config_report_done(&report);
    return c;
}

static const char one[] = "  drop: { kind: file, path: in, every: 20ms }\n";

static bool use(struct rig *r, const char *text)
{
    static int64_t version;
    struct config *c = config_of(text);

    if (c == NULL)
        return false;
    poller_use(r->poller, c, ++version);
    config_unref(c);
    return true;
}

static bool rig_start(struct rig *r, const struct home *h, const char *text)
{
    struct err err = { 0 };

    r->store = open_store(h);
    r->looks = crew_new("look", 4, 4);
    if (r->store == NULL || !accept_keep_tables(r->store, DEPOSIT_KEY_PERIOD_US, &err))
        return false;
    r->poller = poller_new(&(struct poller_options){ .store = r->store,
                                                     .looks = r->looks,
                                                     .connectors = &connectors,
                                                     .area = CONFIG_INTERNAL,
                                                     .forget_every_us = r->forget_every_us,
                                                     .closed = closed,
                                                     .arg = r });
    if (!use(r, text))
        return false;
    poller_run(r->poller);
    return true;
}

static void rig_stop(struct rig *r)
{
    poller_stop(r->poller);
    crew_hurry(r->looks, CLOCK_S);
    (void)crew_free(r->looks);
    poller_free(r->poller);
    store_close(r->store);
}

#define WAIT_FOR(cond)                                            \
    do {                                                          \
        for (int waited = 0; !(cond) && waited < 20000; waited++) \
            clock_sleep_us(1000);                                 \
        CHECK(cond);                                              \
    } while (0)

static bool metrics_have(const char *text)
{
    AUTO(buf_done) struct buf all = BUF_INIT(1 << 20);

    metrics_print(&all);
    return strstr(all.ptr, text) != NULL;
}

static bool is_troubled(struct rig *r, const char *text)
{
    AUTO(buf_done) struct buf all = BUF_INIT(4096);

    poller_troubles(r->poller, &all);
    return text == NULL ? all.len == 0 : strstr(all.ptr, text) != NULL;
}

/* ---- tests ---- */

TEST(gateways_are_looked_at_again_and_again)
{
    struct home h = fresh_home();
    struct rig r = { 0 };

    new_script();
    script.gives = 3;
    CHECK(rig_start(&r, &h, one));
    WAIT_FOR(script.looks >= 4 && script.gives == 0);
    WAIT_FOR(metrics_have("waybill_documents_accepted_total{gateway=\"drop\"} 3"));
    CHECK(metrics_have("waybill_gateway_errors_total{gateway=\"drop\"} 0"));
    CHECK(metrics_have("waybill_gateway_last_success_seconds{gateway=\"drop\"} "));
    CHECK(script.made == 1 && is_troubled(&r, NULL) && script.most_inside == 1);
    CHECK(places(r.store).ready == 3);
    rig_stop(&r);
    CHECK(script.unmade == 1 && !metrics_have("gateway=\"drop\""));
}

TEST(a_full_look_is_repeated_at_once)
{
    struct home h = fresh_home();
    struct rig r = { 0 };

    new_script();
    script.gives = DEPOSIT_LOOK_MOST;
    CHECK(rig_start(&r, &h, "  drop: { kind: file, path: in, every: 1h }\n"));
    WAIT_FOR(script.looks == 2);
    clock_sleep_us(50 * CLOCK_MS);
    CHECK(script.looks == 2 && places(r.store).ready == DEPOSIT_LOOK_MOST);
    rig_stop(&r);
}

/* proves: IN5 IN11 */
TEST(a_gateway_that_fails_is_told_and_backed_off)
{
    struct home h = fresh_home();
    struct rig r = { 0 };
    int before;

    new_script();
    script.fails = true;
    CHECK(rig_start(&r, &h, one));
    WAIT_FOR(is_troubled(&r, "gateway drop has failed"));
    CHECK(is_troubled(&r, "nobody answers"));
    CHECK(!metrics_have("waybill_gateway_errors_total{gateway=\"drop\"} 0"));
    before = script.looks;
    clock_sleep_us(300 * CLOCK_MS);
    CHECK(script.looks - before < 12); /* of 15 */
    script.fails = false;
    WAIT_FOR(is_troubled(&r, NULL));
    rig_stop(&r);
}

/* proves: IN5 */
TEST(a_gateway_that_cannot_be_set_up_is_tried_again)
{
    struct home h = fresh_home();
    struct rig r = { 0 };

    new_script();
    script.cannot = true;
    CHECK(rig_start(&r, &h, one));
    WAIT_FOR(is_troubled(&r, "the folder is not there"));
    CHECK(script.looks == 0);
    script.cannot = false;
    WAIT_FOR(script.looks > 0 && is_troubled(&r, NULL));
    rig_stop(&r);
    CHECK(script.made == script.unmade);
}

static bool looks_rest(void)
{
    int before = script.looks;

    clock_sleep_us(100 * CLOCK_MS); /* five of its intervals */
    return script.looks == before;
}

TEST(a_closed_node_looks_at_nothing_and_blames_nobody)
{
    struct home h = fresh_home();
    struct rig r = { 0 };
    bool rest = false;

    new_script();
    CHECK(rig_start(&r, &h, one));
    WAIT_FOR(script.looks > 0);
    r.closed = "the disk is full";
    for (int i = 0; i < 100 && !rest; i++) /* one may have begun before */
        rest = looks_rest();
    CHECK(rest && is_troubled(&r, NULL));
    CHECK(metrics_have("waybill_gateway_errors_total{gateway=\"drop\"} 0"));
    rig_stop(&r);
}

TEST(a_new_configuration_changes_what_is_looked_at)
{
    struct home h = fresh_home();
    struct rig r = { 0 };

    new_script();
    CHECK(rig_start(&r, &h, one));
    WAIT_FOR(script.looks > 1);
    CHECK(use(&r, "  drop: { kind: file, path: other, every: 20ms }\n"
                  "  more: { kind: file, path: more, every: 20ms }\n"
                  "  far: { kind: file, path: far, every: 20ms, area: dmz }\n"));
    WAIT_FOR(script.made == 3 && script.unmade == 1); /* drop again, and more */
    WAIT_FOR(metrics_have("waybill_gateway_errors_total{gateway=\"more\"}"));
    CHECK(!metrics_have("gateway=\"far\"")); /* another area */
    CHECK(use(&r, "  more: { kind: file, path: more, every: 20ms }\n"));
    WAIT_FOR(!metrics_have("gateway=\"drop\""));
    CHECK(use(&r, one) && use(&r, "  web: { kind: http, auth: key }\n"));
    WAIT_FOR(!metrics_have("gateway=\"more\"") && !metrics_have("gateway=\"drop\""));
    int before = script.looks;

    clock_sleep_us(80 * CLOCK_MS);
    CHECK(script.looks == before && script.made == script.unmade);
    rig_stop(&r);
}

TEST(a_look_that_takes_long_is_ended_by_the_stop)
{
    struct home h = fresh_home();
    struct rig r = { 0 };

    new_script();
    script.holds_up = true;
    CHECK(rig_start(&r, &h, one));
    WAIT_FOR(script.inside == 1);
    CHECK(use(&r, "  web: { kind: http, auth: key }\n")); /* it goes while it looks */
    clock_sleep_us(50 * CLOCK_MS);
    CHECK(script.inside == 1 && script.looks == 1);
    rig_stop(&r);
    CHECK(script.inside == 0 && script.made == script.unmade);
}

/* Two gateways have taken something and did not see it for nine days. */
static bool note_old(const struct home *h)
{
    struct store *s = open_store(h);
    struct sha256 key = digest_of(STR("a"));
    int64_t drop, away;
    struct err err = { 0 };
    bool ok = s != NULL && name_add(s, NAME_GATEWAY, STR("drop"), &drop, &err) &&
              name_add(s, NAME_GATEWAY, STR("away"), &away, &err) &&
              ledger_note(s, drop, &key, &err) && ledger_note(s, away, &key, &err);

    store_close(s);
    return ok && tell(h, "UPDATE ledger SET seen_us = seen_us - 800000000000");
}

static int64_t noted(const struct home *h)
{
    return ask(h, "SELECT count(*) FROM ledger");
}

/* proves: IN11 */
TEST(what_was_out_of_reach_for_a_week_is_not_forgotten)
{
    struct home h = fresh_home();
    struct rig r = { .forget_every_us = 1 };
    int before;

    new_script();
    script.fails = true;
    CHECK(note_old(&h) && rig_start(&r, &h, one));
    WAIT_FOR(script.looks >= 3);
    script.falters = true; /* never two that went well, one after the other */
    script.fails = false;
    before = script.looks;
    WAIT_FOR(script.looks >= before + 8);
    script.is_full = true; /* there may be more than they saw */
    script.falters = false;
    before = script.looks;
    WAIT_FOR(script.looks >= before + 8);
    CHECK(noted(&h) == 2);
    script.is_full = false;
    WAIT_FOR(noted(&h) == 1); /* that of the gateway which is not there stays */
    before = script.looks;
    WAIT_FOR(script.looks >= before + 4);
    CHECK(noted(&h) == 1);
    rig_stop(&r);
}

TEST(looks_go_well_for_some_time_before_one_forgets)
{
    struct home h = fresh_home();
    struct rig r = { 0 };

    new_script();
    CHECK(note_old(&h) && rig_start(&r, &h, one));
    WAIT_FOR(script.looks >= 8);
    CHECK(noted(&h) == 2);
    rig_stop(&r);
}

/* proves: FI2 */
TEST(what_can_never_work_is_a_problem)
{
    struct home h = fresh_home();
    struct rig r = { 0 };
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct config *c = config_of(one);

    new_script();
    CHECK(c != NULL && rig_start(&r, &h, "  web: { kind: http, auth: key }\n"));
    poller_try(r.poller, c, &problems);
    CHECK(problems.count == 0 && script.made == 1 && script.unmade == 1);
    script.cannot = true;
    poller_try(r.poller, c, &problems);
    CHECK(problems.count == 0); /* it may be there later */
    script.cannot_kind = ERR_CONFIG;
    poller_try(r.poller, c, &problems);
    CHECK(problems.count == 1 && problems.items[0].place.line == 4);
    problem_list_done(&problems);
    config_unref(c);
    rig_stop(&r);
}

/* proves: IN12 */
TEST(postgres_one_of_two_nodes_looks)
{
    struct home h = fresh_home(), beside = home_beside(&h);
    struct rig a = { 0 }, b = { 0 };

    new_script();
    CHECK(rig_start(&a, &h, one) && rig_start(&b, &beside, one));
    WAIT_FOR(script.looks > 10);
    CHECK(script.most_inside == 1);
    CHECK(ask(&h, "SELECT count(*) FROM poll_turn") == 1);
    CHECK(ask(&h, "SELECT count(DISTINCT node_id) FROM poll_turn") == 1);
    rig_stop(&a); /* whichever had it gives it back */
    int before = script.looks;

    WAIT_FOR(script.looks > before + 3);
    rig_stop(&b);
    CHECK(ask(&h, "SELECT count(*) FROM poll_turn") == 0);
}

STORE_TEST_MAIN
