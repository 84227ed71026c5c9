/* The first byte chooses the size of the pieces, the rest is a packed document: nothing breaks, and
 * what comes out is within its limits and packs and unpacks again to the same. */
#include <stdint.h>

#include "core/format/unpack.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const formats[] = { "compress: gzip", "compress: zstd", "compress: deflate",
                                       "compress: zip" };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void *unpacks, *packs[4];
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)64 << 20);
    AUTO(service_memory_done) struct service_memory m = { 0 }, packed = { 0 }, again = { 0 };
    struct service_failure failure;

    if (size == 0 || size > 1 << 16)
        return 0;
    size_t piece = bytes[0] % 64 + 1, format = bytes[0] / 64;

    if (unpacks == NULL)
        unpacks = pieces_make(&service_decompress, "decompress: { most: 4 MiB }");
    if (packs[format] == NULL)
        packs[format] = pieces_make(&service_compress, formats[format]);
    if (!pieces_agree(&service_decompress, unpacks, str_mem(bytes + 1, size - 1), piece, &m, &a))
        return 0;
    require(m.out.len <= 4 << 20 && (m.out.len <= PACKED_FREE || m.out.len <= PACKED_RATIO * size));
    if (m.out.len > PACKED_FREE)
        return 0;
    bool ok =
        pieces_run(&service_compress, packs[format], buf_view(&m.out), piece, &packed, &a,
                   &failure) &&
        pieces_run(&service_decompress, unpacks, buf_view(&packed.out), 0, &again, &a, &failure);

    require(ok && str_eq(buf_view(&again.out), buf_view(&m.out)));
    return 0;
}
