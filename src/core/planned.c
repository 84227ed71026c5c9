#include "core/planned.h"

#include "core/grammar.h"

/* ---- endpoints ---- */

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
    PLANNED(ROLE_ENDPOINT, "content", "items in a content store", content_out),

    PLANNED(ROLE_JOB, "call", "call an HTTP service", job_call),
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
