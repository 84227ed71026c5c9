/* grammar_alert.c - the section `alerts`: who is notified, and the rules. */
#include "base/clock.h"
#include "core/alert_rule.h"
#include "core/grammar.h"

/* ---- who is notified ---- */

static const struct option retry_keys[] = {
    OPTION("first", OPT_DURATION, "the wait before the first repetition; it doubles from there",
           .least = CLOCK_MS, .fallback = "5s"),
    OPTION("most", OPT_DURATION, "the longest wait", .least = CLOCK_MS, .fallback = "10m"),
    OPTION("for", OPT_DURATION, "after this long a notice is given up, and shows as that",
           .fallback = "3d"),
    { 0 },
};

static const struct option header_each = { .type = OPT_SECRET, .help = "its value, never shown" };

static const struct option target_keys[] = {
    OPTION("url", OPT_URL, "where notices are posted, each as a JSON object", .flags = OPT_ONE_OF,
           .words = OPTION_WORDS("http", "https")),
    OPTION("endpoint", OPT_ENDPOINT,
           "one of `endpoints`, such as one of kind smtp, that notices are sent through, each as a "
           "text",
           .flags = OPT_ONE_OF),
    OPTION("headers", OPT_NAMED, "headers of the request to `url`", .flags = OPT_FREE,
           .each = &header_each, .noun = "header"),
    OPTION("timeout", OPT_DURATION,
           "how long one attempt may take; an endpoint has its own `timeout`", .least = CLOCK_MS,
           .fallback = "10s"),
    OPTION("retry", OPT_MAP, "how a notice is repeated", .keys = retry_keys),
    OPTION("codes", OPT_WORD, "which alerts it hears of; left out: all", .flags = OPT_OR_LIST,
           .words = alert_codes),
    { 0 },
};

static const struct option target_each = {
    .type = OPT_MAP,
    .keys = target_keys,
    .noun = "target",
};

/* ---- the rules ---- */

static const struct option dead_keys[] = {
    OPTION("count", OPT_INT, "from so many on", .least = 1, .fallback = "1"),
    OPTION("remind", OPT_DURATION, "while there are some, notices are repeated at this distance",
           .least = CLOCK_S, .fallback = "1d"),
    { 0 },
};

static const struct option depth_keys[] = {
    OPTION("high", OPT_INT, "with so many deliveries waiting for a system it is raised", .least = 1,
           .fallback = "10000"),
    OPTION("low", OPT_INT, "and with so many it is cleared", .fallback = "1000"),
    { 0 },
};

static const struct option age_keys[] = {
    OPTION("after", OPT_DURATION,
           "how long the first delivery for a system has waited; time in a hold, a closed window "
           "or a pause does not count",
           .least = CLOCK_S, .fallback = "1h"),
    { 0 },
};

static const struct option failing_keys[] = {
    OPTION("after", OPT_DURATION,
           "how long an endpoint fails; it works for as long before the alert "
           "is cleared",
           .fallback = "1m"),
    { 0 },
};

static const struct option gateway_keys[] = {
    OPTION("after", OPT_DURATION,
           "how long the looks of a gateway fail; they go well for as long before the alert is "
           "cleared",
           .fallback = "1m"),
    { 0 },
};

static const struct option link_late_keys[] = {
    OPTION("after", OPT_DURATION,
           "how long a table of a link stays behind, or its runs fail; a load that goes on does "
           "not count",
           .least = CLOCK_S, .fallback = "15m"),
    { 0 },
};

static const struct option disk_keys[] = {
    OPTION("free", OPT_SIZE,
           "with less free space than this; left out: twice `node.limits.disk_reserve`"),
    { 0 },
};

static const struct option certificate_keys[] = {
    OPTION("before", OPT_DURATION, "how long before its end", .least = CLOCK_S, .fallback = "30d"),
    { 0 },
};

static const struct option scale_keys[] = {
    OPTION("high", OPT_INT, "with so much waiting that could go `scale_out` is raised", .least = 1,
           .flags = OPT_REQUIRED),
    OPTION("low", OPT_INT,
           "with so much it is cleared; with no more, and several nodes, `scale_in` is raised",
           .flags = OPT_REQUIRED),
    OPTION("for", OPT_DURATION, "how long it must stay so low before `scale_in`",
           .fallback = "10m"),
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
    OPTION("to", OPT_NAMED, "who is told", .each = &target_each),
    OPTION("dead_letters", OPT_MAP,
           "there are dead letters, or deliveries in doubt that wait for a person, or batches that "
           "could not be built",
           .keys = dead_keys, .words = OFF),
    OPTION("queue_depth", OPT_MAP, "much waits for a system", .keys = depth_keys, .words = OFF),
    OPTION("queue_age", OPT_MAP, "something waits for a system for long", .keys = age_keys,
           .words = OFF),
    OPTION("receiver_failing", OPT_MAP,
           "an endpoint cannot be reached, refuses our credential, or takes nothing",
           .keys = failing_keys, .words = OFF),
    OPTION("receiver_rejecting", OPT_MAP,
           "an endpoint has rejected as many documents in a row as `breaker.rejections` of it says",
           .keys = no_keys, .words = OFF),
    OPTION("gateway_failing", OPT_MAP, "a gateway cannot look for documents, or no node runs it",
           .keys = gateway_keys, .words = OFF),
    OPTION("silence", OPT_NAMED, "gateways that must receive something at least this often",
           .each = &silence_each, .noun = "gateway"),
    OPTION("unanswered", OPT_MAP,
           "a system has not answered a document in the time that `answer.within` of an endpoint "
           "gives it",
           .keys = no_keys, .words = OFF),
    OPTION("window_too_short", OPT_MAP,
           "what waits for a system is not gone before its window closes", .keys = no_keys,
           .words = OFF),
    OPTION("disk", OPT_MAP, "a node has little free space", .keys = disk_keys, .words = OFF),
    OPTION("stuck", OPT_MAP, "a queue that should move does not", .keys = no_keys, .words = OFF),
    OPTION("certificate", OPT_MAP, "a certificate ends", .keys = certificate_keys, .words = OFF),
    OPTION("old_server", OPT_MAP,
           "a PostgreSQL server of `node.store` accepts writes and is not the one that holds the "
           "store",
           .keys = no_keys, .words = OFF),
    OPTION("threads", OPT_MAP,
           "work of a node waits for a thread, because calls to the outside hang", .keys = no_keys,
           .words = OFF),
    OPTION("job_suspended", OPT_MAP, "a job is suspended until somebody resumes it",
           .keys = no_keys, .words = OFF),
    OPTION("job_late", OPT_MAP,
           "a job is due and no node takes it, or it has lost the right to run", .keys = no_keys,
           .words = OFF),
    OPTION("link_stopped", OPT_MAP, "a table of a link is stopped until somebody does something",
           .keys = no_keys, .words = OFF),
    OPTION("link_late", OPT_MAP, "a table of a link stays behind its source, or its runs fail",
           .keys = link_late_keys, .words = OFF),
    OPTION("rows_differ", OPT_MAP, "verification has found that both sides of a table differ",
           .keys = no_keys, .words = OFF),
    OPTION("quarantine", OPT_MAP, "rows of a table of a link are set aside", .keys = no_keys,
           .words = OFF),
    OPTION("check_found", OPT_MAP, "a job of kind `check` has found rows that should not be there",
           .keys = no_keys, .words = OFF),
    OPTION("scale", OPT_MAP,
           "marks of what waits over all: the signal to add nodes, and to take some away; left "
           "out: there is none",
           .keys = scale_keys, .words = OFF),
    { 0 },
};
