#include "app/dry_print.h"

#include <stdio.h>

#include "app/client.h"
#include "app/document_print.h"
#include "app/print.h"

static void dry_print_field_line(const char *name, const char *value)
{
    if (value == NULL)
        return;
    (void)printf("%-13s ", name);
    print_text(stdout, value);
    (void)fputc('\n', stdout);
}

static void print_pairs(const char *title, const json_t *list, const char *first,
                        const char *between, const char *second)
{
    const json_t *pair;
    size_t i;

    json_array_foreach(list, i, pair)
    {
        (void)printf("%-13s ", title);
        print_text(stdout, member_text(pair, first));
        (void)fputs(between, stdout);
        print_text(stdout, member_text(pair, second));
        (void)fputc('\n', stdout);
    }
}

void dry_print(const json_t *found)
{
    static const char *const fields[] = { "sender", "receiver", "type", NULL };
    const json_t *error = json_object_get(found, "error"), *step;
    const char *code = member_text(error, "code");
    char text[PRINT_SHORT];
    size_t i;

    (void)snprintf(text, sizeof text, "version %lld", (long long)member_number(found, "config"));
    dry_print_field_line("config", text);
    for (const char *const *f = fields; *f != NULL; f++)
        dry_print_field_line(*f, member_text(found, *f));
    print_pairs("attribute", json_object_get(found, "attributes"), "name", "=", "value");
    dry_print_field_line("route", member_text(found, "route"));
    json_array_foreach(json_object_get(found, "steps"), i, step)
        dry_print_field_line("step", json_string_value(step));
    print_pairs("delivery", json_object_get(found, "deliveries"), "endpoint", " of ", "system");
    if (code == NULL)
        return;
    dry_print_field_line("dead letter", code);
    dry_print_field_line("", member_text(error, "message"));
    dry_print_field_line("remedy", document_remedy(code));
}
