/* cmd_check.c - `waybill check FILE`: is this configuration valid, and what does it remove? */
#include <stdio.h>

#include "app/check_steps.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/config_file.h"
#include "app/exit_code.h"
#include "app/registry.h"
#include "base/auto.h"
#include "base/json.h"
#include "core/config.h"

static void print_lines(const char *file, const struct problem_list *list, const char *prefix)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct problem *p = &list->items[i];

        (void)printf("%s:%u:%u: %s%s\n", file, p->place.line, p->place.column, prefix, p->message);
        if (p->hint != NULL)
            (void)printf("    %s\n", p->hint);
    }
}

static void cmd_check_print_json(const char *file, const struct problem_list *list,
                                 const char *severity)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct problem *p = &list->items[i];
        AUTO(buf_done) struct buf line = BUF_INIT(64 * 1024);
        struct json_out j = { .to = &line };

        json_open(&j, '{');
        json_key(&j, "file");
        json_z(&j, file);
        json_key(&j, "line");
        json_int(&j, p->place.line);
        json_key(&j, "column");
        json_int(&j, p->place.column);
        json_key(&j, "severity");
        json_z(&j, severity);
        json_key(&j, "message");
        json_z(&j, p->message);
        json_key(&j, "hint");
        json_z(&j, p->hint);
        json_close(&j, '}');
        (void)puts(line.ptr);
    }
}

static void cmd_check_print_verdict(const char *file, const struct problem_list *problems)
{
    size_t all = problems->count + problems->left_out;

    if (all == 0)
        (void)printf("%s: valid\n", file);
    else if (problems->left_out > 0)
        (void)printf("%s: %zu problems, the first %zu shown\n", file, all, problems->count);
    else
        (void)printf("%s: %zu problem%s\n", file, all, all == 1 ? "" : "s");
}

/* What it reaches on this machine, by its own node section.  A text without one is for a node that
 * is not known here, so what that must allow is a warning. */
static void ask_node(const struct config *config, struct config_report *report)
{
    struct problem_list *to = config->has_node ? &report->problems : &report->warnings;

    config_ask_exposed(config, to);
    config_ask_folders(config, to);
    problem_sort(&report->problems);
    problem_sort(to);
}

/* What a running node says of the file: its own problems, and what the file removes. */
struct compared {
    json_t *data; /* NULL: no node was asked, or none answered */
    const json_t *result;
};

/* Asks the node if there is one at hand: a token for it, or --url.  An answer is not needed: what
 * prevents it is printed on stderr. */
static void compare(const struct args *a, struct str text, const struct config_files *files,
                    struct compared *ret)
{
    AUTO(client_close) struct client c = { 0 };
    json_t *string;

    if (args_flag(a, "offline"))
        return;
    if (client_open(&c, a) && (c.token != NULL || args_text(a, "url") != NULL) &&
        (string = json_stringn(text.ptr, text.len)) != NULL &&
        client_graphql(&c,
                       "query($text: String!, $files: [ConfigFileInput!], $force: Boolean) { "
                       "configCheck(text: $text, files: $files, force: $force) { problems { line "
                       "column message hint } warnings { line column "
                       "message hint } losses { kind name left } confirm } }",
                       json_pack("{s:o,s:o,s:b}", "text", string, "files", config_file_list(files),
                                 "force", args_flag(a, "force")),
                       &ret->data))
        ret->result = json_object_get(ret->data, "configCheck");
    if (ret->result == NULL && c.exit_code != EXIT_DONE)
        (void)fputs("waybill: not compared with the live version\n", stderr);
}

static void cmd_check_print_losses(const char *file, const json_t *result, bool json)
{
    const json_t *losses = json_object_get(result, "losses"), *l;
    size_t i;

    json_array_foreach(losses, i, l)
    {
        const char *left = member_text(l, "left");
        json_auto_t *warning =
            left == NULL
                ? NULL
                : json_pack("[{s:i,s:i,s:o,s:s}]", "line", 1, "column", 1, "message",
                            json_sprintf("%s `%s` of the live version is removed: %s",
                                         member_text(l, "kind"), member_text(l, "name"), left),
                            "hint", "`waybill apply` asks before it does that");

        config_file_problems(warning, file, "warning", json);
    }
    config_file_losses(losses, json);
}

static void cmd_check_print_report(const char *file, const struct config_report *report, bool json)
{
    if (json) {
        cmd_check_print_json(file, &report->problems, "error");
        cmd_check_print_json(file, &report->warnings, "warning");
    } else {
        print_lines(file, &report->problems, "");
        print_lines(file, &report->warnings, "warning: ");
    }
}

static int run_check(const struct args *a)
{
    const char *file = a->operand[0];
    bool json = args_flag(a, "json");
    const struct config_options options = { .connectors = &registry,
                                            .ask_zones = true,
                                            .refuse = !args_flag(a, "force") };
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES + 1);
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(arena_done) struct arena arena = ARENA_INIT(2 * CONFIG_FILES_BYTES);
    struct config_files files = { 0 };
    struct compared node = { 0 };
    struct err err;

    if (!config_file_text(file, &text, &err)) {
        (void)fprintf(stderr, "waybill: %s\n", err.text);
        return EXIT_IO;
    }
    struct config *config = config_load(buf_view(&text), file, &options, &report);

    if (config != NULL) {
        config_read_files(config, &arena, &files, &report.problems);
        ask_node(config, &report);
        if (report.problems.count == 0)
            check_steps(config, &files, &report.problems);
    }
    bool valid = report.problems.count == 0;

    config_unref(config);
    if (valid)
        compare(a, buf_view(&text), &files, &node);
    const json_t *refused = json_object_get(node.result, "problems");
    size_t count = json_array_size(refused);

    cmd_check_print_report(file, &report, json);
    config_file_problems(refused, file, "error", json);
    cmd_check_print_losses(file, node.result, json);
    if (!json && count > 0)
        (void)printf("%s: %zu problem%s on the running node\n", file, count, count == 1 ? "" : "s");
    else if (!json)
        cmd_check_print_verdict(file, &report.problems);
    json_decref(node.data);
    return valid && count == 0 ? EXIT_DONE : EXIT_NO;
}

static const struct arg_option check_options[] = {
    { .name = "force",
      .kind = ARG_FLAG,
      .help = "keys that this build does not run are no problem, as for `apply`" },
    { .name = "offline", .kind = ARG_FLAG, .help = "ask no node" },
    { 0 },
};

const struct verb cmd_check = {
    .name = "check",
    .summary = "validate a configuration file",
    .about = "Every problem is printed with its place, FILE:line:column, and what would help.\n"
             "The exit status is 1 when there are problems.  A key that this build does not run\n"
             "is one, unless --force is given, as for `waybill apply`.\n"
             "\n"
             "Scripts are compiled as a node compiles them.\n"
             "\n"
             "No node is needed.  Where the token of one is at hand (as for all verbs), or --url\n"
             "is given, and it answers, FILE is compared with the live version: what it removes\n"
             "is listed with what that leaves behind, and what this node would refuse, such as a\n"
             "missing secret, is a problem.\n",
    .example = "waybill check waybill.yaml\n"
               "waybill check waybill.yaml --url https://node.example:8480\n",
    .forms = (const struct arg_form[]){ { .usage = "FILE|- [--force] [--offline]",
                                          .summary = "validate FILE, or stdin",
                                          .least = 1,
                                          .most = 1,
                                          .options = check_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_check },
                                        { 0 } },
};
