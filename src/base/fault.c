#include "base/fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/require.h"
#include "base/str.h"

static const struct {
    const char *name, *what;
} points[FAULT_COUNT] = {
#define FAULT(id, name_, what_) [FAULT_##id] = { .name = name_, .what = what_ },
#include "base/fault.def"
#undef FAULT
};

const char *fault_name(enum fault_id id)
{
    require(id < FAULT_COUNT);
    return points[id].name;
}

const char *fault_what(enum fault_id id)
{
    require(id < FAULT_COUNT);
    return points[id].what;
}

#ifdef WAYBILL_FAULTS

enum action { ACT_NONE, ACT_KILL, ACT_ABORT, ACT_ABORT_ON, ACT_HANG_ON, ACT_ERROR, ACT_DELAY };

static struct {
    enum action action;
    uint64_t count; /* the pass at which to act; for a delay the milliseconds */
    struct str text;
    _Atomic uint64_t passed;
} plan[FAULT_COUNT];
static _Atomic int plan_read;

static void plan_one(struct str text)
{
    static const char *const actions[] = { "",        "kill",  "abort",   "abort_on",
                                           "hang_on", "error", "delay_ms" };
    struct str name, action, rest = str_cut(text, ':', &name);
    uint64_t count = 1;

    rest = str_cut(rest, ':', &action);
    if (rest.len > 0 && !str_is(action, "abort_on") && !str_is(action, "hang_on"))
        require(str_to_u64(rest, &count)); /* else the test has a mistake */
    for (int i = 0; i < FAULT_COUNT; i++)
        for (int a = ACT_KILL; a <= ACT_DELAY; a++)
            if (str_is(name, points[i].name) && str_is(action, actions[a])) {
                plan[i].count = count;
                plan[i].text = rest;
                plan[i].action = (enum action)a;
                return;
            }
    require(!"WAYBILL_FAULT names a point and an action that exist");
}

static void read_plan(void)
{
    const char *env = getenv("WAYBILL_FAULT");
    int zero = 0;

    if (atomic_load(&plan_read) == 2)
        return;
    if (!atomic_compare_exchange_strong(&plan_read, &zero, 1)) {
        while (atomic_load(&plan_read) != 2)
            clock_sleep_us(100);
        return;
    }
    for (struct str all = str_of(env != NULL ? env : ""), one; all.len > 0;) {
        all = str_cut(all, ',', &one);
        plan_one(one);
    }
    atomic_store(&plan_read, 2);
}

static bool is_the_pass(enum fault_id id)
{
    return atomic_fetch_add(&plan[id].passed, 1) + 1 == plan[id].count;
}

void fault_pass(enum fault_id id)
{
    read_plan();
    if (plan[id].action == ACT_DELAY)
        clock_sleep_us((int64_t)plan[id].count * CLOCK_MS);
    if (plan[id].action == ACT_KILL && is_the_pass(id))
        (void)raise(SIGKILL);
    if (plan[id].action == ACT_ABORT && is_the_pass(id))
        abort();
}

void fault_pass_on(enum fault_id id, struct str bytes)
{
    fault_pass(id);
    if ((plan[id].action != ACT_ABORT_ON && plan[id].action != ACT_HANG_ON) || bytes.len == 0 ||
        memmem(bytes.ptr, bytes.len, plan[id].text.ptr, plan[id].text.len) == NULL)
        return;
    if (plan[id].action == ACT_ABORT_ON)
        abort();
    for (;;) /* as a call into a share that hangs */
        clock_sleep_us(CLOCK_S);
}

bool fault_fails(enum fault_id id)
{
    fault_pass(id);
    if (plan[id].action != ACT_ERROR)
        return false;
    return plan[id].count == 0 || is_the_pass(id);
}

const char *fault_switch(const char *name)
{
    return getenv(name);
}

#endif
