/* db_postgres.c - the PostgreSQL driver of db.h.
 *
 * Inside a transaction libpq is in pipeline mode: begin() and send() only queue, so that a group
 * that only sends is one trip to the server, and its COMMIT a second one, sent when all statements
 * have succeeded.  A statement of db_run_at_commit() goes with the COMMIT; if it fails, the server
 * skips the COMMIT, as everything up to the end of the pipeline.  Every run() and query() is a trip
 * of its own, together with what is queued before it.  Outside a transaction each statement is a
 * trip and a transaction, in plain mode, where libpq reports an error of the implicit commit too.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/db/db.h"
#include "store/db/pg_connect.h"
#include "store/db/pg_lineage.h"
#include "store/db/pg_value.h"

enum {
    SLOTTED = 64,              /* statements over numbered tables that stay prepared */
    PENDING_MOST = 256,        /* queued statements; then their answers are awaited */
    STATEMENT_BYTES = 4 << 20, /* approximate size of the parameters of a batch statement */
    SCRATCH_MOST = 64 << 20,   /* the same, if a single row is larger */
    TEXT_MOST = 64 << 10,      /* the text of a statement */
    UNSENT_MOST = 8 << 20,     /* what libpq may hold back for the server */
    REVIVE_EVERY_US = 200 * CLOCK_MS,
    LOOK_AGAIN_US = 30 * CLOCK_S, /* for a server that was passed over */
};
#define WRITER_WAIT_US (INT64_C(20) * CLOCK_S) /* longer than the server's own time-outs */
#define READER_WAIT_US (INT64_C(5) * CLOCK_S)

/* A prepared statement.  Its name on the server has a number that is never reused. */
struct cell {
    enum { CELL_EMPTY, CELL_ASKED, CELL_READY } state;
    enum sql_id id;
    int64_t slot, used, name;
};

/* A statement that was sent and is not yet answered. */
struct pending {
    enum sql_id id;
    struct cell *made; /* the cell that it prepares, if the cell still has this name */
    int64_t name;
    PGresult **result; /* gets the answer; may be NULL */
};

/* The statement that goes with the COMMIT. */
struct at_commit {
    enum sql_id id;
    const struct db_value *values;
    size_t columns, rows; /* rows 0: there is none */
    int64_t *ret;
};

struct db_postgres {
    struct db db;
    char *url;
    bool reader;
    struct pg_lineage *lineage; /* may be NULL */
    PGconn *conn;
    int64_t timeline, connected_us; /* of the server; since when */
    bool lost, in_tx, piped;
    bool warned; /* the server sent a warning; `warning` is its text */
    char warning[120];

    struct cell plain[SQL_COUNT], slotted[SLOTTED];
    int64_t uses, names;
    struct pending pending[PENDING_MOST];
    size_t pending_count;
    struct at_commit at_commit;
    struct buf scratch, text;
    size_t unsent;

    int64_t failed_us; /* when connecting last failed, and why */
    struct err failed;
};

static struct db_postgres *db_postgres_self_of(struct db *db)
{
    require(db->kind == DB_POSTGRESQL);
    return container_of(db, struct db_postgres, db);
}

static bool lost(struct db_postgres *self, struct err *err)
{
    self->lost = true;
    return pg_lost(self->conn, err); /* libpq takes NULL as well */
}

/* Only a migration has no time limit. */
static int64_t db_postgres_wait_us(const struct db_postgres *self, enum sql_id id)
{
    if (id == SQL_SCHEMA_LOCK || id == SQL_COUNT)
        return 0;
    return self->reader ? READER_WAIT_US : WRITER_WAIT_US;
}

/* ---- answers ---- */

static void note_notice(void *arg, const PGresult *notice)
{
    struct db_postgres *self = arg;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

    if (severity == NULL || strcmp(severity, "WARNING") != 0)
        return;
    self->warned = true;
    (void)snprintf(self->warning, sizeof self->warning, "%s", text != NULL ? text : "");
}

/* A server that ends its wait for a synchronous standby warns, and answers as if all was well: the
 * commit is on this server only, and lost if the standby is promoted. */
static bool commit_warned(struct db_postgres *self, struct err *err)
{
    return err_set(err, ERR_UNCERTAIN, 0, "the commit was answered with a warning: %s",
                   self->warning);
}

static void note_prepared(const struct pending *p, bool ok)
{
    if (p->made != NULL && p->made->name == p->name)
        p->made->state = ok ? CELL_READY : CELL_EMPTY;
}

/* Reads all results of one statement.  *ret_ok: it succeeded; if not, *first gets the error unless
 * it has an earlier one.  False: the connection is lost. */
static bool db_postgres_collect(struct db_postgres *self, const struct pending *p, bool *ret_ok,
                                struct err *first)
{
    PGresult *result, *kept = NULL;
    bool ok = true, over = false;
    struct err why = { 0 };

    for (;;) {
        if (!pg_wait(self->conn, db_postgres_wait_us(self, p->id), &why)) {
            over = true;
            ok = false;
            break;
        }
        if ((result = PQgetResult(self->conn)) == NULL)
            break;
        ExecStatusType status = PQresultStatus(result);

        if (ok && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK &&
            status != PGRES_EMPTY_QUERY) { /* a migration for SQLite only */
            ok = false;
            if (status != PGRES_PIPELINE_ABORTED)
                (void)pg_failed(self->conn, result, p->id, &over, &why);
            self->db.damaged = self->db.damaged || why.sys == DB_DAMAGED;
        }
        PQclear(kept);
        kept = result;
        over = over || PQstatus(self->conn) != CONNECTION_OK;
        if (over)
            break;
    }
    note_prepared(p, ok);
    self->lost = self->lost || over;
    if (!ok && first->kind == ERR_NONE)
        *first = why;
    if (over && first->kind == ERR_NONE)
        (void)lost(self, first);
    if (p->result != NULL && ok && !over)
        *p->result = kept;
    else
        PQclear(kept);
    *ret_ok = ok;
    return !over;
}

/* Sends a pipeline sync and waits for the answers of all queued statements. */
static bool settle(struct db_postgres *self, struct err *err)
{
    struct err first = { 0 };
    size_t n = self->pending_count;
    bool ok = true;

    require(self->piped);
    self->pending_count = self->unsent = 0;
    if (self->lost || PQpipelineSync(self->conn) == 0)
        return lost(self, err);
    for (size_t i = 0; i < n; i++) {
        bool one_ok;

        if (!db_postgres_collect(self, &self->pending[i], &one_ok, &first)) {
            *err = first;
            return false;
        }
        ok = ok && one_ok;
    }
    if (!pg_wait(self->conn, db_postgres_wait_us(self, SQL_TX_BEGIN), err)) {
        self->lost = true;
        return false;
    }
    PGresult *sync = PQgetResult(self->conn);
    bool in_step = sync != NULL && PQresultStatus(sync) == PGRES_PIPELINE_SYNC;

    PQclear(sync);
    if (!in_step || (!ok && first.kind == ERR_NONE))
        return lost(self, err);
    if (!ok)
        *err = first;
    return ok;
}

/* A statement was passed to libpq: in a pipeline remembers it, otherwise waits for its answer. */
static bool sent(struct db_postgres *self, int rc, struct pending p, struct err *err)
{
    struct err why = { 0 };
    bool ok;

    if (rc == 0)
        return lost(self, err);
    if (self->piped) {
        require(self->pending_count < PENDING_MOST);
        self->pending[self->pending_count++] = p;
        return true;
    }
    self->warned = false;
    if (!db_postgres_collect(self, &p, &ok, &why) || !ok) {
        *err = why;
        return false;
    }
    return self->in_tx || !self->warned || commit_warned(self, err);
}

static bool enter_pipeline(struct db_postgres *self, struct err *err)
{
    if (self->lost || PQenterPipelineMode(self->conn) == 0)
        return lost(self, err);
    self->piped = true;
    self->pending_count = 0;
    return true;
}

static bool leave_pipeline(struct db_postgres *self, struct err *err)
{
    self->piped = false;
    if (self->lost || PQexitPipelineMode(self->conn) == 0)
        return lost(self, err);
    return true;
}

/* ---- statements ---- */

static const char *db_postgres_text_of(struct db_postgres *self, const char *from, int64_t slot)
{
    const char *at;

    buf_clear(&self->text);
    while ((at = strstr(from, "@SLOT@")) != NULL) {
        require(slot >= 0);
        buf_put(&self->text, str_mem(from, (size_t)(at - from)));
        buf_printf(&self->text, "%lld", (long long)slot);
        from = at + 6;
    }
    buf_puts(&self->text, from);
    return self->text.ptr;
}

static const char *db_postgres_name_of(const struct cell *c, char name[static 32])
{
    (void)snprintf(name, 32, "w%lld", (long long)c->name);
    return name;
}

static bool db_postgres_prepare(struct db_postgres *self, struct cell *c, enum sql_id id,
                                int64_t slot, struct err *err)
{
    const struct sql_statement *s = &sql_postgresql[id];
    Oid types[PG_PARAMS_MOST];
    char name[32];

    require(s->text != NULL);
    *c = (struct cell){ .state = CELL_ASKED, .id = id, .slot = slot, .name = ++self->names };
    int n = pg_types(s, types);
    int rc = PQsendPrepare(self->conn, db_postgres_name_of(c, name),
                           db_postgres_text_of(self, s->text, slot), n, types);

    return sent(self, rc, (struct pending){ .id = id, .made = c, .name = c->name }, err);
}

/* Replaces the least recently used statement. */
static bool db_postgres_make_room(struct db_postgres *self, struct cell **ret, struct err *err)
{
    struct cell *oldest = &self->slotted[0];

    for (struct cell *c = self->slotted; c < self->slotted + SLOTTED; c++)
        if (c->state == CELL_EMPTY || (oldest->state != CELL_EMPTY && c->used < oldest->used))
            oldest = c;
    *ret = oldest;
    if (oldest->state == CELL_EMPTY)
        return true;
    const char *text = db_postgres_text_of(self, sql_postgresql[SQL_STATEMENT_DROP].text,
                                           oldest->name); /* w@SLOT@ */

    oldest->state = CELL_EMPTY;
    int rc = PQsendQueryParams(self->conn, text, 0, NULL, NULL, NULL, NULL, 1);

    return sent(self, rc, (struct pending){ .id = SQL_STATEMENT_DROP }, err);
}

/* A cell that is only CELL_ASKED may be used: in the pipeline its statement is prepared first. */
static bool cell_of(struct db_postgres *self, enum sql_id id, int64_t slot, struct cell **ret,
                    struct err *err)
{
    struct cell *c = NULL;

    if (slot == DB_NO_SLOT)
        c = &self->plain[id];
    for (struct cell *s = self->slotted; c == NULL && s < self->slotted + SLOTTED; s++)
        if (s->state != CELL_EMPTY && s->id == id && s->slot == slot)
            c = s;
    if (c == NULL && !db_postgres_make_room(self, &c, err))
        return false;
    if (c->state == CELL_EMPTY && !db_postgres_prepare(self, c, id, slot, err))
        return false;
    c->used = ++self->uses;
    *ret = c;
    return true;
}

static bool hold_back(struct db_postgres *self, size_t bytes, struct err *err)
{
    self->unsent += bytes;
    if (self->unsent < UNSENT_MOST)
        return true;
    self->unsent = 0;
    if (pg_send_all(self->conn, WRITER_WAIT_US, err))
        return true;
    self->lost = true;
    return false;
}

/* Sends one statement, with one row of parameters or with an array for each column. */
static bool execute(struct db_postgres *self, enum sql_id id, int64_t slot,
                    const struct db_value *values, size_t columns, size_t rows,
                    PGresult **ret_result, struct err *err)
{
    const struct sql_statement *s = &sql_postgresql[id];
    struct pg_params p;
    struct cell *c;
    char name[32];

    if (self->lost)
        return lost(self, err);
    if (self->piped && self->pending_count + 4 > PENDING_MOST && !settle(self, err))
        return false;
    if (!cell_of(self, id, slot, &c, err))
        return false;
    if (!s->batch)
        pg_row(s->types, values, columns, &p);
    else if (!pg_arrays(s->types, values, columns, rows, &self->scratch, &p, err))
        return err_context(err, "%s", s->name);
    int rc = PQsendQueryPrepared(self->conn, db_postgres_name_of(c, name), p.count, p.values,
                                 p.lengths, p.formats, 1);

    return sent(self, rc, (struct pending){ .id = id, .result = ret_result }, err) &&
           (!s->batch || hold_back(self, self->scratch.len, err));
}

/* The same, and waits for the answer; the caller clears *ret_result, also after a failure. */
static bool execute_now(struct db_postgres *self, enum sql_id id, int64_t slot,
                        const struct db_value *values, size_t columns, size_t rows,
                        PGresult **ret_result, struct err *err)
{
    return execute(self, id, slot, values, columns, rows, ret_result, err) &&
           (!self->piped || settle(self, err));
}

static bool postgres_send(struct db *db, enum sql_id id, int64_t slot,
                          const struct db_value *values, size_t columns, size_t rows,
                          struct err *err)
{
    struct db_postgres *self = db_postgres_self_of(db);
    bool batch = sql_postgresql[id].batch;

    for (size_t n; rows > 0; rows -= n, values += n * columns) {
        n = batch ? pg_rows_within(values, columns, rows, STATEMENT_BYTES) : 1;
        if (!execute(self, id, slot, values, columns, n, NULL, err))
            return false;
    }
    return true;
}

static bool postgres_run(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                         int64_t *ret_changed, struct err *err)
{
    PGresult *result = NULL;

    bool ok =
        execute_now(db_postgres_self_of(db), id, slot, args.values, args.count, 1, &result, err);

    if (ok && !str_to_i64(str_of(PQcmdTuples(result)), ret_changed))
        *ret_changed = 0;
    PQclear(result);
    return ok;
}

static bool postgres_query(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                           struct db_rows *ret, struct err *err)
{
    PGresult *result = NULL;

    if (!execute_now(db_postgres_self_of(db), id, slot, args.values, args.count, 1, &result, err)) {
        PQclear(result);
        return false;
    }
    ret->state = result;
    ret->row = -1;
    return true;
}

/* In a transaction the queries of all tables are one trip. */
static bool postgres_query_rows(struct db *db, enum sql_id id, int64_t slot, size_t slots,
                                const struct db_value *values, size_t columns, size_t rows,
                                struct db_rows *ret, struct err *err)
{
    struct db_postgres *self = db_postgres_self_of(db);
    PGresult *results[DB_SLOTS_MOST] = { 0 };
    bool ok = true;

    require(slots <= DB_SLOTS_MOST);
    for (size_t i = 0; i < slots && ok; i++)
        ok = execute(self, id, slot + (int64_t)i, values, columns, rows, &results[i], err);
    /* Also after a failure: pending statements point into `results`, which ends with this call. */
    ok = (!self->piped || settle(self, ok ? err : &(struct err){ 0 })) && ok;
    for (size_t i = 0; i < slots; i++) {
        if (!ok)
            PQclear(results[i]);
        ret[i] = (struct db_rows){ .db = db, .state = ok ? results[i] : NULL, .row = -1 };
    }
    return ok;
}

static bool postgres_next(struct db_rows *rows, bool *ret_row, struct err *err)
{
    (void)err;
    *ret_row = rows->row + 1 < PQntuples(rows->state);
    rows->row += *ret_row;
    return true;
}

static bool postgres_is_null(struct db_rows *rows, int column)
{
    return PQgetisnull(rows->state, rows->row, column) != 0;
}

static int64_t postgres_get_int(struct db_rows *rows, int column)
{
    return pg_int(rows->state, rows->row, column);
}

static struct str postgres_get_str(struct db_rows *rows, int column)
{
    return str_mem(PQgetvalue(rows->state, rows->row, column),
                   (size_t)PQgetlength(rows->state, rows->row, column));
}

static void postgres_rows_done(struct db_rows *rows)
{
    PQclear(rows->state);
}

/* ---- transactions ---- */

static bool postgres_begin(struct db *db, enum sql_id how, struct err *err)
{
    struct db_postgres *self = db_postgres_self_of(db);

    require(!self->in_tx);
    if (!enter_pipeline(self, err))
        return false;
    self->in_tx = true;
    return execute(self, how, DB_NO_SLOT, NULL, 0, 1, NULL, err);
}

/* Sends text without parameters; not in a pipeline. */
static bool simple(struct db_postgres *self, enum sql_id id, const char *text, struct err *err)
{
    if (self->lost)
        return lost(self, err);
    return sent(self, PQsendQuery(self->conn, text), (struct pending){ .id = id }, err);
}

static void postgres_run_at_commit(struct db *db, enum sql_id id, const struct db_value *values,
                                   size_t columns, size_t rows, int64_t *ret)
{
    struct db_postgres *self = db_postgres_self_of(db);

    require(self->in_tx && self->at_commit.rows == 0 && sql_postgresql[id].batch);
    self->at_commit = (struct at_commit){
        .id = id, .values = values, .columns = columns, .rows = rows, .ret = ret
    };
}

/* What COMMIT answered; takes the result. */
static bool has_committed(struct db_postgres *self, PGresult *result, struct err *err)
{
    /* COMMIT of a transaction that has failed answers ROLLBACK, without an error. */
    bool committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;

    PQclear(result);
    if (!committed)
        return err_set(err, ERR_PERMANENT, 0, "the transaction was rolled back");
    return !self->warned || commit_warned(self, err);
}

/* The answer to COMMIT decides.  Without it, or with a warning, the outcome is unknown:
 * ERR_UNCERTAIN. */
static bool send_commit(struct db_postgres *self, struct err *err)
{
    PGresult *result = NULL;
    struct err why = { 0 };
    bool ok;

    self->warned = false;
    if (PQsendQuery(self->conn, sql_postgresql[SQL_TX_COMMIT].text) == 0)
        return lost(self, err);
    struct pending p = { .id = SQL_TX_COMMIT, .result = &result };
    /* The injected fault ignores an answer that may have arrived, as if it was lost. */
    bool heard =
        fault_error(COMMIT_SENT) ? lost(self, &why) : db_postgres_collect(self, &p, &ok, &why);

    if (!heard) {
        *err = why;
        err->kind = ERR_UNCERTAIN;
        return false;
    }
    if (!ok) {
        *err = why;
        return false;
    }
    return has_committed(self, result, err);
}

/* The same in the pipeline, together with the statement of db_run_at_commit(). */
static bool send_commit_with(struct db_postgres *self, struct err *err)
{
    struct at_commit c = self->at_commit;
    PGresult *first = NULL, *result = NULL;
    struct err why = { 0 };

    self->at_commit.rows = 0;
    self->warned = false;
    bool ok = execute(self, c.id, DB_NO_SLOT, c.values, c.columns, c.rows, &first, &why) &&
              sent(self,
                   PQsendQueryParams(self->conn, sql_postgresql[SQL_TX_COMMIT].text, 0, NULL, NULL,
                                     NULL, NULL, 1),
                   (struct pending){ .id = SQL_TX_COMMIT, .result = &result }, &why) &&
              (fault_error(COMMIT_SENT) ? PQpipelineSync(self->conn) != 0 && lost(self, &why)
                                        : settle(self, &why));

    if (ok)
        *c.ret = pg_int(first, 0, 0);
    PQclear(first);
    if (ok) {
        ok = has_committed(self, result, err);
        (void)leave_pipeline(self, &why); /* else the connection is lost, not what is committed */
        return ok;
    }
    PQclear(result);
    *err = why;
    if (self->lost)
        err->kind = ERR_UNCERTAIN;
    return false;
}

static bool postgres_commit(struct db *db, struct err *err)
{
    struct db_postgres *self = db_postgres_self_of(db);
    bool with = self->at_commit.rows > 0;

    require(self->in_tx);
    if (!settle(self, err) || (!with && !leave_pipeline(self, err)))
        return false;
    if (fault_error(GROUP_COMMIT))
        return err_set(err, ERR_PERMANENT, 0, "commit fails (injected)");
    if (with ? !send_commit_with(self, err) : !send_commit(self, err))
        return false;
    self->in_tx = false;
    return true;
}

static void postgres_rollback(struct db *db)
{
    struct db_postgres *self = db_postgres_self_of(db);
    struct err err = { 0 };

    self->at_commit.rows = 0;
    if (!self->in_tx)
        return;
    self->in_tx = false;
    if (self->piped && !self->lost)
        (void)settle(self, &err); /* reads the remaining answers of the pipeline */
    if (self->piped)
        (void)leave_pipeline(self, &err);
    if (!self->lost && PQtransactionStatus(self->conn) != PQTRANS_IDLE &&
        !simple(self, SQL_TX_ROLLBACK, sql_postgresql[SQL_TX_ROLLBACK].text, &err))
        self->lost = true; /* the state of the session is unknown */
}

/* Leaves the pipeline: it does not accept a text of several statements. */
static bool postgres_script(struct db *db, const char *text, struct err *err)
{
    struct db_postgres *self = db_postgres_self_of(db);
    bool piped = self->piped;

    if (piped && (!settle(self, err) || !leave_pipeline(self, err)))
        return false;
    return simple(self, SQL_COUNT, text, err) && (!piped || enter_pipeline(self, err));
}

/* ---- the connection ---- */

static void disconnect(struct db_postgres *self)
{
    PQfinish(self->conn);
    self->conn = NULL;
    self->lost = true;
    self->in_tx = self->piped = false;
    self->pending_count = self->at_commit.rows = 0;
    memset(self->plain, 0, sizeof self->plain);
    memset(self->slotted, 0, sizeof self->slotted);
}

/* Reads a setting back, to refuse a server that lowers it; and which server this is. */
static bool db_postgres_examine(struct db_postgres *self, const struct pg_setting *sync,
                                struct err *err)
{
    struct pg_server server;
    struct db_rows rows = { .db = &self->db };
    bool row;

    if (!db_query(&self->db, SQL_SESSION_EXAMINE, DB_ARGS(db_text(str_of(sync->name))), &rows,
                  err) ||
        !db_next(&rows, &row, err))
        return false;
    bool ok = row && str_is(db_get_str(&rows, SESSION_EXAMINE_SETTING), sync->value);

    if (row) {
        server.system = db_get_int(&rows, SESSION_EXAMINE_SYSTEM);
        server.timeline = db_get_int(&rows, SESSION_EXAMINE_TIMELINE);
    }
    db_rows_done(&rows);
    if (!ok)
        return err_set(err, ERR_CONFIG, 0, "the database does not sync on commit (%s is not %s)",
                       sync->name, sync->value);
    (void)snprintf(server.place, sizeof server.place, "%s:%s", PQhost(self->conn),
                   PQport(self->conn));
    self->timeline = server.timeline;
    return pg_lineage_take(self->lineage, &server, err);
}

static bool db_postgres_set_up(struct db_postgres *self, struct err *err)
{
    struct pg_setting settings[PG_SETTINGS];
    bool ok = enter_pipeline(self, err);

    pg_settings(self->reader, settings);
    for (size_t i = 0; ok && i < PG_SETTINGS; i++)
        ok = db_send(&self->db, SQL_SESSION_SET,
                     DB_ARGS(db_text(str_of(settings[i].name)), db_text(str_of(settings[i].value))),
                     err);
    return ok && settle(self, err) && leave_pipeline(self, err) &&
           db_postgres_examine(self, &settings[0], err);
}

/* Takes a connection over; pg_take of pg_connect.h. */
static bool use_connection(void *arg, PGconn *conn, struct err *err)
{
    struct db_postgres *self = arg;

    disconnect(self);
    self->conn = conn;
    (void)PQsetNoticeReceiver(self->conn, note_notice, self); /* libpq would print them */
    self->lost = false;
    self->connected_us = clock_mono_us();
    self->db.connects++;
    if (db_postgres_set_up(self, err))
        return true;
    disconnect(self);
    return false;
}

static bool connect_now(struct db_postgres *self, struct err *err)
{
    struct err passed_over = { 0 };

    disconnect(self);
    bool ok = pg_connect(self->url, use_connection, self, &passed_over, err);

    pg_lineage_walked(self->lineage, &passed_over);
    return ok;
}

/* Asks again now and then whether a server that was passed over is still there. */
static bool should_look_again(struct db_postgres *self)
{
    char text[8];

    return self->reader && clock_mono_us() - self->connected_us > LOOK_AGAIN_US &&
           pg_lineage_passed_over(self->lineage, text, sizeof text);
}

/* An idle connection that has something to read was usually closed by the server. */
static bool postgres_alive(struct db *db)
{
    struct db_postgres *self = db_postgres_self_of(db);

    for (int i = 0; !self->lost && !self->in_tx && i < 3; i++) {
        struct pollfd p = { .fd = PQsocket(self->conn), .events = POLLIN };

        if (poll(&p, 1, 0) <= 0)
            break;
        self->lost = PQconsumeInput(self->conn) == 0 || PQstatus(self->conn) != CONNECTION_OK;
    }
    if (!self->in_tx &&
        (pg_lineage_is_over(self->lineage, self->timeline) || should_look_again(self)))
        self->lost = true;
    return !self->lost;
}

/* Connects at most every REVIVE_EVERY_US; in between returns the last error. */
static bool postgres_revive(struct db *db, struct err *err)
{
    struct db_postgres *self = db_postgres_self_of(db);

    if (self->failed_us != 0 && clock_mono_us() - self->failed_us < REVIVE_EVERY_US) {
        *err = self->failed;
        return false;
    }
    bool ok = connect_now(self, err);

    self->failed_us = ok ? 0 : clock_mono_us();
    if (!ok)
        self->failed = *err;
    return ok;
}

static void postgres_close(struct db *db)
{
    struct db_postgres *self = db_postgres_self_of(db);

    disconnect(self);
    buf_done(&self->scratch);
    buf_done(&self->text);
    free(self->url);
    free(self);
}

static const struct db_driver driver = {
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .send = postgres_send,
    .run = postgres_run,
    .query = postgres_query,
    .query_rows = postgres_query_rows,
    .run_at_commit = postgres_run_at_commit,
    .next = postgres_next,
    .is_null = postgres_is_null,
    .get_int = postgres_get_int,
    .get_str = postgres_get_str,
    .rows_done = postgres_rows_done,
    .script = postgres_script,
    .alive = postgres_alive,
    .revive = postgres_revive,
    .close = postgres_close,
};

bool db_open_postgres(const char *url, bool reader, struct pg_lineage *lineage, struct db **ret,
                      struct err *err)
{
    struct db_postgres *self = NEW(struct db_postgres);

    self->db = (struct db){ .driver = &driver, .kind = DB_POSTGRESQL };
    self->url = xstrdup(url);
    self->reader = reader;
    self->lineage = lineage;
    self->scratch = (struct buf)BUF_INIT(SCRATCH_MOST);
    self->text = (struct buf)BUF_INIT(TEXT_MOST);
    if (!connect_now(self, err)) {
        postgres_close(&self->db);
        return false;
    }
    *ret = &self->db;
    return true;
}
