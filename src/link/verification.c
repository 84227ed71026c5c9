#include "link/verification.h"

#include "base/clock.h"

#define VERIFY_DELAY_LEAST_US (300 * CLOCK_MS)
#define VERIFY_DELAY_MOST_US  (30 * CLOCK_S)

int64_t verification_now_us(const struct verification *p)
{
    return p->v->now_us + clock_mono_us() - p->began_mono_us;
}

int64_t verification_delay_us(const struct verification *p)
{
    int64_t every_us = p->by_journal ? p->v->rule->every_us : 2 * p->v->rule->every_us;

    if (every_us < VERIFY_DELAY_LEAST_US)
        return VERIFY_DELAY_LEAST_US;
    return p->by_journal && every_us > VERIFY_DELAY_MOST_US ? VERIFY_DELAY_MOST_US : every_us;
}

bool verification_scan_is_over(const struct verification *p)
{
    return p->pass.segments > 0 && p->next.len == 0;
}

int64_t verification_differences(const struct verification *p)
{
    return p->pass.missing + p->pass.extra + p->pass.different;
}

bool verification_save(struct verification *p, const struct finding *findings, size_t count,
                       struct err *err)
{
    return pass_save(p->v->store, &p->pass, findings, count, &p->lost, err);
}
