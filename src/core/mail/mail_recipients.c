#include "core/mail/mail_recipients.h"

#include <stdio.h>

static const char *const fates[MAIL_FATES] = {
    [MAIL_WAITS] = "waits",
    [MAIL_ACCEPTED] = "accepted",
    [MAIL_REFUSED] = "refused",
    [MAIL_IN_DOUBT] = "in_doubt",
};

/* "ann@example.org accepted 250" */
static void recall_one(struct mail_recipient *all, size_t count, struct str entry)
{
    struct str address, word, status = str_cut(str_cut(str_trim(entry), ' ', &address), ' ', &word);
    enum mail_fate fate = 0;
    int64_t number;

    while (fate < MAIL_FATES && !str_is(word, fates[fate]))
        fate++;
    if (fate == MAIL_FATES || !str_to_i64(status, &number))
        return;
    for (size_t i = 0; i < count; i++)
        if (str_eq(all[i].address, address)) {
            all[i].fate = fate;
            all[i].status = number;
        }
}

static size_t mail_count(const struct mail_recipient *all, size_t count, enum mail_fate fate)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += all[i].fate == fate;
    return n;
}

void mail_recipients_recall(struct mail_recipient *all, size_t count, struct str note,
                            int64_t attempt)
{
    while (note.len > 0) {
        struct str entry;

        note = str_cut(note, ',', &entry);
        recall_one(all, count, entry);
    }
    for (size_t i = 0; i < count; i++)
        if (all[i].fate == MAIL_REFUSED && attempt <= 1)
            all[i].fate = MAIL_WAITS;
    bool others = mail_count(all, count, MAIL_WAITS) > 0;

    for (size_t i = 0; i < count; i++) {
        if (all[i].fate == MAIL_IN_DOUBT && !others)
            all[i].fate = MAIL_WAITS;
        all[i].due = all[i].fate == MAIL_WAITS;
    }
}

void mail_recipients_note(const struct mail_recipient *all, size_t count, struct buf *note)
{
    buf_clear(note);
    for (size_t i = 0; i < count; i++)
        buf_printf(note, "%s%.*s %s %lld", i > 0 ? ", " : "", STR_ARG(all[i].address),
                   fates[all[i].fate], (long long)all[i].status);
}

/* The first with that fate, for the message. */
static const struct mail_recipient *first_with(const struct mail_recipient *all, size_t count,
                                               enum mail_fate fate)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].fate == fate)
            return &all[i];
    return NULL;
}

/* Refused or in doubt in an earlier attempt: nothing was seen of it in this one. */
static void say_of_before(const struct mail_recipient *r, struct verdict *v)
{
    *v = (struct verdict){ .status = r->status };
    if (r->fate == MAIL_REFUSED)
        (void)verdict_say(v, VERDICT_REJECTED, "%.*s was refused before, with %lld",
                          STR_ARG(r->address), (long long)r->status);
    else
        (void)verdict_say(v, VERDICT_DOUBT,
                          "whether %.*s has it is not known: an attempt before "
                          "got no answer",
                          STR_ARG(r->address));
}

/* Some wait: why, or what kept the attempt from going on to them. */
static void say_waits(const struct mail_seen *seen, struct verdict *v)
{
    *v = seen->again;
    if (v->message[0] == '\0')
        (void)verdict_say(v, VERDICT_UNREACHED, "the others were not tried: %s",
                          seen->last.message);
}

/* None waits, and not all have accepted. */
static void say_over(const struct mail_recipient *all, size_t count, const struct mail_seen *seen,
                     struct verdict *v)
{
    const struct mail_recipient *doubt = first_with(all, count, MAIL_IN_DOUBT);
    const struct mail_recipient *refused = first_with(all, count, MAIL_REFUSED);

    if (seen->last.kind == (doubt != NULL ? VERDICT_DOUBT : VERDICT_REJECTED))
        *v = seen->last;
    else
        say_of_before(doubt != NULL ? doubt : refused, v);
}

void mail_recipients_judge(const struct mail_recipient *all, size_t count,
                           const struct mail_seen *seen, struct verdict *ret)
{
    size_t accepted = mail_count(all, count, MAIL_ACCEPTED);
    char why[VERDICT_MESSAGE_MOST];

    if (accepted == count) {
        *ret = seen->last;
        ret->kind = VERDICT_DELIVERED;
        return;
    }
    if (mail_count(all, count, MAIL_WAITS) > 0)
        say_waits(seen, ret);
    else
        say_over(all, count, seen, ret);
    if (count == 1)
        return;
    (void)snprintf(why, sizeof why, "%s", ret->message);
    (void)verdict_say(ret, ret->kind, "%zu of %zu recipients have it; %s", accepted, count, why);
}
