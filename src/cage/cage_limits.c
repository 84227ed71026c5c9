/* cage_limits.c - reads `limits:` of a step. */
#include "cage/cage.h"

bool cage_limits_read(const struct settings *s, struct cage_limits *ret, struct err *err)
{
    struct settings limits = settings_below(s, "limits");

    *ret = (struct cage_limits){ 0 };
    return (settings_duration(&limits, "time", &ret->time_us, err) &&
            settings_int(&limits, "memory", &ret->memory, err) &&
            settings_int(&limits, "output", &ret->output, err) &&
            settings_int(&limits, "concurrency", &ret->concurrency, err)) ||
           err_context(err, "`limits`");
}
