/* cmd_compact.c - `waybill compact`: returns space that retention freed to the file system. */
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "store/compact.h"

static int run_compact(const struct args *a)
{
    const char *data = args_text(a, "data");
    char before[PRINT_SHORT], after[PRINT_SHORT];
    struct compact_result done;
    struct err err = { 0 };

    if (!store_compact(data != NULL ? data : "./data", &done, &err))
        return print_fail(err.kind == ERR_CONFIG ? EXIT_IO : EXIT_NO, "%s", err.text);
    if (args_flag(a, "json")) {
        json_auto_t *line = json_pack("{s:I,s:I}", "before", (json_int_t)done.before_bytes, "after",
                                      (json_int_t)done.after_bytes);

        print_json(line);
        return EXIT_DONE;
    }
    (void)printf("the database had %s and has %s\n", print_size(done.before_bytes, before),
                 print_size(done.after_bytes, after));
    return EXIT_DONE;
}

static const struct arg_option options[] = {
    { .name = "data",
      .kind = ARG_TEXT,
      .value = "DIR",
      .help = "the data folder of a stopped node (./data)" },
    { 0 },
};

const struct verb cmd_compact = {
    .name = "compact",
    .summary = "shrink the database of a stopped node",
    .about = "What retention frees inside the SQLite database is used again and not given back;\n"
             "payload files are.  This writes the database anew, without what is free, checks\n"
             "it, and puts it in the place of the old one.  The node must be stopped, and there\n"
             "must be room for a second copy.  It may be killed at any time.\n"
             "\n"
             "A PostgreSQL store is shrunk by PostgreSQL itself: VACUUM FULL.\n",
    .example = "waybill compact --data ./data\n",
    .forms = (const struct arg_form[]){ { .usage = "[--data DIR]",
                                          .summary = "shrink the database in DIR",
                                          .options = options,
                                          .common = FORM_JSON,
                                          .run = run_compact },
                                        { 0 } },
};
