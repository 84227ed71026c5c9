/* cmd_probe.c - `waybill probe`: whether a gateway or endpoint has the folder that it should. */
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"

#define PROBE_FIELDS                                                                        \
    "name role kind broken folders { part path known found error mount same seen accepted " \
    "acceptedBy }"

static void print_probed(const json_t *folder)
{
    const char *accepted = member_text(folder, "accepted"), *by = member_text(folder, "acceptedBy");
    char text[PRINT_SHORT];

    print_field("folder", member_text(folder, "path"));
    print_field("known as", member_text(folder, "known"));
    print_field("first seen", print_time(member_text(folder, "seen"), text));
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

static void print_probe(const json_t *probe)
{
    const json_t *folders = json_object_get(probe, "folders");
    const char *broken = member_text(probe, "broken");
    bool good = is_known_one(probe);

    print_field(member_text(probe, "role"), member_text(probe, "name"));
    print_field("kind", member_text(probe, "kind"));
    for (size_t i = 0; i < json_array_size(folders); i++)
        print_probed(json_array_get(folders, i));
    if (broken != NULL && !good)
        print_field("trouble", broken);
    if (good)
        print_field("result", json_array_size(folders) > 0
                                  ? "the known folder is there"
                                  : "no folder is known yet: nothing was read or written there");
    else
        print_field("result", "NOT the known folder: mount the share; if what is there now is "
                              "right, `waybill probe NAME --accept`");
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
                   : "query($name: String!) { probe(name: $name) { " PROBE_FIELDS " } }",
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
        good = good && is_known_one(probe);
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
    .summary = "whether a gateway or endpoint has the folder that it should",
    .about = "A node remembers the folder of each file gateway and endpoint: file system and\n"
             "inode.  When another one is in its place, such as the empty mount point of a share\n"
             "that is not mounted, nothing is read or written there: the gateway fails, the\n"
             "endpoint's deliveries are held (`endpoint`), until the right folder is back or a\n"
             "person accepts the new one.  What a node knows is its own: ask each with --url.\n"
             "The exit status is 1 when the known folder is not there.\n",
    .example = "waybill probe outbox\n"
               "waybill probe outbox --accept\n",
    .forms = (const struct arg_form[]){ { .usage = "GATEWAY|ENDPOINT [--accept]",
                                          .summary = "compare the folder with the known one",
                                          .least = 1,
                                          .most = 1,
                                          .options = probe_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_probe_run },
                                        { 0 } },
};
