/* A JSON Schema, a line feed, a document: whatever they are, the schema is refused with its place
 * or the document is judged within its budget, and twice in the same way.
 *
 * A document that is valid by a schema is not valid by its opposite. */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "service/schema/schema_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { WORK_MOST = 100 * 1000, ROOM = 1 << 20 };

struct judged {
    bool is_made, is_valid;
    struct service_failure failure;
};

static struct judged judge(struct str schema, struct str document)
{
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)256 << 20);
    struct schema *s = NULL;
    struct judged j = { 0 };
    struct err err = { 0 };

    j.is_made = schema_make(schema, &a, &s, &err);
    require(j.is_made || (err.kind == ERR_CONFIG && err.text[0] != '\0'));
    if (j.is_made)
        j.is_valid = schema_check(s, document, WORK_MOST, &j.failure);
    require(!j.is_made || j.is_valid || j.failure.message[0] != '\0');
    schema_free(s);
    return j;
}

/* A reference within the schema leads elsewhere when it is wrapped: only schemas without one. */
static bool has_no_reference(struct str schema)
{
    return memmem(schema.ptr, schema.len, "\"$", 2) == NULL &&
           memmem(schema.ptr, schema.len, "\"\\", 2) == NULL;
}

static void check_opposite(struct str schema, struct str document, const struct judged *j)
{
    AUTO(buf_done) struct buf text = BUF_INIT(ROOM);

    buf_puts(&text, "{\"not\":");
    buf_put(&text, schema);
    buf_puts(&text, "}");
    struct judged other = judge(buf_view(&text), document);
    bool limited = j->failure.code == DEAD_BUDGET || j->failure.code == DEAD_LIMIT ||
                   other.failure.code == DEAD_BUDGET || other.failure.code == DEAD_LIMIT;

    require(!other.is_made || limited || !(j->is_valid && other.is_valid));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct str schema, document = str_cut(str_mem(bytes, size), '\n', &schema);

    if (size > ROOM / 2)
        return 0;
    struct judged first = judge(schema, document), second = judge(schema, document);

    require(first.is_made == second.is_made && first.is_valid == second.is_valid);
    require(first.failure.code == DEAD_BUDGET ||
            strcmp(first.failure.message, second.failure.message) == 0);
    if (first.is_made && has_no_reference(schema))
        check_opposite(schema, document, &first);
    return 0;
}
