/* repl_plan.c - `waybill repl plan|install|remove`: what a link needs in its databases. */
#include <stdio.h>
#include <unistd.h>

#include "app/ask.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/repl_forms.h"
#include "app/repl_print.h"
#include "base/auto.h"

const struct arg_option repl_change_options[] = {
    { .name = "yes", .kind = ARG_FLAG, .help = "run the statements without asking" },
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for the audit log" },
    { 0 },
};

/* The plan; *ret_data owns it.  NULL: the exit status is in c->exit_code. */
static const json_t *repl_ask_plan(struct client *c, const struct repl_name *name, bool removal,
                                   json_t **ret_data)
{
    if (!client_graphql(c,
                        "query($link: String!, $table: String, $removal: Boolean)"
                        " { linkPlan(link: $link, table: $table, removal: $removal)"
                        " { " LINK_PLAN_FIELDS " } }",
                        json_pack("{s:s,s:s?,s:b}", "link", name->link, "table", name->table,
                                  "removal", removal),
                        ret_data))
        return NULL;
    const json_t *plan = json_object_get(*ret_data, "linkPlan");

    if (member_text(plan, "digest") == NULL)
        c->exit_code = client_odd(c, "no plan in it");
    return member_text(plan, "digest") != NULL ? plan : NULL;
}

int repl_run_plan(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    bool removal = args_flag(a, "removal");
    json_auto_t *data = NULL;
    struct repl_name name;

    if (!repl_name_read(a, 0, false, &name))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    const json_t *plan = repl_ask_plan(&c, &name, removal, &data);

    if (plan == NULL)
        return c.exit_code;
    if (args_flag(a, "json"))
        print_json(plan);
    else
        repl_print_plan(plan, removal);
    return member_true(plan, "fits") ? EXIT_DONE : EXIT_NO;
}

/* Asks whether the statements are to be run, which were just shown. */
static bool repl_may_run(const struct args *a, size_t count, int *ret_code)
{
    char line[16];

    if (args_flag(a, "yes"))
        return true;
    if (!isatty(STDIN_FILENO)) {
        *ret_code = print_fail(EXIT_USAGE, "%zu statements; say --yes to run them", count);
        return false;
    }
    (void)fflush(stdout);
    (void)fprintf(stderr, "run these %zu statements? [y/N] ", count);
    (void)fflush(stderr);
    if (fgets(line, sizeof line, stdin) != NULL && (line[0] == 'y' || line[0] == 'Y'))
        return true;
    *ret_code = print_fail(EXIT_NO, "nothing was changed");
    return false;
}

static int repl_run_statements(const struct args *a, struct client *c, const struct repl_name *name,
                               const json_t *plan, bool removal)
{
    static const char *const queries[] = {
        "mutation($link: String!, $table: String, $digest: String!, $reason: String)"
        " { run: linkInstall(link: $link, table: $table, digest: $digest, reason: $reason)"
        " { link done } }",
        "mutation($link: String!, $table: String, $digest: String!, $reason: String)"
        " { run: linkRemove(link: $link, table: $table, digest: $digest, reason: $reason)"
        " { link done } }"
    };
    json_auto_t *data = NULL;

    if (!client_graphql(c, queries[removal],
                        json_pack("{s:s,s:s?,s:s,s:s?}", "link", name->link, "table", name->table,
                                  "digest", member_text(plan, "digest"), "reason",
                                  args_text(a, "reason")),
                        &data))
        return c->exit_code;
    const json_t *run = json_object_get(data, "run");

    if (args_flag(a, "json"))
        print_json(run);
    else
        (void)printf("%lld statements were run; %s is %s\n", (long long)member_number(run, "done"),
                     a->operand[0], removal ? "removed" : "installed");
    return EXIT_DONE;
}

static int repl_change(const struct args *a, bool removal)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    struct repl_name name;
    int code = EXIT_NO;

    if (!repl_name_read(a, 0, false, &name))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    const json_t *plan = repl_ask_plan(&c, &name, removal, &data);

    if (plan == NULL)
        return c.exit_code;
    size_t count = json_array_size(json_object_get(plan, "statements"));

    if (!args_flag(a, "json"))
        repl_print_plan(plan, removal);
    if (!member_true(plan, "fits"))
        return print_fail(EXIT_NO, "not all tables fit: nothing was changed");
    if (count == 0)
        return EXIT_DONE;
    return repl_may_run(a, count, &code) ? repl_run_statements(a, &c, &name, plan, removal) : code;
}

int repl_run_install(const struct args *a)
{
    return repl_change(a, false);
}

int repl_run_remove(const struct args *a)
{
    return repl_change(a, true);
}
