/* cmd_probe.c - `waybill probe`: whether the other side of a gateway or endpoint can be used. */
#include <stdio.h>
#include <string.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"

#define PROBE_FIELDS                                           \
    "name role kind broken steps { step result text remedy } " \
    "folders { part path known found error mount same seen accepted acceptedBy }"

/* ---- folders ---- */

static void print_probed(const json_t *folder)
{
    const char *accepted = member_text(folder, "accepted"), *by = member_text(folder, "acceptedBy");
    char text[PRINT_SHORT];

    print_field("folder", member_text(folder, "path"));
    print_field("known as", member_text(folder, "known"));
    print_field("seen", print_time(member_text(folder, "seen"), text));
    if (accepted != NULL) {
        print_field("accepted", print_time(accepted, text));
        print_field("by", by);
    }
    if (member_text(folder, "error") != NULL)
        print_field("now", member_text(folder, "error"));
    else
        print_field("now", member_text(folder, "found"));
}

/* Whether every folder is the known one. */
static bool is_known_one(const json_t *probe)
{
    const json_t *folders = json_object_get(probe, "folders");
    bool good = true;

    for (size_t i = 0; i < json_array_size(folders); i++)
        good = good && member_true(json_array_get(folders, i), "same");
    return good;
}

/* ---- steps ---- */

static bool is_failed(const json_t *step)
{
    const char *result = member_text(step, "result");

    return result == NULL || strcmp(result, "failed") == 0;
}

static bool all_passed(const json_t *probe)
{
    const json_t *steps = json_object_get(probe, "steps");
    bool good = true;

    for (size_t i = 0; i < json_array_size(steps); i++)
        good = good && !is_failed(json_array_get(steps, i));
    return good;
}

/* Whether it went any step of the way: that the settings are complete says nothing of the rest.
 * Accepting a folder goes none, and shows none. */
static bool was_tried(const json_t *probe)
{
    const json_t *steps = json_object_get(probe, "steps");

    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);
        const char *name = member_text(step, "step"), *result = member_text(step, "result");

        if (name != NULL && strcmp(name, "settings") != 0 && result != NULL &&
            strcmp(result, "passed") == 0)
            return true;
    }
    return json_array_size(steps) == 0;
}

/* "connect   FAILED    far, port 443: refused; check host and port, ..." */
static void print_probe_step(const json_t *step)
{
    const char *result = member_text(step, "result"), *remedy = member_text(step, "remedy");
    bool failed = is_failed(step), passed = !failed && strcmp(result, "passed") == 0;

    (void)printf("%-10s", member_text(step, "step"));
    print_coloured(failed   ? PRINT_BAD
                   : passed ? PRINT_GOOD
                            : PRINT_PLAIN,
                   failed ? "FAILED" : result);
    (void)printf("%*s", failed || passed ? 4 : 2, "");
    print_text(stdout, member_text(step, "text"));
    if (remedy != NULL) {
        (void)fputs("; ", stdout);
        print_text(stdout, remedy);
    }
    (void)fputc('\n', stdout);
}

static void print_result(const json_t *probe)
{
    size_t folders = json_array_size(json_object_get(probe, "folders"));
    const char *kind = member_text(probe, "kind");

    if (!is_known_one(probe))
        print_field("result", "NOT the known folder: mount the share; if what is there now is "
                              "right, `waybill probe NAME --accept`");
    else if (!all_passed(probe))
        print_field("result", "it cannot be used as it is");
    else if (!was_tried(probe))
        print_field("result", "the way was NOT tried: nothing is known about it");
    else if (folders > 0)
        print_field("result", "the known folder is there");
    else if (kind != NULL && strcmp(kind, "file") == 0)
        print_field("result", "no folder is known yet");
    else
        print_field("result", "no fault was found");
}

static void print_probe(const json_t *probe)
{
    const json_t *folders = json_object_get(probe, "folders");
    const json_t *steps = json_object_get(probe, "steps");
    const char *broken = member_text(probe, "broken");

    print_field(member_text(probe, "role"), member_text(probe, "name"));
    print_field("kind", member_text(probe, "kind"));
    for (size_t i = 0; i < json_array_size(folders); i++)
        print_probed(json_array_get(folders, i));
    for (size_t i = 0; i < json_array_size(steps); i++)
        print_probe_step(json_array_get(steps, i));
    if (broken != NULL && (!is_known_one(probe) || !all_passed(probe)))
        print_field("trouble", broken);
    print_result(probe);
}

static int cmd_probe_run(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    bool accept = args_flag(a, "accept"), good = true;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a) ||
        !client_graphql(
            &c,
            accept ? "mutation($name: String!) { probeAccept(name: $name) { " PROBE_FIELDS " } }"
                   : "mutation($name: String!) { probe(name: $name) { " PROBE_FIELDS " } }",
            json_pack("{s:s}", "name", a->operand[0]), &data))
        return c.exit_code;
    const json_t *probes = json_object_get(data, accept ? "probeAccept" : "probe");

    if (!json_is_array(probes))
        return client_odd(&c, "no probe in it");
    for (size_t i = 0; i < json_array_size(probes); i++) {
        const json_t *probe = json_array_get(probes, i);

        if (args_flag(a, "json"))
            print_json(probe);
        else
            print_probe(probe);
        good = good && is_known_one(probe) && all_passed(probe) && was_tried(probe);
    }
    return good ? EXIT_DONE : EXIT_NO;
}

static const struct arg_option probe_options[] = {
    { .name = "accept",
      .kind = ARG_FLAG,
      .help = "the folder that is there now is the right one, from now on" },
    { 0 },
};

const struct verb cmd_probe = {
    .name = "probe",
    .summary = "whether the other side of a gateway or endpoint can be used",
    .about = "Tries the way to the other side from the node, as a delivery or a poll would go it,\n"
             "and prints a line for each step: settings and their secrets, name, connect, TLS,\n"
             "host key, login, folder, rights, clock, as the kind has them.  A step has passed,\n"
             "has failed, with the reason and what to do about it, or is left out, with the\n"
             "reason.  It sends no document, takes none and leaves nothing behind; whether files\n"
             "can be written shows a file .waybill-probe-NUMBER.part that is removed at once.  It\n"
             "takes the right `hold` for the system of the endpoint; for a gateway, for all.\n"
             "\n"
             "A node remembers the folder of each file gateway and endpoint: file system and\n"
             "inode.  When another one is in its place, such as the empty mount point of a share\n"
             "that is not mounted, nothing is read or written there: the gateway fails, the\n"
             "endpoint's deliveries are held (`endpoint`), until the right folder is back or a\n"
             "person accepts the new one.  What a node knows is its own: ask each with --url.\n"
             "The exit status is 1 when a step has failed, when the way was not tried, because\n"
             "this build has no probe for the kind, or when the known folder is not there.\n",
    .example = "waybill probe outbox\n"
               "waybill probe outbox --accept\n",
    .forms = (const struct arg_form[]){ { .usage = "GATEWAY|ENDPOINT [--accept]",
                                          .summary = "try every step, or accept its folder",
                                          .least = 1,
                                          .most = 1,
                                          .options = probe_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_probe_run },
                                        { 0 } },
};
