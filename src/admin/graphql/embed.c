#include "admin/graphql/embed.h"

/* The build defines EMBED_DIR (src/admin) and lists the embedded files as dependencies of this
 * file. */
#define EMBED(name, file)                                                         \
    extern const char embed_##name##_bytes[];                                     \
    extern const uint64_t embed_##name##_size;                                    \
    __asm__(".pushsection .rodata\n"                                              \
            ".global embed_" #name "_bytes\n.hidden embed_" #name "_bytes\n"      \
            ".global embed_" #name "_size\n.hidden embed_" #name "_size\n"        \
            "embed_" #name "_bytes:\n.incbin \"" EMBED_DIR "/" file "\"\n"        \
            "1: .byte 0\n"                                                        \
            ".balign 8\nembed_" #name "_size: .quad 1b - embed_" #name "_bytes\n" \
            ".popsection\n");                                                     \
    struct str embed_##name(void)                                                 \
    {                                                                             \
        return str_mem(embed_##name##_bytes, embed_##name##_size);                \
    }

EMBED(schema, "api/schema.graphql")
EMBED(prelude, "graphql/prelude.graphql")
