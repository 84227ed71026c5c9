/* cmd_doctor.c - `waybill doctor`: checks the invariants of a store. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "admin/view/doctor.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/id.h"
#include "store/db/pg_lineage.h"
#include "store/open.h"
#include "store/recover.h"
#include "store/store.h"

enum { PATIENCE_S = 900 }; /* checking a large store is slow */

/* The first line goes on where the cursor is, the others below it. */
static void print_message(const char *text, int indent)
{
    struct str rest = str_of(text != NULL ? text : ""), line;

    for (int i = 0; i == 0 || rest.len > 0; i++) {
        AUTO(buf_done) struct buf one = BUF_INIT(1 << 20);
        struct err err = { 0 };

        rest = str_cut(rest, '\n', &line);
        (void)printf("%*s", i == 0 ? 0 : indent, "");
        if (buf_append(&one, line, &err))
            print_text(stdout, one.ptr);
        (void)fputc('\n', stdout);
    }
}

static void print_check(const json_t *check, int width)
{
    bool ok = member_true(check, "ok");
    const char *name = member_text(check, "name");

    print_coloured(ok ? PRINT_GOOD : PRINT_BAD, ok ? "ok  " : "FAIL");
    (void)fputs("  ", stdout);
    print_text(stdout, name);
    (void)printf("%*s",
                 name != NULL && (int)strlen(name) < width ? width - (int)strlen(name) + 2 : 2, "");
    print_message(member_text(check, "message"), width + 8);
}

static int widest_name(const json_t *checks)
{
    const json_t *check;
    int width = 0;
    size_t i;

    json_array_foreach(checks, i, check)
    {
        int n = (int)json_string_length(json_object_get(check, "name"));

        if (n > width && n <= PRINT_CELL)
            width = n;
    }
    return width;
}

static int print_report(const struct args *a, const json_t *checks, bool ok)
{
    int width = widest_name(checks);
    const json_t *check;
    size_t i, failed = 0;

    json_array_foreach(checks, i, check)
    {
        failed += !member_true(check, "ok");
        if (args_flag(a, "json"))
            print_json(check);
        else
            print_check(check, width);
    }
    ok = ok && failed == 0;
    if (!args_flag(a, "json") && ok)
        (void)printf("%zu checks, all ok\n", json_array_size(checks));
    else if (!args_flag(a, "json"))
        (void)printf("%zu checks, %zu failed\n", json_array_size(checks), failed);
    return ok ? EXIT_DONE : EXIT_NO;
}

/* The folder of a node that keeps its store on PostgreSQL has no database in it. */
static bool is_on_postgresql(const char *data)
{
    AUTO_FD fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && faccessat(fd, "waybill.db", F_OK, 0) != 0 &&
           faccessat(fd, PG_LINEAGE_FILE, F_OK, 0) == 0;
}

/* ---- what the database lost ---- */

enum { NAMED_MOST = 1000 }; /* of each, the others are counted */

/* What was taken in again, what could not be, and what was left out on purpose. */
struct recovered {
    json_t *taken, *unread, *left_out;
    struct recover_result sum;
};

static void note_lost(void *arg, const struct store_lost *l)
{
    struct recovered *r = arg;
    char id[ID_TEXT];
    int64_t *count = l->why == NULL ? &r->sum.taken_in
                     : l->left_out  ? &r->sum.left_out
                                    : &r->sum.unread;

    (void)id_text(l->id, id);
    if (++*count > NAMED_MOST)
        return;
    if (l->why == NULL)
        (void)json_array_append_new(r->taken, json_string(id));
    else
        (void)json_array_append_new(l->left_out ? r->left_out : r->unread,
                                    json_pack("{s:s, s:I, s:I, s:s}", "id", id, "segment",
                                              (json_int_t)l->seg, "position", (json_int_t)l->pos,
                                              "why", l->why));
}

static void print_rest(int64_t count)
{
    if (count > NAMED_MOST)
        (void)printf("and %lld more\n", (long long)(count - NAMED_MOST));
}

static void print_entries(const char *what, const json_t *entries, int64_t count)
{
    const json_t *one;
    size_t i;

    json_array_foreach(entries, i, one)
    {
        (void)printf("%-16s %s  %lld.seg at %lld: ", what, member_text(one, "id"),
                     (long long)json_integer_value(json_object_get(one, "segment")),
                     (long long)json_integer_value(json_object_get(one, "position")));
        print_text(stdout, member_text(one, "why"));
        (void)fputc('\n', stdout);
    }
    print_rest(count);
}

static void print_recovered(const struct recovered *r)
{
    const json_t *one;
    size_t i;

    json_array_foreach(r->taken, i, one)(void)
        printf("taken in again   %s\n", json_string_value(one));
    print_rest(r->sum.taken_in);
    print_entries("could not be", r->unread, r->sum.unread);
    print_entries("left out", r->left_out, r->sum.left_out);
}

/* The first line of the report. */
static void add_recovery(json_t *checks, const struct recovered *r)
{
    AUTO(buf_done) struct buf text = BUF_INIT(RECOVER_TEXT + 100);
    char what[RECOVER_TEXT];

    recover_text(&r->sum, what);
    if (r->sum.taken_in == 0 && r->sum.unread == 0 && r->sum.left_out == 0)
        buf_printf(&text, "nothing was to be taken in again");
    else
        buf_printf(&text, "%s; nothing is sent until `waybill node release`", what);
    (void)json_array_append_new(checks,
                                json_pack("{s:s, s:b, s:s, s:I, s:O, s:O, s:O}", "name", "recovery",
                                          "ok", r->sum.unread == 0, "message", text.ptr, "count",
                                          (json_int_t)r->sum.taken_in, "taken_in", r->taken,
                                          "unread", r->unread, "left_out", r->left_out));
}

/* ---- a stopped node ---- */

static int folder_report(const struct args *a, const struct doctor_report *report,
                         const struct recovered *r)
{
    json_auto_t *checks = json_array();

    if (args_flag(a, "recover")) {
        add_recovery(checks, r);
        if (!args_flag(a, "json"))
            print_recovered(r);
    }
    for (size_t i = 0; i < report->count; i++)
        (void)json_array_append_new(
            checks, json_pack("{s:s, s:b, s:s, s:I}", "name", report->checks[i].name, "ok",
                              report->checks[i].ok, "message", report->checks[i].message, "count",
                              (json_int_t)report->checks[i].count));
    return print_report(a, checks, report->ok);
}

/* Opens the store as `serve` does, runs the checks and closes it. */
static int look_into_store(const struct args *a, const char *data, struct recovered *r)
{
    struct store_options o = { .data = data,
                               .url = args_text(a, "store"),
                               .area = "internal",
                               .queue_most = 16,
                               .damaged = true,
                               .lost = note_lost,
                               .lost_arg = r,
                               .leave_lost = !args_flag(a, "recover") };
    AUTO(arena_done) struct arena arena = ARENA_INIT(16 << 20);
    struct doctor_report report;
    struct store *store;
    struct err err = { 0 };

    if (!store_open(&o, &store, &err)) {
        (void)fprintf(stderr, "waybill: %s\n", err.text);
        return EXIT_NO;
    }
    bool looked = doctor_run(store, args_flag(a, "deep"), &arena, &report, &err);

    store_close(store);
    if (!looked) {
        (void)fprintf(stderr, "waybill: %s\n", err.text);
        return EXIT_NO;
    }
    return folder_report(a, &report, r);
}

static int look_at_folder(const struct args *a, const char *data)
{
    if (access(data, F_OK) != 0) {
        (void)fprintf(stderr, "waybill: data folder %s: %s\n", data, strerror(errno));
        return EXIT_IO;
    }
    if (args_text(a, "store") == NULL && is_on_postgresql(data)) {
        (void)fprintf(stderr, "waybill: the store of this node is on PostgreSQL: give its address "
                              "with --store\n");
        return EXIT_USAGE;
    }
    json_auto_t *taken = json_array(), *unread = json_array(), *left_out = json_array();

    return look_into_store(
        a, data, &(struct recovered){ .taken = taken, .unread = unread, .left_out = left_out });
}

/* False: printed what is wrong. */
static bool options_fit(const struct args *a)
{
    bool folder = args_text(a, "data") != NULL;

    if (!folder && args_text(a, "store") != NULL)
        (void)fprintf(stderr,
                      "waybill: --store needs --data: the data folder of the stopped node\n");
    else if (!folder && args_flag(a, "recover"))
        (void)fprintf(stderr, "waybill: --recover needs --data: the data folder of the stopped "
                              "node; one that runs has taken in what it could at its start\n");
    else if (args_flag(a, "recover") && args_text(a, "store") != NULL)
        (void)fprintf(stderr, "waybill: --recover is for a store on SQLite: on PostgreSQL payloads "
                              "are lost with the commits of the database\n");
    else
        return true;
    return false;
}

static int run_doctor(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!options_fit(a))
        return EXIT_USAGE;
    if (args_text(a, "data") != NULL)
        return look_at_folder(a, args_text(a, "data"));
    if (!client_open(&c, a))
        return c.exit_code;
    c.patience_s = args_number(a, "timeout", PATIENCE_S);
    if (!client_graphql(&c,
                        args_flag(a, "deep")
                            ? "{ doctor(deep: true) { ok checks { name ok message count } } }"
                            : "{ doctor { ok checks { name ok message count } } }",
                        NULL, &data))
        return c.exit_code;
    const json_t *report = json_object_get(data, "doctor");
    const json_t *checks = json_object_get(report, "checks");

    if (!json_is_array(checks))
        return client_odd(&c, "no checks in it");
    return print_report(a, checks, member_true(report, "ok"));
}

static const struct arg_option options[] = {
    { .name = "data",
      .kind = ARG_TEXT,
      .value = "DIR",
      .help = "the data folder of a stopped node" },
    { .name = "store",
      .kind = ARG_TEXT,
      .value = "URL",
      .help = "with --data: its PostgreSQL database" },
    { .name = "deep",
      .kind = ARG_FLAG,
      .help = "also read what steps changed, what was sent, and kept answers" },
    { .name = "recover",
      .kind = ARG_FLAG,
      .help = "with --data: take in again what an older database lost" },
    { 0 },
};

const struct verb cmd_doctor = {
    .name = "doctor",
    .summary = "check every invariant of the store",
    .about = "Asks a running node, which goes on working; with --data it looks at the store\n"
             "of a node that is stopped, with --store on PostgreSQL.  Each check is one line\n"
             "with ok or FAIL; a line that failed says what is wrong and what to do.  The exit\n"
             "status is 1 when a check failed.\n\n"
             "A database that went back in time (an older file put back, a lost log) lacks\n"
             "documents that were acknowledged; the payload segments may still have them.\n"
             "Without --recover that is reported; with it they are taken in again, as a start\n"
             "of the node does, and each document is listed.  Nothing is sent until\n"
             "`waybill node release`.\n",
    .example = "waybill doctor\nwaybill doctor --deep --data ./data\n"
               "waybill doctor --data ./data --store postgres://waybill@db/waybill\n"
               "waybill doctor --recover --data ./data\n",
    .forms =
        (const struct arg_form[]){ { .usage = "[--deep] [--data DIR [--store URL] [--recover]]",
                                     .summary = "check the store of a node",
                                     .options = options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = run_doctor },
                                   { 0 } },
};
