/* The first byte chooses the sets and the size of the pieces, the rest is the text: nothing breaks,
 * pieces of any size give the same, and UTF-8 that comes out is UTF-8. */
#include <stdint.h>

#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const sets[] = {
    "charset: UTF-8",
    "charset: { from: UTF-8, bad: replace }",
    "charset: { from: UTF-16, bad: replace }",
    "charset: ISO-2022-JP",
    "charset: { from: ISO-2022-JP, bad: replace }",
    "charset: { from: UTF-8, to: ISO-8859-1 }",
    "charset: { from: UTF-8, to: ISO-8859-1, bad: replace }",
    "charset: { from: UTF-16LE, to: ISO-2022-JP, bad: replace }",
};

enum { SETS = sizeof sets / sizeof sets[0], INTO_UTF8 = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void *selves[SETS];
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)64 << 20);
    AUTO(service_memory_done) struct service_memory m = { 0 };

    if (size == 0 || size > 1 << 16)
        return 0;
    size_t set = bytes[0] % SETS, piece = (size_t)bytes[0] / SETS + 1;

    if (selves[set] == NULL)
        selves[set] = pieces_make(&service_charset, sets[set]);
    if (pieces_agree(&service_charset, selves[set], str_mem(bytes + 1, size - 1), piece, &m, &a))
        require(set >= INTO_UTF8 || str_is_utf8(buf_view(&m.out)));
    return 0;
}
