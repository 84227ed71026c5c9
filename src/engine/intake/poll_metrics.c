#include "engine/intake/poll_metrics.h"

#include <stdio.h>

#include "base/clock.h"

static int64_t read_last_success(void *arg)
{
    return (clock_wall_us() - atomic_load(&((struct poll_metrics *)arg)->success_us)) / CLOCK_S;
}

void poll_metrics_init(struct poll_metrics *m, const char *gateway)
{
    m->success_us = clock_wall_us();
    (void)snprintf(m->labels, sizeof m->labels, "gateway=\"%s\"", gateway);
    m->last_success = (struct metric){ .name = "waybill_gateway_last_success_seconds",
                                       .help = "How long ago a look of the gateway went well.",
                                       .labels = m->labels,
                                       .type = METRIC_GAUGE,
                                       .read = read_last_success,
                                       .arg = m };
    m->errors = (struct metric){ .name = "waybill_gateway_errors_total",
                                 .help = "Looks of the gateway that failed.",
                                 .labels = m->labels };
    m->accepted = (struct metric){ .name = "waybill_documents_accepted_total",
                                   .help = "Documents stored and acknowledged.",
                                   .labels = m->labels };
    m->repeated = (struct metric){ .name = "waybill_documents_repeated_total",
                                   .help = "Requests answered by an earlier one with the same key.",
                                   .labels = m->labels };
    metrics_register(&m->last_success);
    metrics_register(&m->errors);
    metrics_register(&m->accepted);
    metrics_register(&m->repeated);
}

void poll_metrics_done(struct poll_metrics *m)
{
    metrics_forget(&m->last_success);
    metrics_forget(&m->errors);
    metrics_forget(&m->accepted);
    metrics_forget(&m->repeated);
}
