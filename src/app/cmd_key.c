/* cmd_key.c - `waybill key`: the keys of callers of gateways, and with --admin those of machines
 * that use the admin API. */
#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

/* ---- for the admin API ---- */

/* Prints the new key.  False: do not print a hint, because of --json or because the answer has no
 * key. */
static bool show_key(const struct args *a, struct client *c, const json_t *made)
{
    const char *key = member_text(made, "key");

    c->exit_code = key != NULL ? EXIT_DONE : client_odd(c, "no key in it");
    if (key != NULL && args_flag(a, "json"))
        print_json(made);
    if (key == NULL || args_flag(a, "json"))
        return false;
    print_text(stdout, key);
    (void)fputc('\n', stdout);
    (void)fflush(stdout);
    return true;
}

static int run_add_admin(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    char text[CLOCK_TEXT];
    const char *expires;

    if (a->operand_count != 0)
        return args_wrong(a, "a key for the admin API is for no gateway");
    if (args_list_at(a, "role", 0) == NULL || args_text(a, "title") == NULL)
        return args_wrong(a, "--admin needs --role R, what it may do, and --title T, whose it is");
    if (!ask_time_ahead(a, "expires", text, &expires))
        return EXIT_USAGE;
    if (!ask_node(&c, a,
                  "mutation($title: String!, $roles: [String!]!, $expires: Time)"
                  " { adminKeyAdd(title: $title, roles: $roles, expires: $expires) { id key } }",
                  json_pack("{s:s,s:o,s:s?}", "title", args_text(a, "title"), "roles",
                            ask_texts(a, "role"), "expires", expires),
                  &data))
        return c.exit_code;
    if (show_key(a, &c, json_object_get(data, "adminKeyAdd")))
        (void)fprintf(stderr,
                      "Shown once, keep it safe.  Whoever has it asks with it:\n"
                      "  WAYBILL_TOKEN=$KEY waybill docs ls --url %s\n",
                      c.url);
    return c.exit_code;
}

static int run_ls_admin(const struct args *a)
{
    static const struct list_column columns[] = { { "ID", "id" },
                                                  { "ROLES", "roles" },
                                                  { "MADE", "made", .kind = LIST_TIME },
                                                  { "EXPIRES", "expires", .kind = LIST_TIME },
                                                  { "USED", "used", .kind = LIST_TIME },
                                                  { "TITLE", "title" },
                                                  { 0 } };
    static const struct list list = { .query =
                                          "{ adminKeys { id title roles made by expires used } }",
                                      .field = "adminKeys",
                                      .columns = columns };

    return list_whole(a, &list, json_object());
}

static int run_rm_admin(const struct args *a)
{
    static const struct ask_removal removal = {
        .mutation = "mutation($id: ID!) { adminKeyRemove(id: $id) }",
        .field = "adminKeyRemove",
        .noun = "key",
        .variable = "id"
    };

    return ask_remove(a, &removal);
}

/* ---- of gateways ---- */

static int cmd_key_run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (args_flag(a, "admin"))
        return run_add_admin(a);
    if (a->operand_count == 0)
        return args_wrong(a, "say for which GATEWAY, or --admin");
    if (args_list_at(a, "role", 0) != NULL || args_text(a, "expires") != NULL)
        return args_wrong(a, "--role and --expires are for keys of the admin API: --admin");
    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!ask_node(&c, a,
                  "mutation($gateway: String!, $title: String)"
                  " { keyAdd(gateway: $gateway, title: $title) { id gateway key } }",
                  json_pack("{s:s,s:s?}", "gateway", a->operand[0], "title", args_text(a, "title")),
                  &data))
        return c.exit_code;
    if (show_key(a, &c, json_object_get(data, "keyAdd"))) {
        AUTO_TEXT gateway = client_escape(&c, a->operand[0]);

        (void)fprintf(stderr,
                      "Shown once, keep it safe.  A sender gives it with each document:\n"
                      "  curl -H \"Authorization: Bearer $KEY\" --data-binary @FILE %s/in/%s\n",
                      c.url, gateway);
    }
    return c.exit_code;
}

static int cmd_key_run_ls(const struct args *a)
{
    static const struct list_column columns[] = { { "ID", "id" },
                                                  { "GATEWAY", "gateway" },
                                                  { "MADE", "made", .kind = LIST_TIME },
                                                  { "TITLE", "title" },
                                                  { 0 } };
    static const struct list list = { .query = "{ keys { id gateway title made } }",
                                      .field = "keys",
                                      .columns = columns };

    return args_flag(a, "admin") ? run_ls_admin(a) : list_whole(a, &list, json_object());
}

static int cmd_key_run_rm(const struct args *a)
{
    static const struct ask_removal removal = { .mutation =
                                                    "mutation($id: ID!) { keyRemove(id: $id) }",
                                                .field = "keyRemove",
                                                .noun = "key",
                                                .variable = "id" };

    return args_flag(a, "admin") ? run_rm_admin(a) : ask_remove(a, &removal);
}

static const struct arg_option add_options[] = {
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "whose it is, for `key ls`" },
    { .name = "admin", .kind = ARG_FLAG, .help = "a key for the admin API, not for a gateway" },
    { .name = "role",
      .kind = ARG_LIST,
      .value = "R",
      .help = "with --admin: what it may do, as often as wanted" },
    { .name = "expires",
      .kind = ARG_TEXT,
      .value = "T",
      .help = "with --admin: when it ends, such as 90d (never)" },
    { 0 },
};

static const struct arg_option other_options[] = {
    { .name = "admin", .kind = ARG_FLAG, .help = "those for the admin API" },
    { 0 },
};

const struct verb cmd_key = {
    .name = "key",
    .summary = "keys with which senders open a gateway",
    .about = "A key opens one gateway and nothing else.  It is printed once, when it is made;\n"
             "the node keeps only a digest of it.  With --admin it is for a machine that asks the\n"
             "admin API, and may do what its roles allow (`waybill help role`).\n",
    .example = "waybill key add orders --title \"Acme, production\"\n"
               "waybill key add --admin --title monitoring --role viewer --expires 90d\n",
    .forms =
        (const struct arg_form[]){ { .word = "add",
                                     .usage = "GATEWAY [--title T] | --admin --title T --role R "
                                              "[--expires T]",
                                     .summary = "make a key for GATEWAY and print it",
                                     .least = 0,
                                     .most = 1,
                                     .options = add_options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = cmd_key_run_add },
                                   { .word = "ls",
                                     .usage = "[--admin]",
                                     .summary = "all keys, without their secrets",
                                     .options = other_options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = cmd_key_run_ls },
                                   { .word = "rm",
                                     .usage = "ID [--admin]",
                                     .summary = "end a key: whoever uses it is refused from now on",
                                     .least = 1,
                                     .most = 1,
                                     .options = other_options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = cmd_key_run_rm },
                                   { 0 } },
};
