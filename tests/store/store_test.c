#define STORE_TEST_SHARED
#include "store_test.h"

#include <ftw.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/require.h"
#include "store/db/db.h"
#include "store/db/migrate.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload.h"
#include "store/road/done.h"

struct child *child_first;

static const char *kind, *where; /* as given by -d */
static char base[200];           /* where the folders are made */
static int homes;
static char template[64]; /* the database that homes are copies of */

bool on_sqlite(void)
{
    return strcmp(kind, "sqlite") == 0;
}

bool on_postgres(void)
{
    return !on_sqlite();
}

/* ---- homes ---- */

/* A connection costs PostgreSQL more than most of what is asked over it: the main thread keeps its
 * last one, and leaves nothing in it. */
static _Thread_local struct {
    PGconn *conn;
    char url[600], database[64];
} kept;

static void drop_kept(void)
{
    PQfinish(kept.conn);
    kept.conn = NULL;
}

/* database: NULL for the one that the address names. */
static PGconn *connection_to(const char *url, const char *database)
{
    const char *const names[] = { "dbname", database != NULL ? "dbname" : NULL, NULL };
    const char *const values[] = { url, database, NULL };
    const char *named = database != NULL ? database : "";

    if (kept.conn != NULL && strcmp(kept.url, url) == 0 && strcmp(kept.database, named) == 0)
        return kept.conn;
    drop_kept();
    kept.conn = PQconnectdbParams(names, values, 1);
    (void)snprintf(kept.url, sizeof kept.url, "%s", url);
    (void)snprintf(kept.database, sizeof kept.database, "%s", named);
    return kept.conn;
}

static void leave_connection(void)
{
    PGresult *result = NULL;

    if (gettid() == getpid() && PQtransactionStatus(kept.conn) == PQTRANS_IDLE)
        result = PQexec(kept.conn, "DISCARD ALL");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        drop_kept();
    PQclear(result);
}

static bool pg_exec_in(const char *url, const char *database, const char *sql, PGresult **ret)
{
    PGconn *conn = connection_to(url, database);
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (!ok)
        printf("# %s: %s", sql, PQerrorMessage(conn));
    if (ok && ret != NULL)
        *ret = result;
    else
        PQclear(result);
    leave_connection();
    return ok;
}

static bool pg_exec(const char *url, const char *sql, PGresult **ret)
{
    return pg_exec_in(url, NULL, sql, ret);
}

bool tell_elsewhere(const char *sql)
{
    return pg_exec_in(where, "postgres", sql, NULL);
}

static void name_folder(struct home *h)
{
    (void)snprintf(h->folder, sizeof h->folder, "%s/%d-%d", base, (int)getpid(), ++homes);
}

/* Making the tables costs PostgreSQL four times what a copy of them does: the database that the
 * address names gets them once, and homes are copies of it. */
static bool make_template(void)
{
    struct db *db = NULL;
    struct err err = { 0 };
    PGresult *named = NULL;
    bool ok = db_open_postgres(where, false, NULL, &db, &err) && migrate(db, sql_migrations, &err);

    if (!ok)
        printf("# template: %s\n", err.text);
    db_close(db);
    if (!ok || !pg_exec(where, "SELECT current_database()", &named))
        return false;
    (void)snprintf(template, sizeof template, "%s", PQgetvalue(named, 0, 0));
    PQclear(named);
    return true;
}

static void name_database(int number, char to[static 40])
{
    (void)snprintf(to, 40, "home%d_%d", (int)getpid(), number);
}

/* from: the database that is copied. */
static void make_database(struct home *h, const char *from)
{
    char name[40], sql[200];

    name_database(homes, name);
    (void)snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE \"%s\" STRATEGY file_copy", name,
                   from);
    require(tell_elsewhere(sql));
    if (strncmp(where, "postgres", 8) == 0)
        (void)snprintf(h->url, sizeof h->url, "%s%cdbname=%s", where,
                       strchr(where, '?') != NULL ? '&' : '?', name);
    else
        (void)snprintf(h->url, sizeof h->url, "%s dbname=%s", where, name);
}

struct home empty_home(void)
{
    struct home h = { .url = "" };

    name_folder(&h);
    if (on_postgres())
        make_database(&h, "template0");
    return h;
}

struct home fresh_home(void)
{
    struct home h = { .url = "" };

    name_folder(&h);
    if (on_postgres()) {
        make_database(&h, template);
        /* A copy is a store of its own. */
        require(tell(&h, "UPDATE mark SET value = (random() * 4611686018427387904)::bigint + 1 "
                         "WHERE name = 'store'"));
    }
    return h;
}

struct home home_beside(const struct home *h)
{
    struct home other = *h;

    name_folder(&other);
    return other;
}

struct store_options options_of(const struct home *h)
{
    return (struct store_options){ .data = h->folder,
                                   .url = h->url[0] != '\0' ? h->url : NULL,
                                   .area = "internal",
                                   .address = "",
                                   .queue_most = 10000,
                                   .segment_bytes = 4 << 20 };
}

/* Nobody beats here, and a node that says nothing for ten seconds is dead: how long a test takes is
 * the machine's affair. */
static bool let_live(const struct home *h, const struct store *s)
{
    char sql[120];

    (void)snprintf(
        sql, sizeof sql,
        "UPDATE node SET alive_until_us = alive_until_us + 3600000000 WHERE node_id = %lld",
        (long long)store_node(s));
    return tell(h, sql);
}

struct store *open_store(const struct home *h)
{
    struct store_options o = options_of(h);
    struct store *s = NULL;
    struct err err = { 0 };

    if (!store_open(&o, &s, &err))
        printf("# open: %s (%s)\n", err.text, err.where);
    else if (on_postgres())
        require(let_live(h, s));
    return s;
}

static sqlite3 *sqlite_of(const struct home *h)
{
    char path[260];
    sqlite3 *db;

    (void)snprintf(path, sizeof path, "%s/waybill.db", h->folder);
    require(sqlite3_open(path, &db) == SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 5000);
    (void)sqlite3_wal_autocheckpoint(db, 0);
    return db;
}

const char *ask_text(const struct home *h, const char *sql, char *to, size_t room)
{
    *to = '\0';
    if (on_sqlite()) {
        sqlite3 *db = sqlite_of(h);
        sqlite3_stmt *stmt = NULL;

        if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
            sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0) != NULL)
            (void)snprintf(to, room, "%s", (const char *)sqlite3_column_text(stmt, 0));
        else
            printf("# %s: %s\n", sql, sqlite3_errmsg(db));
        (void)sqlite3_finalize(stmt);
        (void)sqlite3_close(db);
        return to;
    }
    PGresult *result;

    if (!pg_exec(h->url, sql, &result))
        return to;
    if (PQntuples(result) > 0)
        (void)snprintf(to, room, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return to;
}

int64_t ask(const struct home *h, const char *sql)
{
    char text[64];
    int64_t n;

    return str_to_i64(str_of(ask_text(h, sql, text, sizeof text)), &n) ? n : -1;
}

bool tell(const struct home *h, const char *sql)
{
    if (on_postgres())
        return pg_exec(h->url, sql, NULL);
    sqlite3 *db = sqlite_of(h);
    bool ok = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

    if (!ok)
        printf("# %s: %s\n", sql, sqlite3_errmsg(db));
    (void)sqlite3_close(db);
    return ok;
}

/* ---- documents ---- */

struct accept_op doc_of(struct str body)
{
    return (struct accept_op){ .op = { .verb = &accept_verb },
                               .gateway = 1,
                               .config = 1,
                               .received_us = clock_wall_us(),
                               .size = (int64_t)body.len,
                               .sha256 = digest_of(body),
                               .body = body,
                               .ctype = STR("text/plain") };
}

struct accept_op keyed_doc(struct str body, const char *key, int64_t period_us)
{
    struct accept_op op = doc_of(body);

    op.has_key = true;
    op.key = digest_of(str_of(key));
    op.key_period_us = period_us;
    return op;
}

/* Whoever waits for a number of operations. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} waiting = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };

static void one_done(struct store_op *op)
{
    (void)pthread_mutex_lock(&waiting.mutex);
    op->done = NULL; /* `next` is the queue's: it may still be written while we wait */
    (void)pthread_cond_broadcast(&waiting.changed);
    (void)pthread_mutex_unlock(&waiting.mutex);
}

static bool wait_for(struct store_op *op)
{
    (void)pthread_mutex_lock(&waiting.mutex);
    while (op->done != NULL)
        (void)pthread_cond_wait(&waiting.changed, &waiting.mutex);
    (void)pthread_mutex_unlock(&waiting.mutex);
    return op->ok;
}

bool accept_docs(struct store *s, struct accept_op *ops, size_t count)
{
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        ops[i].op.done = one_done;
        ops[i].op.next = i + 1 < count ? &ops[i + 1].op : NULL;
    }
    if (!writers_submit(store_writers(s), &ops[0].op, &ops[count - 1].op, count)) {
        printf("# the queue is full\n");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        ok = wait_for(&ops[i].op) && ok;
    return ok;
}

bool accept_doc(struct store *s, struct accept_op *op)
{
    return accept_docs(s, op, 1);
}

bool accept_many(struct store *s, int from, int count, int group)
{
    struct accept_op *ops = calloc((size_t)group, sizeof *ops);
    char(*bodies)[32] = calloc((size_t)group, sizeof *bodies);
    bool ok = true;

    for (int at = 0; ok && at < count; at += group) {
        int n = count - at < group ? count - at : group;

        for (int i = 0; i < n; i++) {
            (void)snprintf(bodies[i], sizeof bodies[i], "body %d", from + at + i);
            ops[i] = doc_of(str_of(bodies[i]));
        }
        ok = accept_docs(s, ops, (size_t)n);
        if (!ok)
            printf("# accept: %s\n", ops[0].op.err.text);
    }
    free(ops);
    free(bodies);
    return ok;
}

struct payload_source source_of(const struct accept_op *op)
{
    return (struct payload_source){
        .id = op->id, .num = op->num, .size = op->size, .sha256 = op->sha256, .place = op->place
    };
}

bool read_payload(struct store *s, const struct payload_source *source, struct buf *to,
                  struct err *err)
{
    struct payload_reader *r;
    struct str piece = STR("");
    bool ok;

    buf_clear(to);
    if (!payload_open(s, source, &r, err))
        return false;
    do
        ok = payload_next(r, &piece, err) && buf_append(to, piece, err);
    while (ok && piece.len > 0);
    payload_close(r);
    return ok;
}

bool payload_is(struct store *s, const struct accept_op *op, struct str want)
{
    AUTO(buf_done) struct buf got = BUF_INIT(64 << 20);
    struct payload_source source = source_of(op);
    struct err err = { 0 };

    if (!read_payload(s, &source, &got, &err))
        printf("# payload: %s\n", err.text);
    return err.kind == ERR_NONE && str_eq(buf_view(&got), want);
}

/* ---- tasks ---- */

int claim(struct store *s, size_t limit, struct task *tasks)
{
    struct err err = { 0 };
    size_t n = 0;

    if (task_claim(s, QUEUE_INTAKE, limit, LEASE_US, tasks, &n, &err))
        return (int)n;
    printf("# claim: %s\n", err.text);
    return -1;
}

bool born_docs(struct store *s, struct accept_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ops[i] = doc_of(STR("born"));
        ops[i].claim_wanted = true;
    }
    if (!accept_docs(s, ops, count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!ops[i].claimed || ops[i].task.id != ops[i].num || ops[i].task.claim == 0)
            return false;
    return true;
}

struct settle_delivery part_of(struct str id, int64_t queue, enum delivery_state state)
{
    return (struct settle_delivery){ .id = id,
                                     .endpoint = 31,
                                     .system = 32,
                                     .queue = queue,
                                     .state = state,
                                     .attempts = 1,
                                     .first_us = 1000 };
}

struct settle_op settle_of(const struct task *t, int64_t doc, enum settle_outcome end)
{
    return (struct settle_op){ .op = { .verb = &settle_verb },
                               .task = *t,
                               .doc = doc,
                               .end = end,
                               .state = DOCUMENT_DELIVERED,
                               .keep_days = 45 };
}

bool settle_ops(struct store *s, struct settle_op *ops, size_t count)
{
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        ops[i].op.done = one_done;
        ops[i].op.next = i + 1 < count ? &ops[i + 1].op : NULL;
    }
    if (!writers_submit(store_writers(s), &ops[0].op, &ops[count - 1].op, count))
        return false;
    for (size_t i = 0; i < count; i++)
        ok = wait_for(&ops[i].op) && ops[i].ours && ok;
    return ok;
}

struct task_places places(struct store *s)
{
    static const char sql[] = "SELECT (SELECT count(*) FROM task_ready) || ' ' || "
                              "(SELECT count(*) FROM task_lease) || ' ' || "
                              "(SELECT count(*) FROM task_later) || ' ' || "
                              "(SELECT count(*) FROM task_dead)";
    struct task_places p = { -1, -1, -1, -1 };
    struct home h = { .folder = "" };
    char text[100];

    (void)snprintf(h.folder, sizeof h.folder, "%s", s->options.data);
    (void)snprintf(h.url, sizeof h.url, "%s", s->options.url != NULL ? s->options.url : "");
    (void)sscanf(ask_text(&h, sql, text, sizeof text), "%d %d %d %d", &p.ready, &p.lease, &p.later,
                 &p.dead);
    return p;
}

bool give_back(struct store *s, const struct task *t)
{
    int64_t moved, next, now = clock_wall_us();
    struct err err = { 0 };
    bool ours;

    return task_fail(s, t, now, STR(""), &ours, &err) && ours &&
           task_wake(s, now, TASK_CLAIM_MOST, &moved, &next, &err) && moved == 1;
}

struct end_op {
    struct store_op op;
    struct settle_end_order order;
};

static bool end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct end_op *o = (struct end_op *)ops[0];

    require(count == 1);
    return settle_end(w, &o->order, err);
}

static void end_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct end_op *o = (const struct end_op *)ops[0];

    require(count == 1);
    done_used(w->store, o->order.day);
}

static const struct store_verb end_verb = { .name = "end document",
                                            .run = end_run,
                                            .committed = end_committed };

bool document_end(struct store *s, int64_t num, enum document_state state, int64_t keep_days,
                  struct err *err)
{
    struct end_op o = { .order = { .doc = num, .state = state, .keep_days = keep_days } };

    return writers_call(s->writers, &end_verb, &o.op, err);
}

/* ---- children ---- */

struct running start_child(const char *name, const struct home *h, const char *fault,
                           const char *arg)
{
    int fds[2];

    require(pipe(fds) == 0);
    (void)fflush(stdout);
    struct running r = { .pid = fork(), .out = fds[0] };

    require(r.pid >= 0);
    if (r.pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)close(fds[0]);
        (void)close(fds[1]);
        if (fault != NULL)
            (void)setenv("WAYBILL_FAULT", fault, 1);
        (void)setenv("LSAN_OPTIONS", "detect_leaks=0", 1); /* seconds each; the parent looks */
        (void)execl("/proc/self/exe", "child", "-d", kind, where, "--child", name, h->folder,
                    h->url, arg != NULL ? arg : "", (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    return r;
}

int end_child(struct running *r, struct buf *said)
{
    char bytes[4096];
    int status = -1;

    for (ssize_t n; (n = read(r->out, bytes, sizeof bytes)) > 0;)
        if (said != NULL)
            buf_put(said, str_mem(bytes, (size_t)n));
    (void)close(r->out);
    (void)waitpid(r->pid, &status, 0);
    return status;
}

int run_child(const char *name, const struct home *h, const char *fault, const char *arg,
              struct buf *said)
{
    struct running r = start_child(name, h, fault, arg);

    return end_child(&r, said);
}

bool ended_well(int status)
{
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;

    if (!ok)
        printf("# the child ended with status 0x%x\n", (unsigned)status);
    return ok;
}

bool was_killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Kills it once; false: it failed otherwise, or something was not whole. */
static bool kill_once(const struct kill_scene *k, const struct home *h, const char *fault,
                      int *io_kills)
{
    AUTO(buf_done) struct buf said = BUF_INIT(1 << 20);
    int status = run_child(k->child, h, fault, "", &said);
    struct store *s = open_store(h);
    bool ok =
        (was_killed(status) || ended_well(status)) && s != NULL && k->whole(h, s, buf_view(&said));

    if (!ok)
        printf("# %s with %s: status %d, and then\n%.*s", k->child, fault, status,
               STR_ARG(buf_view(&said)));
    *io_kills += was_killed(status);
    store_close(s);
    return ok;
}

int kill_everywhere(const struct kill_scene *k)
{
    int kills = 0;

    for (size_t i = 0; i < k->point_count; i++) {
        struct home h = fresh_home();

        for (size_t p = 0; p < k->pass_count; p++) {
            char fault[60];

            (void)snprintf(fault, sizeof fault, "%s:kill:%d", k->points[i], k->passes[p]);
            if (!kill_once(k, &h, fault, &kills))
                return -1;
        }
    }
    printf("# %d kills\n", kills);
    return kills;
}

static int be_child(char **argv)
{
    struct home h = { 0 };

    (void)snprintf(h.folder, sizeof h.folder, "%s", argv[1]);
    (void)snprintf(h.url, sizeof h.url, "%s", argv[2]);
    for (const struct child *c = child_first; c != NULL; c = c->next)
        if (strcmp(c->name, argv[0]) == 0)
            return c->run(&h, argv[3]);
    return 127;
}

/* ---- main ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

bool store_test_start(int argc, char **argv, int *ret_status)
{
    if (argc < 4 || strcmp(argv[1], "-d") != 0 ||
        (strcmp(argv[2], "sqlite") != 0 && strcmp(argv[2], "postgres") != 0)) {
        (void)fprintf(stderr, "usage: %s -d sqlite FOLDER | -d postgres ADDRESS\n", argv[0]);
        *ret_status = 2;
        return false;
    }
    kind = argv[2];
    where = argv[3];
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc == 9 && strcmp(argv[4], "--child") == 0) {
        *ret_status = be_child(argv + 5);
        return false;
    }
    if (on_sqlite())
        (void)snprintf(base, sizeof base, "%s", where);
    else
        (void)snprintf(base, sizeof base, "/tmp/waybill-store-XXXXXX");
    require(on_sqlite() ? mkdir(base, 0700) == 0 || access(base, W_OK) == 0
                        : mkdtemp(base) != NULL);
    require(on_sqlite() || make_template());
    return true;
}

void store_test_end(void)
{
    if (on_sqlite())
        return;
    (void)nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    for (int i = 1; i <= homes; i++) {
        char name[40], sql[100];

        name_database(i, name);
        (void)snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s WITH (FORCE)", name);
        (void)tell_elsewhere(sql);
    }
    drop_kept();
}
