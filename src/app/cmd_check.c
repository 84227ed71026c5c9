#include "app/cmd_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "app/registry.h"
#include "base/auto.h"
#include "base/json.h"
#include "core/config.h"

enum { EXIT_VALID = 0, EXIT_INVALID = 1, EXIT_USAGE_ERROR = 2, EXIT_INPUT = 74 };

static const char usage[] = "usage: waybill check [--json] [--force] FILE\n"
                            "Validates a configuration; FILE may be - for standard input.\n";

/* Reads one byte more than the limit, so that the loader refuses a file that is too large. */
static bool read_file(const char *file, struct buf *text, struct err *err)
{
    bool standard = strcmp(file, "-") == 0;
    AUTO_FD fd = standard ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "%s: %s", file, strerror(errno));
    while (text->len < text->cap) {
        size_t room = text->cap - text->len < 65536 ? text->cap - text->len : 65536;

        if (!buf_reserve(text, room, err))
            return false;
        ssize_t n = read(fd, text->ptr + text->len, room);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_PERMANENT, errno, "%s: %s", file, strerror(errno));
        if (n == 0)
            break;
        text->len += (size_t)n;
        text->ptr[text->len] = '\0';
    }
    return true;
}

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
    problem_sort(to);
}

static int check_file(const char *file, bool json, bool force)
{
    const struct config_options options = { .connectors = &registry,
                                            .ask_zones = true,
                                            .refuse = !force };
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES + 1);
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct err err;

    if (!read_file(file, &text, &err)) {
        (void)fprintf(stderr, "waybill: %s\n", err.text);
        return EXIT_INPUT;
    }
    struct config *config = config_load(buf_view(&text), file, &options, &report);

    if (config != NULL)
        ask_node(config, &report);
    bool valid = report.problems.count == 0;

    config_unref(config);
    if (json) {
        cmd_check_print_json(file, &report.problems, "error");
        cmd_check_print_json(file, &report.warnings, "warning");
    } else {
        print_lines(file, &report.problems, "");
        print_lines(file, &report.warnings, "warning: ");
        cmd_check_print_verdict(file, &report.problems);
    }
    return valid ? EXIT_VALID : EXIT_INVALID;
}

int cmd_check(int argc, char **argv)
{
    const char *file = NULL;
    bool json = false, force = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            (void)fputs(usage, stdout);
            return EXIT_VALID;
        }
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--force") == 0) {
            force = true;
        } else if (file == NULL && (argv[i][0] != '-' || strcmp(argv[i], "-") == 0)) {
            file = argv[i];
        } else {
            (void)fputs(usage, stderr);
            return EXIT_USAGE_ERROR;
        }
    }
    if (file == NULL) {
        (void)fputs(usage, stderr);
        return EXIT_USAGE_ERROR;
    }
    return check_file(file, json, force);
}
