#include "test.h"

#include <signal.h>

#include "again.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/str.h"

TEST(fault_names_are_unique_and_said_in_words)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        struct str name = str_of(fault_name((enum fault_id)i));

        CHECK(name.len > 0 && str_find(name, ':') < 0 && str_find(name, ',') < 0);
        CHECK(strlen(fault_what((enum fault_id)i)) > 0);
        for (int k = 0; k < i; k++)
            CHECK(!str_is(name, fault_name((enum fault_id)k)));
    }
    CHECK(strcmp(fault_name(FAULT_GROUP_COMMIT), "group.commit") == 0);
}

#ifdef WAYBILL_FAULTS

TEST(fault_nothing_happens_without_a_plan)
{
    for (int i = 0; i < 10; i++) {
        fault_point(GROUP_TAKEN);
        CHECK(!fault_error(OPERATION));
    }
}

TEST(fault_switch_is_the_environment)
{
    (void)setenv("WAYBILL_TEST_SWITCH", "on", 1);
    CHECK(strcmp(fault_switch("WAYBILL_TEST_SWITCH"), "on") == 0);
    CHECK(fault_switch("WAYBILL_TEST_NO_SWITCH") == NULL);
}

/* Five passes each, first the point then the call that can fail; the exit status
 * has a bit for each call that failed. */
static int five_passes(void)
{
    int failed = 0;
    char bytes[32];

    for (int i = 0; i < 5; i++) {
        (void)snprintf(bytes, sizeof bytes, "pass %d", i);
        fault_point_on(ROAD_WALK, str_of(bytes));
        fault_point(GROUP_BEGUN);
        if (fault_error(SEGMENT_SYNC))
            failed |= 1 << i;
    }
    return failed;
}

TEST(fault_plan_says_what_happens)
{
    static const struct {
        const char *plan;
        int signal, failed;
    } cases[] = {
        { "", 0, 0 },
        { "group.begun:kill", SIGKILL, 0 },
        { "group.begun:kill:5", SIGKILL, 0 },
        { "group.begun:kill:6", 0, 0 },
        { "group.begun:kill:0", 0, 0 },
        { "segment.sync:kill:5", SIGKILL, 0 },
        { "group.begun:abort", SIGABRT, 0 },
        { "group.begun:abort:5", SIGABRT, 0 },
        { "group.begun:abort:6", 0, 0 },
        { "road.walk:abort_on:pass 4", SIGABRT, 0 },
        { "road.walk:abort_on:pass 5", 0, 0 },
        { "group.begun:abort_on:pass", 0, 0 }, /* a plain point has no bytes */
        { "segment.sync:error", 0, 1 << 0 },
        { "segment.sync:error:3", 0, 1 << 2 },
        { "segment.sync:error:0", 0, 31 },
        { "segment.sync:error:6", 0, 0 },
        { "group.begun:error:1", 0, 0 }, /* a plain point cannot fail */
        { "segment.sync:error:2,group.begun:delay_ms:1", 0, 1 << 1 },
        { "segment.sync:error:2,group.begun:kill:4", SIGKILL, 0 },
        { "segment.sync:delay_ms:1", 0, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct again_end end = again("five", cases[i].plan, "-");

        if (end.signal != cases[i].signal || end.status != cases[i].failed)
            printf("# %s: signal %d, status %d\n", cases[i].plan, end.signal, end.status);
        CHECK(end.signal == cases[i].signal && end.status == cases[i].failed);
    }
}

TEST(fault_delay_waits_at_each_pass)
{
    int64_t from = clock_mono_us();

    CHECK(again("five", "segment.sync:delay_ms:30", "-").status == 0);
    CHECK(clock_mono_us() - from >= 5 * 30 * CLOCK_MS);
}

TEST(fault_plan_that_is_wrong_ends_the_process)
{
    static const char *const plans[] = {
        "no.such.point:kill",
        "group.begun",
        "group.begun:explode",
        "group.begun:kill:x",
        "group.begun:kill:1:2",
        "group.begun:kill:-1",
        ":kill:1",
        ",group.begun:kill",
        "group.begun:kill:99999999999999999999",
    };

    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        CHECK(again("quiet", plans[i], "-").signal == SIGABRT);
}

#else

TEST(fault_release_builds_have_no_faults)
{
    (void)setenv("WAYBILL_FAULT", "segment.sync:error:0", 1);
    fault_point(GROUP_BEGUN);
    CHECK(!fault_error(SEGMENT_SYNC));
    CHECK(fault_switch("WAYBILL_FAULT") == NULL);
}

#endif

int main(int argc, char **argv)
{
#ifdef WAYBILL_FAULTS
    const char *scene = again_scene(argc, argv);

    if (scene != NULL && strcmp(scene, "quiet") == 0 && freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    if (scene != NULL)
        _exit(five_passes()); /* without a leak check, which takes its time */
#endif
    (void)argc;
    (void)argv;
    return test_main();
}
