/* cmd_hold.c - `waybill hold`: stops the deliveries of a system for a while. */
#include <string.h>

#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/clock.h"

#define HOLD_FIELDS \
    "id system state from until reason owner made ended endedBy waiting sending drained"

/* `--until open` means a hold without an end. */
static bool read_until(const struct args *a, char text[static CLOCK_TEXT], const char **ret)
{
    const char *given = args_text(a, "until");

    *ret = NULL;
    return (given != NULL && strcmp(given, "open") == 0) || ask_time_ahead(a, "until", text, ret);
}

static void print_hold(const json_t *hold)
{
    const char *until = member_text(hold, "until");
    char text[PRINT_SHORT];

    (void)fputs("hold ", stdout);
    print_text(stdout, member_text(hold, "id"));
    (void)fputs(" of ", stdout);
    print_text(stdout, member_text(hold, "system"));
    (void)fputs(": ", stdout);
    print_text(stdout, member_text(hold, "state"));
    (void)printf(", from %s", print_time(member_text(hold, "from"), text));
    if (until != NULL)
        (void)printf(" until %s\n", print_time(until, text));
    else
        (void)fputs(", without an end\n", stdout);
}

static void print_sending(const json_t *sending)
{
    const json_t *id;
    size_t i;

    if (json_array_size(sending) == 0)
        return;
    (void)printf("%zu on the wire, which may still arrive:\n", json_array_size(sending));
    json_array_foreach(sending, i, id)
    {
        (void)fputs("  ", stdout);
        print_text(stdout, json_string_value(id));
        (void)fputc('\n', stdout);
    }
}

/* Prints the nodes that have not confirmed the hold.  The exit status is EXIT_DONE only if all
 * have. */
static int tell_unconfirmed(const json_t *unconfirmed)
{
    const json_t *id;
    size_t i;

    json_array_foreach(unconfirmed, i, id)(void)
        print_fail(EXIT_NO, "node %s is running but has not confirmed the hold; it may still send",
                   json_string_value(id));
    return json_array_size(unconfirmed) == 0 ? EXIT_DONE : EXIT_NO;
}

static int cmd_hold_run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    char from_text[CLOCK_TEXT], until_text[CLOCK_TEXT];
    const char *from, *until, *reason = args_text(a, "reason"), *owner = args_text(a, "owner");
    json_auto_t *data = NULL;

    if (!args_name(a, 0) || !ask_time_ahead(a, "from", from_text, &from) ||
        !read_until(a, until_text, &until))
        return EXIT_USAGE;
    if (reason == NULL)
        return args_wrong(a, "--reason is missing: whoever meets the hold wants to know why");
    if (until == NULL && owner == NULL)
        return args_wrong(a, "a hold without an end needs --owner NAME, who is reminded each day; "
                             "or give it an end with --until T");
    if (!ask_node(&c, a,
                  "mutation($system: String!, $from: Time, $until: Time, $reason: String!,"
                  " $owner: String)"
                  " { holdAdd(system: $system, from: $from, until: $until, reason: $reason,"
                  " owner: $owner) { hold { " HOLD_FIELDS " } sending unconfirmed } }",
                  json_pack("{s:s,s:s?,s:s?,s:s,s:s?}", "system", a->operand[0], "from", from,
                            "until", until, "reason", reason, "owner", owner),
                  &data))
        return c.exit_code;
    const json_t *made = json_object_get(data, "holdAdd"), *hold = json_object_get(made, "hold");

    if (member_text(hold, "id") == NULL)
        return client_odd(&c, "no hold in it");
    if (args_flag(a, "json")) {
        json_auto_t *line = json_pack("{s:O,s:O,s:O,s:O}", "id", json_object_get(hold, "id"),
                                      "hold", hold, "sending", json_object_get(made, "sending"),
                                      "unconfirmed", json_object_get(made, "unconfirmed"));

        print_json(line);
    } else {
        print_hold(hold);
        print_sending(json_object_get(made, "sending"));
    }
    return tell_unconfirmed(json_object_get(made, "unconfirmed"));
}

static const char *until_cell(const json_t *hold, struct buf *room)
{
    const char *ended = member_text(hold, "ended"), *until = member_text(hold, "until");
    char text[PRINT_SHORT];

    if (ended == NULL && until == NULL)
        return "open";
    buf_puts(room, print_time(ended != NULL ? ended : until, text));
    return room->ptr;
}

static const char *waiting_cell(const json_t *hold, struct buf *room)
{
    if (member_text(hold, "ended") != NULL)
        return NULL;
    buf_put_int(room, member_number(hold, "waiting"));
    return room->ptr;
}

static const char *sending_cell(const json_t *hold, struct buf *room)
{
    if (member_text(hold, "ended") != NULL)
        return NULL;
    buf_put_int(room, member_number(hold, "sending"));
    return room->ptr;
}

static int cmd_hold_run_ls(const struct args *a)
{
    static const struct list_column columns[] = {
        { "ID", "id" },
        { "SYSTEM", "system" },
        { "STATE", "state" },
        { "FROM", "from", LIST_TIME },
        { "UNTIL", .cell = until_cell },
        { "WAITING", .cell = waiting_cell },
        { "SENDING", .cell = sending_cell },
        { "DRAINED", "drained", LIST_TIME },
        { "OWNER", "owner" },
        { "REASON", "reason" },
        { 0 },
    };
    static const struct list list = {
        .query = "query($ended: Boolean) { holds(ended: $ended) { " HOLD_FIELDS " } }",
        .field = "holds",
        .columns = columns
    };

    return list_whole(a, &list, json_pack("{s:b}", "ended", args_flag(a, "all")));
}

static int run_end(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const char *id = a->operand[0];

    if (!ask_named(&c, a, "mutation($id: ID!) { holdEnd(id: $id) { " HOLD_FIELDS " } }", "id",
                   &data))
        return c.exit_code;
    const json_t *hold = json_object_get(data, "holdEnd");

    if (!json_is_object(hold))
        return print_fail(EXIT_NO, "there is no hold %s that has not ended; see `waybill hold ls`",
                          id);
    if (args_flag(a, "json")) {
        print_json(hold);
        return EXIT_DONE;
    }
    (void)printf("hold %s of ", id);
    print_text(stdout, member_text(hold, "system"));
    (void)fputs(" has ended\n", stdout);
    return EXIT_DONE;
}

static const struct arg_option add_options[] = {
    { .name = "until",
      .kind = ARG_TEXT,
      .value = "T",
      .help = "when it ends: 2h, 22:00, 2026-11-15T04:00Z; open: when ended by hand" },
    { .name = "from", .kind = ARG_TEXT, .value = "T", .help = "when it begins (now)" },
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for whoever meets it" },
    { .name = "owner",
      .kind = ARG_TEXT,
      .value = "NAME",
      .help = "who is asked about it; needed when it has no end" },
    { 0 },
};

static const struct arg_option ls_options[] = {
    { .name = "all", .kind = ARG_FLAG, .help = "also those that have ended, the newest first" },
    { 0 },
};

const struct verb cmd_hold = {
    .name = "hold",
    .summary = "hold back what goes to a system, for a while",
    .about = "While a hold is in force nothing begins to be sent to its system; documents are\n"
             "taken in, routed and wait as `held`.  When `hold add` returns, every node goes by\n"
             "it, and what it lists as on the wire is all that may still arrive.  When the hold\n"
             "ends, by its time or by `hold end`, what waited is sent at the system's own rate.\n"
             "Holds may overlap: as long as one is in force the system is held.\n"
             "\n"
             "T is a span from now (15m, 2h, 3d), the next 22:00 by the local clock, or a date\n"
             "and time.  A hold without an end needs an owner and is reminded of each day.\n",
    .example =
        "waybill hold add salsify --until 2h --reason \"their release\"\n"
        "waybill hold add salsify --from 22:00 --until 2026-11-16T04:00 --reason stocktaking\n"
        "waybill hold add salsify --owner ann --reason \"contract ended\"\n"
        "waybill hold end 12\n",
    .forms =
        (const struct arg_form[]){
            { .word = "add",
              .usage = "SYSTEM --until T [--from T] --reason TEXT [--owner NAME]",
              .summary = "place a hold, and wait until every node goes by it",
              .least = 1,
              .most = 1,
              .options = add_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_hold_run_add },
            { .word = "ls",
              .usage = "[--all]",
              .summary = "holds that are in force or planned",
              .options = ls_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_hold_run_ls },
            { .word = "end",
              .usage = "ID",
              .summary = "end a hold now",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = run_end },
            { 0 } },
};
