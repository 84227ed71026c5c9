/* cmd_backup.c - `waybill backup`: a backup of a store while its node runs. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"

#define BACKUP_FIELDS                                                                         \
    "number folder state stage done total started ended taken files bytes documents damaged " \
    "damage keyLeft point error"

enum { LOOK_US = 200 * CLOCK_MS };

static void print_progress(const json_t *b)
{
    int64_t done = member_number(b, "done"), total = member_number(b, "total");
    const char *stage = member_text(b, "stage");
    char size[PRINT_SHORT];

    if (!isatty(STDERR_FILENO))
        return;
    (void)fprintf(stderr, "\r\033[K%s", stage != NULL ? stage : "");
    if (total > 0)
        (void)fprintf(stderr, ": %lld %% of %s", (long long)(done * 100 / total),
                      print_size(total, size));
    else if (done > 0)
        (void)fprintf(stderr, ": %lld", (long long)done);
    (void)fflush(stderr);
}

static void print_done(const json_t *b)
{
    char taken[PRINT_SHORT], size[PRINT_SHORT];

    (void)printf("backup of %s in ", print_time(member_text(b, "taken"), taken));
    print_text(stdout, member_text(b, "folder"));
    (void)printf(": %lld files, %s", (long long)member_number(b, "files"),
                 print_size(member_number(b, "bytes"), size));
    if (member_text(b, "point") != NULL)
        (void)printf("\nThe documents are in PostgreSQL: restore it to %s or later, then run "
                     "`waybill restore`.\n",
                     member_text(b, "point"));
    else
        (void)printf(", %lld payloads read back and checked\n",
                     (long long)member_number(b, "documents"));
    if (member_true(b, "keyLeft"))
        (void)fputs("The key of the secrets is not in it: keep it apart (--with-key puts it in).\n",
                    stdout);
}

static int print_end(const struct args *a, const json_t *b)
{
    const char *state = member_text(b, "state");

    if (isatty(STDERR_FILENO))
        (void)fputs("\r\033[K", stderr);
    if (args_flag(a, "json"))
        print_json(b);
    else if (state != NULL && str_is(str_of(state), "done"))
        print_done(b);
    if (state == NULL || !str_is(str_of(state), "done"))
        return print_fail(EXIT_NO, "the backup failed: %s", member_text(b, "error"));
    if (member_number(b, "damaged") == 0)
        return EXIT_DONE;
    return print_fail(EXIT_NO,
                      "%lld payloads of the store are missing or damaged, and so they are in the "
                      "backup; %s",
                      (long long)member_number(b, "damaged"), member_text(b, "damage"));
}

/* Prints the progress until the backup has ended, or another one was started. */
static int cmd_backup_follow(const struct args *a, struct client *c)
{
    for (int64_t number = 0;; clock_sleep_us(LOOK_US)) {
        json_auto_t *data = NULL;

        if (!client_graphql(c, "{ backup { " BACKUP_FIELDS " } }", NULL, &data))
            return c->exit_code;
        const json_t *b = json_object_get(data, "backup");

        if (!json_is_object(b))
            return print_fail(EXIT_NO, "the node has taken no backup since it was started");
        if (number != 0 && member_number(b, "number") != number)
            return print_fail(EXIT_NO, "another backup was begun meanwhile");
        number = member_number(b, "number");
        const char *state = member_text(b, "state");

        if (state == NULL || !str_is(str_of(state), "running"))
            return print_end(a, b);
        print_progress(b);
    }
}

/* Makes the path absolute, because the node has another working directory. */
static bool whole_path(const char *given, struct buf *ret)
{
    char cwd[PATH_MAX];
    struct err err = { 0 };

    if (given[0] != '/') {
        if (getcwd(cwd, sizeof cwd) == NULL)
            return false;
        buf_puts(ret, cwd);
        buf_puts(ret, "/");
    }
    return buf_append(ret, str_of(given), &err);
}

static int run_backup(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    AUTO(buf_done) struct buf path = BUF_INIT(2 * PATH_MAX);
    json_auto_t *data = NULL;

    if (a->operand_count > 0 && (a->operand[0][0] == '\0' || !whole_path(a->operand[0], &path)))
        return args_wrong(a, "DIR is a folder that is new or empty");
    if (!client_open(&c, a))
        return c.exit_code;
    if (a->operand_count == 0)
        return cmd_backup_follow(a, &c);
    json_t *variables =
        json_pack("{s:s,s:b}", "folder", path.ptr, "key", (int)args_flag(a, "with-key"));

    if (variables == NULL)
        return args_wrong(a, "the name of a folder is text in UTF-8");
    if (!client_graphql(&c,
                        "mutation($folder: String!, $key: Boolean) { backupStart(folder: $folder,"
                        " withKey: $key) { number } }",
                        variables, &data))
        return c.exit_code;
    return cmd_backup_follow(a, &c);
}

static const struct arg_option options[] = {
    { .name = "with-key",
      .kind = ARG_FLAG,
      .help = "also the key that the secrets are sealed under; takes every right" },
    { 0 },
};

const struct verb cmd_backup = {
    .name = "backup",
    .summary = "copy the store of a node that goes on working",
    .about = "The node writes into DIR, a folder of its machine that is new or empty and that\n"
             "its `node.folders` allows (else below the folder of its file).  Every\n"
             "document that was acknowledged before the backup's mark is in it, with its bytes;\n"
             "each payload is read back and its digest is checked.  A folder without a file\n"
             "`manifest` is no backup.  Without DIR: how the one that is under way goes, or\n"
             "what came of the last one.\n"
             "\n"
             "On PostgreSQL the documents are copied by the tools of the database; DIR gets\n"
             "what they do not take along, and the point to restore to.\n"
             "\n"
             "The exit status is 1 when the backup failed, or holds payloads that are damaged\n"
             "in the store itself.\n",
    .example = "waybill backup /backup/2026-11-15\nwaybill restore /backup/2026-11-15 --check\n",
    .forms = (const struct arg_form[]){ { .usage = "[DIR] [--with-key]",
                                          .summary = "take a backup, or look at the last one",
                                          .most = 1,
                                          .options = options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_backup },
                                        { 0 } },
};
