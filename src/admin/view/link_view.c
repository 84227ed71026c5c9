#include "admin/view/link_view.h"

#include <stdio.h>

#include "admin/view/job_view.h"
#include "base/clock.h"

enum { SPAN_TEXT = 48 };

/* ---- names ---- */

bool link_view_split(struct str job, struct str *ret_link, struct str *ret_table)
{
    struct str link, table = str_cut(job, '/', &link);

    *ret_link = link;
    *ret_table = table;
    return link.len > 0 && table.len > 0;
}

bool link_view_is_verify(struct str job, struct str link, struct str table)
{
    struct str rest;

    if (!str_starts(job, link))
        return false;
    rest = str_from(job, link.len);
    if (!str_starts(rest, STR("/")) || !str_starts(str_from(rest, 1), table))
        return false;
    rest = str_from(rest, 1 + table.len);
    return str_is(rest, "/verify") || str_starts(rest, STR("/verify-"));
}

void link_view_make(const struct job_record *job, struct str state, int64_t now_us, struct arena *a,
                    struct link_view *ret)
{
    struct err why = { 0 };

    *ret = (struct link_view){ .job = *job, .now_us = now_us, .lag_us = -1 };
    (void)link_view_split(job->name, &ret->link, &ret->table);
    if (!link_state_read(state, a, &ret->state, &why))
        ret->broken = arena_copy(a, str_of(why.text));
    if (ret->state.current_us > 0)
        ret->lag_us = now_us > ret->state.current_us ? now_us - ret->state.current_us : 0;
}

/* ---- what to do ---- */

/* What is behind "LINK/TABLE"; NULL: nothing more than that each run looks again. */
static const char *const link_view_remedies[LINK_REASONS] = {
    [LINK_SCHEMA_DRIFT] =
        "Change one of the two tables, or `cast` and `ignore` of the table in the link, until they "
        "fit; `waybill repl plan` says whether they do, and `waybill repl install` renews what "
        "captures changes. Where the table goes both ways, make both links say alike. It goes on "
        "by itself. What a new column has in older rows, which do not "
        "change, comes with `waybill repl verify --repair` or `waybill repl resync`.",
    [LINK_SRC_REWOUND] =
        "Find out which side is right. `waybill repl resync` makes the destination what the source "
        "is now; `waybill repl go-on` goes on where it was, if nothing was lost.",
    [LINK_TRUNCATED] =
        "If the source is as it should be, `waybill repl resync` makes the destination the same; "
        "nothing was removed there.",
    [LINK_DELETES] =
        "If so many rows are to go, `waybill repl go-on`; if not, find out who removed them at the "
        "source.",
    [LINK_TRIGGER] =
        "Look at `waybill repl plan`, then `waybill repl install`. What changed while nothing was "
        "captured is missing: `waybill repl resync` takes all rows again, `waybill repl verify` "
        "finds them.",
    [LINK_CREDENTIAL] =
        "Look after the password and the rights of the user in that database, or change the secret "
        "of the DSN; of a peer, its key and what it lets us do there. It goes on by itself.",
    [LINK_QUARANTINE] =
        "See which rows and why: `waybill repl quarantine`. Make the destination take them, or "
        "`discard` them.",
    [LINK_CLOCK] =
        "Set the clock right that is wrong: of the server of the source, or of the destination. "
        "What was changed by the wrong clock waits until its time has come; `waybill repl go-on` "
        "takes it as it is.",
    [LINK_GROUP] =
        "Take a larger `group_most`, if it is below its limit, or `atomic: batch`, by which the "
        "destination may see a part of a transaction for a moment. It goes on by itself.",
};

static const char *link_view_stopped_job(const struct link_view *v)
{
    switch (v->job.stop) {
    case JOB_PAUSED:
        return "Its job is paused: `waybill jobs resume` lets it go on.";
    case JOB_SUSPENDED:
        return "Its job is suspended, because its runs failed: when that is solved, `waybill jobs "
               "resume` lets it go on.";
    case JOB_AT_END:
        return "The schedule of its job is at its end.";
    case JOB_GOES:
    case JOB_STOPS:
        break;
    }
    return NULL;
}

void link_view_remedy(const struct link_view *v, struct buf *to)
{
    const char *text = link_view_stopped_job(v);

    if (text == NULL && v->broken.len > 0)
        text = "`waybill jobs reset` goes back to an earlier state of its job; nothing is lost, "
               "because the place is kept at the destination.";
    if (text == NULL && v->state.stands == LINK_STOPPED)
        text = link_view_remedies[v->state.reason];
    if (text != NULL)
        buf_puts(to, text);
}

/* ---- why ---- */

/* "3 days", "12 min", "4 s" */
static const char *link_view_span(int64_t us, char text[static SPAN_TEXT])
{
    static const struct {
        int64_t us;
        const char *one, *more;
    } units[] = { { (int64_t)86400 * CLOCK_S, "day", "days" },
                  { (int64_t)3600 * CLOCK_S, "hour", "hours" },
                  { (int64_t)60 * CLOCK_S, "minute", "minutes" },
                  { CLOCK_S, "second", "seconds" } };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        long long n = us / units[i].us;

        if (n >= 2 || (n == 1 && us < units[i].us + units[i].us / 2)) {
            (void)snprintf(text, SPAN_TEXT, "%lld %s", n, n == 1 ? units[i].one : units[i].more);
            return text;
        }
    }
    (void)snprintf(text, SPAN_TEXT, "less than 2 seconds");
    return text;
}

static void link_view_explain_load(const struct link_state *s, struct buf *lines)
{
    buf_printf(lines, "All its rows are being loaded: %lld", (long long)s->load_rows);
    if (s->load_total > 0)
        buf_printf(lines, " of about %lld", (long long)s->load_total);
    buf_puts(lines, " so far. What changes meanwhile follows afterwards.\n");
}

static void link_view_explain_stands(const struct link_view *v, struct buf *lines)
{
    const struct link_state *s = &v->state;
    char span[SPAN_TEXT], since[SPAN_TEXT];

    switch (s->stands) {
    case LINK_NEW:
        buf_puts(lines, "It has not begun: no run of it has ended yet.\n");
        break;
    case LINK_LOADING:
        link_view_explain_load(s, lines);
        break;
    case LINK_CURRENT:
        buf_printf(lines, "It is current: everything was written %s ago.\n",
                   link_view_span(v->lag_us, span));
        break;
    case LINK_BEHIND:
        buf_puts(lines, "It is behind");
        if (v->lag_us >= 0)
            buf_printf(lines, " for %s", link_view_span(v->lag_us, span));
        buf_printf(lines, ": %lld changes wait at the source.\n", (long long)s->backlog);
        break;
    case LINK_STOPPED:
        buf_printf(lines, "It is stopped for %s, with the reason %s: nothing is written.\n",
                   link_view_span(v->now_us - s->since_us, since), link_reasons[s->reason]);
        break;
    case LINK_STANDS:
        break;
    }
    if (s->message[0] != '\0')
        buf_printf(lines, "%s%s.\n", s->stands == LINK_STOPPED ? "" : "It waits: ", s->message);
}

static void link_view_explain_job(const struct link_view *v, struct buf *lines)
{
    const struct job_record *j = &v->job;
    char span[SPAN_TEXT];

    if (j->stop != JOB_GOES)
        buf_printf(lines, "Its job is %s%s%.*s.\n", job_stops[j->stop],
                   j->stop_why.len > 0 ? ": " : "", STR_ARG(j->stop_why));
    else if (job_shown_of(j, v->now_us) == JOB_SHOWN_DUE &&
             job_shown_lag(j, v->now_us) > 10 * CLOCK_S)
        buf_printf(lines, "Its job is due for %s, and no node has begun.\n",
                   link_view_span(job_shown_lag(j, v->now_us), span));
    if (j->outcome == JOB_FAILED)
        buf_printf(lines, "The last run of its job failed %s ago: %.*s.\n",
                   link_view_span(v->now_us - j->ended_us, span), STR_ARG(j->message));
    if (j->past.tries > 0)
        buf_printf(lines, "It was tried %lld times, and is tried again.\n",
                   (long long)j->past.tries);
}

static void link_view_explain_pass(const struct link_view *v, const struct pass *p,
                                   struct buf *lines)
{
    char span[SPAN_TEXT];

    if (p == NULL)
        buf_puts(lines, "It was never verified.\n");
    else if (p->result == PASS_RUNNING)
        buf_printf(lines, "It is being verified: %lld segment%s so far.\n", (long long)p->segments,
                   p->segments == 1 ? "" : "s");
    else
        buf_printf(lines,
                   "It was verified %s ago (%.*s): %s, %lld missing, %lld extra, %lld "
                   "different.\n",
                   link_view_span(v->now_us - p->ended_us, span), STR_ARG(p->mode),
                   pass_results[p->result], (long long)p->missing, (long long)p->extra,
                   (long long)p->different);
}

void link_view_explain(const struct link_view *v, const struct pass *last, struct buf *lines)
{
    size_t before;

    if (v->broken.len > 0)
        buf_printf(lines, "The state of its job cannot be read: %.*s.\n", STR_ARG(v->broken));
    else
        link_view_explain_stands(v, lines);
    link_view_explain_job(v, lines);
    if (v->state.set_aside > 0)
        buf_printf(lines,
                   "%lld %s set aside, because the destination does not take them: `waybill repl "
                   "quarantine` lists them.\n",
                   (long long)v->state.set_aside, v->state.set_aside == 1 ? "row is" : "rows are");
    if (v->state.conflicts > 0)
        buf_printf(lines,
                   "%lld %s lost against others so far, because both sides had changed them: "
                   "`waybill repl quarantine` lists those of the last 30 days.\n",
                   (long long)v->state.conflicts,
                   v->state.conflicts == 1 ? "row has" : "rows have");
    if (v->state.prune_denied != 0)
        buf_puts(lines,
                 "Its journal keeps the keys of removed rows for ever: the user of the source "
                 "may not delete from it, or not update waybill_capture.\n");
    link_view_explain_pass(v, last, lines);
    before = lines->len;
    link_view_remedy(v, lines);
    if (lines->len > before)
        buf_putc(lines, '\n');
}
