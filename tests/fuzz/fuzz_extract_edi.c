/* Whatever the body: nothing breaks, and paths asked together answer as each alone. */
#include <stdint.h>

#include "extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const paths[] = {
    "hl7:MSH-4",  "hl7:PID-3[2].1", "hl7:OBX[2]-5",  "hl7:PID-5.3.2",      "x12:ISA06",
    "x12:N102-1", "x12:ST01",       "edifact:UNB-2", "edifact:UNH[2]-2.1", NULL
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct questions q;

    if (q.all == NULL)
        questions_init(&q, paths);
    questions_ask(&q, str_mem(bytes, size));
    return 0;
}
