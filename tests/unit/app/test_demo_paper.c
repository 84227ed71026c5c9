#include "app/demo_paper.h"

#include <expat.h>
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "core/mllp/hl7_head.h"
#include "test.h"

enum { DAY_US = 0, PAPERS = 600 };

static bool is_xml(struct str text)
{
    XML_Parser p = XML_ParserCreate(NULL);
    bool ok = XML_Parse(p, text.ptr, (int)text.len, 1) == XML_STATUS_OK;

    XML_ParserFree(p);
    return ok;
}

static bool is_json(struct str text)
{
    json_t *value = json_loadb(text.ptr, text.len, 0, NULL);
    bool ok = json_is_object(value);

    json_decref(value);
    return ok;
}

/* To the reader of the gateway: one message, with the key by which it is known again. */
static bool is_hl7(struct str text)
{
    struct hl7_head head = HL7_HEAD_INIT;
    struct edi_segment msh;
    const char *why = NULL;

    hl7_head_add(&head, text);
    bool ok = hl7_head_msh(&head, &msh, &why) && head.messages == 1 &&
              str_is(hl7_field(&msh, 7), "19700101000000") && hl7_field(&msh, 10).len > 0;

    hl7_head_done(&head);
    return ok;
}

TEST(demo_paper_is_well_formed)
{
    for (uint64_t n = 0; n < PAPERS; n++) {
        struct buf text = BUF_INIT(DEMO_PAPER_CAP);

        demo_paper_write(n, DAY_US, &text);
        if (demo_paper_kind(n) == DEMO_ORDER)
            CHECK(is_xml(buf_view(&text)));
        else if (demo_paper_kind(n) == DEMO_INVOICE)
            CHECK(is_json(buf_view(&text)));
        else if (demo_paper_kind(n) == DEMO_VISIT)
            CHECK(is_hl7(buf_view(&text)));
        else
            CHECK(strstr(text.ptr, "1970-01-01;B-1001;") != NULL);
        buf_done(&text);
    }
}

TEST(demo_paper_is_the_same_again)
{
    struct buf once = BUF_INIT(DEMO_PAPER_CAP), again = BUF_INIT(DEMO_PAPER_CAP);

    demo_paper_write(17, DAY_US, &once);
    demo_paper_write(17, DAY_US, &again);
    CHECK(str_eq(buf_view(&once), buf_view(&again)));
    demo_paper_write(18, DAY_US, &again);
    CHECK(!str_eq(buf_view(&once), buf_view(&again)));
    buf_done(&once);
    buf_done(&again);
}

/* The gateway would take a visit with a known MSH-10 and the same bytes for the one of before. */
TEST(demo_paper_of_another_run_is_another_visit)
{
    struct buf once = BUF_INIT(DEMO_PAPER_CAP), again = BUF_INIT(DEMO_PAPER_CAP);

    CHECK(demo_paper_kind(6) == DEMO_VISIT);
    demo_paper_write(6, DAY_US, &once);
    demo_paper_write(6, DAY_US + CLOCK_S, &again);
    CHECK(!str_eq(buf_view(&once), buf_view(&again)));
    buf_done(&once);
    buf_done(&again);
}

TEST(demo_paper_has_strange_ones)
{
    int unknown = 0, lost = 0, orders = 0, invoices = 0;

    for (uint64_t n = 0; n < PAPERS; n++) {
        struct buf text = BUF_INIT(DEMO_PAPER_CAP);

        demo_paper_write(n, DAY_US, &text);
        orders += demo_paper_kind(n) == DEMO_ORDER;
        invoices += demo_paper_kind(n) == DEMO_INVOICE;
        unknown += strstr(text.ptr, "9900000000000") != NULL;
        lost += demo_paper_kind(n) == DEMO_INVOICE && strstr(text.ptr, "\"to\"") == NULL;
        buf_done(&text);
    }
    CHECK(orders == PAPERS * 4 / 10 && invoices == PAPERS * 3 / 10);
    CHECK(unknown > 0 && unknown < orders / 5);
    CHECK(lost > 0 && lost < invoices / 5);
}

int main(void)
{
    return test_main();
}
