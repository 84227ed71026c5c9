/* cmd_key.c - `waybill key`: the keys of callers of gateways, and with --admin those of machines
 * that use the admin API. */
#include <stdlib.h>
#include <string.h>

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
    if (args_list_at(a, "system", 0) != NULL || args_list_at(a, "from", 0) != NULL)
        return args_wrong(a, "--system and --from are for keys of gateways");
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

#define KEY_ADD                                                                        \
    "mutation($gateway: String!, $title: String, $systems: [String!], $expires: Time," \
    " $from: [String!]) { keyAdd(gateway: $gateway, title: $title, systems: $systems," \
    " expires: $expires, from: $from) { id gateway key } }"

/* NULL: the option was not given. */
static json_t *list_or_none(const struct args *a, const char *option)
{
    return args_list_at(a, option, 0) != NULL ? ask_texts(a, option) : NULL;
}

static int cmd_key_run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    char text[CLOCK_TEXT];
    const char *expires;

    if (args_flag(a, "admin"))
        return run_add_admin(a);
    if (a->operand_count == 0)
        return args_wrong(a, "say for which GATEWAY, or --admin");
    if (args_list_at(a, "role", 0) != NULL)
        return args_wrong(a, "--role is for keys of the admin API: --admin");
    if (!args_name(a, 0) || !ask_time_ahead(a, "expires", text, &expires))
        return EXIT_USAGE;
    if (!ask_node(&c, a, KEY_ADD,
                  json_pack("{s:s,s:s?,s:s*,s:o*,s:o*}", "gateway", a->operand[0], "title",
                            args_text(a, "title"), "expires", expires, "systems",
                            list_or_none(a, "system"), "from", list_or_none(a, "from")),
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
                                                  { "SYSTEMS", "systems" },
                                                  { "FROM", "from" },
                                                  { "MADE", "made", .kind = LIST_TIME },
                                                  { "EXPIRES", "expires", .kind = LIST_TIME },
                                                  { "USED", "used", .kind = LIST_TIME },
                                                  { "TITLE", "title" },
                                                  { 0 } };
    static const struct list list = { .query = "{ keys { id gateway title systems from made"
                                               " expires used } }",
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

/* ---- rotation ---- */

/* What the keys of one kind need to be made anew. */
struct rotation {
    const char *list, *keys; /* the query, and its field */
    const char *make, *made; /* the mutation, and its field; its variables are fields of the key */
    const char *end;         /* the mutation that ends the old one */
    const char *const *fields; /* of the key that its successor gets */
};

static const struct rotation of_gateways = {
    .list = "{ keys { id gateway title systems from expires } }",
    .keys = "keys",
    .make = KEY_ADD,
    .made = "keyAdd",
    .end = "mutation($id: ID!) { keyRemove(id: $id) }",
    .fields = (const char *const[]){ "gateway", "title", "systems", "from", "expires", NULL },
};

static const struct rotation of_admins = {
    .list = "{ adminKeys { id title roles expires } }",
    .keys = "adminKeys",
    .make = "mutation($title: String!, $roles: [String!]!, $expires: Time)"
            " { adminKeyAdd(title: $title, roles: $roles, expires: $expires) { id key } }",
    .made = "adminKeyAdd",
    .end = "mutation($id: ID!) { adminKeyRemove(id: $id) }",
    .fields = (const char *const[]){ "title", "roles", "expires", NULL },
};

static const json_t *find_key(const json_t *keys, const char *id)
{
    const json_t *k;
    size_t i;

    json_array_foreach(keys, i, k)
    {
        const char *one = member_text(k, "id");

        if (one != NULL && strcmp(one, id) == 0)
            return k;
    }
    return NULL;
}

static json_t *fields_of(const json_t *key, const char *const *fields)
{
    json_t *variables = json_object();

    for (; *fields != NULL; fields++) {
        json_t *value = json_object_get(key, *fields);

        if (!json_is_array(value) || json_array_size(value) > 0) /* an empty list: no limit */
            (void)json_object_set(variables, *fields, value);
    }
    return variables;
}

/* Titles of keys of the admin API are unique: the successor of "eye" is "eye #2". */
static void number_title(json_t *variables, const json_t *key)
{
    const char *title = member_text(key, "title");
    const char *mark = title != NULL ? strrchr(title, '#') : NULL;
    bool numbered = mark != NULL && mark > title && mark[-1] == ' ' && mark[1] != '\0' &&
                    strspn(mark + 1, "0123456789") == strlen(mark + 1);
    int len = title == NULL ? 0 : numbered ? (int)(mark - 1 - title) : (int)strlen(title);
    long long n = numbered ? strtoll(mark + 1, NULL, 10) + 1 : 2;

    if (title != NULL)
        (void)json_object_set_new(variables, "title", json_sprintf("%.*s #%lld", len, title, n));
}

/* The new key is shown before the old one ends: if something fails, both work. */
static int cmd_key_run_rotate(const struct args *a)
{
    const struct rotation *r = args_flag(a, "admin") ? &of_admins : &of_gateways;
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *keys = NULL, *made = NULL, *ended = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!ask_node(&c, a, r->list, json_object(), &keys))
        return c.exit_code;
    const json_t *old = find_key(json_object_get(keys, r->keys), a->operand[0]);

    if (old == NULL)
        return print_fail(EXIT_NO, "there is no key %s: see `waybill key ls%s`", a->operand[0],
                          r == &of_admins ? " --admin" : "");
    json_t *variables = fields_of(old, r->fields);

    if (r == &of_admins)
        number_title(variables, old);
    if (!client_graphql(&c, r->make, variables, &made))
        return c.exit_code;
    bool hint = show_key(a, &c, json_object_get(made, r->made));

    if (c.exit_code != EXIT_DONE)
        return c.exit_code;
    if (args_flag(a, "keep-old")) {
        if (hint)
            (void)fprintf(
                stderr, "Shown once, keep it safe.  The old one works until `waybill key rm %s`.\n",
                a->operand[0]);
        return EXIT_DONE;
    }
    if (!client_graphql(&c, r->end, json_pack("{s:s}", "id", a->operand[0]), &ended)) {
        (void)print_fail(c.exit_code, "the old key %s still works", a->operand[0]);
        return c.exit_code;
    }
    if (hint)
        (void)fprintf(stderr, "Shown once, keep it safe.  The old one has ended.\n");
    return EXIT_DONE;
}

static const struct arg_option rotate_options[] = {
    { .name = "admin", .kind = ARG_FLAG, .help = "one for the admin API" },
    { .name = "keep-old",
      .kind = ARG_FLAG,
      .help = "let the old one work until `key rm`, while senders change over" },
    { 0 },
};

static const struct arg_option add_options[] = {
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "whose it is, for `key ls`" },
    { .name = "admin", .kind = ARG_FLAG, .help = "a key for the admin API, not for a gateway" },
    { .name = "role", .kind = ARG_LIST, .value = "R", .help = "with --admin: what it may do" },
    { .name = "expires",
      .kind = ARG_TEXT,
      .value = "T",
      .help = "when it ends, such as 90d (never)" },
    { .name = "system",
      .kind = ARG_LIST,
      .value = "S",
      .help = "for GATEWAY: sends documents of this sender only" },
    { .name = "from",
      .kind = ARG_LIST,
      .value = "NET",
      .help = "for GATEWAY: works only from there, as 10.1.0.0/16" },
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
             "the node keeps only a digest of it.  Bind it to the systems whose documents it\n"
             "brings: a document of another sender becomes a dead letter, forbidden_sender.\n"
             "With --admin it is for a machine that asks the admin API, and may do what its\n"
             "roles allow (`waybill help role`).\n",
    .example =
        "waybill key add orders --title \"Acme, production\" --system acme --from 192.0.2.0/24\n"
        "waybill key add --admin --title monitoring --role viewer --expires 90d\n"
        "waybill key rotate 7k2m9q --keep-old\n",
    .forms =
        (const struct arg_form[]){ { .word = "add",
                                     .usage = "GATEWAY [--system S]... [OPTION]... | --admin "
                                              "--title T --role R",
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
                                   { .word = "rotate",
                                     .usage = "ID [--admin] [--keep-old]",
                                     .summary = "make its successor and print it, and end it",
                                     .least = 1,
                                     .most = 1,
                                     .options = rotate_options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = cmd_key_run_rotate },
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
