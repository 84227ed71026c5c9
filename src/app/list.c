#include "app/list.h"

#include <stdio.h>

#include "app/ask.h"
#include "app/exit_code.h"
#include "base/auto.h"
#include "base/require.h"

enum { CELL_MOST = 16 << 10 };

static void put_texts(const json_t *texts, struct buf *to)
{
    const json_t *one;
    size_t i;

    json_array_foreach(texts, i, one)
    {
        const char *text = json_string_value(one);

        if (text == NULL || to->len + strlen(text) + 1 > to->cap)
            break;
        buf_printf(to, "%s%s", to->len > 0 ? " " : "", text);
    }
}

static const char *member_cell(const json_t *row, const struct list_column *c, struct buf *room)
{
    const json_t *value = json_object_get(row, c->member);
    const char *text = json_string_value(value);
    char made[PRINT_SHORT];

    if (json_is_array(value))
        put_texts(value, room);
    else if (c->kind == LIST_NUMBER)
        buf_put_int(room, member_number(row, c->member));
    else if (c->kind == LIST_SIZE)
        buf_puts(room, print_size(member_number(row, c->member), made));
    else if (c->kind == LIST_TIME && text != NULL)
        buf_puts(room, print_time(text, made));
    else
        return text;
    return room->ptr;
}

static void add_cell(struct print_table *t, const struct list_column *c, const json_t *row)
{
    AUTO(buf_done) struct buf room = BUF_INIT(CELL_MOST);
    const char *text = c->cell != NULL ? c->cell(row, &room) : member_cell(row, c, &room);

    print_table_cell(t, text != NULL ? text : c->otherwise);
}

void list_begin(struct list_out *o, const struct args *a, const struct list *l)
{
    *o = (struct list_out){ .args = a, .list = l };
    int state = -1;

    for (size_t i = 0; l->columns[i].head != NULL; i++) {
        require(i < PRINT_COLUMNS);
        o->heads[i] = l->columns[i].head;
        if (l->columns[i].is_state)
            state = (int)i;
    }
    print_table_init(&o->table, o->heads);
    o->table.colour_column = state;
}

void list_done(struct list_out *o)
{
    print_table_done(&o->table);
}

int64_t list_rows(struct list_out *o, const json_t *rows, int64_t most)
{
    bool as_json = args_flag(o->args, "json");
    int64_t shown = 0;
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (shown == most)
            break;
        shown++;
        if (as_json)
            print_json(row);
        for (const struct list_column *c = o->list->columns; !as_json && c->head != NULL; c++)
            add_cell(&o->table, c, row);
    }
    if (!as_json)
        print_table_page(&o->table);
    return shown;
}

int list_answer(const struct args *a, struct client *c, const struct list *l, const json_t *rows)
{
    AUTO(list_done) struct list_out o;

    list_begin(&o, a, l);
    if (!json_is_array(rows))
        return client_odd(c, "no list");
    (void)list_rows(&o, rows, INT64_MAX);
    return EXIT_DONE;
}

int list_whole(const struct args *a, const struct list *l, json_t *variables)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!ask_node(&c, a, l->query, variables, &data))
        return c.exit_code;
    return list_answer(a, &c, l, json_object_get(data, l->field));
}

bool list_next(struct client *c, const json_t *page, const char *items, json_t **io_after)
{
    json_t *next = json_object_get(page, "next");

    if (!json_is_array(json_object_get(page, items)))
        return client_odd(c, "no list") == EXIT_DONE;
    if (json_is_string(next) && *io_after != NULL && json_equal(next, *io_after))
        return client_odd(c, "the next page is the same page") == EXIT_DONE;
    json_decref(*io_after);
    *io_after = json_is_string(next) ? json_incref(next) : NULL;
    return true;
}

int list_pages(const struct args *a, struct client *c, const struct list *l, json_t *variables)
{
    const char *items = l->items != NULL ? l->items : "items";
    int64_t limit = l->limit > 0 ? args_number(a, "limit", l->limit) : INT64_MAX, shown = 0;
    AUTO(list_done) struct list_out o;
    json_auto_t *after = NULL, *asked = variables;

    list_begin(&o, a, l);
    do {
        int64_t left = limit - shown, first = l->page > 0 && left > l->page ? l->page : left;
        json_auto_t *data = NULL;

        if (l->page > 0)
            (void)json_object_set_new(asked, "first", json_integer(first));
        (void)json_object_set(asked, "after", after != NULL ? after : json_null());
        if (!client_graphql(c, l->query, json_incref(asked), &data) ||
            !list_next(c, json_object_get(data, l->field), items, &after))
            return c->exit_code;
        shown += list_rows(&o, json_object_get(json_object_get(data, l->field), items), first);
    } while (after != NULL && shown < limit);
    if (after != NULL && !args_flag(a, "json")) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "the %s %lld; there are more (--limit N)\n", l->which,
                      (long long)shown);
    }
    return EXIT_DONE;
}
