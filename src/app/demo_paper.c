#include "app/demo_paper.h"

#include <stdio.h>

#include "base/clock.h"

enum { STRANGE_ORDER_EACH = 40, STRANGE_INVOICE_EACH = 60, LINES_MOST = 4 };

static const struct article {
    const char *sku, *title;
    unsigned cents;
} articles[] = {
    { "B-1001", "Notebook, ruled, A5", 349 },     { "B-1002", "Notebook, plain, A5", 349 },
    { "P-2040", "Fountain pen, steel", 2490 },    { "P-2041", "Ink, blue, 50 ml", 690 },
    { "D-3100", "Desk lamp, brass", 8900 },       { "C-4005", "Calendar, wall", 1290 },
    { "E-5500", "Envelopes C5, 50 pieces", 420 }, { "S-6001", "Stamp pad, black", 575 },
};

enum { ARTICLES = sizeof articles / sizeof articles[0] };

/* Mixes all bits, so that consecutive numbers give unrelated results (splitmix64). */
static uint64_t mixed(uint64_t number, uint64_t salt)
{
    uint64_t z = number * UINT64_C(0x9e3779b97f4a7c15) + salt;

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static unsigned demo_paper_pick(uint64_t number, uint64_t salt, unsigned least, unsigned most)
{
    return least + (unsigned)(mixed(number, salt) % (most - least + 1));
}

enum demo_paper_kind demo_paper_kind(uint64_t number)
{
    static const enum demo_paper_kind turn[] = {
        DEMO_ORDER, DEMO_INVOICE, DEMO_ORDER,   DEMO_INVOICE, DEMO_STOCK,
        DEMO_ORDER, DEMO_VISIT,   DEMO_INVOICE, DEMO_ORDER,   DEMO_STOCK,
    };

    return turn[number % 10];
}

static void write_order(uint64_t n, const char *day, struct buf *to)
{
    const char *supplier =
        n % STRANGE_ORDER_EACH == STRANGE_ORDER_EACH - 2 ? "9900000000000" : "4012345000009";
    unsigned lines = demo_paper_pick(n, 1, 1, LINES_MOST);

    buf_printf(to,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<Order number=\"%llu\" date=\"%s\">\n"
               "  <Buyer id=\"WS-01\">Paper &amp; Pen, web shop</Buyer>\n"
               "  <Supplier id=\"%s\"/>\n",
               (unsigned long long)(40000 + n), day, supplier);
    for (unsigned i = 0; i < lines; i++) {
        const struct article *a = &articles[mixed(n, 10 + i) % ARTICLES];

        buf_printf(to, "  <Line sku=\"%s\" quantity=\"%u\" price=\"%u.%02u\">%s</Line>\n", a->sku,
                   demo_paper_pick(n, 20 + i, 1, 24), a->cents / 100, a->cents % 100, a->title);
    }
    buf_puts(to, "</Order>\n");
}

static void write_invoice(uint64_t n, const char *day, struct buf *to)
{
    const struct article *a = &articles[mixed(n, 30) % ARTICLES];
    unsigned quantity = demo_paper_pick(n, 31, 1, 40), cents = a->cents * quantity;

    buf_printf(to, "{\"invoice\":\"R-%llu\",\"date\":\"%s\",\"from\":\"webshop\",",
               (unsigned long long)(70000 + n), day);
    if (n % STRANGE_INVOICE_EACH != STRANGE_INVOICE_EACH - 3)
        buf_puts(to, "\"to\":\"finance\",");
    buf_printf(to,
               "\"currency\":\"EUR\",\"lines\":[{\"sku\":\"%s\",\"quantity\":%u,"
               "\"price\":\"%u.%02u\"}],\"total\":\"%u.%02u\"}\n",
               a->sku, quantity, a->cents / 100, a->cents % 100, cents / 100, cents % 100);
}

static void write_stock(uint64_t n, const char *day, struct buf *to)
{
    buf_puts(to, "date;sku;title;on_stock\n");
    for (unsigned i = 0; i < ARTICLES; i++)
        buf_printf(to, "%s;%s;%s;%u\n", day, articles[i].sku, articles[i].title,
                   demo_paper_pick(n, 40 + i, 0, 180));
}

/* MSH-10 is another one in every run: the gateway knows a message by it. */
static void write_visit(uint64_t n, int64_t wall_us, struct buf *to)
{
    static const char *const names[] = { "DOE^JANE", "ROE^RICHARD", "MUSTER^ERIKA", "BLOGGS^JOE" };
    static const char *const why[] = { "Paper cut, left thumb", "Paper cut, right hand",
                                       "Ink in the eye", "Fall from a stool" };
    char text[CLOCK_TEXT], at[16];

    (void)clock_utc_text(wall_us, text); /* "2026-11-15T02:52:10" and more */
    (void)snprintf(at, sizeof at, "%.4s%.2s%.2s%.2s%.2s%.2s", text, text + 5, text + 8, text + 11,
                   text + 14, text + 17);
    buf_printf(to,
               "MSH|^~\\&|FIRSTAID|PAPERPEN|ADT|CLINIC|%s||ADT^A04|%llx-%llu|P|2.5\r"
               "EVN|A04|%s\r"
               "PID|1||P-%u||%s\r"
               "PV1|1|E\r"
               "DG1|1|||%s\r",
               at, (unsigned long long)(wall_us / CLOCK_S), (unsigned long long)n, at,
               demo_paper_pick(n, 50, 1000, 1999), names[mixed(n, 51) % 4], why[mixed(n, 52) % 4]);
}

void demo_paper_write(uint64_t number, int64_t wall_us, struct buf *to)
{
    char day[CLOCK_TEXT];

    (void)clock_utc_text(wall_us, day);
    day[10] = '\0'; /* "2026-11-15" */
    switch (demo_paper_kind(number)) {
    case DEMO_ORDER:
        write_order(number, day, to);
        break;
    case DEMO_INVOICE:
        write_invoice(number, day, to);
        break;
    case DEMO_STOCK:
        write_stock(number, day, to);
        break;
    case DEMO_VISIT:
        write_visit(number, wall_us, to);
        break;
    }
}
