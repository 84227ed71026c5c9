/* grammar_job.c - the keys of every job: what it is called, where it runs, and when. */
#include "base/clock.h"
#include "core/grammar.h"

#define JOB_DAY_US (INT64_C(86400) * CLOCK_S)

static const struct option job_retry[] = {
    OPTION("first", OPT_DURATION, "the wait before the first repetition; it doubles from there",
           .least = 1, .most = 366 * JOB_DAY_US, .fallback = "10s"),
    OPTION("most", OPT_DURATION, "the longest wait", .least = 1, .most = 366 * JOB_DAY_US,
           .fallback = "10m"),
    OPTION("for", OPT_DURATION,
           "after this long the iteration counts as failed; 0s: nothing is repeated",
           .most = 366 * JOB_DAY_US, .fallback = "1h"),
    { 0 },
};

const struct option grammar_job[] = {
    OPTION("kind", OPT_WORD, "what it does", .flags = OPT_REQUIRED),
    OPTION("title", OPT_TEXT, "its name for people"),
    OPTION("at", OPT_AT, "when it runs: a schedule or a time of day, or a list of them",
           .flags = OPT_ONE_OF | OPT_OR_LIST),
    OPTION("every", OPT_DURATION, "how long from the end of one iteration to the next",
           .flags = OPT_ONE_OF, .least = CLOCK_MS, .most = 366 * JOB_DAY_US),
    OPTION("once", OPT_INSTANT, "it runs once, at this time", .flags = OPT_ONE_OF),
    OPTION("zone", OPT_ZONE, "the time zone of `at`, `once`, `until` and `holidays`",
           .fallback = "UTC"),
    OPTION("holidays", OPT_CALENDAR, "`calendars` on whose days it does not run",
           .flags = OPT_OR_LIST),
    OPTION("window", OPT_MAP,
           "when it may run: times of `at` outside of it are left out, and what is late or "
           "repeated waits until it opens; left out: always",
           .flags = OPT_OR_LIST, .keys = grammar_window, .each = &grammar_window_each),
    OPTION("jitter", OPT_DURATION,
           "each iteration is due so much later at most, at random: so jobs of one time do not all "
           "begin together",
           .most = JOB_DAY_US),
    OPTION("runs", OPT_INT, "the job ends after so many runs", .least = 1, .most = 1000000000),
    OPTION("until", OPT_INSTANT, "the job ends at this time: no run is later"),
    OPTION("catch_up", OPT_WORD,
           "what becomes of times of `at` or `once` that were missed, because no node was there or "
           "the iteration before took too long: they are skipped, or served by one run, or by one "
           "run each, in order",
           .words = OPTION_WORDS("skip", "once", "all"), .fallback = "once"),
    OPTION("catch_up_most", OPT_INT, "how many `catch_up: all` serves, the latest ones", .least = 1,
           .most = 10000, .fallback = "100"),
    OPTION("idle_most", OPT_DURATION,
           "while iterations find nothing, the wait of `every` doubles up to this; left out: it "
           "does not",
           .most = 366 * JOB_DAY_US),
    OPTION("retry", OPT_MAP, "how an iteration that fails is repeated", .keys = job_retry),
    OPTION("suspend", OPT_INT,
           "after so many failed iterations in a row the job is suspended until somebody resumes "
           "it; or never",
           .words = grammar_never, .least = 1, .most = 1000000, .fallback = "5"),
    OPTION("area", OPT_WORD, "only nodes of this area run it", .words = grammar_areas),
    OPTION("timeout", OPT_DURATION, "a run that takes longer is stopped, and has failed",
           .least = CLOCK_MS, .most = 31 * JOB_DAY_US, .fallback = "1h"),
    OPTION("parallel", OPT_INT,
           "so many runs may be there at the same time; only kinds whose runs may be repeated in "
           "any order",
           .least = 1, .most = 100, .fallback = "1"),
    OPTION("log", OPT_WORD, "which runs are logged (`waybill jobs log`)",
           .words = OPTION_WORDS("off", "errors", "all"), .fallback = "errors"),
    { 0 },
};
