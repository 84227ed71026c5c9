/* cmd_user.c - `waybill user`: people who log in. */
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/things.h"
#include "base/auto.h"

/* A list of the option --role; NULL: it is no text. */
static json_t *roles_of(const struct args *a)
{
    json_t *list = json_array();
    const char *role;

    for (size_t i = 0; (role = args_list_at(a, "role", i)) != NULL; i++)
        if (json_array_append_new(list, json_string(role)) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

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

static int run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (args_list_at(a, "role", 0) == NULL)
        return args_wrong(a, "say what the user may do: --role admin, operator, viewer or auditor");
    if (!client_open(&c, a))
        return c.exit_code;
    json_t *variables = json_pack("{s:s,s:s?,s:o*}", "name", a->operand[0], "title",
                                  args_text(a, "title"), "roles", roles_of(a));

    if (variables == NULL)
        return args_wrong(a, "names and titles are text in UTF-8");
    if (!client_graphql(&c,
                        "mutation($name: String!, $title: String, $roles: [String!]!)"
                        " { userAdd(name: $name, title: $title, roles: $roles)"
                        " { user link expires } }",
                        variables, &data))
        return c.exit_code;
    return print_link(a, &c, json_object_get(data, "userAdd"));
}

static int ask_link(const struct args *a, bool lock_out)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    json_t *variables = json_pack("{s:s,s:b}", "name", a->operand[0], "lockOut", lock_out);

    if (variables == NULL)
        return args_wrong(a, "a name is text in UTF-8");
    if (!client_graphql(&c,
                        "mutation($name: String!, $lockOut: Boolean)"
                        " { userLink(name: $name, lockOut: $lockOut) { user link expires } }",
                        variables, &data))
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

static bool read_change(const struct args *a, json_t **ret)
{
    bool off = args_flag(a, "disable"), on = args_flag(a, "enable");
    json_t *variables =
        json_pack("{s:s,s:s*}", "name", a->operand[0], "title", args_text(a, "title"));

    if (variables != NULL && args_list_at(a, "role", 0) != NULL &&
        json_object_set_new(variables, "roles", roles_of(a)) < 0) {
        json_decref(variables); /* a name that is no UTF-8 */
        variables = NULL;
    }
    if (variables != NULL && (off || on))
        (void)json_object_set_new(variables, "disabled", json_boolean(off));
    *ret = variables;
    return variables != NULL;
}

static int run_change(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    json_t *variables;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (args_flag(a, "disable") && args_flag(a, "enable"))
        return args_wrong(a, "--disable or --enable, not both");
    if (!read_change(a, &variables))
        return args_wrong(a, "names and titles are text in UTF-8");
    if (!client_open(&c, a)) {
        json_decref(variables);
        return c.exit_code;
    }
    if (!client_graphql(&c,
                        "mutation($name: String!, $title: String, $roles: [String!], $disabled: "
                        "Boolean) { userChange(name: $name, title: $title, roles: $roles, "
                        "disabled: $disabled) { name title roles disabled } }",
                        variables, &data))
        return c.exit_code;
    if (args_flag(a, "json"))
        print_json(json_object_get(data, "userChange"));
    return EXIT_DONE;
}

static void add_row(struct print_table *t, const json_t *user)
{
    char roles[200] = "", time[PRINT_SHORT];
    const json_t *role;
    size_t i, at = 0;

    json_array_foreach(json_object_get(user, "roles"), i, role)
    {
        int n = snprintf(roles + at, sizeof roles - at, "%s%s", i > 0 ? "," : "",
                         json_string_value(role) != NULL ? json_string_value(role) : "?");

        at = n < 0 || (size_t)n >= sizeof roles - at ? sizeof roles - 1 : at + (size_t)n;
    }
    print_table_cell(t, member_text(user, "name"));
    print_table_cell(t, roles);
    print_table_cell(t, member_true(user, "disabled")         ? "disabled"
                        : member_text(user, "issuer") != NULL ? "provider"
                        : member_true(user, "password")       ? "password"
                                                              : "invited");
    const char *came = member_text(user, "lastLogin");

    print_table_cell(t, came != NULL ? print_time(came, time) : "never");
    print_table_cell(t, member_text(user, "title"));
}

static int run_ls(const struct args *a)
{
    static const char *const heads[] = { "NAME", "ROLES", "STATE", "LAST LOGIN", "TITLE", NULL };
    AUTO(print_table_done) struct print_table t;
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const json_t *user;
    size_t i;

    print_table_init(&t, heads);
    if (!client_open(&c, a) ||
        !client_graphql(&c,
                        "{ users { name title roles disabled password issuer made lastLogin } }",
                        NULL, &data))
        return c.exit_code;
    if (!json_is_array(json_object_get(data, "users")))
        return client_odd(&c, "no list");
    json_array_foreach(json_object_get(data, "users"), i, user)
    {
        if (args_flag(a, "json"))
            print_json(user);
        else
            add_row(&t, user);
    }
    if (!args_flag(a, "json"))
        print_table_page(&t);
    return EXIT_DONE;
}

static int run_rm(const struct args *a)
{
    static const struct thing_removal removal = {
        .mutation = "mutation($name: String!) { userRemove(name: $name) }",
        .field = "userRemove",
        .noun = "user",
        .variable = "name"
    };

    return things_remove(a, &removal);
}

static const struct arg_option add_options[] = {
    { .name = "role",
      .kind = ARG_LIST,
      .value = "R",
      .help = "what the user may do: admin, operator, viewer, auditor, or a role of your own; may "
              "be repeated" },
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "who it is, for people" },
    { 0 },
};

static const struct arg_option change_options[] = {
    { .name = "role",
      .kind = ARG_LIST,
      .value = "R",
      .help = "these roles in place of those before; may be repeated" },
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
              .run = run_add },
            { .word = "ls",
              .summary = "all users",
              .common = FORM_NODE | FORM_JSON,
              .run = run_ls },
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
              .run = run_rm },
            { 0 } },
};
