/* cmd_config.c - `waybill apply` and `waybill config`: versions of the configuration. */
#include <stdio.h>
#include <unistd.h>

#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/config_export.h"
#include "app/config_file.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/str.h"

enum { HISTORY_MOST = 200 }; /* the API's largest page */

#define VERSION_FIELDS "version made by note sha256 live"
#define FILE_FIELDS    " files { path size sha256 }"
#define RESULT_FIELDS                        \
    "{ version { " VERSION_FIELDS " }"       \
    " problems { line column message hint }" \
    " warnings { line column message hint }" \
    " losses { kind name left } confirm }"

/* Prints the answer of configApply and configRevert. */
static int cmd_config_print_result(struct client *c, const struct args *a, const json_t *result,
                                   const char *file)
{
    const json_t *problems = json_object_get(result, "problems");
    const json_t *version = json_object_get(result, "version");
    bool as_json = args_flag(a, "json");
    size_t count = json_array_size(problems);

    if (!json_is_array(problems) || (count == 0 && !json_is_object(version)))
        return client_odd(c, "neither a version nor a problem");
    config_file_problems(problems, file, "error", as_json);
    config_file_problems(json_object_get(result, "warnings"), file, "warning", as_json);
    config_file_losses(json_object_get(result, "losses"), as_json);
    if (member_text(result, "confirm") != NULL && count > 0)
        return print_fail(EXIT_NO,
                          "%s removes what is in use; nothing was changed: say --yes to remove it",
                          file);
    if (count > 0)
        return print_fail(EXIT_NO, "%s: %zu problem%s; nothing was changed", file, count,
                          count == 1 ? "" : "s");
    if (as_json)
        print_json(version);
    else
        (void)printf("version %lld is live\n", (long long)member_number(version, "version"));
    return EXIT_DONE;
}

/* Asks whether what is in use may be removed.  --yes: that was said before. */
static bool is_confirmed(const struct args *a, const json_t *result, const char *file)
{
    char line[16];

    if (args_flag(a, "yes"))
        return true;
    if (!isatty(STDIN_FILENO))
        return false;
    config_file_problems(json_object_get(result, "problems"), file, "error", false);
    config_file_losses(json_object_get(result, "losses"), false);
    (void)fprintf(stderr, "Type yes to remove what is in use: ");
    (void)fflush(stderr);
    return fgets(line, sizeof line, stdin) != NULL && str_is(str_of(line), "yes\n");
}

/* Sends configApply or configRevert; where it removes what is in use, once more with the
 * confirmation of exactly these names.  Takes ownership of `variables`. */
static int change_config(struct client *c, const struct args *a, const char *query,
                         const char *field, json_t *variables, const char *file)
{
    json_auto_t *own = variables, *data = NULL, *again = NULL;

    if (!client_graphql(c, query, json_incref(own), &data))
        return c->exit_code;
    const json_t *result = json_object_get(data, field);
    const char *confirm = member_text(result, "confirm");

    if (json_is_object(json_object_get(result, "version")) || confirm == NULL ||
        !is_confirmed(a, result, file))
        return cmd_config_print_result(c, a, result, file);
    (void)json_object_set_new(own, "confirm", json_string(confirm));
    if (!client_graphql(c, query, json_incref(own), &again))
        return c->exit_code;
    return cmd_config_print_result(c, a, json_object_get(again, field), file);
}

/* Sends the files that the text names along with it; --keep-files: those of the live version stay.
 * False: the error is printed. */
static bool send_files(const struct args *a, const char *path, json_t *variables, int *ret_exit)
{
    json_t *files;

    if (args_flag(a, "keep-files"))
        return true;
    files =
        config_file_along(path, json_object_get(variables, "text"), args_flag(a, "json"), ret_exit);
    if (files == NULL)
        return false;
    config_file_attach(variables, files);
    return true;
}

static int run_apply(const struct args *a)
{
    const char *path = a->operand[0], *note = args_text(a, "note");
    AUTO(client_close) struct client c = { 0 };
    json_t *text, *variables;
    int code = EXIT_DONE;

    if (!client_open(&c, a))
        return c.exit_code;
    text = config_file_read(path, &code);
    if (text == NULL)
        return code;
    variables = json_object();
    (void)json_object_set_new(variables, "text", text);
    (void)json_object_set_new(variables, "force", json_boolean(args_flag(a, "force")));
    if (!send_files(a, path, variables, &code)) {
        json_decref(variables);
        return code;
    }
    if (note != NULL && json_object_set_new(variables, "note", json_string(note)) != 0) {
        json_decref(variables);
        return args_wrong(a, "--note is not text in UTF-8");
    }
    return change_config(
        &c, a,
        "mutation($text: String!, $files: [ConfigFileInput!], $note: String, $force: Boolean,"
        " $confirm: String)"
        " { configApply(text: $text, files: $files, note: $note, force: $force, confirm: "
        "$confirm) " RESULT_FIELDS " }",
        "configApply", variables, path);
}

static int run_revert(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    char title[PRINT_SHORT];
    int64_t version;

    if (!args_version(a, 0, &version))
        return EXIT_USAGE;
    (void)snprintf(title, sizeof title, "version %lld", (long long)version);
    if (!client_open(&c, a))
        return c.exit_code;
    return change_config(
        &c, a,
        "mutation($version: Int!, $force: Boolean, $confirm: String)"
        " { configRevert(version: $version, force: $force, confirm: $confirm) " RESULT_FIELDS " }",
        "configRevert",
        json_pack("{s:I,s:b}", "version", (json_int_t)version, "force", args_flag(a, "force")),
        title);
}

/* Fetches the version that the first operand names, or the live one. */
static bool fetch_version(struct client *c, const struct args *a, json_t **ret_data)
{
    json_t *variables = json_object();
    int64_t version;

    if (a->operand_count > 0) {
        if (!args_version(a, 0, &version)) {
            json_decref(variables);
            c->exit_code = EXIT_USAGE;
            return false;
        }
        (void)json_object_set_new(variables, "version", json_integer(version));
    }
    if (!ask_node(c, a,
                  "query($version: Int) { config(version: $version) { " VERSION_FIELDS
                  " text" FILE_FIELDS " } }",
                  variables, ret_data))
        return false;
    if (json_is_object(json_object_get(*ret_data, "config")))
        return true;
    c->exit_code = a->operand_count > 0
                       ? print_fail(EXIT_NO, "there is no version %s", a->operand[0])
                       : print_fail(EXIT_NO, "there is no configuration yet: `waybill apply FILE`");
    return false;
}

static int cmd_config_run_show(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    char made[PRINT_SHORT];

    if (!fetch_version(&c, a, &data))
        return c.exit_code;
    const json_t *v = json_object_get(data, "config"), *file;
    const char *note = member_text(v, "note"), *text = member_text(v, "text");
    size_t i;

    if (args_flag(a, "json")) {
        print_json(v);
        return EXIT_DONE;
    }
    if (text == NULL)
        return client_odd(&c, "the version has no text");
    (void)printf("# version %lld%s, made %s by ", (long long)member_number(v, "version"),
                 member_true(v, "live") ? " (live)" : "", print_time(member_text(v, "made"), made));
    print_text(stdout, member_text(v, "by"));
    if (note != NULL) {
        (void)fputs(": ", stdout);
        print_text(stdout, note);
    }
    (void)fputc('\n', stdout);
    json_array_foreach(json_object_get(v, "files"), i, file)
    {
        (void)printf("# file %lld bytes, sha256 %s: ", (long long)member_number(file, "size"),
                     member_text(file, "sha256"));
        print_text(stdout, member_text(file, "path"));
        (void)fputc('\n', stdout);
    }
    (void)fputs(text, stdout);
    return EXIT_DONE;
}

static int run_export(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const char *to = args_text(a, "files");

    if (!fetch_version(&c, a, &data))
        return c.exit_code;
    const json_t *v = json_object_get(data, "config");
    const json_t *text = json_object_get(v, "text");
    int code = to != NULL ? config_export_files(&c, v, to) : EXIT_DONE;

    if (code != EXIT_DONE)
        return code;
    if (args_flag(a, "json"))
        print_json(v);
    else if (!json_is_string(text))
        return client_odd(&c, "the version has no text");
    else
        (void)fwrite(json_string_value(text), 1, json_string_length(text), stdout);
    return EXIT_DONE;
}

static const char *live_cell(const json_t *v, struct buf *room)
{
    (void)room;
    return member_true(v, "live") ? "live" : NULL;
}

static int run_history(const struct args *a)
{
    static const struct list_column columns[] = {
        { "VERSION", "version", LIST_NUMBER },
        { "LIVE", .cell = live_cell },
        { "MADE", "made", LIST_TIME },
        { "BY", "by" },
        { "NOTE", "note" },
        { 0 },
    };
    static const struct list list = {
        .query = "query($first: Int) { configHistory(first: $first) { " VERSION_FIELDS " } }",
        .field = "configHistory",
        .columns = columns
    };
    int64_t limit = args_number(a, "limit", 50);

    if (limit > HISTORY_MOST)
        return args_wrong(a, "--limit is at most %d here", HISTORY_MOST);
    return list_whole(a, &list, json_pack("{s:I}", "first", (json_int_t)limit));
}

/* The variables of configDiff for `A B` or `file FILE`; NULL: the error is printed. */
static json_t *diff_variables(const struct args *a, int *ret_exit)
{
    int64_t from, to;

    if (str_is(str_of(a->operand[0]), "file")) {
        json_t *text = config_file_read(a->operand[1], ret_exit);
        json_t *variables = text == NULL ? NULL : json_pack("{s:o}", "text", text);

        if (variables != NULL && send_files(a, a->operand[1], variables, ret_exit))
            return variables;
        json_decref(variables);
        return NULL;
    }
    *ret_exit = EXIT_USAGE;
    if (!args_version(a, 0, &from) || !args_version(a, 1, &to))
        return NULL;
    return json_pack("{s:I,s:I}", "from", (json_int_t)from, "to", (json_int_t)to);
}

static int run_diff(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    int code = EXIT_DONE;
    json_t *variables = diff_variables(a, &code);

    if (variables == NULL)
        return code;
    if (!ask_node(&c, a,
                  "query($from: Int, $to: Int, $text: String, $files: [ConfigFileInput!])"
                  " { configDiff(from: $from, to: $to, text: $text, files: $files) }",
                  variables, &data))
        return c.exit_code;
    const char *diff = member_text(data, "configDiff");

    if (diff == NULL)
        return client_odd(&c, "no difference");
    if (args_flag(a, "json")) {
        json_auto_t *line = json_pack("{s:b,s:s}", "differs", *diff != '\0', "diff", diff);

        print_json(line);
    } else
        (void)fputs(*diff != '\0' ? diff : "no difference\n", stdout);
    return *diff != '\0' ? EXIT_NO : EXIT_DONE;
}

#define KEEP_FILES                                                                    \
    {                                                                                 \
        .name = "keep-files", .kind = ARG_FLAG,                                       \
        .help = "take the files that it names from the live version, not beside FILE" \
    }

static const struct arg_option diff_options[] = { KEEP_FILES, { 0 } };

static const struct arg_option apply_options[] = {
    { .name = "note", .kind = ARG_TEXT, .value = "TEXT", .help = "why, for the history" },
    { .name = "force",
      .kind = ARG_FLAG,
      .help = "keep keys that this build does not run, for a newer one" },
    { .name = "yes", .kind = ARG_FLAG, .help = "remove what is in use without asking" },
    KEEP_FILES,
    { 0 },
};

static const struct arg_option revert_options[] = {
    { .name = "force",
      .kind = ARG_FLAG,
      .help = "keep keys that this build does not run, for a newer one" },
    { .name = "yes", .kind = ARG_FLAG, .help = "remove what is in use without asking" },
    { 0 },
};

const struct verb cmd_apply = {
    .name = "apply",
    .summary = "make a file the live configuration, as a new version",
    .about =
        "The file is validated whole; with a problem in it nothing changes, and each\n"
        "problem is printed as FILE:line:column.  The part `node:` is every node's own\n"
        "and no part of a version: it may stay in the file.  All nodes follow within a\n"
        "second.  A key that this build does not run is refused (\"not in this build\"),\n"
        "unless --force keeps it for a newer one.\n"
        "\n"
        "Files that steps name (`file:`, schemas) lie beside FILE or below.  They are sent along\n"
        "and stored with the version: a file that is edited later changes nothing before the\n"
        "next `apply`, and old versions keep theirs.\n"
        "\n"
        "What the file removes is listed.  What is in use is removed only by who types yes,\n"
        "or says --yes: a gateway that received documents in the last week, an endpoint or\n"
        "a system that deliveries wait for, a system with a hold.  What waits is held then,\n"
        "and `waybill docs retry --state held --from route` sends it where the routes in\n"
        "force lead.  A node whose file is the truth (`node.config: file`) refuses this verb.\n",
    .example = "waybill apply waybill.yaml --note \"orders go to the archive too\"\n",
    .forms =
        (const struct arg_form[]){
            { .usage = "FILE|- [--note TEXT] [--force] [--yes] [--keep-files]",
              .summary = "make FILE the live configuration",
              .least = 1,
              .most = 1,
              .options = apply_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_apply },
            { 0 } },
};

static const struct arg_option export_options[] = {
    { .name = "files",
      .kind = ARG_TEXT,
      .value = "DIR",
      .help = "also write the files of the version, below DIR; none is replaced" },
    { 0 },
};

static const struct arg_option history_options[] = {
    { .name = "limit",
      .kind = ARG_NUMBER,
      .value = "N",
      .help = "at most so many (50; up to 200)" },
    { 0 },
};

const struct verb cmd_config = {
    .name = "config",
    .summary = "look at versions of the configuration, compare them, go back",
    .about = "`show` puts lines of comment before the text; `export` prints the text alone,\n"
             "byte for byte, so that it can be kept in a file and applied again.\n"
             "`diff` exits with 1 when there is a difference; the files that belong to the\n"
             "versions are compared, too.  `revert` brings the files of its version back.\n"
             "`export --files DIR` writes them, so that the text can be applied from there.\n",
    .example = "waybill config diff 3 4\n"
               "waybill config diff file waybill.yaml\n"
               "waybill config revert 3\n",
    .forms =
        (const struct arg_form[]){
            { .word = "show",
              .usage = "[N]",
              .summary = "the live version, or version N",
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_config_run_show },
            { .word = "history",
              .usage = "[--limit N]",
              .summary = "versions, the newest first",
              .options = history_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_history },
            { .word = "diff",
              .usage = "A B | file FILE [--keep-files]",
              .summary = "what differs between two versions, or between the live one and FILE",
              .least = 2,
              .most = 2,
              .options = diff_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_diff },
            { .word = "revert",
              .usage = "N [--force] [--yes]",
              .summary = "make version N live again, as a new version",
              .least = 1,
              .most = 1,
              .options = revert_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_revert },
            { .word = "export",
              .usage = "[N] [--files DIR]",
              .summary = "the text of the live version, or of version N",
              .most = 1,
              .options = export_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_export },
            { 0 } },
};
