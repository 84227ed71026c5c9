/* Whatever the body: nothing breaks, and merged paths answer as each alone. */
#include <stdint.h>

#include "core/xml_path.h"
#include "extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const paths[] = {
    "xml:/a",     "xml:/a/b",           "xml:/a/b/@c",         "xml://b",           "xml://b//c[2]",
    "xml:/a//@c", "xml:/*/b[2]/text()", "xml:/a/b[@c='1'][2]", "xml:/p:a/*[2][@c]", "xml://a//b//a",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct questions q;
    struct str body = str_mem(bytes, size);
    struct xml_path path;
    struct err err;

    if (q.all == NULL)
        questions_init(&q, paths);
    questions_ask(&q, body);
    if (size < 4096 && xml_path_parse(body, size % 2 == 0, &path, &err))
        require(path.count <= XML_PATH_STEPS);
    return 0;
}
