/* main.c - the program: one binary, its verbs in a table. */
#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/cmd.h"
#include "app/cmd_serve.h"
#include "app/exit_code.h"
#include "app/help_kind.h"
#include "app/print.h"
#include "app/registry.h"
#include "app/suggest.h"
#include "app/verb.h"
#include "base/str.h"
#include "cage/cage_main.h"
#include "sql/sql_main.h"

static int run_help(const struct args *a);

static const struct arg_option serve_options[] = {
    { .name = "c", .kind = ARG_TEXT, .value = "FILE", .help = "the configuration file" },
    { .name = "apply", .kind = ARG_FLAG, .help = "FILE is the truth, as with `node.config: file`" },
    { .name = "yes", .kind = ARG_FLAG, .help = "FILE may remove what is in use" },
    { .name = "unconfined",
      .help = "without the limits of docs/security.md, to debug the process" },
    { 0 },
};

static const struct verb serve = {
    .name = "serve",
    .summary = "run a node",
    .about = "The part `node:` of FILE is this node's own and read at every start.  The rest\n"
             "becomes version 1 when the store has none; from then on the newest stored\n"
             "version is the truth (see `waybill help apply`).\n"
             "\n"
             "With --apply, or `node.config: file`, the file is the truth, for who deploys by\n"
             "Git: where it differs from the newest version it becomes a new one, at every start\n"
             "and at SIGHUP, if it is valid; nobody else changes the configuration on this node.\n"
             "A file that removes what is in use (see `waybill help apply`) is refused, unless\n"
             "--yes is given: it may have been cut off.\n"
             "\n"
             "SIGTERM ends the node in good order.  It may also be killed at any time:\n"
             "starting is recovering.\n",
    .example = "waybill serve -c waybill.yaml\n"
               "waybill serve -c waybill.yaml --apply --yes\n",
    .forms = (const struct arg_form[]){ { .usage = "[-c FILE] [--apply] [--yes] [--unconfined]",
                                          .summary = "run a node until it is told to stop",
                                          .options = serve_options },
                                        { 0 } },
    .run = cmd_serve,
};

#ifdef WAYBILL_FAULTS
static const struct verb fault_points = {
    .name = "fault-points",
    .summary = "list the named fault points of this test build",
    .example = "waybill fault-points\n",
    .forms = (const struct arg_form[]){ { .summary = "one name per line" }, { 0 } },
    .run = cmd_fault_points,
};
#endif

static const struct verb help = {
    .name = "help",
    .summary = "how to use the program, one verb of it, or a connector",
    .example = "waybill help docs\n"
               "waybill help gateway\n"
               "waybill help endpoint http\n",
    .forms = (const struct arg_form[]){ { .usage = "[VERB | gateway|service|endpoint [KIND]]",
                                          .summary = "all verbs, one in full, or what can be "
                                                     "plugged in, with its keys",
                                          .most = 2,
                                          .run = run_help },
                                        { 0 } },
};

/* In the order in which `waybill help` shows them. */
static const struct verb *const verbs[] = {
    &cmd_demo,     &serve,        &cmd_check,  &cmd_try,       &cmd_test,    &cmd_apply,
    &cmd_config,   &cmd_rehearse, &cmd_send,   &cmd_key,       &cmd_user,    &cmd_role,
    &cmd_secret,   &cmd_hash,     &cmd_docs,   &cmd_dead,      &cmd_hold,    &cmd_node,
    &cmd_probe,    &cmd_doctor,   &cmd_alerts, &cmd_backup,    &cmd_restore, &cmd_migrate,
    &cmd_batches,  &cmd_jobs,     &cmd_repl,   &cmd_retention, &cmd_compact, &cmd_audit,
    &cmd_records,  &help,
#ifdef WAYBILL_FAULTS
    &fault_points,
#endif
};

enum { VERBS = sizeof verbs / sizeof verbs[0] };

static void print_overview(FILE *to)
{
    (void)fputs("waybill moves documents between systems and loses nothing.\n\n"
                "usage: waybill VERB ...\n\n",
                to);
    for (size_t i = 0; i < VERBS; i++)
        (void)fprintf(to, "  %-14s%s\n", verbs[i]->name, verbs[i]->summary);
    (void)fputs("\n"
                "`waybill help VERB` tells the rest, `waybill help gateway|service|endpoint|job "
                "[KIND]` what\n"
                "can be plugged in; `waybill --version` says which one this is.\n"
                "\n"
                "exit status: 0 done, 1 the answer is no, 2 usage, 69 not reachable,\n"
                "             74 input/output, 77 not allowed\n",
                to);
}

static const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < VERBS; i++)
        if (str_is(str_of(name), verbs[i]->name))
            return verbs[i];
    return NULL;
}

static int wrong_verb(const char *name)
{
    struct suggestion near = { .word = str_of(name) };

    for (size_t i = 0; i < VERBS; i++)
        suggest(&near, verbs[i]->name);
    if (near.best != NULL)
        return print_fail(EXIT_USAGE, "unknown verb \"%s\"; did you mean `waybill %s`?", name,
                          near.best);
    return print_fail(EXIT_USAGE, "unknown verb \"%s\"; `waybill help` lists them all", name);
}

/* `waybill help docs ls` prints the same as `waybill help docs`. */
static int run_help(const struct args *a)
{
    const struct verb *v;
    int code;

    if (a->operand_count == 0) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    if (help_kind(a->operand[0], a->operand_count > 1 ? a->operand[1] : NULL, &code))
        return code;
    v = verb_find(a->operand[0]);
    if (v == NULL)
        return wrong_verb(a->operand[0]);
    verb_help(v, stdout);
    return EXIT_DONE;
}

static int main_run(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    struct str word = str_of(argv[1]);

    if (str_is(word, "--version")) {
        (void)printf("waybill %s\n", WAYBILL_VERSION);
        return EXIT_DONE;
    }
    if (str_is(word, "--help") || str_is(word, "-h")) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    const struct verb *v = verb_find(argv[1]);

    return v == NULL ? wrong_verb(argv[1]) : verb_run(v, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int code;

    /* Of the program itself, not of people.  It has no environment and so no way to be told to
     * leave out a sanitizer's check for leaks, which takes seconds: it ends without. */
    if (cage_main_is(argc, argv))
        _exit(cage_main(argc, argv, &registry));
    if (sql_main_is(argc, argv))
        _exit(sql_main());
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    code = main_run(argc, argv);
    /* A full disk or a closed pipe may show only when stdout is flushed. */
    if (fflush(stdout) != 0 || ferror(stdout))
        code = print_fail(EXIT_IO, "cannot write to stdout: %s", strerror(errno));
    curl_global_cleanup();
    return code;
}
