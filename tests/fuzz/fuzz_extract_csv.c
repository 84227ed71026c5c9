/* Whatever the body: nothing breaks, and columns asked together answer as each alone. */
#include <stdint.h>

#include "extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const columns[] = { "csv:a", "csv:b", "csv:a b", "csv:\"a\"", "csv:a,b", NULL };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct questions q;

    if (q.all == NULL)
        questions_init(&q, columns);
    questions_ask(&q, str_mem(bytes, size));
    return 0;
}
