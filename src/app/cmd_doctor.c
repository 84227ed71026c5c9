/* cmd_doctor.c - `waybill doctor`: is every invariant of the store true? */
#include <string.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"

enum { PATIENCE_S = 900 }; /* a large store takes its time */

static void print_check(const json_t *check, int width)
{
    bool ok = member_true(check, "ok");
    const char *name = member_text(check, "name");

    print_coloured(ok ? PRINT_GOOD : PRINT_BAD, ok ? "ok  " : "FAIL");
    (void)fputs("  ", stdout);
    print_text(stdout, name);
    (void)printf("%*s",
                 name != NULL && (int)strlen(name) < width ? width - (int)strlen(name) + 2 : 2, "");
    print_text(stdout, member_text(check, "message"));
    (void)fputc('\n', stdout);
}

static int widest_name(const json_t *checks)
{
    const json_t *check;
    int width = 0;
    size_t i;

    json_array_foreach(checks, i, check)
    {
        int n = (int)json_string_length(json_object_get(check, "name"));

        if (n > width && n <= PRINT_CELL)
            width = n;
    }
    return width;
}

static int run_doctor(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const json_t *check;
    size_t i, failed = 0;

    if (!client_open(&c, a))
        return c.exit_code;
    c.patience_s = args_number(a, "timeout", PATIENCE_S);
    if (!client_graphql(&c, "{ doctor { ok checks { name ok message count } } }", NULL, &data))
        return c.exit_code;
    const json_t *report = json_object_get(data, "doctor");
    const json_t *checks = json_object_get(report, "checks");

    if (!json_is_array(checks))
        return client_odd(&c, "no checks in it");
    int width = widest_name(checks);

    json_array_foreach(checks, i, check)
    {
        failed += !member_true(check, "ok");
        if (args_flag(a, "json"))
            print_json(check);
        else
            print_check(check, width);
    }
    bool ok = failed == 0 && member_true(report, "ok");

    if (!args_flag(a, "json") && ok)
        (void)printf("%zu checks, all ok\n", json_array_size(checks));
    else if (!args_flag(a, "json"))
        (void)printf("%zu checks, %zu failed\n", json_array_size(checks), failed);
    return ok ? EXIT_DONE : EXIT_NO;
}

const struct verb cmd_doctor = {
    .name = "doctor",
    .summary = "check every invariant of the store",
    .about = "Asks a running node, which goes on working.  Each check is one line with ok or\n"
             "FAIL; a line that failed says what is wrong and what to do.  The exit status is\n"
             "1 when a check failed.\n",
    .example = "waybill doctor\n",
    .forms = (const struct arg_form[]){ { .summary = "check the store of a running node",
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_doctor },
                                        { 0 } },
};
