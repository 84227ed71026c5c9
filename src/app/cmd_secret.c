/* cmd_secret.c - `waybill secret`: secret values, which configurations refer to by name.
 *
 * A value is read from a file, from stdin, or from the terminal without echo; never from
 * the command line, where everybody on the machine could see it. */
#include <string.h>

#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "app/quiet_input.h"
#include "base/auto.h"

static int cmd_secret_run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    AUTO(quiet_input_done) struct quiet_input v = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    int got = quiet_input_read(a->operand[1], "value of", a->operand[0], &v);

    if (got != EXIT_DONE)
        return got;
    json_t *variables = NULL;

    if (memchr(v.bytes, '\0', v.len) == NULL)
        variables = json_pack("{s:s,s:s%}", "name", a->operand[0], "value", v.bytes, v.len);
    if (variables == NULL)
        return print_fail(EXIT_NO, "a secret and its name are text in UTF-8, without zero bytes");
    if (!client_graphql(&c,
                        "mutation($name: String!, $value: String!)"
                        " { secretAdd(name: $name, value: $value) { name fingerprint made by } }",
                        variables, &data))
        return c.exit_code;
    const json_t *made = json_object_get(data, "secretAdd");

    if (member_text(made, "fingerprint") == NULL)
        return client_odd(&c, "no secret in it");
    if (args_flag(a, "json")) {
        print_json(made);
        return EXIT_DONE;
    }
    (void)fputs("secret ", stdout);
    print_text(stdout, a->operand[0]);
    (void)fputs(" is kept, fingerprint ", stdout);
    print_text(stdout, member_text(made, "fingerprint"));
    (void)fputc('\n', stdout);
    return EXIT_DONE;
}

/* As `add`, for a secret that is there: a name that was mistyped makes no second one. */
static int cmd_secret_run_rotate(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const json_t *one;
    bool known = false;
    size_t i;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!ask_node(&c, a, "{ secrets { name } }", json_object(), &data))
        return c.exit_code;
    json_array_foreach(json_object_get(data, "secrets"), i, one)
    {
        const char *name = member_text(one, "name");

        known = known || (name != NULL && strcmp(name, a->operand[0]) == 0);
    }
    if (!known)
        return print_fail(EXIT_NO, "there is no secret %s: `waybill secret add` makes one",
                          a->operand[0]);
    return cmd_secret_run_add(a);
}

static int cmd_secret_run_ls(const struct args *a)
{
    static const struct list_column columns[] = { { "NAME", "name" },
                                                  { "FINGERPRINT", "fingerprint" },
                                                  { "MADE", "made", .kind = LIST_TIME },
                                                  { "BY", "by" },
                                                  { 0 } };
    static const struct list list = { .query = "{ secrets { name fingerprint made by } }",
                                      .field = "secrets",
                                      .columns = columns };

    return list_whole(a, &list, json_object());
}

static int cmd_secret_run_rm(const struct args *a)
{
    static const struct ask_removal removal = {
        .mutation = "mutation($name: String!) { secretRemove(name: $name) }",
        .field = "secretRemove",
        .noun = "secret",
        .variable = "name"
    };

    return ask_remove(a, &removal);
}

const struct verb cmd_secret = {
    .name = "secret",
    .summary = "passwords and tokens that a configuration names",
    .about = "A configuration names a secret as secret:NAME or ${secret:NAME}.  Its value is\n"
             "sealed in the store under the key in DATA/secret.key, or in the file that\n"
             "WAYBILL_SECRET_KEY_FILE names, and never shown: only a fingerprint, which is\n"
             "the same while its value is the same.  Keep the key file with your backups,\n"
             "apart from the store's.  One line end behind a value is left out.\n",
    .example = "waybill secret add salsify\n"
               "waybill secret add salsify token.txt\n",
    .forms =
        (const struct arg_form[]){
            { .word = "add",
              .usage = "NAME [FILE|-]",
              .summary = "keep a value, in place of the one before; typed without echo if stdin is "
                         "a terminal",
              .least = 1,
              .most = 2,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_secret_run_add },
            { .word = "ls",
              .summary = "all secrets, without their values",
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_secret_run_ls },
            { .word = "rotate",
              .usage = "NAME [FILE|-]",
              .summary = "replace its value; every node uses the new one within a second",
              .least = 1,
              .most = 2,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_secret_run_rotate },
            { .word = "rm",
              .usage = "NAME",
              .summary = "end a secret that the live configuration does not name",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_secret_run_rm },
            { 0 } },
};
