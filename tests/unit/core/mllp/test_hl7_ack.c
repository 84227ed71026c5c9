#include "core/mllp/hl7_ack.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/mllp/hl7_head.h"
#include "test.h"

#define AT_US (INT64_C(1794988800) * CLOCK_S) /* 2026-11-18 08:00:00 UTC */

/* The acknowledgement of a message with this first segment; "": none. */
static const char *ack_of(const char *first, enum hl7_verdict verdict, const char *message,
                          struct buf *to)
{
    AUTO(hl7_head_done) struct hl7_head h = HL7_HEAD_INIT;
    struct edi_segment segment;
    const char *why;

    hl7_head_add(&h, str_of(first));
    const struct edi_segment *msh = hl7_head_msh(&h, &segment, &why) ? &segment : NULL;
    struct hl7_ack ack = { .code = hl7_ack_code(msh, verdict),
                           .control = STR("OURS"),
                           .at_us = AT_US,
                           .message = message };

    buf_clear(to);
    if (ack.code != NULL)
        hl7_ack_put(to, msh, &ack);
    return to->ptr;
}

TEST(an_acknowledgement_is_made_of_the_message)
{
    static const struct {
        const char *what, *first, *message, *want;
        enum hl7_verdict verdict;
    } cases[] = {
        { "stored", "MSH|^~\\&|LAB|HOSP|EHR|CLINIC|2026||ORU^R01^ORU_R01|42|P|2.5\r", NULL,
          "MSH|^~\\&|EHR|CLINIC|LAB|HOSP|20261118080000+0000||ACK^R01^ACK|OURS|P|2.5\r"
          "MSA|AA|42\r",
          HL7_ACCEPT },
        { "an error says why", "MSH|^~\\&|L|H|E|C|2026||ORU^R01|42|P|2.3.1\r", "Send it later.",
          "MSH|^~\\&|E|C|L|H|20261118080000+0000||ACK^R01|OURS|P|2.3.1\r"
          "MSA|AE|42|Send it later.\r",
          HL7_ERROR },
        { "other separators and a character set",
          "MSH#*~\\&#L#H#E#C#2026##ADT*A01#m*7#T#2.4####AL##UNICODE UTF-8\r", "a#b*c",
          "MSH#*~\\&#E#C#L#H#20261118080000+0000##ACK*A01*ACK#OURS#T#2.4######UNICODE UTF-8\r"
          "MSA#AR#m*7#a b c\r",
          HL7_REJECT },
        { "an old version", "MSH|^~\\&|L||E||2026||ADT^A01|1|P|2.2\r", NULL,
          "MSH|^~\\&|E||L||20261118080000+0000||ACK|OURS|P|2.2\rMSA|AA|1\r", HL7_ACCEPT },
        { "control characters are not copied",
          "MSH|^~\\&|L\x02X|H\x1b|E|C|2026||ADT^A\x01"
          "01|4\x7f"
          "2|P|2.5\r",
          NULL, "MSH|^~\\&|E|C|LX|H|20261118080000+0000||ACK^A01^ACK|OURS|P|2.5\rMSA|AA|42\r",
          HL7_ACCEPT },
        { "bytes of the character set are",
          "MSH|^~\\&|L\xe4"
          "b|H|E|C|2026||ADT^A01|\xfc|P|2.5\r",
          NULL,
          "MSH|^~\\&|E|C|L\xe4"
          "b|H|20261118080000+0000||ACK^A01^ACK|OURS|P|2.5\rMSA|AA|\xfc\r",
          HL7_ACCEPT },
        { "no MSH", "PID|1\r", "A message begins with MSH.",
          "MSH|^~\\&|||||20261118080000+0000||ACK|OURS|P|2.5\r"
          "MSA|AR||A message begins with MSH.\r",
          HL7_REJECT },
        { "little of one", "MSH|^~\\&\r", NULL,
          "MSH|^~\\&|||||20261118080000+0000||ACK|OURS|P|2.5\rMSA|AA|\r", HL7_ACCEPT },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf got = BUF_INIT(HL7_ACK_MOST);

        (void)ack_of(cases[i].first, cases[i].verdict, cases[i].message, &got);
        if (strcmp(got.ptr, cases[i].want) != 0)
            printf("# %s: %s\n", cases[i].what, got.ptr);
        CHECK(strcmp(got.ptr, cases[i].want) == 0);
    }
}

/* MSH-15 and MSH-16: which acknowledgements the sender wants; "-": none. */
TEST(the_sender_says_which_acknowledgements_it_wants)
{
    static const struct {
        const char *accept, *application, *stored, *error, *rejected;
    } cases[] = {
        { "", "", "AA", "AE", "AR" },     { "AL", "", "CA", "CE", "CR" },
        { "AL", "AL", "CA", "CE", "CR" }, { "AL", "NE", "CA", "CE", "CR" },
        { "ER", "", "-", "CE", "CR" },    { "SU", "", "CA", "-", "-" },
        { "NE", "", "-", "-", "-" },      { "NE", "NE", "-", "-", "-" },
        { "NE", "AL", "AA", "AE", "AR" }, { "NE", "ER", "-", "AE", "AR" },
        { "", "AL", "AA", "AE", "AR" },   { "", "NE", "-", "-", "-" },
        { "", "SU", "AA", "-", "-" },     { "??", "", "CA", "CE", "CR" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *want[] = { cases[i].stored, cases[i].error, cases[i].rejected };
        AUTO(hl7_head_done) struct hl7_head h = HL7_HEAD_INIT;
        AUTO(buf_done) struct buf text = BUF_INIT(1000);
        struct edi_segment msh;
        const char *why;

        buf_printf(&text, "MSH|^~\\&|L|H|E|C|2026||ADT^A01|1|P|2.5|||%s|%s\r", cases[i].accept,
                   cases[i].application);
        hl7_head_add(&h, buf_view(&text));
        CHECK(hl7_head_msh(&h, &msh, &why));
        for (enum hl7_verdict v = HL7_ACCEPT; v <= HL7_REJECT; v++) {
            const char *got = hl7_ack_code(&msh, v);

            if (strcmp(got != NULL ? got : "-", want[v]) != 0)
                printf("# %s %s: %s\n", cases[i].accept, cases[i].application, got);
            CHECK(strcmp(got != NULL ? got : "-", want[v]) == 0);
        }
    }
    CHECK(strcmp(hl7_ack_code(NULL, HL7_REJECT), "AR") == 0);
}

/* The largest header that is kept fits into the largest acknowledgement. */
TEST(an_acknowledgement_has_a_limit)
{
    AUTO(hl7_head_done) struct hl7_head h = HL7_HEAD_INIT;
    AUTO(buf_done) struct buf to = BUF_INIT(HL7_ACK_MOST);
    struct edi_segment msh;
    const char *why;

    hl7_head_add(&h, STR("MSH|^~\\&|L|H|E|C|2026||ADT^A01|"));
    for (int i = 0; i < HL7_HEAD_MOST; i++)
        hl7_head_add(&h, STR("x"));
    CHECK(hl7_head_msh(&h, &msh, &why));
    hl7_ack_put(&to, &msh,
                &(struct hl7_ack){ .code = "AA", .control = STR("OURS"), .at_us = AT_US });
    CHECK(to.len > HL7_HEAD_MOST && to.len < HL7_ACK_MOST);
}

int main(void)
{
    return test_main();
}
