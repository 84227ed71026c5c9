#include "core/steady.h"

static void steady_believe(struct steady *s, int64_t clock_us, int64_t mono_us)
{
    *s = (struct steady){ .base_us = clock_us, .base_mono_us = mono_us, .read = true };
}

static void doubt(struct steady *s, int64_t clock_us, int64_t mono_us)
{
    s->seen_us = clock_us;
    s->seen_mono_us = mono_us;
}

static bool steady_is_step(int64_t off_us)
{
    return off_us > STEADY_STEP_US || off_us < -STEADY_STEP_US;
}

enum steady_change steady_note(struct steady *s, int64_t clock_us, int64_t mono_us,
                               int64_t *ret_step_us)
{
    *ret_step_us = s->read ? clock_us - (s->base_us + (mono_us - s->base_mono_us)) : 0;
    if (!s->frozen) {
        if (!steady_is_step(*ret_step_us)) {
            steady_believe(s, clock_us, mono_us);
            return STEADY_SAME;
        }
        s->frozen = true;
        doubt(s, clock_us, mono_us);
        return STEADY_FROZE;
    }
    if (steady_is_step(clock_us - (s->seen_us + (mono_us - s->seen_mono_us)))) {
        doubt(s, clock_us, mono_us);
        return STEADY_SAME;
    }
    if (mono_us - s->seen_mono_us < STEADY_APART_US)
        return STEADY_SAME;
    steady_believe(s, clock_us, mono_us);
    return STEADY_WENT_ON;
}

int64_t steady_early_us(const struct steady *s, int64_t mono_us)
{
    int64_t base = s->base_us, seen = s->seen_us;

    if (!s->frozen)
        return base + (mono_us - s->base_mono_us);
    return seen < base ? seen : base;
}

int64_t steady_late_us(const struct steady *s, int64_t mono_us)
{
    int64_t base = s->base_us + (mono_us - s->base_mono_us);
    int64_t seen = s->seen_us + (mono_us - s->seen_mono_us);

    return s->frozen && seen > base ? seen : base;
}
