#include "app/family_print.h"

#include <stdio.h>

#include "app/client.h"
#include "app/print.h"
#include "base/auto.h"

const char *family_part(const json_t *document, char text[static 48])
{
    const json_t *part = json_object_get(document, "part");
    int64_t of = member_number(part, "of");

    if (!json_is_object(part))
        return NULL;
    if (of > 0)
        (void)snprintf(text, 48, "%lld of %lld", (long long)member_number(part, "number"),
                       (long long)of);
    else
        (void)snprintf(text, 48, "%lld", (long long)member_number(part, "number"));
    return text;
}

static void add_relative(struct print_table *t, const char *is, const json_t *relative)
{
    char part[48];

    print_table_cell(t, is);
    print_table_cell(t, member_text(relative, "id"));
    print_table_cell(t, member_text(relative, "receiver"));
    print_table_cell(t, member_text(relative, "type"));
    print_table_cell(t, member_text(relative, "state"));
    print_table_cell(t, family_part(relative, part));
}

/* *io_more: there are others that the answer does not list. */
static size_t add_list(struct print_table *t, const char *is, const json_t *page, bool *io_more)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(page, "items"), i, one) add_relative(t, is, one);
    *io_more |= json_is_string(json_object_get(page, "next"));
    return json_array_size(json_object_get(page, "items"));
}

static size_t add_ancestors(struct print_table *t, const json_t *document)
{
    static const struct {
        const char *field, *is;
    } of[] = { { "parent", "part of" }, { "copyOf", "copy of" }, { "answerOf", "answer to" } };
    size_t n = 0;

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const json_t *one = json_object_get(document, of[i].field);

        if (!json_is_object(one))
            continue;
        add_relative(t, of[i].is, one);
        n++;
    }
    return n;
}

void family_print(const json_t *document, bool ancestors)
{
    static const char *const heads[] = { "RELATIVE", "DOCUMENT", "RECEIVER", "TYPE",
                                         "STATE",    "PART",     NULL };
    AUTO(print_table_done) struct print_table t;
    bool more = false;

    print_table_init(&t, heads);
    t.colour_column = 4;
    size_t n = ancestors ? add_ancestors(&t, document) : 0;

    n += add_list(&t, "part", json_object_get(document, "made"), &more);
    n += add_list(&t, "copy", json_object_get(document, "copies"), &more);
    n += add_list(&t, "answer", json_object_get(document, "answers"), &more);
    if (n == 0)
        return;
    (void)fputc('\n', stdout);
    print_table_page(&t);
    if (more)
        (void)printf("... and more: waybill docs ls --parent %s\n", member_text(document, "id"));
}
