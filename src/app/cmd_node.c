/* cmd_node.c - `waybill node`: the nodes and their pauses. */
#include <string.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

enum { DRAIN_SECONDS = 600 };

#define NODE_FIELDS                                  \
    "id name host pid area state started self drain" \
    " pauses { what reason by since everywhere }"

static const char *self_cell(const json_t *n, struct buf *room)
{
    (void)room;
    return member_true(n, "self") ? "*" : NULL;
}

static const char *paused_cell(const json_t *n, struct buf *room)
{
    const json_t *p;
    size_t i;

    json_array_foreach(json_object_get(n, "pauses"), i, p)
    {
        const char *what = member_text(p, "what"), *reason = member_text(p, "reason");

        buf_printf(room, "%s%s", i > 0 ? ", " : "", what != NULL ? what : "?");
        if (reason != NULL)
            buf_printf(room, " (%s)", reason);
    }
    return room->ptr;
}

static const struct list_column node_columns[] = {
    { "ID", "id" },
    { "NAME", "name" },
    { "HOST", "host" },
    { "PID", "pid", LIST_NUMBER },
    { "AREA", "area" },
    { "STATE", "state" },
    { "STARTED", "started", LIST_TIME },
    { "SELF", .cell = self_cell },
    { "DRAIN", "drain" },
    { "PAUSED", .cell = paused_cell },
    { 0 },
};

static int cmd_node_run_ls(const struct args *a)
{
    static const struct list list = { .query = "{ nodes { " NODE_FIELDS " } }",
                                      .field = "nodes",
                                      .columns = node_columns };

    return list_whole(a, &list, json_object());
}

/* NULL: none of --intake, --delivery and --jobs was given, which means all of them. */
static json_t *cmd_node_read_what(const struct args *a)
{
    static const char *const words[] = { "intake", "delivery", "jobs" };
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (args_flag(a, words[i]))
            (void)json_array_append_new(list, json_string(words[i]));
    if (json_array_size(list) > 0)
        return list;
    json_decref(list);
    return NULL;
}

static int cmd_node_change(const struct args *a, const char *query, const char *field,
                           const char *reason)
{
    const struct list list = { .query = query, .field = field, .columns = node_columns };

    if (a->operand_count > 0 && !args_name(a, 0))
        return EXIT_USAGE;
    return list_whole(a, &list,
                      json_pack("{s:s?,s:o?,s:s?}", "node", a->operand[0], "what",
                                cmd_node_read_what(a), "reason", reason));
}

static int run_pause(const struct args *a)
{
    return cmd_node_change(a,
                           "mutation($node: ID, $what: [PauseWhat!], $reason: String)"
                           " { nodePause(node: $node, what: $what, reason: $reason) { " NODE_FIELDS
                           " } }",
                           "nodePause", args_text(a, "reason"));
}

static int run_resume(const struct args *a)
{
    return cmd_node_change(a,
                           "mutation($node: ID, $what: [PauseWhat!])"
                           " { nodeResume(node: $node, what: $what) { " NODE_FIELDS " } }",
                           "nodeResume", NULL);
}

/* ---- draining ---- */

static bool is_dead(const json_t *n)
{
    const char *state = member_text(n, "state");

    return state != NULL && strcmp(state, "dead") == 0;
}

/* Earlier processes of the same name may be in the list: the one that lives counts. */
static const json_t *find_node(const json_t *nodes, const char *name)
{
    const json_t *n, *found = NULL;
    size_t i;

    json_array_foreach(nodes, i, n)
    {
        const char *id = member_text(n, "id"), *called = member_text(n, "name");

        if (id != NULL && strcmp(id, name) == 0)
            return n;
        if (called != NULL && strcmp(called, name) == 0 && (found == NULL || !is_dead(n)))
            found = n;
    }
    return found;
}

static bool has_ended(const json_t *n)
{
    const char *drain = member_text(n, "drain");

    return is_dead(n) || (drain != NULL && strcmp(drain, "drained") == 0);
}

/* Waits until the node has nothing left.  An interrupted wait leaves the drain as it is. */
static int run_drain(const struct args *a)
{
    int64_t until = clock_mono_us() + args_number(a, "for", DRAIN_SECONDS) * CLOCK_S;
    const char *query = "mutation($node: ID!, $reason: String)"
                        " { nodes: nodeDrain(node: $node, reason: $reason) { " NODE_FIELDS " } }";
    AUTO(client_close) struct client c = { 0 };
    const json_t *n;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    for (;; query = "{ nodes { " NODE_FIELDS " } }") {
        json_auto_t *data = NULL;
        json_t *variables =
            json_pack("{s:s,s:s?}", "node", a->operand[0], "reason", args_text(a, "reason"));

        if (!client_graphql(&c, query, variables, &data))
            return c.exit_code;
        n = find_node(json_object_get(data, "nodes"), a->operand[0]);
        if (n == NULL)
            return print_fail(EXIT_NO, "node %s has gone meanwhile", a->operand[0]);
        if (has_ended(n)) {
            if (args_flag(a, "json"))
                print_json(n);
            else
                (void)printf("node %s has nothing left: it may be stopped\n", a->operand[0]);
            return EXIT_DONE;
        }
        if (clock_mono_us() > until)
            return print_fail(EXIT_NO,
                              "node %s still works on what it has; it goes on draining: see "
                              "`waybill node ls`",
                              a->operand[0]);
        clock_sleep_us(CLOCK_S / 4);
    }
}

static const struct arg_option drain_options[] = {
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for whoever meets it" },
    { .name = "for",
      .kind = ARG_NUMBER,
      .value = "SECONDS",
      .help = "wait so long for it to be done (600)" },
    { 0 },
};

/* ---- after a restore ---- */

static const char release_query[] =
    "mutation($rule: InFlight!) { nodeRelease(inFlight: $rule)"
    " { made taken source waits inFlight chosen by released changed left } }";

/* The node releases in portions: repeats the mutation until nothing is left. */
static int run_release(const struct args *a)
{
    static const char *const words[] = { "resend", "in_doubt", "cancel" };
    const char *rule = args_text(a, "in-flight");
    AUTO(client_close) struct client c = { 0 };
    int64_t changed = 0;
    bool known = false;

    for (size_t i = 0; rule != NULL && i < sizeof words / sizeof words[0]; i++)
        known = known || str_is(str_of(rule), words[i]);
    if (!known)
        return args_wrong(a, "say what becomes of what was in flight: --in-flight resend, in_doubt "
                             "or cancel");
    if (!client_open(&c, a))
        return c.exit_code;
    for (;;) {
        json_auto_t *data = NULL;

        if (!client_graphql(&c, release_query, json_pack("{s:s}", "rule", rule), &data))
            return c.exit_code;
        json_t *r = json_object_get(data, "nodeRelease");

        if (!json_is_object(r))
            return client_odd(&c, "no restore in it");
        changed += member_number(r, "changed");
        if (member_true(r, "waits"))
            continue;
        (void)json_object_set_new(r, "changed", json_integer(changed));
        if (args_flag(a, "json"))
            print_json(r);
        else
            (void)printf("released: %s; %lld deliveries and documents were changed by it\n", rule,
                         (long long)changed);
        return EXIT_DONE;
    }
}

static const struct arg_option release_options[] = {
    { .name = "in-flight",
      .kind = ARG_TEXT,
      .value = "RULE",
      .help = "resend, in_doubt or cancel what had not ended by then" },
    { 0 },
};

#define WHAT                                                               \
    { .name = "intake", .kind = ARG_FLAG, .help = "documents coming in" }, \
        { .name = "delivery", .kind = ARG_FLAG, .help = "what goes out" }, \
    {                                                                      \
        .name = "jobs", .kind = ARG_FLAG, .help = "recurring work"         \
    }

static const struct arg_option pause_options[] = {
    WHAT,
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for whoever meets it" },
    { 0 },
};

static const struct arg_option resume_options[] = { WHAT, { 0 } };

const struct verb cmd_node = {
    .name = "node",
    .summary = "nodes: look at them, pause what they do",
    .about =
        "Pauses node ID (or its name), or without an ID all nodes, including those added\n"
        "later.  The options choose what is paused; without an option everything is.  A\n"
        "pause is stored and stays over restarts until `node resume`.\n"
        "\n"
        "While intake is paused senders are told 503 with Retry-After, and gateways that\n"
        "look for documents rest.  While delivery is paused what was begun is finished,\n"
        "and the rest is held with the reason `pause`.\n"
        "\n"
        "A node that is drained takes in and begins nothing more, ends what it has and leaves\n"
        "the rest to the other nodes; then it may be stopped.  It stays so over restarts until\n"
        "`node resume`.\n"
        "\n"
        "A store that came out of a backup sends nothing (the reason is `restore`) until\n"
        "`node release` says what becomes of the documents that had not ended when it was\n"
        "taken, for they may have been sent since: `resend` sends them under their old ids,\n"
        "`in_doubt` leaves each to `docs resolve`, `cancel` ends them.  Members of batches\n"
        "are dead letters after `in_doubt`: `docs retry` lets them join again.\n",
    .example = "waybill node ls\n"
               "waybill node pause --delivery --reason \"network work\"\n"
               "waybill node resume\n"
               "waybill node drain north --reason \"new kernel\"\n"
               "waybill node release --in-flight in_doubt\n",
    .forms =
        (const struct arg_form[]){
            { .word = "ls",
              .summary = "all nodes, and what is paused",
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_node_run_ls },
            { .word = "pause",
              .usage = "[ID] [--intake] [--delivery] [--jobs] "
                       "[--reason TEXT]",
              .summary = "pause one node, or all",
              .most = 1,
              .options = pause_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_pause },
            { .word = "resume",
              .usage = "[ID] [--intake] [--delivery] [--jobs]",
              .summary = "end a pause",
              .most = 1,
              .options = resume_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_resume },
            { .word = "drain",
              .usage = "ID [--reason TEXT] [--for SECONDS]",
              .summary = "let a node end what it has and take nothing more; wait for that",
              .least = 1,
              .most = 1,
              .options = drain_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_drain },
            { .word = "release",
              .usage = "--in-flight resend|in_doubt|cancel",
              .summary = "after a restore: decide about deliveries in flight, and send again",
              .options = release_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_release },
            { 0 } },
};
