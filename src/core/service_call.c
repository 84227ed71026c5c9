#include "core/service_call.h"

#include "core/settings.h"

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

bool service_call_read(const struct settings *s, struct service_call *ret, struct err *err)
{
    struct settings limits = settings_below(s, "limits");

    return service_call_read_retry(s, &ret->retry, &ret->breaker, err) &&
           settings_int(&limits, "concurrency", &ret->concurrency, err) &&
           settings_rate(&limits, &ret->rate, &ret->burst, err);
}
