/* cmd_restore.c - `waybill restore`: makes a store of a backup, while no node runs. */
#include <limits.h>
#include <stdlib.h>

#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/clock.h"
#include "store/backup/backup.h"
#include "store/backup/restore_files.h"

static void print_manifest(const struct manifest *m)
{
    char taken[CLOCK_TEXT], size[PRINT_SHORT];

    (void)printf("backup of %s by waybill %s: %s, %lld files, %s, all as they were written\n",
                 clock_local_text(m->taken_us, taken), m->program, m->store, (long long)m->files,
                 print_size(m->bytes, size));
    if (m->point[0] != '\0')
        (void)printf("point to restore PostgreSQL to: %s\n", m->point);
}

/* Payloads that were missing or damaged when the backup was taken. */
static void print_damage(const struct buf *damage)
{
    struct str rest = buf_view(damage), line;

    if (rest.len == 0)
        return;
    (void)fprintf(stderr, "not whole in this backup, because they were damaged or missing in the "
                          "store:\n");
    while (rest.len > 0) {
        rest = str_cut(rest, '\n', &line);
        (void)fprintf(stderr, "  %.*s\n", STR_ARG(line));
    }
}

static int run_restore(const struct args *a)
{
    struct restore_files r = { .backup = a->operand[0],
                               .data = args_text(a, "data"),
                               .url = args_text(a, "store"),
                               .key = args_text(a, "key"),
                               .damage = BUF_INIT(BACKUP_DAMAGE_MOST + 2048) };
    bool check = args_flag(a, "check");
    AUTO_TEXT whole = realpath(a->operand[0], NULL);
    struct err err = { 0 };

    if (whole != NULL)
        r.backup = whole;
    if (check == (r.data != NULL || r.url != NULL))
        return args_wrong(a, "give the folder of the new node with --data, the database with "
                             "--store, or --check alone");
    if (!(check ? restore_files_check(&r, &err) : restore_files_run(&r, &err)))
        return print_fail(err.kind == ERR_PERMANENT || err.kind == ERR_CONFIG ? EXIT_NO : EXIT_IO,
                          "%s", err.text);
    print_manifest(&r.manifest);
    print_damage(&r.damage);
    bool whole_backup = r.damage.len == 0;

    buf_done(&r.damage);
    if (check)
        return whole_backup ? EXIT_DONE : EXIT_NO;
    (void)printf(
        "restored%s%s.  Nothing is sent until `waybill node release` says what becomes of\n"
        "what was in flight when the backup was taken.\n",
        r.data != NULL ? " into " : "", r.data != NULL ? r.data : "");
    if (r.key_missing)
        (void)printf("The secrets need the key %s: put the file secret.key into the data folder.\n",
                     r.manifest.key);
    return EXIT_DONE;
}

static const struct arg_option options[] = {
    { .name = "data", .kind = ARG_TEXT, .value = "DIR", .help = "the data folder of the new node" },
    { .name = "store", .kind = ARG_TEXT, .value = "URL", .help = "the PostgreSQL database" },
    { .name = "key", .kind = ARG_TEXT, .value = "FILE", .help = "the key of the secrets" },
    { .name = "check", .kind = ARG_FLAG, .help = "only read it and check every digest" },
    { 0 },
};

const struct verb cmd_restore = {
    .name = "restore",
    .summary = "make a store of a backup, without a node",
    .about = "Reads every file of the backup and refuses one in which a bit has changed, with\n"
             "its name; then writes a data folder that has no store yet.  A node that is started\n"
             "on it takes documents in and sends nothing until `waybill node release`.\n"
             "\n"
             "On PostgreSQL bring the database back with its own tools first, to the point that\n"
             "--check prints or later, and before any node is started run this with --store.\n",
    .example = "waybill restore /backup/2026-11-15 --check\n"
               "waybill restore /backup/2026-11-15 --data /var/lib/waybill\n",
    .forms = (const struct arg_form[]){ { .usage = "BACKUP --data DIR|--store URL|--check "
                                                   "[--key FILE]",
                                          .summary = "restore it, or check it",
                                          .least = 1,
                                          .most = 1,
                                          .options = options,
                                          .run = run_restore },
                                        { 0 } },
};
