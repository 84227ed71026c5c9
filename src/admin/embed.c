#include "admin/embed.h"

/* EMBED_DIR, this folder, comes from the build, which also knows that this file
 * depends on what it embeds. */
#define EMBED(name, file)                                                                          \
    extern const char embed_##name##_start[], embed_##name##_end[];                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global embed_" #name "_start\n.hidden embed_" #name "_start\n"                       \
            ".global embed_" #name "_end\n.hidden embed_" #name "_end\n"                           \
            "embed_" #name "_start:\n.incbin \"" EMBED_DIR "/" file "\"\n"                         \
            "embed_" #name "_end:\n.byte 0\n.popsection\n");                                       \
    struct str embed_##name(void)                                                                  \
    {                                                                                              \
        return str_mem(embed_##name##_start, (size_t)(embed_##name##_end - embed_##name##_start)); \
    }

EMBED(schema, "schema.graphql")
EMBED(prelude, "graphql_prelude.graphql")
