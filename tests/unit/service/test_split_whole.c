/* Archives and what partners send: parts that are documents of their own. */
#include "packed.h"
#include "splitting.h"
#include "test.h"

#define BYTES(array) str_mem((array), sizeof(array))

TEST(split_cuts_archives)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { zip: entries }");

    CHECK(s.self != NULL);
    CHECK(strcmp(split_text(&s, BYTES(zip_two)), "first|second") == 0);
    CHECK(str_is(s.m.parts[0].head.name, "a.txt")); /* of ../../a.txt */
    CHECK(str_is(s.m.parts[1].head.name, "b.txt"));
    CHECK(strcmp(split_text(&s, BYTES(by_zip)), "hello, hello, hello\n") == 0);
    CHECK(str_is(s.m.parts[0].head.name, "-"));
    CHECK(strcmp(split_text(&s, BYTES(zip_wide)), "hello, hello, hello\n") == 0);
    CHECK(strcmp(split_text(&s, BYTES(zip_empty)), "-") == 0);
    CHECK(step_fails(&s, STR(""), DEAD_SERVICE_FAILED,
                     "split: it ends within the archive, at byte 1"));
    CHECK(step_fails(&s, BYTES(by_gzip), DEAD_SERVICE_FAILED, "neither an entry nor a directory"));
}

/* A copy of zip_stored, one file "h.txt", with some bytes changed. */
static struct str changed(struct buf *to, size_t at, const char *bytes, size_t count)
{
    buf_clear(to);
    buf_put(to, BYTES(zip_stored));
    memcpy(to->ptr + at, bytes, count);
    return buf_view(to);
}

TEST(split_refuses_archives_that_lie)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { zip: entries }");
    AUTO(buf_done) struct buf b = BUF_INIT(4096);
    size_t listed = sizeof zip_stored - 22 - 46 - 5; /* of its line in the directory */

    CHECK(s.self != NULL);
    CHECK(step_fails(&s, changed(&b, 30, "x", 1), DEAD_SERVICE_FAILED,
                     "the directory does not name the entries that are there"));
    CHECK(step_fails(&s, changed(&b, 35, "J", 1), DEAD_SERVICE_FAILED,
                     "checksum of an entry is wrong"));
    CHECK(step_fails(&s, changed(&b, listed + 42, "\1", 1), DEAD_SERVICE_FAILED, "does not name"));
    CHECK(step_fails(&s, changed(&b, 6, "\1", 1), DEAD_SERVICE_FAILED, "entry 1 is encrypted"));
    CHECK(step_fails(&s, changed(&b, 8, "\14", 1), DEAD_SERVICE_FAILED, "method 12"));
    CHECK(step_fails(&s, changed(&b, 18, "\xff\xff\xff\xff", 4), DEAD_SERVICE_FAILED,
                     "ends within an entry"));
    /* names */
    CHECK(step_fails(&s, changed(&b, 30, "abc..", 5), DEAD_SERVICE_FAILED, "does not name"));
    CHECK(step_fails(&s, changed(&b, 30, "ab/..", 5), DEAD_SERVICE_FAILED,
                     "entry 1 has no name that a file could have"));
    CHECK(step_fails(&s, changed(&b, 30, "abc\\.", 5), DEAD_SERVICE_FAILED, "no name that a file"));
    buf_clear(&b);
    buf_puts(&b, "x");
    buf_put(&b, BYTES(zip_stored));
    CHECK(step_fails(&s, buf_view(&b), DEAD_SERVICE_FAILED, "neither an entry nor a directory"));
}

TEST(split_stops_an_archive_that_is_a_bomb)
{
    AUTO(step_done) struct step packs = step_of(&service_compress, "compress: zip");
    AUTO(step_done) struct step s = step_of(&service_split, "split: { zip: entries }");
    size_t size = (size_t)50 << 20;
    char *zeros = calloc(1, size);

    CHECK(packs.self != NULL && s.self != NULL && zeros != NULL);
    step_run_pieces(&packs, str_mem(zeros, size), 0);
    free(zeros);
    s.least = 4096;
    CHECK(packs.ok &&
          step_fails(&s, buf_view(&packs.m.out), DEAD_LIMIT, "more than 100 times as many"));
    CHECK(s.m.part_count == 0);
}

#define ISA                                                                 \
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       " \
    "*260101*1200*U*00401*000000"                                           \
    "001*0*P*>~"
#define GS "GS*PO*S*R*20260101*1200*1*X*004010~"
#define ST "ST*850*0001~BEG*00~SE*3*0001~"

TEST(split_cuts_what_partners_send)
{
    static const struct split_case cases[] = {
        { "split: { hl7: message }", "MSH|^~\\&|A\rPID|1\rMSH|^~\\&|B\rPID|2\r",
          "MSH|^~\\&|A\rPID|1\r|MSH|^~\\&|B\rPID|2\r" },
        { "split: { hl7: OBR }", "MSH|^~\\&|A\rPID|1\rOBR|1\rOBX|1\rOBR|2\r",
          "MSH|^~\\&|A\rPID|1\rOBR|1\rOBX|1\r|MSH|^~\\&|A\rPID|1\rOBR|2\r" },
        { "split: { x12: interchange }", ISA GS ST "GE*1*1~IEA*1*000000001~",
          ISA GS ST "GE*1*1~IEA*1*000000001~" },
        { "split: { x12: transaction }", ISA GS ST ST "GE*2*1~IEA*1*000000001~",
          ISA GS ST "GE*1*1~IEA*1*000000001~|" ISA GS ST "GE*1*1~IEA*1*000000001~" },
        { "split: { edifact: message }",
          "UNB+UNOA:1+S+R+260101:1200+1'UNH+1+O:D'BGM+1'UNT+3+1'UNH+2+O:D'UNT+2+2'UNZ+2+1'",
          "UNB+UNOA:1+S+R+260101:1200+1'UNH+1+O:D'BGM+1'UNT+3+1'UNZ+1+1'|"
          "UNB+UNOA:1+S+R+260101:1200+1'UNH+2+O:D'UNT+2+2'UNZ+1+1'" },
        { "split: { hl7: message }", "PID|1\r", "!split: HL7: " },
        { "split: { x12: group }", ISA GS ST, "!split: X12: " },
        { "split: { edifact: message }", "", "!split: EDIFACT: " },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(split_is(&cases[i]));
}

TEST(split_refuses_rules_it_cannot_follow)
{
    static const char *const wrong[] = {
        "split: { xml: /a/@b }", "split: { xml: '/a/text()' }", "split: { hl7: messages }",
        "split: { hl7: MSH }",   "split: { hl7: obr }",         "split: {}",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO(step_done) struct step s = step_of(&service_split, wrong[i]);

        CHECK(s.self == NULL && s.err.kind == ERR_CONFIG);
    }
}

/* Blanks behind a header stand behind the ends of each part, too. */
TEST(split_takes_long_gaps_behind_headers)
{
    AUTO(step_done) struct step s = step_of(&service_split, "split: { x12: transaction }");
    AUTO(buf_done) struct buf in = BUF_INIT(1 << 20);

    buf_puts(&in, ISA GS);
    for (int i = 0; i < 40000; i++)
        buf_putc(&in, ' ');
    buf_puts(&in, ST "GE*1*1~IEA*1*000000001~");
    CHECK(s.self != NULL && step_run(&s, buf_view(&in)) && s.ok && s.m.part_count == 1);
    CHECK(str_starts(service_memory_bytes(&s.m, 0), STR(ISA GS)));
}

int main(void)
{
    return test_main();
}
