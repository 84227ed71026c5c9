#include "app/things.h"

#include <jansson.h>
#include <stdio.h>

#include "app/client.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/require.h"

enum { COLUMNS_MOST = 12, CELL_MOST = 4096 };

static void add_list(struct print_table *t, const json_t *texts)
{
    AUTO(buf_done) struct buf cell = BUF_INIT(CELL_MOST);
    struct err err; /* what does not fit is left out */
    const json_t *one;
    size_t i;

    json_array_foreach(texts, i, one)
    {
        const char *text = json_string_value(one);

        if (text == NULL || (cell.len > 0 && !buf_append(&cell, STR(" "), &err)) ||
            !buf_append(&cell, str_of(text), &err))
            break;
    }
    print_table_cell(t, cell.ptr);
}

static void add_row(struct print_table *t, const struct thing_column *columns, const json_t *thing)
{
    char time[PRINT_SHORT];

    for (const struct thing_column *c = columns; c->head != NULL; c++) {
        const json_t *value = json_object_get(thing, c->member);
        const char *text = json_string_value(value);

        if (json_is_array(value))
            add_list(t, value);
        else if (text == NULL && c->otherwise != NULL)
            print_table_cell(t, c->otherwise);
        else
            print_table_cell(t, c->is_time ? print_time(text, time) : text);
    }
}

int things_list(const struct args *a, const struct thing_list *list)
{
    const char *heads[COLUMNS_MOST + 1] = { NULL };
    AUTO(print_table_done) struct print_table t;
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const json_t *thing;
    size_t i;

    for (i = 0; list->columns[i].head != NULL; i++) {
        require(i < COLUMNS_MOST);
        heads[i] = list->columns[i].head;
    }
    print_table_init(&t, heads);
    if (!client_open(&c, a) || !client_graphql(&c, list->query, NULL, &data))
        return c.exit_code;
    if (!json_is_array(json_object_get(data, list->field)))
        return client_odd(&c, "no list");
    json_array_foreach(json_object_get(data, list->field), i, thing)
    {
        if (args_flag(a, "json"))
            print_json(thing);
        else
            add_row(&t, list->columns, thing);
    }
    if (!args_flag(a, "json"))
        print_table_page(&t);
    return EXIT_DONE;
}

int things_remove(const struct args *a, const struct thing_removal *removal)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const char *which = a->operand[0];
    json_t *variables;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    variables = json_pack("{s:s}", removal->variable, which);
    if (variables == NULL)
        return args_wrong(a, "it is text in UTF-8");
    if (!client_graphql(&c, removal->mutation, variables, &data))
        return c.exit_code;
    if (!member_true(data, removal->field))
        return print_fail(EXIT_NO, "there is no %s %s", removal->noun, which);
    if (args_flag(a, "json")) {
        json_auto_t *line = json_pack("{s:s,s:b}", removal->variable, which, "removed", 1);

        print_json(line);
    } else
        (void)printf("%s %s is removed\n", removal->noun, which);
    return EXIT_DONE;
}
