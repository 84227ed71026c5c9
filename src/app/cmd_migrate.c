/* cmd_migrate.c - `waybill migrate`: moves a SQLite store to PostgreSQL, while no node runs. */
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "store/backup/move.h"

static void print_step(const char *what, int64_t rows)
{
    if (rows > 0)
        (void)printf("  %-24s%12lld\n", what, (long long)rows);
    (void)fflush(stdout);
}

static void print_moved(const struct move *m)
{
    json_auto_t *line =
        json_pack("{s:b,s:I,s:I,s:I,s:I,s:I}", "wasDone", m->was_done, "rows", (json_int_t)m->rows,
                  "tables", (json_int_t)m->tables, "payloads", (json_int_t)m->payloads, "bytes",
                  (json_int_t)m->bytes, "damaged", (json_int_t)m->damaged);

    print_json(line);
}

static void tell_moved(const struct move *m)
{
    char size[PRINT_SHORT];

    if (m->was_done)
        (void)printf("The database has this store already.\n");
    else
        (void)printf("%lld rows of %lld tables and %lld payloads (%s) moved, counted and checked\n",
                     (long long)m->rows, (long long)m->tables, (long long)m->payloads,
                     print_size(m->bytes, size));
    (void)printf("%s/waybill.db is waybill.db.moved now.  Add `store: URL` to `node:` of the\n"
                 "configuration file and start the node on the same data folder.\n",
                 m->data);
}

static void print_nothing(const char *what, int64_t rows)
{
    (void)what;
    (void)rows;
}

static int run_migrate(const struct args *a)
{
    bool json = args_flag(a, "json");
    struct move m = { .data = args_text(a, "data"),
                      .url = args_text(a, "store"),
                      .step = json ? print_nothing : print_step };
    struct err err = { 0 };

    if (m.data == NULL || m.url == NULL)
        return args_wrong(a,
                          "give the folder of the SQLite store with --data and an empty database "
                          "with --store");
    if (!move_run(&m, &err))
        return print_fail(err.kind == ERR_PERMANENT || err.kind == ERR_CONFIG ? EXIT_NO : EXIT_IO,
                          "%s; %s", err.text,
                          m.may_be_there ? "the database may have the store by now: start no node, "
                                           "and run this once more"
                                         : "nothing was changed");
    if (json)
        print_moved(&m);
    else
        tell_moved(&m);
    if (m.damaged == 0)
        return EXIT_DONE;
    return print_fail(EXIT_NO, "%lld payloads are missing or damaged, as they were before; %s",
                      (long long)m.damaged, m.damage);
}

static const struct arg_option options[] = {
    { .name = "data",
      .kind = ARG_TEXT,
      .value = "DIR",
      .help = "the data folder with the SQLite store" },
    { .name = "store", .kind = ARG_TEXT, .value = "URL", .help = "an empty PostgreSQL database" },
    { 0 },
};

const struct verb cmd_migrate = {
    .name = "migrate",
    .summary = "move a SQLite store into PostgreSQL, without a node",
    .about =
        "Everything goes along: documents with their bytes and timelines, what waits, dead\n"
        "letters, configuration versions, keys, secrets.  Ids and order stay as they are.\n"
        "It is one transaction: interrupted, it has done nothing and is begun again.  When\n"
        "it cannot tell whether it was committed it says so: start no node, and run it again.\n"
        "\n"
        "Afterwards the old database has another name, so that it is not started beside the\n"
        "new one.  The data folder stays the node's: the key of the secrets and the admin\n"
        "token are in it.\n",
    .example = "waybill migrate --data ./data --store postgres://waybill@db/waybill\n",
    .forms = (const struct arg_form[]){ { .usage = "--data DIR --store URL",
                                          .summary = "move the store of a stopped node",
                                          .options = options,
                                          .common = FORM_JSON,
                                          .run = run_migrate },
                                        { 0 } },
};
