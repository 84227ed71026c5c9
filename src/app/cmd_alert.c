/* cmd_alert.c - `waybill alerts`: what needs a person, and whether notices were sent. */
#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

#define ALERT_FIELDS  "id code object message state count raised last cleared ended waiting givenUp"
#define NOTICE_FIELDS "kind to state made attempts sent next error"

static const char *unsent_cell(const json_t *alert, struct buf *room)
{
    long long waiting = (long long)member_number(alert, "waiting"),
              lost = (long long)member_number(alert, "givenUp");

    if (lost == 0 && waiting == 0)
        return NULL;
    buf_printf(room, lost > 0 ? "%lld given up" : "%lld wait", lost > 0 ? lost : waiting);
    return room->ptr;
}

static int cmd_alert_run_ls(const struct args *a)
{
    static const struct list_column columns[] = {
        { "ID", "id" },
        { "CODE", "code" },
        { "OBJECT", "object" },
        { "RAISED", "raised", LIST_TIME },
        { "CLEARED", "cleared", LIST_TIME, .otherwise = "open" },
        { "COUNT", "count", LIST_NUMBER },
        { "UNSENT", .cell = unsent_cell },
        { "MESSAGE", "message" },
        { 0 },
    };
    static const struct list list = {
        .query = "query($all: Boolean) { alerts(cleared: $all) { " ALERT_FIELDS " } }",
        .field = "alerts",
        .columns = columns
    };

    return list_whole(a, &list, json_pack("{s:b}", "all", args_flag(a, "all")));
}

static void print_notices(const struct args *a, const json_t *notices)
{
    static const struct list_column columns[] = {
        { "NOTICE", "kind" },
        { "TO", "to" },
        { "STATE", "state" },
        { "ATTEMPTS", "attempts", LIST_NUMBER },
        { "SENT", "sent", LIST_TIME },
        { "ERROR", "error" },
        { 0 },
    };
    static const struct list list = { .columns = columns };
    AUTO(list_done) struct list_out o;

    list_begin(&o, a, &list);
    if (json_array_size(notices) == 0)
        return;
    (void)fputc('\n', stdout);
    (void)list_rows(&o, notices, INT64_MAX);
}

static void print_alert(const struct args *a, const json_t *alert)
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
    print_notices(a, json_object_get(alert, "notices"));
}

static int cmd_alert_run_show(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!ask_named(&c, a,
                   "query($id: ID!) { alert(id: $id) { " ALERT_FIELDS " notices { " NOTICE_FIELDS
                   " } } }",
                   "id", &data))
        return c.exit_code;
    const json_t *alert = json_object_get(data, "alert");

    if (!json_is_object(alert))
        return print_fail(EXIT_NO, "there is no alert %s; see `waybill alerts ls --all`",
                          a->operand[0]);
    if (args_flag(a, "json"))
        print_json(alert);
    else
        print_alert(a, alert);
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
                                          .run = cmd_alert_run_ls },
                                        { .word = "show",
                                          .usage = "ID",
                                          .summary = "one alert, and who was told of it",
                                          .least = 1,
                                          .most = 1,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_alert_run_show },
                                        { 0 } },
};
