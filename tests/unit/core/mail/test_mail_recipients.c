#include "core/mail/mail_recipients.h"

#include "base/auto.h"
#include "test.h"

enum { MOST = 4 };

static struct mail_recipient all[MOST];

static void make(size_t count)
{
    static const char *const names[MOST] = { "ann@x", "bob@x", "eve@x", "joe@x" };

    for (size_t i = 0; i < count; i++)
        all[i] = (struct mail_recipient){ .address = str_of(names[i]) };
}

/* Who is due, as letters. */
static const char *due(size_t count, const char *note, int64_t attempt)
{
    static char text[MOST + 1];
    size_t n = 0;

    make(count);
    mail_recipients_recall(all, count, str_of(note), attempt);
    for (size_t i = 0; i < count; i++)
        if (all[i].due)
            text[n++] = all[i].address.ptr[0];
    text[n] = '\0';
    return text;
}

TEST(an_attempt_goes_to_those_who_wait)
{
    CHECK(strcmp(due(3, "", 1), "abe") == 0);
    CHECK(strcmp(due(3, "ann@x accepted 250", 2), "be") == 0);
    CHECK(strcmp(due(3, "ann@x accepted 250, bob@x refused 550", 2), "e") == 0);
    CHECK(strcmp(due(3, "ann@x accepted 250, bob@x refused 550, eve@x accepted 250", 2), "") == 0);
    /* A person retries it: who refused may have changed their mind, who has it has it. */
    CHECK(strcmp(due(3, "ann@x accepted 250, bob@x refused 550, eve@x accepted 250", 1), "b") == 0);
    /* In doubt: behind all others, and only when nobody else is left. */
    CHECK(strcmp(due(3, "ann@x in_doubt 0", 2), "be") == 0);
    CHECK(strcmp(due(3, "ann@x in_doubt 0, bob@x accepted 250, eve@x refused 550", 2), "a") == 0);
    CHECK(strcmp(due(3, "ann@x in_doubt 0, bob@x in_doubt 0, eve@x accepted 250", 2), "ab") == 0);
    /* The configuration has changed; somebody has written something else there. */
    CHECK(strcmp(due(2, "joe@x accepted 250, bob@x accepted 250", 2), "a") == 0);
    CHECK(strcmp(due(2, "ann@x accepted, bob@x, , ann@x eaten 250, x y z w, ann@x accepted 9z", 2),
                 "ab") == 0);
}

TEST(what_is_noted_is_recalled)
{
    AUTO(buf_done) struct buf note = BUF_INIT(MAIL_NOTE_MOST);

    buf_puts(&note, "what was there before");
    make(4);
    for (size_t i = 0; i < MAIL_FATES; i++) {
        all[i].fate = (enum mail_fate)i;
        all[i].status = (int64_t)i * 100;
    }
    mail_recipients_note(all, 4, &note);
    CHECK(strcmp(note.ptr, "ann@x waits 0, bob@x accepted 100, eve@x refused 200, joe@x in_doubt "
                           "300") == 0);
    CHECK(strcmp(due(4, note.ptr, 2), "a") == 0);
    CHECK(all[1].fate == MAIL_ACCEPTED && all[2].status == 200 && all[3].fate == MAIL_IN_DOUBT);
}

TEST(the_longest_note_has_room)
{
    static struct mail_recipient many[MAIL_TO_MOST];
    static char address[MAIL_ADDRESS_MOST];
    AUTO(buf_done) struct buf note = BUF_INIT(MAIL_NOTE_MOST);

    memset(address, 'a', sizeof address);
    for (size_t i = 0; i < MAIL_TO_MOST; i++)
        many[i] = (struct mail_recipient){ .address = str_mem(address, sizeof address),
                                           .fate = MAIL_ACCEPTED,
                                           .status = 599 };
    mail_recipients_note(many, MAIL_TO_MOST, &note);
    CHECK(note.len > 0 && note.len <= MAIL_NOTE_MOST);
}

static struct verdict verdict_of(enum verdict_kind kind, const char *text)
{
    struct verdict v = { .status = 1 };

    (void)verdict_say(&v, kind, "%s", text);
    return v;
}

static struct verdict judge(const char *fates, const struct mail_seen *seen)
{
    static const char letters[] = "warD"; /* waits, accepted, refused, in doubt */
    size_t count = strlen(fates);
    struct verdict v = { 0 };

    make(count);
    for (size_t i = 0; i < count; i++) {
        all[i].fate = (enum mail_fate)(strchr(letters, fates[i]) - letters);
        all[i].status = all[i].fate == MAIL_REFUSED ? 550 : 0;
    }
    mail_recipients_judge(all, count, seen, &v);
    return v;
}

TEST(an_attempt_is_judged_by_all_recipients)
{
    struct mail_seen took = { .last = verdict_of(VERDICT_DELIVERED, "queued") };
    struct mail_seen refused = { .last = verdict_of(VERDICT_REJECTED, "unknown user") };
    struct mail_seen doubt = { .last = verdict_of(VERDICT_DOUBT, "silence") };
    struct mail_seen busy = { .last = verdict_of(VERDICT_REJECTED, "unknown user"),
                              .again = verdict_of(VERDICT_RETRY, "busy") };
    struct verdict v = judge("a", &took);

    CHECK(v.kind == VERDICT_DELIVERED && strcmp(v.message, "queued") == 0);
    CHECK(judge("aa", &took).kind == VERDICT_DELIVERED);
    v = judge("r", &refused);
    CHECK(v.kind == VERDICT_REJECTED && v.status == 1 && strcmp(v.message, "unknown user") == 0);
    v = judge("ar", &refused);
    CHECK(v.kind == VERDICT_REJECTED);
    CHECK(strcmp(v.message, "1 of 2 recipients have it; unknown user") == 0);
    /* One waits, another has refused: it goes on. */
    v = judge("wra", &busy);
    CHECK(v.kind == VERDICT_RETRY && strcmp(v.message, "1 of 3 recipients have it; busy") == 0);
    /* In doubt only when nobody waits. */
    CHECK(judge("D", &doubt).kind == VERDICT_DOUBT);
    CHECK(judge("aD", &doubt).kind == VERDICT_DOUBT);
    v = judge("Dw", &doubt);
    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "not tried: silence") != NULL);
    /* The last one is done; what happened before is said. */
    v = judge("Da", &took);
    CHECK(v.kind == VERDICT_DOUBT && strstr(v.message, "ann@x") != NULL);
    v = judge("Dr", &refused);
    CHECK(v.kind == VERDICT_DOUBT && v.status == 0);
    v = judge("ra", &took);
    CHECK(v.kind == VERDICT_REJECTED && v.status == 550 && strstr(v.message, "550") != NULL);
}

int main(void)
{
    return test_main();
}
