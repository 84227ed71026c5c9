/* link_scene.h - what the tests of runs share: a link of one table, between two databases in
 * memory.
 */
#pragma once

#include "fake_database.h"
#include "fake_replica.h"
#include "link/replicating.h"
#include "test.h"

static struct link_spec spec;
static struct link_kept kept;
static struct link_state state;
static struct replicated done;
static struct arena arena = ARENA_INIT(64 << 20);
static struct err err;
static int64_t fence, now_us;
static struct call *call; /* of the next runs */

/* Two databases with an empty table each, and nothing known of them. */
static inline void begin(void)
{
    link_kept_done(&kept);
    link_kept_init(&kept);
    memset(&fake_source, 0, sizeof fake_source);
    memset(&fake_dest, 0, sizeof fake_dest);
    fake_source.epoch = fake_dest.epoch = "one";
    fake_source.life = fake_dest.life = "first";
    fake_source.journals = true;
    fake_aside_count = 0;
    memset(fake_orders, 0, sizeof fake_orders);
    state = (struct link_state){ .reached = { .key = STR("") } };
    now_us = 1000;
    spec = (struct link_spec){
        .link = STR("a-b"),
        .table = STR("t"),
        .source = { .type = &fake_type, .address = { .name = STR("source") }, .table = STR("t") },
        .dest = { .type = &fake_type, .address = { .name = STR("dest") }, .table = STR("t") },
        .deletes_most = 10,
        .deletes_share = 50,
        .batch_bytes = 4096,
        .quarantine_most = 3
    };
}

static inline bool run_with(int64_t by)
{
    struct replicating r = {
        .spec = &spec, .kept = &kept, .call = call, .arena = &arena, .fence = by, .now_us = now_us
    };

    err = (struct err){ 0 };
    return replicating_run(&r, &state, &done, &err);
}

/* What a run leaves goes through the text that is stored of it. */
static inline bool run(void)
{
    struct buf text = BUF_INIT(64 << 10);
    bool ok = run_with(++fence);

    link_state_write(&state, &text);
    ok = ok && link_state_read(arena_copy(&arena, buf_view(&text)), &arena, &state, &err);
    buf_done(&text);
    if (!ok)
        (void)printf("# run: %s\n", err.text);
    return ok;
}

static inline bool is_current(void)
{
    bool ok = run() && state.stands == LINK_CURRENT;

    if (!ok)
        (void)printf("# it is %s %s: %s\n", link_stands[state.stands], link_reasons[state.reason],
                     state.message);
    return ok;
}

static inline bool stops(enum link_reason reason)
{
    return run() && state.stands == LINK_STOPPED && state.reason == reason;
}

static inline void order(enum replica_wish wish)
{
    fake_orders[wish] = ++fake_last_id;
}

static inline void fill(struct fake_database *f, int from, int count)
{
    char name[FAKE_NAME];

    for (int i = from; i < from + count; i++) {
        (void)snprintf(name, sizeof name, "name of %d", i);
        fake_put(f, i, name);
    }
}

static inline bool load(int count)
{
    begin();
    fill(&fake_source, 1, count);
    return is_current() && fake_same(&fake_source, &fake_dest);
}

static inline int link_tests(void)
{
    int failed;

    link_kept_init(&kept);
    failed = test_main();
    link_kept_done(&kept);
    arena_done(&arena);
    return failed;
}
