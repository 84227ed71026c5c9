#include "core/grammar.h"

#include "base/clock.h"

const char *const grammar_areas[] = { "localhost", "internal", "dmz", "external", NULL };

static const char *const grammar_never[] = { "never", NULL };

static const char *const priorities[] = { "high", "normal", "low", NULL };

/* --- shared parts ------------------------------------------------------------ */

static const struct option grammar_expr_each = {
    .type = OPT_EXPR,
    .flags = OPT_OR_LIST,
    .help = "where it is found in the document",
};

const struct option grammar_extract[] = {
    { .name = "sender",
      .type = OPT_EXPR,
      .flags = OPT_OR_LIST,
      .help = "who sent the document; a list means the first that yields" },
    { .name = "receiver", .type = OPT_EXPR, .flags = OPT_OR_LIST, .help = "who it is for" },
    { .name = "type", .type = OPT_EXPR, .flags = OPT_OR_LIST, .help = "what it is" },
    { .name = "attributes",
      .type = OPT_NAMED,
      .flags = OPT_ATTRS,
      .each = &grammar_expr_each,
      .noun = "attribute",
      .help = "more values, usable in `when`, in templates and in searches" },
    { 0 },
};

const struct option grammar_headers = {
    .type = OPT_TEMPLATE,
    .help = "the value of the header",
};

const struct option grammar_answer[] = {
    { .name = "type",
      .type = OPT_DOCTYPE,
      .help = "the type of the document that is made from the answer" },
    { .name = "extract",
      .type = OPT_MAP,
      .keys = grammar_extract,
      .words = OPTION_WORDS("hl7", "x12", "edifact"),
      .help = "where its sender, receiver and attributes are found" },
    { 0 },
};

/* --- node -------------------------------------------------------------------- */

static const struct option node_tls[] = {
    { .name = "cert",
      .type = OPT_PATH,
      .flags = OPT_REQUIRED,
      .help = "the certificate chain: a PEM file, or ${file:PATH} for its text" },
    { .name = "key",
      .type = OPT_SECRET,
      .flags = OPT_REQUIRED,
      .help = "its private key: a PEM file, or ${file:PATH} for its text" },
    { 0 },
};

static const struct option node_limits[] = {
    { .name = "connections",
      .type = OPT_INT,
      .fallback = "10000",
      .least = 1,
      .most = 1000000,
      .help = "open connections at once" },
    { .name = "memory",
      .type = OPT_SIZE,
      .fallback = "200 MiB",
      .least = 16 << 20,
      .help = "memory for documents that are on their way in" },
    { .name = "disk_reserve",
      .type = OPT_SIZE,
      .fallback = "1 GiB",
      .help = "with less free space than this nothing is accepted (507)" },
    { .name = "commit_queue",
      .type = OPT_INT,
      .fallback = "4096",
      .least = 1,
      .most = 1000000,
      .help = "documents that wait for the next commit; more are refused (503)" },
    { 0 },
};

const struct option grammar_node[] = {
    { .name = "listen",
      .type = OPT_ADDRESS,
      .fallback = "127.0.0.1:8480",
      .help = "where this node answers; port 0 takes any free one" },
    { .name = "data",
      .type = OPT_PATH,
      .fallback = "./data",
      .help = "a local folder: token, lock, spool; the store and the payloads too, unless `store` "
              "is given; a relative path starts where the node is started" },
    { .name = "store",
      .type = OPT_URL,
      .words = OPTION_WORDS("postgres", "postgresql"),
      .help = "a PostgreSQL database that many nodes share; left out: SQLite in `data`" },
    { .name = "area",
      .type = OPT_WORD,
      .words = grammar_areas,
      .fallback = "internal",
      .help = "where in the network this node stands" },
    { .name = "tls",
      .type = OPT_MAP,
      .keys = node_tls,
      .help = "answer with TLS; paths start at the folder of this file" },
    { .name = "log",
      .type = OPT_WORD,
      .words = OPTION_WORDS("debug", "info", "warn", "error"),
      .fallback = "info",
      .help = "what is logged, from this level up" },
    { .name = "limits", .type = OPT_MAP, .keys = node_limits, .help = "what this node takes on" },
    { 0 },
};

/* --- systems and types ------------------------------------------------------- */

static const struct option id_each = { .type = OPT_TEXT };

static const struct option system_limits[] = {
    { .name = "concurrency",
      .type = OPT_INT,
      .fallback = "16",
      .least = 1,
      .most = 10000,
      .help = "deliveries to this system at once" },
    { .name = "rate", .type = OPT_RATE, .help = "deliveries that begin; left out: no limit" },
    { .name = "burst",
      .type = OPT_INT,
      .least = 1,
      .most = 1000000000,
      .help = "how many may begin at once; left out: one second's worth" },
    { 0 },
};

static const struct option system_window[] = {
    { .name = "days",
      .type = OPT_DAYS,
      .flags = OPT_OR_LIST,
      .fallback = "daily",
      .help = "on which days it opens" },
    { .name = "open", .type = OPT_TIME, .fallback = "00:00", .help = "when it opens" },
    { .name = "close",
      .type = OPT_TIME,
      .fallback = "24:00",
      .help = "when it closes; before `open`: on the next day" },
    { .name = "zone", .type = OPT_ZONE, .fallback = "UTC", .help = "the time zone of both" },
    { .name = "holidays",
      .type = OPT_CALENDAR,
      .flags = OPT_OR_LIST,
      .help = "on these days it does not open" },
    { 0 },
};

static const struct option window_each = {
    .type = OPT_MAP,
    .keys = system_window,
    .noun = "window",
};

const struct option grammar_system[] = {
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "ids",
      .type = OPT_LIST,
      .each = &id_each,
      .help = "other names under which documents mention it" },
    { .name = "limits", .type = OPT_MAP, .keys = system_limits, .help = "what it can take" },
    { .name = "window",
      .type = OPT_MAP,
      .flags = OPT_OR_LIST,
      .keys = system_window,
      .each = &window_each,
      .help = "when it may be sent to; left out: always" },
    { .name = "in_doubt",
      .type = OPT_WORD,
      .words = OPTION_WORDS("resend", "hold", "probe", "assume"),
      .fallback = "resend",
      .help = "what happens to a delivery of which nobody knows whether it arrived" },
    { .name = "order",
      .type = OPT_WORD,
      .words = OPTION_WORDS("none", "receiver", "key"),
      .fallback = "none",
      .help = "what is kept in order" },
    { .name = "order_by",
      .type = OPT_EXPR,
      .flags = OPT_OR_LIST,
      .help = "the key of `order: key`" },
    { .name = "on_dead",
      .type = OPT_WORD,
      .words = OPTION_WORDS("stop", "skip"),
      .fallback = "stop",
      .help = "what an ordered lane does behind a dead delivery" },
    { 0 },
};

static const struct option system_each = {
    .type = OPT_MAP,
    .keys = grammar_system,
    .noun = "system",
};

/* On a type and on a route; the route's own wins. */
#define HANDLING                                                                              \
    { .name = "priority",                                                                     \
      .type = OPT_WORD,                                                                       \
      .words = priorities,                                                                    \
      .fallback = "normal",                                                                   \
      .help = "who goes first when there is a queue" },                                       \
        { .name = "expires",                                                                  \
          .type = OPT_DURATION,                                                               \
          .least = 1,                                                                         \
          .help = "a document that is not delivered by then is a dead letter `expired`" },    \
    {                                                                                         \
        .name = "delay", .type = OPT_DURATION, .help = "wait this long before the first step" \
    }

const struct option grammar_type[] = {
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "search",
      .type = OPT_NAMED,
      .flags = OPT_ATTRS,
      .each = &grammar_expr_each,
      .noun = "attribute",
      .help = "attributes that are indexed, so that documents are found by them" },
    HANDLING,
    { .name = "retention",
      .type = OPT_DURATION,
      .words = grammar_never,
      .least = 1,
      .help = "how long a document is kept after it ended, in whole days; left out: as "
              "`retention` says" },
    { 0 },
};

static const struct option type_each = {
    .type = OPT_MAP,
    .keys = grammar_type,
    .noun = "type",
};

/* --- gateways, endpoints ----------------------------------------------------- */

static const struct option gateway_each = {
    .type = OPT_KIND,
    .kinds = &grammar_gateways,
    .noun = "gateway",
};

static const struct option endpoint_each = {
    .type = OPT_KIND,
    .kinds = &grammar_endpoints,
    .noun = "endpoint",
};

/* --- routes ------------------------------------------------------------------ */

static const struct option attribute_value = {
    .type = OPT_TEXT,
    .flags = OPT_OR_LIST | OPT_STAR,
};

static const struct option route_when[] = {
    { .name = "sender",
      .type = OPT_SYSTEM,
      .flags = OPT_OR_LIST | OPT_STAR,
      .fallback = "*",
      .help = "the system that sent it" },
    { .name = "receiver",
      .type = OPT_SYSTEM,
      .flags = OPT_OR_LIST | OPT_STAR,
      .fallback = "*",
      .help = "the system it is for" },
    { .name = "type",
      .type = OPT_DOCTYPE,
      .flags = OPT_OR_LIST | OPT_STAR,
      .fallback = "*",
      .help = "the type of the document" },
    { .name = "attributes",
      .type = OPT_NAMED,
      .each = &attribute_value,
      .noun = "attribute",
      .help = "values of attributes; an attribute that `extract` or `search` defines may also "
              "stand beside `type`" },
    { 0 },
};

const struct option grammar_step = {
    .type = OPT_STEP,
    .kinds = &grammar_services,
    .noun = "step",
};

const struct option grammar_route[] = {
    { .name = "name", .type = OPT_NAME, .flags = OPT_REQUIRED, .help = "its name" },
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "when",
      .type = OPT_MAP,
      .flags = OPT_MORE,
      .keys = route_when,
      .help = "which documents it takes; left out: any" },
    { .name = "do",
      .type = OPT_LIST,
      .flags = OPT_REQUIRED,
      .each = &grammar_step,
      .help = "the steps, one after the other" },
    { .name = "keep",
      .type = OPT_WORD,
      .words = OPTION_WORDS("ends", "stages"),
      .fallback = "ends",
      .help = "which payloads are stored: received and sent, or each stage" },
    HANDLING,
    { 0 },
};

static const struct option route_each = {
    .type = OPT_MAP,
    .keys = grammar_route,
    .noun = "route",
};

/* --- jobs -------------------------------------------------------------------- */

static const struct option job_common[] = {
    { .name = "kind", .type = OPT_WORD, .flags = OPT_REQUIRED, .help = "what it does" },
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "at", .type = OPT_CRON, .flags = OPT_ONE_OF, .help = "when it runs" },
    { .name = "every",
      .type = OPT_DURATION,
      .flags = OPT_ONE_OF,
      .least = CLOCK_MS,
      .help = "how long from one run to the next" },
    { .name = "zone", .type = OPT_ZONE, .fallback = "UTC", .help = "the time zone of `at`" },
    { .name = "area",
      .type = OPT_WORD,
      .words = grammar_areas,
      .help = "only nodes of this area run it" },
    { 0 },
};

static const struct option job_call[] = {
    { .name = "url",
      .type = OPT_URL,
      .flags = OPT_REQUIRED,
      .words = OPTION_WORDS("http", "https"),
      .help = "what is called" },
    { .name = "method",
      .type = OPT_WORD,
      .words = OPTION_WORDS("GET", "POST", "PUT", "PATCH", "DELETE"),
      .fallback = "POST",
      .help = "the HTTP method" },
    { .name = "headers",
      .type = OPT_NAMED,
      .flags = OPT_FREE,
      .each = &grammar_headers,
      .noun = "header",
      .help = "headers of the request" },
    { .name = "body", .type = OPT_TEXT, .help = "the body of the request" },
    { .name = "timeout",
      .type = OPT_DURATION,
      .least = 1,
      .fallback = "30s",
      .help = "how long it may take" },
    { .name = "answer",
      .type = OPT_MAP,
      .keys = grammar_answer,
      .help = "make the answer a document" },
    { 0 },
};

static const struct option job_link[] = {
    { .name = "link", .type = OPT_NAME, .flags = OPT_REQUIRED, .help = "one of `links`" },
    { 0 },
};

static const struct option no_keys[] = { { 0 } };

static const struct option_kind job_kinds_list[] = {
    { "call", "call an HTTP service", job_call, false },
    { "replicate", "copy the changes of tables to another database", job_link, false },
    { "verify", "compare replicated tables and repair them", job_link, false },
    { "retain", "let go of what has been kept long enough", no_keys, false },
    { 0 },
};

static const struct option_kinds job_kinds = { job_common, job_kinds_list };

static const struct option job_each = {
    .type = OPT_KIND,
    .kinds = &job_kinds,
    .noun = "job",
};

/* --- the top level ----------------------------------------------------------- */

static const struct option date_each = { .type = OPT_DATE };

static const struct option calendar_keys[] = {
    { .name = "title", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "dates",
      .type = OPT_LIST,
      .flags = OPT_REQUIRED,
      .each = &date_each,
      .help = "its days" },
    { 0 },
};

static const struct option calendar_each = {
    .type = OPT_MAP,
    .keys = calendar_keys,
    .noun = "calendar",
};

static const struct option batch_each = {
    .type = OPT_MAP,
    .keys = grammar_batch,
    .noun = "batch",
};

static const struct option any_each = { .type = OPT_ANY };

#define KEPT(word)                                                          \
    {                                                                       \
        .name = word, .type = OPT_DURATION, .words = grammar_never,         \
        .help = "those that ended as " word "; left out: as `default` says" \
    }

static const struct option retention_states[] = {
    KEPT("delivered"), KEPT("done"), KEPT("cancelled"), KEPT("superseded"), { 0 }
};

const struct option grammar_retention[] = {
    { .name = "default",
      .type = OPT_DURATION,
      .words = grammar_never,
      .fallback = "45d",
      .help = "how long a document is kept after it ended, in whole days" },
    { .name = "states",
      .type = OPT_MAP,
      .keys = retention_states,
      .help = "by how it ended; `retention` of its type comes first" },
    { .name = "dead",
      .type = OPT_DURATION,
      .words = grammar_never,
      .least = INT64_C(86400) * CLOCK_S,
      .fallback = "never",
      .help = "how long dead letters wait for somebody; then they are discarded" },
    { .name = "audit",
      .type = OPT_DURATION,
      .words = grammar_never,
      .least = INT64_C(30 * 86400) * CLOCK_S,
      .fallback = "never",
      .help = "how long lines of the audit log are kept" },
    { .name = "archive",
      .type = OPT_PATH,
      .help = "a folder to which documents are copied, and compared, before they go" },
    { 0 },
};

/* enum Colour of schema.graphql has the same words. */
static const struct option location_keys[] = {
    { .name = "name", .type = OPT_TEXT, .help = "its name for people" },
    { .name = "environment", .type = OPT_TEXT, .help = "such as production or test" },
    { .name = "colour",
      .type = OPT_WORD,
      .words = OPTION_WORDS("grey", "blue", "green", "amber", "red", "violet"),
      .fallback = "grey",
      .help = "of the environment, in the head of every page" },
    { 0 },
};

const struct option grammar_sections[] = {
    { .name = "node",
      .type = OPT_MAP,
      .keys = grammar_node,
      .help = "this node's own settings, read at start; not part of a version" },
    { .name = "location",
      .type = OPT_MAP,
      .keys = location_keys,
      .help = "what people see of this site, so that they know where they are" },
    { .name = "systems",
      .type = OPT_NAMED,
      .each = &system_each,
      .help = "the data systems that send and receive" },
    { .name = "types",
      .type = OPT_NAMED,
      .flags = OPT_STAR,
      .each = &type_each,
      .help = "the types of documents; `\"*\"` stands for all that are not listed" },
    { .name = "gateways",
      .type = OPT_NAMED,
      .each = &gateway_each,
      .help = "where documents come in" },
    { .name = "endpoints",
      .type = OPT_NAMED,
      .each = &endpoint_each,
      .help = "where and how documents are sent out" },
    { .name = "routes",
      .type = OPT_LIST,
      .each = &route_each,
      .help = "which documents run through which steps; exactly one route takes a document" },
    { .name = "jobs", .type = OPT_NAMED, .each = &job_each, .help = "recurring work" },
    { .name = "calendars",
      .type = OPT_NAMED,
      .each = &calendar_each,
      .help = "holidays, for windows" },
    { .name = "services", .type = OPT_NAMED, .each = &any_each, .help = "named steps" },
    { .name = "subscriptions",
      .type = OPT_NAMED,
      .each = &any_each,
      .help = "who gets copies of which documents" },
    { .name = "batches",
      .type = OPT_NAMED,
      .each = &batch_each,
      .help = "how documents are gathered, and what becomes of them then" },
    { .name = "retention",
      .type = OPT_MAP,
      .keys = grammar_retention,
      .help = "how long documents are kept after they ended" },
    { .name = "alerts",
      .type = OPT_MAP,
      .keys = grammar_alerts,
      .help = "what needs a person, and who is told" },
    { .name = "auth",
      .type = OPT_MAP,
      .keys = grammar_auth,
      .help = "how people log in, beside users with passwords" },
    { .name = "stores", .type = OPT_NAMED, .each = &any_each, .help = "where content lives" },
    { .name = "content",
      .type = OPT_NAMED,
      .flags = OPT_FREE,
      .each = &any_each,
      .help = "how content is copied and checked" },
    { .name = "links", .type = OPT_ANY, .help = "tables that are replicated" },
    { 0 },
};
