#include "core/service_call.h"

#include "core/settings.h"
#include "core/units.h"

bool service_call_read_retry(const struct settings *s, struct retry_rule *ret_retry,
                             struct breaker_rule *ret_breaker, struct err *err)
{
    struct settings retry = settings_below(s, "retry"), breaker = settings_below(s, "breaker");

    return settings_duration(&retry, "first", &ret_retry->first_us, err) &&
           settings_duration(&retry, "most", &ret_retry->most_us, err) &&
           settings_duration(&retry, "for", &ret_retry->for_us, err) &&
           settings_int(&breaker, "failures", &ret_breaker->failures, err) &&
           settings_int(&breaker, "rejections", &ret_breaker->rejections, err) &&
           settings_duration(&breaker, "wait", &ret_breaker->wait_us, err);
}

static bool read_asking_rate(const struct settings *limits, struct service_call *ret,
                             struct err *err)
{
    struct units_rate rate;
    struct str text;
    int64_t burst = 0;

    if (!settings_has(limits, "rate"))
        return true;
    if (!settings_text(limits, "rate", &text, err) || !units_rate(text, &rate, err) ||
        !settings_int(limits, "burst", &burst, err))
        return false;
    ret->rate = rate.count;
    ret->rate_per_us = rate.per_us;
    ret->burst = burst > 0 ? (uint64_t)burst : units_rate_burst(rate);
    return true;
}

bool service_call_read(const struct settings *s, struct service_call *ret, struct err *err)
{
    struct settings limits = settings_below(s, "limits");

    return service_call_read_retry(s, &ret->retry, &ret->breaker, err) &&
           settings_int(&limits, "concurrency", &ret->concurrency, err) &&
           read_asking_rate(&limits, ret, err);
}
