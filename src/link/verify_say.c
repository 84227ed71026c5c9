/* verify_say.c - what a pass of verification has come to, in words (verifying.h). */
#include <inttypes.h>
#include <stdio.h>

#include "link/verification.h"

enum { SAY_NUMBER = 32 };

/* "300 000" */
static const char *say_number(int64_t n, char to[static SAY_NUMBER])
{
    char digits[SAY_NUMBER];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n < 0 ? 0 : (uint64_t)n), at = 0;

    for (int i = 0; i < len && at < SAY_NUMBER - 2; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            to[at++] = ' ';
        to[at++] = digits[i];
    }
    to[at] = '\0';
    return to;
}

static void verify_say_numbers(struct verification *p, struct buf *to, bool differs)
{
    const struct pass *pass = &p->pass;
    int64_t compared = pass->segments - (p->mode == LINK_VERIFY_SAMPLE ? pass->skipped : 0);
    char rows[SAY_NUMBER], dest[SAY_NUMBER];

    if (differs)
        buf_printf(to,
                   "%" PRId64 " difference%s: %" PRId64 " missing, %" PRId64 " extra, %" PRId64
                   " different; ",
                   verification_differences(p), verification_differences(p) == 1 ? "" : "s",
                   pass->missing, pass->extra, pass->different);
    if (pass->repaired > 0)
        buf_printf(to, "%" PRId64 " repaired; ", pass->repaired);
    buf_printf(to, "%s %s", say_number(pass->rows_source, rows), link_rows(pass->rows_source));
    if (pass->rows_dest != pass->rows_source)
        buf_printf(to, ", %s at the destination,", say_number(pass->rows_dest, dest));
    if (p->mode == LINK_VERIFY_COUNT)
        buf_puts(to, " by their number only");
    else if (p->mode == LINK_VERIFY_RECENT)
        buf_puts(to, " of those that have changed of late");
    else
        buf_printf(to, " in %" PRId64 " segment%s", compared, compared == 1 ? "" : "s");
    if (p->mode == LINK_VERIFY_SAMPLE)
        buf_printf(to, " of %" PRId64, pass->segments);
    if (pass->moving > 0)
        buf_printf(to, "; %" PRId64 " %s kept changing", pass->moving, link_rows(pass->moving));
    if (pass->segments_bad > 0)
        buf_printf(to, "; in %" PRId64 " of the segments more rows differ than are listed",
                   pass->segments_bad);
    if (p->mode == LINK_VERIFY_COUNT && pass->skipped > 0)
        buf_puts(to, "; the numbers kept changing");
    else if (p->mode != LINK_VERIFY_SAMPLE && pass->skipped > 0)
        buf_printf(to, "; changes of %" PRId64 " %s wait for replication", pass->skipped,
                   link_rows(pass->skipped));
}

static void verify_say_text(struct verification *p, const struct buf *text)
{
    (void)snprintf(p->done->message, sizeof p->done->message, "%.*s",
                   STR_ARG(str_first(buf_view(text), VERIFY_MESSAGE_MOST)));
}

void verify_end(struct verification *p)
{
    struct pass *pass = &p->pass;
    struct buf text = BUF_INIT(4096);
    int64_t differ = verification_differences(p);
    bool whole = p->mode == LINK_VERIFY_FULL && pass->skipped == 0;

    if (differ > pass->repaired || pass->segments_bad > 0)
        pass->result = PASS_DIVERGED;
    else if (!whole)
        pass->result = PASS_PARTIAL;
    else
        pass->result = differ > 0 ? PASS_REPAIRED : PASS_OK;
    if (pass->result == PASS_OK)
        buf_puts(&text, "ok: ");
    else if (pass->result == PASS_PARTIAL && p->mode == LINK_VERIFY_COUNT && pass->skipped > 0)
        buf_puts(&text, "not known: ");
    else if (pass->result == PASS_PARTIAL)
        buf_puts(&text, "ok of what was compared: ");
    verify_say_numbers(p, &text, differ > 0);
    if (p->ending != NULL)
        buf_printf(&text, "; %s", p->ending);
    if (p->v->follower != NULL && p->v->follower->set_aside > 0)
        buf_printf(&text, "; %" PRId64 " %s set aside", p->v->follower->set_aside,
                   p->v->follower->set_aside == 1 ? "row is" : "rows are");
    verify_say_text(p, &text);
    buf_done(&text);
}

void verify_say_progress(struct verification *p)
{
    struct buf text = BUF_INIT(4096);

    buf_puts(&text, verification_scan_is_over(p) ? "looking again: " : "so far: ");
    verify_say_numbers(p, &text, verification_differences(p) > 0);
    if (p->suspects > 0)
        buf_printf(&text, "; %" PRId64 " %s looked at again", p->suspects,
                   p->suspects == 1 ? "row is" : "rows are");
    verify_say_text(p, &text);
    buf_done(&text);
}
