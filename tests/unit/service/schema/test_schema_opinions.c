/* Generated documents: what python3-jsonschema says of them is what we say. */
#include "service/other_program.h"
#include "service/schema/checking.h"

#include <stdlib.h>

#include "test.h"

enum { DOCUMENTS = 300, OUT_MOST = 64 << 20 };

/* The generator stands beside this file. */
static bool ask(const struct folder *f, const char *seed, struct buf *out)
{
    static const char here[] = __FILE__;
    AUTO(buf_done) struct buf path = BUF_INIT(4096), command = BUF_INIT(8192);

    buf_put(&path, str_mem(here, sizeof here - sizeof "test_schema_opinions.c"));
    buf_puts(&path, "opinions.py");
    char *whole = realpath(path.ptr, NULL);

    if (whole == NULL)
        return false;
    buf_printf(&command, "/usr/bin/python3 '%s' %s %d", whole, seed, DOCUMENTS);
    free(whole);
    return other_program_run(f, command.ptr, out) == 0;
}

static bool agrees(struct str schema, struct str document, struct str opinion)
{
    AUTO(checker_done) struct checker c = { .arena = ARENA_INIT((size_t)64 << 20) };

    if (!schema_make(schema, &c.arena, &c.schema, &c.err))
        c.schema = NULL;
    const char *said = checker_says(&c, document);
    bool valid = c.schema != NULL && said[0] == '\0';

    if (c.schema != NULL && valid == str_is(opinion, "valid"))
        return true;
    printf("# %.*s\n# %.*s\n# jsonschema: %.*s; here: %s\n", STR_ARG(schema), STR_ARG(document),
           STR_ARG(opinion), valid ? "valid" : said);
    return false;
}

TEST(generated_documents_are_judged_as_by_jsonschema)
{
    AUTO(folder_done) struct folder f = folder_make();
    AUTO(buf_done) struct buf out = BUF_INIT(OUT_MOST);
    const char *seed = getenv("SEED");
    int count = 0, valid = 0, wrong = 0;

    CHECK(ask(&f, seed != NULL ? seed : "20261117", &out));
    for (struct str rest = buf_view(&out), schema, document, opinion; rest.len > 0; count++) {
        rest = str_cut(rest, '\n', &schema);
        rest = str_cut(rest, '\n', &document);
        rest = str_cut(rest, '\n', &opinion);
        valid += str_is(opinion, "valid");
        wrong += !agrees(schema, document, opinion);
    }
    printf("# %d documents, %d of them valid, %d judged otherwise\n", count, valid, wrong);
    CHECK(count == DOCUMENTS && valid > DOCUMENTS / 5 && valid < DOCUMENTS * 4 / 5 && wrong == 0);
}

int main(void)
{
    return test_main();
}
