/* cmd_user.c - `waybill user`: users, the people who log in. */
#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

static int print_link(const struct args *a, struct client *c, const json_t *made)
{
    const char *link = member_text(made, "link"), *expires = member_text(made, "expires");
    char time[PRINT_SHORT];

    if (link == NULL || expires == NULL)
        return client_odd(c, "no link in it");
    if (args_flag(a, "json")) {
        print_json(made);
        return EXIT_DONE;
    }
    (void)fputs(c->url, stdout);
    print_text(stdout, link);
    (void)fputc('\n', stdout);
    (void)fflush(stdout);
    (void)fprintf(stderr,
                  "Shown once.  Whoever opens it chooses the password of this user; it works once, "
                  "until %s.\n",
                  print_time(expires, time));
    return EXIT_DONE;
}

static int cmd_user_run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (args_list_at(a, "role", 0) == NULL)
        return args_wrong(a, "say what the user may do: --role admin, operator, viewer or auditor");
    if (!ask_node(&c, a,
                  "mutation($name: String!, $title: String, $roles: [String!]!)"
                  " { userAdd(name: $name, title: $title, roles: $roles) { user link expires } }",
                  json_pack("{s:s,s:s?,s:o}", "name", a->operand[0], "title", args_text(a, "title"),
                            "roles", ask_texts(a, "role")),
                  &data))
        return c.exit_code;
    return print_link(a, &c, json_object_get(data, "userAdd"));
}

static int ask_link(const struct args *a, bool lock_out)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!ask_node(&c, a,
                  "mutation($name: String!, $lockOut: Boolean)"
                  " { userLink(name: $name, lockOut: $lockOut) { user link expires } }",
                  json_pack("{s:s,s:b}", "name", a->operand[0], "lockOut", lock_out), &data))
        return c.exit_code;
    return print_link(a, &c, json_object_get(data, "userLink"));
}

static int run_link(const struct args *a)
{
    return ask_link(a, false);
}

static int run_rotate(const struct args *a)
{
    return ask_link(a, true);
}

/* NULL: a value is not UTF-8. */
static json_t *changes_of(const struct args *a)
{
    bool off = args_flag(a, "disable"), on = args_flag(a, "enable");
    json_t *variables =
        json_pack("{s:s,s:s*}", "name", a->operand[0], "title", args_text(a, "title"));

    if (variables != NULL && args_list_at(a, "role", 0) != NULL &&
        json_object_set_new(variables, "roles", ask_texts(a, "role")) < 0) {
        json_decref(variables);
        return NULL;
    }
    if (variables != NULL && (off || on))
        (void)json_object_set_new(variables, "disabled", json_boolean(off));
    return variables;
}

static int run_change(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (args_flag(a, "disable") && args_flag(a, "enable"))
        return args_wrong(a, "--disable or --enable, not both");
    if (!ask_node(&c, a,
                  "mutation($name: String!, $title: String, $roles: [String!], $disabled: "
                  "Boolean) { userChange(name: $name, title: $title, roles: $roles, "
                  "disabled: $disabled) { name title roles disabled } }",
                  changes_of(a), &data))
        return c.exit_code;
    if (args_flag(a, "json"))
        print_json(json_object_get(data, "userChange"));
    return EXIT_DONE;
}

static const char *roles_cell(const json_t *user, struct buf *room)
{
    const json_t *role;
    size_t i;

    json_array_foreach(json_object_get(user, "roles"), i, role)
    {
        const char *name = json_string_value(role);

        buf_printf(room, "%s%.60s", i > 0 ? "," : "", name != NULL ? name : "?");
    }
    return room->ptr;
}

static const char *state_cell(const json_t *user, struct buf *room)
{
    (void)room;
    return member_true(user, "disabled")         ? "disabled"
           : member_text(user, "issuer") != NULL ? "provider"
           : member_true(user, "password")       ? "password"
                                                 : "invited";
}

static int cmd_user_run_ls(const struct args *a)
{
    static const struct list_column columns[] = {
        { "NAME", "name" },
        { "ROLES", .cell = roles_cell },
        { "STATE", .cell = state_cell },
        { "LAST LOGIN", "lastLogin", LIST_TIME, .otherwise = "never" },
        { "TITLE", "title" },
        { 0 },
    };
    static const struct list list = {
        .query = "{ users { name title roles disabled password issuer made lastLogin } }",
        .field = "users",
        .columns = columns
    };

    return list_whole(a, &list, json_object());
}

static int cmd_user_run_rm(const struct args *a)
{
    static const struct ask_removal removal = {
        .mutation = "mutation($name: String!) { userRemove(name: $name) }",
        .field = "userRemove",
        .noun = "user",
        .variable = "name"
    };

    return ask_remove(a, &removal);
}

static const struct arg_option add_options[] = {
    { .name = "role",
      .kind = ARG_LIST,
      .value = "R",
      .help = "admin, operator, viewer, auditor, or your own" },
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "who it is, for people" },
    { 0 },
};

static const struct arg_option change_options[] = {
    { .name = "role",
      .kind = ARG_LIST,
      .value = "R",
      .help = "these roles in place of those before" },
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "who it is, for people" },
    { .name = "disable", .kind = ARG_FLAG, .help = "log out now, and let in no more" },
    { .name = "enable", .kind = ARG_FLAG, .help = "let in again" },
    { 0 },
};

const struct verb cmd_user = {
    .name = "user",
    .summary = "people who log in",
    .about = "Nobody is given a password: `user add` prints a link, and whoever opens it chooses\n"
             "one.  The link works once, for three days.  Users of a provider (auth: oidc) come\n"
             "by themselves when they log in first.\n",
    .example = "waybill user add alice --role operator --title \"Alice, logistics\"\n"
               "waybill user change alice --role operator --role auditor\n",
    .forms =
        (const struct arg_form[]){
            { .word = "add",
              .usage = "NAME --role R [--title T]",
              .summary = "make a user and print a link to choose a password",
              .least = 1,
              .most = 1,
              .options = add_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_user_run_add },
            { .word = "ls",
              .summary = "all users",
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_user_run_ls },
            { .word = "change",
              .usage = "NAME [--role R] [--title T] [--disable|--enable]",
              .summary = "change what is given",
              .least = 1,
              .most = 1,
              .options = change_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_change },
            { .word = "link",
              .usage = "NAME",
              .summary = "print another link to choose a password; the one in use stays until then",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = run_link },
            { .word = "rotate",
              .usage = "NAME",
              .summary = "end the password and all sessions now, and print a link for a new one",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = run_rotate },
            { .word = "rm",
              .usage = "NAME",
              .summary = "end a user: logged out at once",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_user_run_rm },
            { 0 } },
};
