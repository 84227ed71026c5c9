/* report.c - what this node reports about an endpoint: see dispatch.h.
 *
 * There is one report per endpoint, made from its whole state, so that the end of one trouble does
 * not withdraw the report of another.  Each change of its text is counted in `changes`; `told` is
 * the change that the store has.  One job at a time writes it, and reads the text when it runs;
 * dispatch_calm() repeats what failed or was overtaken.
 */
#include <stdio.h>
#include <string.h>

#include "engine/dispatch/dispatch_queues.h"

void report_set(char to[static REPORT_TEXT], const char *before, const char *message)
{
    enum { CHARACTER_MOST = 4 };

    (void)snprintf(to, REPORT_TEXT, "%s%s", before, message);
    size_t len = strlen(to);

    for (int i = 1; i < CHARACTER_MOST && !str_is_utf8(str_mem(to, len)); i++)
        to[--len] = '\0';
}

void report_rejecting(struct endpoint_live *e, struct str message)
{
    char text[REPORT_TEXT];

    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(message));
    report_set(e->rejecting_why, "it rejects everything: ", text);
}

static const char *text_of(const struct endpoint_live *e)
{
    bool open = breaker_is_open(&e->breaker);

    if (open && e->strange[0] != '\0')
        return e->strange;
    if (open && e->breaker.rejecting)
        return e->rejecting_why;
    if (e->refusing.is)
        return e->refusing_why;
    /* An open breaker is stored by itself, for all nodes.  A report that was there before it stays
     * until it closes: other nodes learn of the breaker later. */
    if (open && e->report.text[0] != '\0')
        return "its breaker is open: deliveries to it wait, one probes now and then";
    return "";
}

bool report_note(struct endpoint_live *e)
{
    const char *text = text_of(e);

    if (strcmp(text, e->report.text) == 0)
        return false;
    (void)snprintf(e->report.text, sizeof e->report.text, "%s", text);
    e->report.changes++;
    return true;
}

void report_tell(const struct dispatch *d, struct endpoint_live *e)
{
    struct report *r = &e->report;

    if (r->told == r->changes || r->writing || d->calls.report == NULL)
        return;
    r->writing = true;
    d->calls.report(d->calls.arg, e->word);
}

void dispatch_report(struct dispatch *d, int64_t endpoint, struct endpoint_report *ret)
{
    (void)pthread_mutex_lock(&d->mutex);
    const struct report *r = &dispatch_endpoint(d, endpoint)->report;

    ret->change = r->changes;
    (void)snprintf(ret->text, sizeof ret->text, "%s", r->text);
    (void)pthread_mutex_unlock(&d->mutex);
}

bool dispatch_reported(struct dispatch *d, int64_t endpoint, const struct endpoint_report *written,
                       bool ok)
{
    (void)pthread_mutex_lock(&d->mutex);
    struct report *r = &dispatch_endpoint(d, endpoint)->report;
    bool first = !ok && !r->failed;

    r->writing = false;
    r->failed = !ok;
    if (ok)
        r->told = written->change;
    (void)pthread_mutex_unlock(&d->mutex);
    return first;
}
