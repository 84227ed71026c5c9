#include "core/planned.h"

#include "core/grammar.h"

/* ---- endpoints ---- */

static const struct option content_out[] = {
    OPTION("store", OPT_NAME, "one of `stores`", .flags = OPT_REQUIRED),
    OPTION("space", OPT_TEMPLATE, "the space in it", .flags = OPT_REQUIRED),
    OPTIONS(grammar_file_name),
    { 0 },
};

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
    { 0 },
};
/* clang-format on */

static const struct option any_each = { .type = OPT_ANY };

#define SECTION(word, of, sentence)                                                                \
    {                                                                                              \
        .name = (word), .type = OPT_NAMED, .flags = OPT_PLANNED, .each = (of), .help = (sentence), \
    }

const struct option planned_sections[] = {
    SECTION("stores", &any_each, "where content lives"),
    OPTION("content", OPT_NAMED, "how content is copied and checked",
           .flags = OPT_PLANNED | OPT_FREE, .each = &any_each),
    { 0 },
};
