#include "app/ask.h"

#include <stdio.h>

#include "app/exit_code.h"
#include "app/print.h"
#include "app/when.h"
#include "base/auto.h"

bool ask_node(struct client *c, const struct args *a, const char *query, json_t *variables,
              json_t **ret_data)
{
    if (variables == NULL) {
        c->exit_code = args_wrong(a, "names, ids, titles and reasons are text in UTF-8");
        return false;
    }
    if (!client_open(c, a)) {
        json_decref(variables);
        return false;
    }
    return client_graphql(c, query, variables, ret_data);
}

bool ask_named(struct client *c, const struct args *a, const char *query, const char *variable,
               json_t **ret_data)
{
    if (!args_name(a, 0)) {
        c->exit_code = EXIT_USAGE;
        return false;
    }
    return ask_node(c, a, query, json_pack("{s:s}", variable, a->operand[0]), ret_data);
}

json_t *ask_texts(const struct args *a, const char *option)
{
    json_t *list = json_array();
    const char *text;

    for (size_t i = 0; (text = args_list_at(a, option, i)) != NULL; i++)
        if (json_array_append_new(list, json_string(text)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

bool ask_time_ahead(const struct args *a, const char *option, char text[static CLOCK_TEXT],
                    const char **ret)
{
    const char *given = args_text(a, option);
    struct err err = { 0 };
    int64_t us;

    *ret = NULL;
    if (given == NULL)
        return true;
    if (!when_parse_ahead(str_of(given), clock_wall_us(), &us, &err)) {
        (void)args_wrong(a, "--%s: %s", option, err.text);
        return false;
    }
    *ret = clock_utc_text(us, text);
    return true;
}

int ask_remove(const struct args *a, const struct ask_removal *removal)
{
    AUTO(client_close) struct client c = { 0 };
    const char *which = a->operand[0];
    json_auto_t *data = NULL;

    if (!ask_named(&c, a, removal->mutation, removal->variable, &data))
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
