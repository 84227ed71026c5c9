/* cmd_role.c - `waybill role`: roles, the rights of users and admin keys. */
#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

static int cmd_role_run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (args_list_at(a, "right", 0) == NULL)
        return args_wrong(a, "--right is missing: say what the role allows");
    json_t *systems = args_list_at(a, "system", 0) != NULL ? ask_texts(a, "system") : json_null();

    if (!ask_node(&c, a,
                  "mutation($name: String!, $title: String, $rights: [Right!]!,"
                  " $systems: [String!])"
                  " { roleAdd(name: $name, title: $title, rights: $rights, systems: $systems)"
                  " { name title rights systems made by } }",
                  json_pack("{s:s,s:s?,s:o,s:o}", "name", a->operand[0], "title",
                            args_text(a, "title"), "rights", ask_texts(a, "right"), "systems",
                            systems),
                  &data))
        return c.exit_code;
    if (args_flag(a, "json")) {
        print_json(json_object_get(data, "roleAdd"));
        return EXIT_DONE;
    }
    (void)fputs("role ", stdout);
    print_text(stdout, a->operand[0]);
    (void)fputs(" is kept; whoever has it follows within a second\n", stdout);
    return EXIT_DONE;
}

static int cmd_role_run_ls(const struct args *a)
{
    static const struct list_column columns[] = { { "NAME", "name" },
                                                  { "RIGHTS", "rights" },
                                                  { "SYSTEMS", "systems", .otherwise = "all" },
                                                  { "TITLE", "title" },
                                                  { 0 } };
    static const struct list list = { .query =
                                          "{ roles { name title rights systems builtIn made by } }",
                                      .field = "roles",
                                      .columns = columns };

    return list_whole(a, &list, json_object());
}

static int cmd_role_run_rm(const struct args *a)
{
    static const struct ask_removal removal = {
        .mutation = "mutation($name: String!) { roleRemove(name: $name) }",
        .field = "roleRemove",
        .noun = "role",
        .variable = "name"
    };

    return ask_remove(a, &removal);
}

static const struct arg_option add_options[] = {
    { .name = "right", .kind = ARG_LIST, .value = "R", .help = "a right that it gives" },
    { .name = "system",
      .kind = ARG_LIST,
      .value = "S",
      .help = "only for documents that S sends or receives (all)" },
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "what it is for, for `role ls`" },
    { 0 },
};

const struct verb cmd_role = {
    .name = "role",
    .summary = "what people and keys of the admin API may do",
    .about = "A role is a list of rights, for all systems or for named ones: then it counts for\n"
             "documents that one of them sends or receives.  Whoever has several roles may do\n"
             "what any of them allows.  Always there: admin, operator, viewer, auditor, worker, "
             "peer.\n"
             "\n"
             "Rights: see payload download retry edit hold, and without --system also operate\n"
             "configure users audit work peer.\n",
    .example = "waybill role add acme-desk --right see --right retry --system acme\n"
               "waybill key add --admin --title \"Acme desk\" --role acme-desk --expires 90d\n",
    .forms =
        (const struct arg_form[]){ { .word = "add",
                                     .usage = "NAME --right R [--system S] [--title T]",
                                     .summary = "make a role, or change it",
                                     .least = 1,
                                     .most = 1,
                                     .options = add_options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = cmd_role_run_add },
                                   { .word = "ls",
                                     .summary = "all roles, the built-in ones first",
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = cmd_role_run_ls },
                                   { .word = "rm",
                                     .usage = "NAME",
                                     .summary = "end a role: whoever has it loses what it allows",
                                     .least = 1,
                                     .most = 1,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = cmd_role_run_rm },
                                   { 0 } },
};
