#include "core/grammar.h"

#include "base/clock.h"
#include "core/planned.h"

static const char *const priorities[] = { "high", "normal", "low", NULL };

/* ---- shared parts ---- */

static const struct option grammar_expr_each = {
    .type = OPT_EXPR,
    .flags = OPT_OR_LIST,
    .help = "where it is found in the document",
};

const struct option grammar_extract[] = {
    OPTION("sender", OPT_EXPR, "who sent the document; a list means the first that yields",
           .flags = OPT_OR_LIST),
    OPTION("receiver", OPT_EXPR, "who it is for", .flags = OPT_OR_LIST),
    OPTION("type", OPT_EXPR, "what it is", .flags = OPT_OR_LIST),
    OPTION("attributes", OPT_NAMED, "more values, usable in `when`, in templates and in searches",
           .flags = OPT_ATTRS, .each = &grammar_expr_each, .noun = "attribute"),
    { 0 },
};

const struct option grammar_answer[] = {
    OPTION("type", OPT_DOCTYPE, "the type of the document that is made from the answer"),
    OPTION(
        "extract", OPT_MAP,
        "where its sender, receiver, type and attributes are found; what is left out: the system "
        "that answered, the sender of the document that it answers, `type`",
        .keys = grammar_extract, .words = grammar_standards),
    OPTION("most", OPT_SIZE, "the largest answer; of a larger one no document is made", .least = 1,
           .most = INT64_C(64) << 30, .fallback = "64 MiB"),
    OPTION("within", OPT_DURATION,
           "when nothing was answered, or 202, an answer may come later (`answers` of a gateway), "
           "and after this long the alert `unanswered` is raised; left out: nobody waits",
           .least = CLOCK_S, .most = INT64_C(366) * 86400 * CLOCK_S),
    { 0 },
};

/* ---- node ---- */

static const struct option node_tls[] = {
    OPTION("cert", OPT_PATH, "the certificate chain: a PEM file, or ${file:PATH} for its text",
           .flags = OPT_REQUIRED),
    OPTION("key", OPT_SECRET, "its private key: a PEM file, or ${file:PATH} for its text",
           .flags = OPT_REQUIRED),
    { 0 },
};

static const struct option node_limits[] = {
    OPTION("connections", OPT_INT, "open connections at once", .fallback = "10000", .least = 1,
           .most = 1000000),
    OPTION(
        "connections_per_address", OPT_INT,
        "... from one address, or one /64 of IPv6; proxies of `trust` have no limit; left out: a "
        "quarter of `connections`, at least 64",
        .least = 1, .most = 1000000),
    OPTION("memory", OPT_SIZE,
           "memory for documents that are on their way in, with the heads of their requests",
           .fallback = "200 MiB", .least = 16 << 20),
    OPTION("disk_reserve", OPT_SIZE, "with less free space than this nothing is accepted (507)",
           .fallback = "1 GiB"),
    OPTION("commit_queue", OPT_INT,
           "documents that wait for the next commit; more are refused (503)", .fallback = "4096",
           .least = 1, .most = 1000000),
    OPTION("replies", OPT_INT,
           "requests that wait for the answer of a receiver (`reply: receiver`); more are refused "
           "(503)",
           .fallback = "1000", .least = 1, .most = 1000),
    OPTION("message_limit", OPT_SIZE,
           "the longest message of a method (/work, /peer), in bytes; what is longer is refused "
           "(413)",
           .fallback = "80000", .least = 1000, .most = 8 << 20),
    { 0 },
};

static const struct option job_kind_each = { .type = OPT_NAME, .noun = "kind" };

static const struct option node_jobs[] = {
    OPTION("batch", OPT_INT, "how many jobs that are due it claims at once", .fallback = "10",
           .least = 1, .most = 100),
    OPTION("slots", OPT_INT, "how many jobs it runs at the same time; 0: it runs none",
           .fallback = "16", .most = 1000),
    OPTION("kinds", OPT_LIST, "the kinds of jobs that it runs; left out: all",
           .each = &job_kind_each),
    OPTION(
        "hand_over", OPT_URL,
        "it passes the jobs that it claims to the farm of nodes at this address, by POST /work/run "
        "below it; left out: it runs them itself",
        .words = OPTION_WORDS("http", "https")),
    OPTION("key", OPT_SECRET, "what it shows to that farm: a key with the role `worker`"),
    { 0 },
};

static const struct option folder_each = { .type = OPT_PATH, .noun = "folder" };
static const struct option file_each = { .type = OPT_PATH, .noun = "file" };
static const struct option variable_each = { .type = OPT_TEXT, .noun = "variable" };
static const struct option network_each = { .type = OPT_NETWORK, .noun = "network" };

static const struct option node_expose[] = {
    OPTION("env", OPT_LIST, "variables that `${env:NAME}` may name", .each = &variable_each),
    OPTION("files", OPT_LIST, "files that `${file:PATH}` may name", .each = &file_each),
    { 0 },
};

const struct option grammar_node[] = {
    OPTION("name", OPT_NAME, "its name for people; left out: the name of the machine"),
    OPTION("listen", OPT_ADDRESS, "where this node answers; port 0 takes any free one",
           .fallback = "127.0.0.1:8480"),
    OPTION("data", OPT_PATH,
           "a local folder: token, lock, spool; the store and the payloads too, unless `store` is "
           "given; a relative path starts where the node is started",
           .fallback = "./data"),
    OPTION("store", OPT_URL,
           "a PostgreSQL database that many nodes share; left out: SQLite in `data`",
           .words = OPTION_WORDS("postgres", "postgresql")),
    OPTION("area", OPT_WORD, "where in the network this node stands", .words = grammar_areas,
           .fallback = "internal"),
    OPTION("tls", OPT_MAP, "answer with TLS; paths start at the folder of this file",
           .keys = node_tls),
    OPTION("log", OPT_WORD, "what is logged, from this level up",
           .words = OPTION_WORDS("debug", "info", "warn", "error"), .fallback = "info"),
    OPTION("limits", OPT_MAP, "what this node takes on", .keys = node_limits),
    OPTION("jobs", OPT_MAP, "what this node takes on of the jobs", .keys = node_jobs),
    OPTION("folders", OPT_LIST,
           "where file gateways, file endpoints, the archive and backups may read and write; left "
           "out: the folder of this file and what is below it",
           .each = &folder_each),
    OPTION("ports", OPT_INT,
           "ports that gateways may listen on, or `any`; left out: those that the gateways of this "
           "file name",
           .flags = OPT_OR_LIST, .words = OPTION_WORDS("any"), .most = 65535),
    OPTION("expose", OPT_MAP, "what a configuration may take from this machine; left out: nothing",
           .keys = node_expose),
    OPTION("trust", OPT_LIST,
           "proxies whose word is taken on where a request came from: the last address of "
           "`Forwarded` or `X-Forwarded-For` that is none of these",
           .each = &network_each),
    OPTION(
        "monitors", OPT_LIST,
        "machines that may read `/metrics` and the reasons of `/readyz` without a key; left out: "
        "none",
        .each = &network_each),
    OPTION("egress", OPT_LIST,
           "addresses that may be sent to although they are refused otherwise: link-local ones, "
           "metadata services, this node's own (but for its gateways, which need no entry)",
           .each = &network_each),
    OPTION("proxy", OPT_WORD,
           "whether endpoints, alerts and login providers are reached through the proxies that "
           "the environment names (`https_proxy`, `no_proxy`, ...)",
           .words = OPTION_WORDS("none", "environment"), .fallback = "none"),
    OPTION("insecure", OPT_BOOL, "answer without TLS on other addresses than loopback",
           .fallback = "false"),
    OPTION(
        "config", OPT_WORD,
        "what is the truth: the newest version of the store, or this file, which is then applied "
        "at start and at SIGHUP if it is valid, and by nothing else",
        .words = OPTION_WORDS("store", "file"), .fallback = "store"),
    { 0 },
};

/* ---- systems and types ---- */

static const struct option id_each = { .type = OPT_TEXT };

static const struct option system_limits[] = {
    OPTION("concurrency", OPT_INT, "deliveries to this system at once", .fallback = "16",
           .least = 1, .most = 10000),
    OPTION("rate", OPT_RATE, "deliveries that begin; left out: no limit"),
    OPTION("burst", OPT_INT, "how many may begin at once; left out: one second's worth", .least = 1,
           .most = 1000000000),
    { 0 },
};

static const struct option system_window[] = {
    OPTION("days", OPT_DAYS, "on which days it opens", .flags = OPT_OR_LIST, .fallback = "daily"),
    OPTION("open", OPT_TIME, "when it opens", .fallback = "00:00"),
    OPTION("close", OPT_TIME, "when it closes; before `open`: on the next day",
           .fallback = "24:00"),
    OPTION("zone", OPT_ZONE, "the time zone of both", .fallback = "UTC"),
    OPTION("holidays", OPT_CALENDAR, "on these days it does not open", .flags = OPT_OR_LIST),
    { 0 },
};

static const struct option window_each = {
    .type = OPT_MAP,
    .keys = system_window,
    .noun = "window",
};

const struct option grammar_system[] = {
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("ids", OPT_LIST, "other names under which documents mention it", .each = &id_each),
    OPTION("limits", OPT_MAP, "what it can take", .keys = system_limits),
    OPTION("window", OPT_MAP, "when it may be sent to; left out: always", .flags = OPT_OR_LIST,
           .keys = system_window, .each = &window_each),
    OPTION("in_doubt", OPT_WORD,
           "what happens to a delivery of which nobody knows whether it arrived",
           .words = OPTION_WORDS("resend", "hold", "probe", "assume"), .fallback = "resend"),
    OPTION("order", OPT_WORD, "what is kept in order",
           .words = OPTION_WORDS("none", "receiver", "key"), .fallback = "none"),
    OPTION("order_by", OPT_EXPR, "the key of `order: key`", .flags = OPT_OR_LIST),
    OPTION("on_dead", OPT_WORD, "what an ordered lane does behind a dead delivery",
           .words = OPTION_WORDS("stop", "skip"), .fallback = "stop"),
    { 0 },
};

static const struct option system_each = {
    .type = OPT_MAP,
    .keys = grammar_system,
    .noun = "system",
};

/* Keys of a type and of a route; those of the route override. */
static const struct option handling[] = {
    OPTION("priority", OPT_WORD, "who goes first when there is a queue", .words = priorities,
           .fallback = "normal"),
    OPTION("expires", OPT_DURATION,
           "a document that is not delivered by then is a dead letter `expired`", .least = 1),
    OPTION("delay", OPT_DURATION, "wait this long before the first step"),
    { 0 },
};

const struct option grammar_type[] = {
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("search", OPT_NAMED, "attributes that are indexed, so that documents are found by them",
           .flags = OPT_ATTRS, .each = &grammar_expr_each, .noun = "attribute"),
    OPTIONS(handling),
    OPTION(
        "retention", OPT_DURATION,
        "how long a document is kept after it ended, in whole days; left out: as `retention` says",
        .words = grammar_never, .least = 1),
    { 0 },
};

static const struct option type_each = {
    .type = OPT_MAP,
    .keys = grammar_type,
    .noun = "type",
};

/* ---- gateways, endpoints ---- */

static const struct option gateway_each = {
    .type = OPT_KIND,
    .role = ROLE_GATEWAY,
    .noun = "gateway",
};

static const struct option endpoint_each = {
    .type = OPT_KIND,
    .role = ROLE_ENDPOINT,
    .noun = "endpoint",
};

/* ---- routes ---- */

static const struct option attribute_value = {
    .type = OPT_TEXT,
    .flags = OPT_OR_LIST | OPT_STAR,
};

static const struct option grammar_when[] = {
    OPTION("sender", OPT_SYSTEM, "the system that sent it", .flags = OPT_OR_LIST | OPT_STAR,
           .fallback = "*"),
    OPTION("receiver", OPT_SYSTEM, "the system it is for", .flags = OPT_OR_LIST | OPT_STAR,
           .fallback = "*"),
    OPTION("type", OPT_DOCTYPE, "the type of the document", .flags = OPT_OR_LIST | OPT_STAR,
           .fallback = "*"),
    OPTION("attributes", OPT_NAMED,
           "values of attributes; an attribute that `extract` or `search` defines may also stand "
           "beside `type`",
           .each = &attribute_value, .noun = "attribute"),
    { 0 },
};

const struct option grammar_step = {
    .type = OPT_STEP,
    .role = ROLE_SERVICE,
    .noun = "step",
};

const struct option grammar_route[] = {
    OPTION("name", OPT_NAME, "its name", .flags = OPT_REQUIRED),
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("when", OPT_MAP, "which documents it takes; left out: any", .flags = OPT_MORE,
           .keys = grammar_when),
    OPTION("do", OPT_LIST, "the steps, one after the other", .flags = OPT_REQUIRED,
           .each = &grammar_step),
    OPTION("keep", OPT_WORD, "which payloads are stored: received and sent, or each stage",
           .words = OPTION_WORDS("ends", "stages"), .fallback = "ends"),
    OPTIONS(handling),
    { 0 },
};

static const struct option service_each = {
    .type = OPT_STEP,
    .role = ROLE_SERVICE,
    .noun = "service",
};

static const struct option subscription_keys[] = {
    OPTION("to", OPT_SYSTEM, "the systems that get a copy", .flags = OPT_REQUIRED | OPT_OR_LIST),
    OPTION("when", OPT_MAP, "of which documents, as in a route; left out: of all",
           .flags = OPT_MORE, .keys = grammar_when),
    { 0 },
};

static const struct option subscription_each = {
    .type = OPT_MAP,
    .keys = subscription_keys,
    .noun = "subscription",
};

static const struct option route_each = {
    .type = OPT_MAP,
    .keys = grammar_route,
    .noun = "route",
};

/* ---- the top level ---- */

static const struct option date_each = { .type = OPT_DATE };

static const struct option calendar_keys[] = {
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("dates", OPT_LIST, "its days", .flags = OPT_REQUIRED, .each = &date_each),
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

static const struct option job_each = { .type = OPT_KIND, .role = ROLE_JOB, .noun = "job" };

static const struct option database_each = {
    .type = OPT_KIND,
    .role = ROLE_DATABASE,
    .noun = "database",
};

static const struct option peer_each = { .type = OPT_MAP, .keys = grammar_peer, .noun = "peer" };

static const struct option link_each = { .type = OPT_MAP, .keys = grammar_link, .noun = "link" };

#define KEPT(word)                                                          \
    {                                                                       \
        .name = word, .type = OPT_DURATION, .words = grammar_never,         \
        .help = "those that ended as " word "; left out: as `default` says" \
    }

static const struct option retention_states[] = {
    KEPT("delivered"), KEPT("done"), KEPT("cancelled"), KEPT("superseded"), { 0 }
};

const struct option grammar_retention[] = {
    OPTION("default", OPT_DURATION, "how long a document is kept after it ended, in whole days",
           .words = grammar_never, .fallback = "45d"),
    OPTION("states", OPT_MAP, "by how it ended; `retention` of its type comes first",
           .keys = retention_states),
    OPTION("dead", OPT_DURATION, "how long dead letters wait for somebody; then they are discarded",
           .words = grammar_never, .least = INT64_C(86400) * CLOCK_S, .fallback = "never"),
    OPTION("audit", OPT_DURATION, "how long lines of the audit log are kept",
           .words = grammar_never, .least = INT64_C(30 * 86400) * CLOCK_S, .fallback = "never"),
    OPTION("archive", OPT_PATH,
           "a folder to which documents are copied, and compared, before they go"),
    { 0 },
};

/* enum Colour of schema.graphql has the same words. */
static const struct option location_keys[] = {
    OPTION("name", OPT_TEXT, "its name for people"),
    OPTION("environment", OPT_TEXT, "such as production or test"),
    OPTION("colour", OPT_WORD, "of the environment, in the head of every page",
           .words = OPTION_WORDS("grey", "blue", "green", "amber", "red", "violet"),
           .fallback = "grey"),
    OPTION(
        "url", OPT_URL,
        "where services outside reach its nodes: acknowledgements of jobs with `ack: later` come "
        "to /work/ack below it",
        .words = OPTION_WORDS("http", "https")),
    { 0 },
};

const struct option grammar_sections[] = {
    OPTION("node", OPT_MAP, "this node's own settings, read at start; not part of a version",
           .keys = grammar_node),
    OPTION("location", OPT_MAP, "this site: what people see of it, and where services reach it",
           .keys = location_keys),
    OPTION("systems", OPT_NAMED, "the data systems that send and receive", .each = &system_each),
    OPTION("types", OPT_NAMED, "the types of documents; `\"*\"` stands for all that are not listed",
           .flags = OPT_STAR, .each = &type_each),
    OPTION("gateways", OPT_NAMED, "where documents come in", .each = &gateway_each),
    OPTION("endpoints", OPT_NAMED, "where and how documents are sent out", .each = &endpoint_each),
    OPTION("routes", OPT_LIST,
           "which documents run through which steps; exactly one route takes a document",
           .each = &route_each),
    OPTION("services", OPT_NAMED,
           "named steps: a chain has `- NAME` where it runs one, with the options that stand here",
           .each = &service_each),
    OPTION("subscriptions", OPT_NAMED,
           "who gets copies of which documents, by the step `subscribe`",
           .each = &subscription_each),
    OPTION("calendars", OPT_NAMED, "holidays, for windows, batches and jobs",
           .each = &calendar_each),
    OPTION("batches", OPT_NAMED, "how documents are gathered, and what becomes of them then",
           .each = &batch_each),
    OPTION("jobs", OPT_NAMED, "recurring work", .each = &job_each),
    OPTION("databases", OPT_NAMED, "databases of others, whose tables are replicated by `links`",
           .each = &database_each),
    OPTION("peers", OPT_NAMED,
           "other locations: `links` lead to their databases, and they ask for ours",
           .each = &peer_each),
    OPTION("links", OPT_NAMED, "tables that are replicated from one database to another",
           .each = &link_each),
    OPTION("retention", OPT_MAP, "how long documents are kept after they ended",
           .keys = grammar_retention),
    OPTION("alerts", OPT_MAP, "what needs a person, and who is told", .keys = grammar_alerts),
    OPTION("auth", OPT_MAP, "how people log in, beside users with passwords", .keys = grammar_auth),
    OPTIONS(planned_sections),
    { 0 },
};
