/* plan_alert.h - the compiled `alerts` section of a configuration: rules and targets.
 *
 * Part of a plan; everything is on its arena.  A target that cannot be used (a secret is missing)
 * says why in `broken`, and its notices wait.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/alert_rule.h"
#include "core/connector.h"
#include "core/problem.h"
#include "core/retry.h"
#include "store/watch/alert.h"

struct plan;
struct plan_endpoint;

struct alert_target {
    struct str name;
    struct str url;                       /* where notices are posted ... */
    const struct plan_endpoint *endpoint; /* ... or what they are sent through; NULL: the URL */
    const struct http_out_field *fields;
    size_t field_count;
    struct http_out_options http;
    struct retry_rule retry;
    uint32_t codes;     /* bits of 1 << alert_code */
    const char *broken; /* NULL: it can be used */
};

/* A gateway that must receive something at least this often. */
struct alert_silence {
    struct str gateway;
    int64_t after_us;
};

struct plan_alerts {
    struct alert_rule rules[ALERT_CODES];
    int64_t disk_free_bytes; /* 0: twice the reserve of the node */
    int64_t remind_us;
    int64_t certificate_us;
    const struct alert_silence *silences;
    size_t silence_count;
    struct alert_target *targets;
    size_t target_count;
};

/* Of a plan that has its endpoints.  `base` has the secret lookup and the arena.  False: *err and
 * *ret_place say what is wrong and where; p->alerts then has the usable rest. */
bool plan_alerts_build(struct plan *p, const struct settings *base, struct place *ret_place,
                       struct err *err);

const struct alert_target *alert_target_find(const struct plan_alerts *a, struct str name);
