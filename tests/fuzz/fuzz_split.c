/* The first byte chooses the format and the size of the pieces, the rest is the document: nothing
 * breaks, and pieces of any size give the same parts.  What has no header of its own is a slice of
 * the document. */
#include <stdint.h>

#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const rules[] = {
    "split: { json: '' }",         "split: { json: /a/b }",       "split: { json: /a/0 }",
    "split: { lines: 1 }",         "split: { lines: 3 }",         "split: { csv: 1 }",
    "split: { csv: 2 }",           "split: { xml: /a/b }",        "split: { xml: //b }",
    "split: { zip: entries }",     "split: { hl7: message }",     "split: { hl7: OBR }",
    "split: { x12: interchange }", "split: { x12: transaction }", "split: { edifact: group }",
    "split: { edifact: message }",
};

enum { RULES = sizeof rules / sizeof rules[0], SLICES = 5 };

static void check_names(const struct service_memory *m)
{
    for (size_t i = 0; i < m->part_count; i++) {
        struct str name = m->parts[i].head.name;

        require(str_find(name, '/') < 0 && str_find(name, '\\') < 0 && !str_has_control(name));
        require(!str_is(name, "..") && !str_is(name, ".") && str_is_utf8(name));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void *selves[RULES];
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)1 << 30);
    AUTO(service_memory_done) struct service_memory m = { 0 };

    if (size == 0 || size > 1 << 16)
        return 0;
    size_t rule = bytes[0] % RULES, piece = (size_t)bytes[0] / RULES + 1;
    struct str in = str_mem(bytes + 1, size - 1);

    if (selves[rule] == NULL)
        selves[rule] = pieces_make(&service_split, rules[rule]);
    if (!pieces_agree(&service_split, selves[rule], in, piece, &m, &a))
        return 0;
    check_names(&m);
    for (size_t i = 0; rule < SLICES && i < m.part_count; i++) {
        struct str part = service_memory_bytes(&m, i);

        require(part.len > 0 && memmem(in.ptr, in.len, part.ptr, part.len) != NULL);
    }
    return 0;
}
