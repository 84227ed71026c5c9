/* mail_recipients.h - what became of each recipient of a mail, over the attempts of its delivery.
 *
 * A mail goes to its recipients one by one.  What each of their servers said is noted with the
 * delivery, as one line of text for people and for the next attempt:
 *
 *     ann@example.org accepted 250, bob@example.org refused 550, eve@example.org in_doubt 0
 *
 * The next attempt goes to those who have not answered for good.  Whose outcome is not known waits
 * until all others have theirs: only then is the delivery in doubt, and only a decision about that
 * (the policy of its system, or a person) sends to them again.  Those who refused are tried again
 * when a person retries the delivery, which begins anew with attempt 1.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/mail/mail_message.h"
#include "core/verdict.h"

enum mail_fate { MAIL_WAITS, MAIL_ACCEPTED, MAIL_REFUSED, MAIL_IN_DOUBT, MAIL_FATES };

struct mail_recipient {
    struct str address;
    enum mail_fate fate;
    int64_t status; /* of the server's last answer; 0: none came */
    bool due;       /* this attempt goes to it */
};

enum { MAIL_NOTE_MOST = MAIL_TO_MOST * (MAIL_ADDRESS_MOST + 24) };

/* Reads the note of the attempts before, and marks who is due.  A recipient that it does not name
 * waits; who is no recipient any more is forgotten. */
void mail_recipients_recall(struct mail_recipient *all, size_t count, struct str note,
                            int64_t attempt);
/* Replaces the note. */
void mail_recipients_note(const struct mail_recipient *all, size_t count, struct buf *note);

/* What an attempt has seen; a verdict whose message is empty was not. */
struct mail_seen {
    struct verdict last;  /* an acceptance, a refusal or a doubt */
    struct verdict again; /* why a recipient that was due still waits */
};

/* What the attempt came to.  With several recipients the message says how many have the mail. */
void mail_recipients_judge(const struct mail_recipient *all, size_t count,
                           const struct mail_seen *seen, struct verdict *ret);
