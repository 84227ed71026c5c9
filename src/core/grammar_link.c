/* grammar_link.c - the sections `databases` and `links`: tables that are replicated, and rules that
 * compare them. */
#include "base/clock.h"
#include "core/grammar.h"

#define LINK_DAY_US (INT64_C(86400) * CLOCK_S)

/* ---- databases ---- */

/* Where it is, and how long it is waited for, is said by keys of its kind: src/table/NAME.c. */
const struct option grammar_database[] = {
    OPTION("kind", OPT_WORD, "what it is", .flags = OPT_REQUIRED),
    OPTION("title", OPT_TEXT, "its name for people"),
    { 0 },
};

/* ---- peers ---- */

static const struct option may_word = {
    .type = OPT_WORD,
    .words = OPTION_WORDS("read", "apply", "install"),
    .noun = "right",
};

static const struct option may_each = {
    .type = OPT_LIST,
    .help = "rights over it: its rows are read, rows are written, and what links need is installed",
    .each = &may_word,
    .noun = "database",
};

const struct option grammar_peer[] = {
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("url", OPT_URL, "where it listens; left out: it asks us, and we do not ask it",
           .words = OPTION_WORDS("http", "https")),
    OPTION("key", OPT_SECRET,
           "what we show to it: a key of its own with the role `peer`, whose title is the name of "
           "this location there"),
    OPTION("timeout", OPT_DURATION, "how long an answer may take", .least = CLOCK_S,
           .most = 3600 * INT64_C(1000000), .fallback = "60s"),
    OPTION("tls", OPT_MAP, "TLS beyond the usual", .keys = grammar_tls_keys),
    OPTION("may", OPT_NAMED,
           "what it may do here: rights over DATABASE, or DATABASE/TABLE; it shows a key of ours "
           "with the role `peer` and the name of the peer as its title",
           .flags = OPT_FREE, .each = &may_each, .noun = "database"),
    { 0 },
};

/* ---- tables ---- */

/* As table/cell.h has them, in its order. */
static const char *const cells[] = { "int",   "dec",  "float", "text", "bytes", "bool", "instant",
                                     "local", "date", "time",  "uuid", "json",  NULL };

static const struct option cast_each = {
    .type = OPT_WORD,
    .words = cells,
    .help = "as which type its values travel, are compared and written",
};

static const struct option round_each = {
    .type = OPT_INT,
    .most = 6,
    .help = "how many digits of a fraction are compared: of a second, or behind the point",
};

static const struct option ignore_each = { .type = OPT_TEXT, .noun = "column" };

const struct option grammar_link_table[] = {
    OPTION("to", OPT_TEXT, "what it is called at the destination; left out: the same"),
    OPTION("cast", OPT_NAMED, "columns whose types differ", .flags = OPT_FREE, .each = &cast_each,
           .noun = "column"),
    OPTION("round", OPT_NAMED,
           "columns of times or numbers that one side keeps with fewer digits than the other",
           .flags = OPT_FREE, .each = &round_each, .noun = "column"),
    OPTION("ignore", OPT_LIST, "columns that are neither copied nor compared",
           .each = &ignore_each),
    OPTION(
        "capture", OPT_WORD,
        "how changes are found: by a journal, which triggers keep (`waybill repl plan` shows "
        "them); `append`, by one of rows that are added only, for tables that only grow; or by a "
        "column that grows with each change, which may miss rows and never sees that one was "
        "removed",
        .words = OPTION_WORDS("journal", "column", "append"), .fallback = "journal"),
    OPTION("column", OPT_TEXT, "the column of `capture: column`: a number or a time"),
    OPTION("safety", OPT_DURATION,
           "with `capture: column`: how much later than its value of `column` a row may be seen",
           .most = 31 * LINK_DAY_US, .fallback = "5m"),
    { 0 },
};

static const struct option table_each = {
    .type = OPT_MAP,
    .keys = grammar_link_table,
    .noun = "table",
};

/* ---- verification ---- */

const struct option grammar_link_rule[] = {
    OPTION("mode", OPT_WORD,
           "what is compared: all rows, the number of rows, some of the rows, or those that have "
           "changed of late",
           .words = OPTION_WORDS("full", "count", "sample", "recent"), .fallback = "full"),
    OPTION("at", OPT_AT, "when it begins: a schedule or a time of day, or a list of them",
           .flags = OPT_ONE_OF | OPT_OR_LIST),
    OPTION("every", OPT_DURATION, "how long from the end of one comparison to the next",
           .flags = OPT_ONE_OF, .least = CLOCK_MS, .most = 366 * LINK_DAY_US),
    OPTION("zone", OPT_ZONE, "the time zone of `at` and `holidays`", .fallback = "UTC"),
    OPTION("holidays", OPT_CALENDAR, "`calendars` on whose days it does not begin",
           .flags = OPT_OR_LIST),
    OPTION("window", OPT_MAP, "when it may run; left out: always", .flags = OPT_OR_LIST,
           .keys = grammar_window, .each = &grammar_window_each),
    OPTION("share", OPT_SHARE, "with `mode: sample`: how much of the table is compared",
           .fallback = "1%"),
    OPTION("repair", OPT_WORD, "whether what differs is made equal to the source",
           .words = OPTION_WORDS("off", "on"), .fallback = "off"),
    OPTION("most", OPT_INT, "with more differences than this nothing is repaired", .least = 1,
           .most = 1000000000, .fallback = "500"),
    OPTION("rate", OPT_INT, "how many rows a second are compared; left out: as fast as it goes",
           .least = 1, .most = 1000000000),
    { 0 },
};

static const struct option rule_each = {
    .type = OPT_MAP,
    .keys = grammar_link_rule,
    .noun = "rule",
};

/* ---- links ---- */

static const struct option link_deletes[] = {
    OPTION("most", OPT_INT,
           "so many rows may be removed without a question, before the table is current again",
           .most = INT64_C(1000000000000), .fallback = "1000"),
    OPTION("share", OPT_SHARE, "... or this part of the table, if that is more", .fallback = "5%"),
    { 0 },
};

static const struct option link_quarantine[] = {
    OPTION("most", OPT_INT, "with more rows of a table set aside than this it stops", .least = 1,
           .most = 1000000, .fallback = "1000"),
    { 0 },
};

/* Of jobs it begins later. */
static const struct option link_retry[] = {
    OPTION("first", OPT_DURATION, "the wait before the first repetition; it doubles from there",
           .least = 1, .most = 366 * LINK_DAY_US, .fallback = "1s"),
    OPTION("most", OPT_DURATION, "the longest wait", .least = 1, .most = 366 * LINK_DAY_US,
           .fallback = "1m"),
    OPTION("for", OPT_DURATION,
           "after this long the iteration counts as failed, and the next one begins",
           .most = 366 * LINK_DAY_US, .fallback = "1h"),
    { 0 },
};

const struct option grammar_link[] = {
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("from", OPT_DATABASE, "where the rows come from: one of `databases`, or PEER/DATABASE",
           .flags = OPT_REQUIRED),
    OPTION("to", OPT_DATABASE, "where they go to", .flags = OPT_REQUIRED),
    OPTION("tables", OPT_NAMED,
           "the tables, as the source calls them: NAME or SCHEMA.NAME; each is a job LINK/TABLE",
           .flags = OPT_REQUIRED | OPT_FREE, .each = &table_each, .noun = "table"),
    OPTION("every", OPT_DURATION, "how long from the end of one iteration to the next",
           .least = CLOCK_MS, .most = 366 * LINK_DAY_US, .fallback = "1s"),
    OPTION("idle_most", OPT_DURATION,
           "while iterations find nothing, the wait of `every` doubles up to this; left out: it "
           "does not",
           .most = 366 * LINK_DAY_US),
    OPTION("retry", OPT_MAP, "how an iteration that fails is repeated", .keys = link_retry),
    OPTION("area", OPT_WORD, "only nodes of this area run it", .words = grammar_areas),
    OPTION("conflict", OPT_TEXT,
           "which row wins where both sides have changed one, of two links that go both ways: "
           "`source` or `dest`, that side; `last`, the later change, a deletion included; "
           "`version:COLUMN`, the larger value of a column; `manual`, any of them until a person "
           "has chosen",
           .fallback = "source"),
    OPTION("back", OPT_TEXT,
           "the link of the other direction, where the location of the other end has it: the "
           "tables go both ways; one that is here is found without it"),
    OPTION("deletes", OPT_MAP,
           "how many rows may be removed at the destination; with more the table stops",
           .keys = link_deletes),
    OPTION("atomic", OPT_WORD,
           "what the destination sees at once: a batch, or whole transactions of the source, which "
           "is to be PostgreSQL with a journal",
           .words = OPTION_WORDS("batch", "group"), .fallback = "batch"),
    OPTION("group_most", OPT_SIZE,
           "with `atomic: group`: a transaction with more bytes of rows stops the table",
           .least = 1000, .most = 16 << 20, .fallback = "16 MiB"),
    OPTION("message_limit", OPT_SIZE, "the size of a batch, in bytes of its rows", .least = 1000,
           .most = 4 << 20, .fallback = "80000"),
    OPTION("quarantine", OPT_MAP,
           "rows that the destination refuses are set aside, and tried again",
           .keys = link_quarantine),
    OPTION("verify", OPT_LIST,
           "rules by which both sides are compared: each is a job for each table",
           .each = &rule_each),
    { 0 },
};
