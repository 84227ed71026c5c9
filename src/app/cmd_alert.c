/* cmd_alert.c - `waybill alerts`: what needs a person, and whether somebody was told. */
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"

#define ALERT_FIELDS  "id code object message state count raised last cleared ended waiting givenUp"
#define NOTICE_FIELDS "kind to state made attempts sent next error"

static const char *told(const json_t *alert, char text[PRINT_SHORT])
{
    long long waiting = (long long)member_number(alert, "waiting"),
              lost = (long long)member_number(alert, "givenUp");

    if (lost > 0)
        (void)snprintf(text, PRINT_SHORT, "%lld given up", lost);
    else if (waiting > 0)
        (void)snprintf(text, PRINT_SHORT, "%lld wait", waiting);
    else
        return NULL;
    return text;
}

static void add_row(struct print_table *t, const json_t *alert)
{
    const char *cleared = member_text(alert, "cleared");
    char text[PRINT_SHORT];

    print_table_cell(t, member_text(alert, "id"));
    print_table_cell(t, member_text(alert, "code"));
    print_table_cell(t, member_text(alert, "object"));
    print_table_cell(t, print_time(member_text(alert, "raised"), text));
    print_table_cell(t, cleared != NULL ? print_time(cleared, text) : "open");
    (void)snprintf(text, sizeof text, "%lld", (long long)member_number(alert, "count"));
    print_table_cell(t, text);
    print_table_cell(t, told(alert, text));
    print_table_cell(t, member_text(alert, "message"));
}

static int run_ls(const struct args *a)
{
    static const char *const heads[] = { "ID",    "CODE",   "OBJECT",  "RAISED", "CLEARED",
                                         "COUNT", "UNSENT", "MESSAGE", NULL };
    AUTO(print_table_done) struct print_table t;
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const json_t *alert;
    size_t i;

    print_table_init(&t, heads);
    if (!client_open(&c, a) ||
        !client_graphql(&c, "query($all: Boolean) { alerts(cleared: $all) { " ALERT_FIELDS " } }",
                        json_pack("{s:b}", "all", args_flag(a, "all")), &data))
        return c.exit_code;
    if (!json_is_array(json_object_get(data, "alerts")))
        return client_odd(&c, "no list of alerts");
    json_array_foreach(json_object_get(data, "alerts"), i, alert)
    {
        if (args_flag(a, "json"))
            print_json(alert);
        else
            add_row(&t, alert);
    }
    if (!args_flag(a, "json"))
        print_table_page(&t);
    return EXIT_DONE;
}

static void print_field(const char *label, const char *text)
{
    (void)printf("%-10s", label);
    print_text(stdout, text);
    (void)fputc('\n', stdout);
}

static void print_notices(const json_t *notices)
{
    static const char *const heads[] = {
        "NOTICE", "TO", "STATE", "ATTEMPTS", "SENT", "ERROR", NULL
    };
    AUTO(print_table_done) struct print_table t;
    char text[PRINT_SHORT];
    const json_t *w;
    size_t i;

    if (json_array_size(notices) == 0)
        return;
    print_table_init(&t, heads);
    json_array_foreach(notices, i, w)
    {
        const char *sent = member_text(w, "sent");

        print_table_cell(&t, member_text(w, "kind"));
        print_table_cell(&t, member_text(w, "to"));
        print_table_cell(&t, member_text(w, "state"));
        (void)snprintf(text, sizeof text, "%lld", (long long)member_number(w, "attempts"));
        print_table_cell(&t, text);
        print_table_cell(&t, sent != NULL ? print_time(sent, text) : NULL);
        print_table_cell(&t, member_text(w, "error"));
    }
    (void)fputc('\n', stdout);
    print_table_page(&t);
}

static void print_alert(const json_t *alert)
{
    const char *cleared = member_text(alert, "cleared"), *ended = member_text(alert, "ended");
    char text[PRINT_SHORT];

    print_field("alert", member_text(alert, "id"));
    print_field("code", member_text(alert, "code"));
    print_field("object", member_text(alert, "object"));
    print_field("message", member_text(alert, "message"));
    (void)snprintf(text, sizeof text, "%lld", (long long)member_number(alert, "count"));
    print_field("count", text);
    print_field("raised", print_time(member_text(alert, "raised"), text));
    print_field("last", print_time(member_text(alert, "last"), text));
    print_field("cleared", cleared != NULL ? print_time(cleared, text) : NULL);
    if (ended != NULL)
        print_field("because", ended);
    print_notices(json_object_get(alert, "notices"));
}

static int run_show(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    json_t *variables;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    variables = json_pack("{s:s}", "id", a->operand[0]);
    if (variables == NULL)
        return args_wrong(a, "an id is text in UTF-8");
    if (!client_graphql(&c,
                        "query($id: ID!) { alert(id: $id) { " ALERT_FIELDS
                        " notices { " NOTICE_FIELDS " } } }",
                        variables, &data))
        return c.exit_code;
    const json_t *alert = json_object_get(data, "alert");

    if (!json_is_object(alert))
        return print_fail(EXIT_NO, "there is no alert %s; see `waybill alerts ls --all`",
                          a->operand[0]);
    if (args_flag(a, "json"))
        print_json(alert);
    else
        print_alert(alert);
    return EXIT_DONE;
}

static const struct arg_option ls_options[] = {
    { .name = "all", .kind = ARG_FLAG, .help = "also those that were cleared, the newest first" },
    { 0 },
};

const struct verb cmd_alerts = {
    .name = "alerts",
    .summary = "what needs a person, and whether somebody was told",
    .about =
        "An alert is raised once when something begins to need a person, and cleared once when\n"
        "it does not any more; in between it is counted.  Whoever stands in `alerts.to` of the\n"
        "configuration is told of both.  UNSENT says how many notices nobody has heard yet.\n",
    .example = "waybill alerts ls\n"
               "waybill alerts ls --all\n"
               "waybill alerts show 12\n",
    .forms = (const struct arg_form[]){ { .word = "ls",
                                          .usage = "[--all]",
                                          .summary = "alerts that are open",
                                          .options = ls_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_ls },
                                        { .word = "show",
                                          .usage = "ID",
                                          .summary = "one alert, and who was told of it",
                                          .least = 1,
                                          .most = 1,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_show },
                                        { 0 } },
};
