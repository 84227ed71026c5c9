/* cmd_key.c - `waybill key`: the credentials of senders. */
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/things.h"
#include "base/auto.h"

static int run_add(const struct args *a)
{
    const char *title = args_text(a, "title");
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    json_t *variables;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    variables = json_pack("{s:s,s:s?}", "gateway", a->operand[0], "title", title);
    if (variables == NULL)
        return args_wrong(a, "names and titles are text in UTF-8");
    if (!client_graphql(&c,
                        "mutation($gateway: String!, $title: String)"
                        " { keyAdd(gateway: $gateway, title: $title) { id gateway key } }",
                        variables, &data))
        return c.exit_code;
    const json_t *made = json_object_get(data, "keyAdd");
    const char *key = member_text(made, "key");

    if (key == NULL)
        return client_odd(&c, "no key in it");
    if (args_flag(a, "json")) {
        print_json(made);
        return EXIT_DONE;
    }
    print_text(stdout, key);
    (void)fputc('\n', stdout);
    (void)fflush(stdout);
    AUTO_TEXT gateway = client_escape(&c, a->operand[0]);

    (void)fprintf(stderr,
                  "Shown once, keep it safe.  A sender gives it with each document:\n"
                  "  curl -H \"Authorization: Bearer $KEY\" --data-binary @FILE %s/in/%s\n",
                  c.url, gateway);
    return EXIT_DONE;
}

static int run_ls(const struct args *a)
{
    static const struct thing_column columns[] = { { "ID", "id" },
                                                   { "GATEWAY", "gateway" },
                                                   { "MADE", "made", .is_time = true },
                                                   { "TITLE", "title" },
                                                   { 0 } };
    static const struct thing_list list = { .query = "{ keys { id gateway title made } }",
                                            .field = "keys",
                                            .columns = columns };

    return things_list(a, &list);
}

static int run_rm(const struct args *a)
{
    static const struct thing_removal removal = { .mutation =
                                                      "mutation($id: ID!) { keyRemove(id: $id) }",
                                                  .field = "keyRemove",
                                                  .noun = "key",
                                                  .variable = "id" };

    return things_remove(a, &removal);
}

static const struct arg_option add_options[] = {
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "whose it is, for `key ls`" },
    { 0 },
};

const struct verb cmd_key = {
    .name = "key",
    .summary = "keys with which senders open a gateway",
    .about = "A key opens one gateway and nothing else.  It is printed once, when it is made;\n"
             "the node keeps only a digest of it.\n",
    .example = "waybill key add orders --title \"Acme, production\"\n",
    .forms =
        (const struct arg_form[]){ { .word = "add",
                                     .usage = "GATEWAY [--title T]",
                                     .summary = "make a key for GATEWAY and print it",
                                     .least = 1,
                                     .most = 1,
                                     .options = add_options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = run_add },
                                   { .word = "ls",
                                     .summary = "all keys, without their secrets",
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = run_ls },
                                   { .word = "rm",
                                     .usage = "ID",
                                     .summary = "end a key: whoever uses it is refused from now on",
                                     .least = 1,
                                     .most = 1,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = run_rm },
                                   { 0 } },
};
