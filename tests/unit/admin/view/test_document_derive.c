/* A document as it is shown: what is derived from its deliveries. */
#include "admin/view/document_derive.h"

#include "test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct document_view view_of(enum document_state row, const char *code,
                                    struct delivery_view *deliveries, size_t count)
{
    struct document_view v = { .state = row, .deliveries = deliveries, .delivery_count = count };

    v.doc.is = row;
    v.doc.code = str_of(code);
    return v;
}

/* The row was read before a delivery was refused, its deliveries after it. */
TEST(document_derive_has_the_error_of_the_state_it_shows)
{
    struct delivery_view now[] = {
        { .state = DELIVERY_DELIVERED, .code = STR("unreached") },
        { .state = DELIVERY_RETRYING, .code = STR("busy"), .message = STR("503") },
        { .state = DELIVERY_DEAD, .code = STR("rejected"), .message = STR("422") },
    };
    struct document_view v = view_of(DOCUMENT_ACTIVE, "", now, COUNT(now));

    document_derive_view(&v);
    CHECK(v.state == DOCUMENT_DEAD);
    CHECK(str_is(v.doc.code, "rejected") && str_is(v.doc.message, "422"));

    v = view_of(DOCUMENT_ACTIVE, "", now, 2);
    document_derive_view(&v);
    CHECK(v.state == DOCUMENT_RETRYING && str_is(v.doc.code, "busy"));

    v = view_of(DOCUMENT_RETRYING, "busy", now, 1); /* it arrived meanwhile */
    document_derive_view(&v);
    CHECK(v.state == DOCUMENT_DELIVERED && v.doc.code.len == 0);
}

TEST(document_derive_keeps_the_error_of_a_document_without_deliveries)
{
    struct delivery_view ready = { .state = DELIVERY_READY };
    struct document_view v = view_of(DOCUMENT_ACTIVE, "batch_failed", NULL, 0);

    document_derive_view(&v);
    CHECK(v.state == DOCUMENT_ACTIVE && str_is(v.doc.code, "batch_failed"));

    v = view_of(DOCUMENT_DEAD, "no_route", &ready, 1);
    document_derive_view(&v);
    CHECK(v.state == DOCUMENT_DEAD && str_is(v.doc.code, "no_route"));
}

int main(void)
{
    return test_main();
}
