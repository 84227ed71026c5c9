#include "core/forecast.h"

static const int64_t hour_us = INT64_C(3600) * 1000000;

void forecast_note(struct forecast *f, int64_t total, int64_t mono_us, bool idle)
{
    int64_t count = total - f->seen, span = mono_us - f->seen_us;
    bool first = !f->looked;

    f->seen = total;
    f->seen_us = mono_us;
    f->looked = true;
    if (first || span <= 0 || count < 0 || (idle && count == 0))
        return; /* a counter that fell has begun anew */
    f->count += count - f->samples[f->next].count;
    f->span_us += span - f->samples[f->next].span_us;
    f->samples[f->next].count = count;
    f->samples[f->next].span_us = span;
    f->next = (f->next + 1) % FORECAST_SAMPLES;
}

int64_t forecast_per_hour(const struct forecast *f)
{
    double rate = f->span_us > 0 ? (double)f->count * (double)hour_us / (double)f->span_us : 0;

    return rate < (double)(INT64_C(1) << 62) ? (int64_t)rate : INT64_C(1) << 62;
}

int64_t forecast_gone_us(const struct forecast *f, int64_t backlog, int64_t begin_us)
{
    if (backlog == 0)
        return begin_us;
    if (f->count == 0)
        return 0;
    double span = (double)backlog * (double)f->span_us / (double)f->count;

    return span < (double)(INT64_C(100) * 365 * 24) * (double)hour_us ? begin_us + (int64_t)span
                                                                      : 0;
}
