/* bench_split.c - how fast `split` goes through a document in memory, without a store.
 *
 *     bench_split [MiB [BYTES]]        documents of so many MiB with items of about so many bytes
 *
 * Prints `split KIND: .. MB/s a pass, .. parts`, by CPU time, over both passes; the second one
 * gives every part away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/auto.h"
#include "core/connector.h"

static bool swallow_part(struct service_io *io, const struct service_part *head,
                         struct service_failure *ret_failure)
{
    (void)head, (void)ret_failure;
    ((struct service_memory *)io)->part_count++;
    return true;
}

static bool swallow(struct service_io *io, struct str piece, struct service_failure *ret_failure)
{
    (void)io, (void)piece, (void)ret_failure;
    return true;
}

/* An item of `size` bytes or more, from some fields of an order. */
static void put_item(struct buf *to, const char *kind, size_t size, int n)
{
    size_t from = to->len;

    if (strcmp(kind, "json") == 0) {
        buf_printf(to, "%s{\"id\":%d,\"open\":true,\"lines\":[", n > 0 ? ",\n" : "[", n);
        for (int k = 0; to->len - from < size; k++)
            buf_printf(to,
                       "%s{\"sku\":\"A-%d\",\"text\":\"a chair of wood, with "
                       "\\\"arms\\\"\",\"price\":%d.50}",
                       k > 0 ? "," : "", k, k);
        buf_puts(to, "]}");
    } else if (strcmp(kind, "xml") == 0) {
        buf_printf(to, "<order id=\"%d\">", n);
        for (int k = 0; to->len - from < size; k++)
            buf_printf(to,
                       "<line sku=\"A-%d\"><text>a chair of wood, with "
                       "arms</text><price>%d.50</price></line>",
                       k, k);
        buf_puts(to, "</order>\n");
    } else {
        buf_printf(to, "%d", n);
        while (to->len - from < size)
            buf_puts(to, ",a chair of wood,17.50");
        buf_puts(to, "\n");
    }
}

static void measure(const char *kind, const char *yaml, size_t mib, size_t size)
{
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)1 << 30);
    AUTO(buf_done) struct buf in = BUF_INIT((mib + 2) << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings settings = {
        .node = yaml_get(yaml_load(str_of(yaml), &a, &problems), "split"),
        .own = service_split.kind.keys,
        .arena = &a,
    };
    struct service_document d = { 0 };
    struct service_failure failure;
    struct service_memory m;
    struct err err;
    void *self;

    if (strcmp(kind, "xml") == 0)
        buf_puts(&in, "<orders xmlns=\"urn:example\">\n");
    for (int n = 0; in.len < mib << 20; n++)
        put_item(&in, kind, size, n);
    buf_puts(&in, strcmp(kind, "xml") == 0    ? "</orders>\n"
                  : strcmp(kind, "json") == 0 ? "]\n"
                                              : "");
    if (!service_split.make(&settings, &self, &err)) {
        (void)printf("%s: %s\n", kind, err.text);
        exit(1);
    }
    service_memory_init(&m, &d, buf_view(&in), 1, &a);
    m.piece = 64 << 10;
    m.io.part = swallow_part;
    m.io.put = swallow;
    clock_t from = clock();
    bool ok = service_run(&service_split, self, &m.io, &failure);
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;

    (void)printf("split %s: %.0f MB/s a pass, %zu parts%s%s\n", kind,
                 2.0 * (double)in.len / 1e6 / seconds, m.part_count, ok ? "" : ": ",
                 ok ? "" : failure.message);
    service_memory_done(&m);
    problem_list_done(&problems);
}

int main(int argc, char **argv)
{
    size_t mib = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 100;
    size_t size = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 1024;

    measure("json", "split: { json: '', most: 10000000 }", mib, size);
    measure("lines", "split: { lines: 1, most: 10000000 }", mib, size);
    measure("csv", "split: { csv: 1, most: 10000000 }", mib, size);
    measure("xml", "split: { xml: /orders/order, most: 10000000 }", mib, size);
    return 0;
}
