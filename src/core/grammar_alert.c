#include "base/clock.h"
#include "core/alert_rule.h"
#include "core/grammar.h"

/* --- who is told --------------------------------------------------------------- */

static const struct option retry_keys[] = {
    { .name = "first",
      .type = OPT_DURATION,
      .least = CLOCK_MS,
      .fallback = "5s",
      .help = "the wait before the first repetition; it doubles from there" },
    { .name = "most",
      .type = OPT_DURATION,
      .least = CLOCK_MS,
      .fallback = "10m",
      .help = "the longest wait" },
    { .name = "for",
      .type = OPT_DURATION,
      .fallback = "3d",
      .help = "after this long a notice is given up, and shows as that" },
    { 0 },
};

static const struct option header_each = { .type = OPT_SECRET, .help = "its value, never shown" };

static const struct option target_keys[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "where notices are posted, each as a JSON object" },
    { .name = "headers",
      .type = OPT_NAMED,
      .flags = OPT_FREE,
      .each = &header_each,
      .noun = "header",
      .help = "headers of the request" },
    { .name = "timeout",
      .type = OPT_DURATION,
      .least = CLOCK_MS,
      .fallback = "10s",
      .help = "how long one attempt may take" },
    { .name = "retry", .type = OPT_MAP, .keys = retry_keys, .help = "how a notice is repeated" },
    { .name = "codes",
      .type = OPT_WORD,
      .flags = OPT_OR_LIST,
      .words = alert_codes,
      .help = "which alerts it hears of; left out: all" },
    { 0 },
};

static const struct option target_each = {
    .type = OPT_MAP,
    .keys = target_keys,
    .noun = "target",
};

/* --- about what ---------------------------------------------------------------- */

static const struct option dead_keys[] = {
    { .name = "count", .type = OPT_INT, .least = 1, .fallback = "1", .help = "from so many on" },
    { .name = "remind",
      .type = OPT_DURATION,
      .least = CLOCK_S,
      .fallback = "1d",
      .help = "while there are some, notices are repeated at this distance" },
    { 0 },
};

static const struct option depth_keys[] = {
    { .name = "high",
      .type = OPT_INT,
      .least = 1,
      .fallback = "10000",
      .help = "with so many deliveries waiting for a system it is raised" },
    { .name = "low",
      .type = OPT_INT,
      .fallback = "1000",
      .help = "and with so many it is cleared" },
    { 0 },
};

static const struct option age_keys[] = {
    { .name = "after",
      .type = OPT_DURATION,
      .least = CLOCK_S,
      .fallback = "1h",
      .help =
          "how long the first delivery for a system has waited; time in a hold, a closed window "
          "or a pause does not count" },
    { 0 },
};

static const struct option failing_keys[] = {
    { .name = "after",
      .type = OPT_DURATION,
      .fallback = "1m",
      .help = "how long the breaker of an endpoint is open; it is closed for as long before the "
              "alert is cleared" },
    { 0 },
};

static const struct option disk_keys[] = {
    { .name = "free",
      .type = OPT_SIZE,
      .help = "with less free space than this; left out: twice `node.limits.disk_reserve`" },
    { 0 },
};

static const struct option certificate_keys[] = {
    { .name = "before",
      .type = OPT_DURATION,
      .least = CLOCK_S,
      .fallback = "30d",
      .help = "how long before its end" },
    { 0 },
};

static const struct option scale_keys[] = {
    { .name = "high",
      .type = OPT_INT,
      .least = 1,
      .flags = OPT_REQUIRED,
      .help = "with so much waiting that could go `scale_out` is raised" },
    { .name = "low",
      .type = OPT_INT,
      .flags = OPT_REQUIRED,
      .help = "with so much it is cleared; with no more, and several nodes, `scale_in` is raised" },
    { .name = "for",
      .type = OPT_DURATION,
      .fallback = "10m",
      .help = "how long it must stay so low before `scale_in`" },
    { 0 },
};

static const struct option silence_each = {
    .type = OPT_DURATION,
    .least = CLOCK_S,
    .help = "the longest time without a document",
};
static const struct option no_keys[] = { { 0 } };

#define OFF OPTION_WORDS("off")

const struct option grammar_alerts[] = {
    { .name = "to", .type = OPT_NAMED, .each = &target_each, .help = "who is told" },
    { .name = "dead_letters",
      .type = OPT_MAP,
      .keys = dead_keys,
      .words = OFF,
      .help = "there are dead letters, or deliveries in doubt that wait for a person, or batches "
              "that could not be built" },
    { .name = "queue_depth",
      .type = OPT_MAP,
      .keys = depth_keys,
      .words = OFF,
      .help = "much waits for a system" },
    { .name = "queue_age",
      .type = OPT_MAP,
      .keys = age_keys,
      .words = OFF,
      .help = "something waits for a system for long" },
    { .name = "receiver_failing",
      .type = OPT_MAP,
      .keys = failing_keys,
      .words = OFF,
      .help = "an endpoint cannot be reached, or refuses our credential" },
    { .name = "silence",
      .type = OPT_NAMED,
      .each = &silence_each,
      .noun = "gateway",
      .help = "gateways that must receive something at least this often" },
    { .name = "window_too_short",
      .type = OPT_MAP,
      .keys = no_keys,
      .words = OFF,
      .help = "what waits for a system is not gone before its window closes" },
    { .name = "disk",
      .type = OPT_MAP,
      .keys = disk_keys,
      .words = OFF,
      .help = "a node has little free space" },
    { .name = "stuck",
      .type = OPT_MAP,
      .keys = no_keys,
      .words = OFF,
      .help = "a queue that should move does not" },
    { .name = "certificate",
      .type = OPT_MAP,
      .keys = certificate_keys,
      .words = OFF,
      .help = "a certificate ends" },
    { .name = "scale",
      .type = OPT_MAP,
      .keys = scale_keys,
      .words = OFF,
      .help = "marks of what waits over all: the signal to add nodes, and to take some away; left "
              "out: there is none" },
    { 0 },
};
