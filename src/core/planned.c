#include "core/planned.h"

#include "base/clock.h"
#include "core/grammar.h"

/* ---- gateways ---- */

static const struct option sql_in[] = {
    OPTIONS(grammar_sql),
    OPTION("query", OPT_TEXT, "the statement; :NAME stands for the last value of a cursor column",
           .flags = OPT_REQUIRED),
    OPTION("cursor", OPT_NAME, "the columns that say how far the last look came",
           .flags = OPT_OR_LIST),
    OPTIONS(grammar_every),
    OPTIONS(grammar_silence),
    { 0 },
};

/* ---- endpoints ---- */

static const struct option sql_out[] = {
    OPTIONS(grammar_sql),
    OPTION("statement", OPT_TEXT,
           "the statement; :id :sender :receiver :type :payload and attributes are bound",
           .flags = OPT_REQUIRED),
    { 0 },
};

static const struct option content_out[] = {
    OPTION("store", OPT_NAME, "one of `stores`", .flags = OPT_REQUIRED),
    OPTION("space", OPT_TEMPLATE, "the space in it", .flags = OPT_REQUIRED),
    OPTIONS(grammar_file_name),
    { 0 },
};

/* ---- services ---- */

static const struct option call_time[] = {
    OPTION("timeout", OPT_DURATION, "how long it may take", .least = 1, .fallback = "30s"),
    { 0 },
};

/* ---- jobs ---- */

const struct option planned_job_common[] = {
    OPTION("kind", OPT_WORD, "what it does", .flags = OPT_REQUIRED),
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("at", OPT_CRON, "when it runs", .flags = OPT_ONE_OF),
    OPTION("every", OPT_DURATION, "how long from one run to the next", .flags = OPT_ONE_OF,
           .least = CLOCK_MS),
    OPTION("zone", OPT_ZONE, "the time zone of `at`", .fallback = "UTC"),
    OPTION("area", OPT_WORD, "only nodes of this area run it", .words = grammar_areas),
    { 0 },
};

static const struct option job_call[] = {
    OPTION("url", OPT_URL, "what is called", .flags = OPT_REQUIRED,
           .words = OPTION_WORDS("http", "https")),
    OPTION("method", OPT_WORD, "the HTTP method",
           .words = OPTION_WORDS("GET", "POST", "PUT", "PATCH", "DELETE"), .fallback = "POST"),
    OPTIONS(grammar_headers),
    OPTION("body", OPT_TEXT, "the body of the request"),
    OPTIONS(call_time),
    OPTION("answer", OPT_MAP, "make the answer a document", .keys = grammar_answer),
    { 0 },
};

static const struct option job_link[] = {
    OPTION("link", OPT_NAME, "one of `links`", .flags = OPT_REQUIRED),
    { 0 },
};

static const struct option no_keys[] = { { 0 } };

/* ---- the tables ---- */

#define PLANNED(of, word, sentence, table, ...) \
    {                                           \
        .role = (of), .kind = {                 \
            .name = (word),                     \
            .help = (sentence),                 \
            .keys = (table),                    \
            .planned = true,                    \
            __VA_ARGS__                         \
        }                                       \
    }

/* clang-format off */
const struct planned_kind planned_kinds[] = {
    PLANNED(ROLE_GATEWAY, "sql", "rows of a database", sql_in),

    PLANNED(ROLE_ENDPOINT, "sql", "a statement on a database", sql_out),
    PLANNED(ROLE_ENDPOINT, "content", "items in a content store", content_out),


    PLANNED(ROLE_JOB, "call", "call an HTTP service", job_call),
    PLANNED(ROLE_JOB, "replicate", "copy the changes of tables to another database", job_link),
    PLANNED(ROLE_JOB, "verify", "compare replicated tables and repair them", job_link),
    PLANNED(ROLE_JOB, "retain", "let go of what has been kept long enough", no_keys),
    { 0 },
};
/* clang-format on */

static const struct option job_each = { .type = OPT_KIND, .role = ROLE_JOB, .noun = "job" };
static const struct option any_each = { .type = OPT_ANY };

#define SECTION(word, of, sentence)                                                                \
    {                                                                                              \
        .name = (word), .type = OPT_NAMED, .flags = OPT_PLANNED, .each = (of), .help = (sentence), \
    }

const struct option planned_sections[] = {
    SECTION("jobs", &job_each, "recurring work"),
    SECTION("stores", &any_each, "where content lives"),
    OPTION("content", OPT_NAMED, "how content is copied and checked",
           .flags = OPT_PLANNED | OPT_FREE, .each = &any_each),
    OPTION("links", OPT_ANY, "tables that are replicated", .flags = OPT_PLANNED),
    { 0 },
};
