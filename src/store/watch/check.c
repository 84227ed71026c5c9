#include "store/watch/check.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/require.h"
#include "core/timeline.h"
#include "store/audit/audit.h"
#include "store/job/job.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload.h"
#include "store/retention/retain.h"
#include "store/road/accept.h"
#include "store/road/awaited.h"
#include "store/road/delivery.h"
#include "store/road/set_record.h"
#include "store/road/task.h"
#include "store/search/document.h"

enum {
    SLICE = 2000,
    COUNT_SLICE = 20000,
    SCAN_STEP = DOCUMENTS_PAGE_MOST,
    AWAITED_PAGE = 200,
    JOBS_PAGE = 200,
    ARENA_MOST = 64 << 20
};

/* Adds a line to the message; lines that do not fit are left out, `bad` counts them. */
static void check_say(struct check_result *r, const char *line)
{
    size_t at = strlen(r->message), len = strlen(line);

    if (at + len + 2 > sizeof r->message)
        return;
    if (at > 0)
        r->message[at++] = '\n';
    memcpy(r->message + at, line, len + 1);
}

static bool check_see_damage(void *arg, struct db_rows *row, struct err *err)
{
    struct check_result *r = arg;
    char line[300];

    (void)err;
    if (str_is(db_get_str(row, 0), "ok"))
        return true;
    r->bad++;
    (void)snprintf(line, sizeof line, "the database file is damaged: %.*s",
                   STR_ARG(db_get_str(row, 0)));
    check_say(r, line);
    return true;
}

/* SQLite reads its whole file; PostgreSQL checks its own pages as it reads. */
static bool watch_check_database(struct store *s, struct check_result *r, struct err *err)
{
    AUTO(reader_back) struct reader reader = reader_take(s, err);

    r->looked_at = 1;
    if (reader.db == NULL ||
        !rows_each(reader.db, SQL_DATABASE_CHECK, DB_NO_SLOT, DB_NO_ARGS, check_see_damage, r, err))
        return false;
    if (r->bad > 0)
        check_say(r, "stop the node and restore a backup");
    return true;
}

/* The next rows of a table by number: how many, and the last number. */
struct slice {
    int64_t rows, upto;
};

static bool next_slice(struct db *db, enum sql_id id, int64_t slot, int64_t above, int64_t most,
                       struct slice *ret, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(db, id, slot, DB_ARGS(db_int(above), db_int(most)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    require(row); /* an aggregate always returns a row */
    *ret = (struct slice){ .rows = db_get_int(&rows, SLICE_ROWS) };
    if (ret->rows > 0)
        ret->upto = db_get_int(&rows, SLICE_UPTO);
    return true;
}

/* Counts a table in slices: one statement over millions of rows would exceed the statement time-out
 * of the server. */
static bool count_table(struct db *db, enum sql_id slice_of, int64_t slot, int64_t *io_count,
                        struct err *err)
{
    struct slice at = { 0 };

    do {
        if (!next_slice(db, slice_of, slot, at.upto, COUNT_SLICE, &at, err))
            return false;
        *io_count += at.rows;
    } while (at.rows == COUNT_SLICE);
    return true;
}

/* Runs a counting statement over each slice of a table. */
static bool check_look_through(struct db *db, enum sql_id slice_of, enum sql_id bad_of,
                               struct check_result *r, struct err *err)
{
    struct slice at = { 0 };
    int64_t above, bad;

    for (;;) {
        above = at.upto;
        if (!next_slice(db, slice_of, DB_NO_SLOT, above, SLICE, &at, err))
            return false;
        if (at.rows == 0)
            return true;
        if (!db_one_int(db, bad_of, DB_ARGS(db_int(above), db_int(at.upto)), 0, &bad, err))
            return false;
        r->looked_at += at.rows;
        r->bad += bad;
    }
}

static bool check_slices(struct store *s, enum sql_id slice_of, enum sql_id bad_of,
                         struct check_result *r, struct err *err)
{
    AUTO(reader_back) struct reader reader = reader_take(s, err);

    return reader.db != NULL && check_look_through(reader.db, slice_of, bad_of, r, err);
}

/* EN1: every live document has something that moves it on. */
static bool check_tasks(struct store *s, struct check_result *r, struct err *err)
{
    if (!check_slices(s, SQL_DOC_SLICE, SQL_DOC_WITHOUT_TASK, r, err))
        return false;
    if (r->bad > 0)
        (void)snprintf(r->message, sizeof r->message,
                       "%lld live documents have no task that carries them on", (long long)r->bad);
    return true;
}

/* The same for deliveries, and that each has its document. */
static bool check_deliveries(struct store *s, struct check_result *r, struct err *err)
{
    if (!check_slices(s, SQL_DELIVERY_SLICE, SQL_DELIVERY_WRONG, r, err))
        return false;
    if (r->bad > 0)
        (void)snprintf(r->message, sizeof r->message,
                       "%lld deliveries have no document, no task, no right state, or an intent "
                       "that their state does not allow",
                       (long long)r->bad);
    return true;
}

/* Every member is in one batch, which exists, and counts are right. */
static bool watch_check_batches(struct store *s, struct check_result *r, struct err *err)
{
    int64_t strays;

    if (!check_slices(s, SQL_BATCH_SLICE, SQL_BATCH_WRONG, r, err) ||
        !store_one_int(s, SQL_BATCH_MEMBER_STRAYS, DB_NO_ARGS, 0, &strays, err))
        return false;
    r->bad += strays;
    if (r->bad > 0)
        (void)snprintf(r->message, sizeof r->message,
                       "%lld batches or members of them: a count is wrong, or a document, a batch "
                       "or its document is not there",
                       (long long)r->bad);
    return true;
}

/* PR2: a document has exactly the parts that its progress says. */
static bool check_offspring(struct store *s, struct check_result *r, struct err *err)
{
    if (!check_slices(s, SQL_OFFSPRING_SLICE, SQL_OFFSPRING_WRONG, r, err))
        return false;
    if (r->bad > 0)
        (void)snprintf(r->message, sizeof r->message,
                       "%lld documents have more or fewer parts than were committed: "
                       "`waybill docs ls --parent ID` lists those of one; compare with a backup",
                       (long long)r->bad);
    return true;
}

/* PR17: an answer is awaited of a document that is there. */
static bool check_awaited(struct store *s, struct check_result *r, struct err *err)
{
    int64_t docs[AWAITED_PAGE], above = 0;
    size_t n = 0;

    do {
        if (!awaited_ended(s, above, docs, AWAITED_PAGE, &n, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
            struct document d;
            bool found;

            if (!document_numbered(s, docs[i], &a, &d, &found, err))
                return false;
            r->bad += !found;
            above = docs[i];
        }
        r->looked_at += (int64_t)n;
    } while (n == AWAITED_PAGE);
    if (r->bad > 0)
        (void)snprintf(r->message, sizeof r->message,
                       "answers are awaited of %lld documents that are gone: compare with a backup",
                       (long long)r->bad);
    return true;
}

/* Checks a slice of tasks behind *place; *ret_count is 0 at the end. */
static bool task_slice(struct db *db, enum sql_id id, struct db_args args, struct task *place,
                       int64_t *ret_bad, int64_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret_count = 0;
    if (!db_query(db, id, args, &rows, err))
        return false;
    for (;;) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true;
        *place = (struct task){ .queue = db_get_int(&rows, CARRIED_QUEUE),
                                .prio = db_get_int(&rows, CARRIED_PRIO),
                                .rank = db_get_int(&rows, CARRIED_RANK),
                                .id = db_get_int(&rows, CARRIED_ID) };
        *ret_bad += db_get_int(&rows, CARRIED_IS_GOOD) == 0;
        ++*ret_count;
    }
}

/* The tables of tasks, and how their statements resume: by the last `keys` columns of (queue, prio,
 * rank, id). */
static const struct {
    enum sql_id id;
    size_t keys;
} task_tables[] = { { SQL_TASK_PAGE, 4 },
                    { SQL_TASK_LATER_PAGE, 2 },
                    { SQL_TASK_DEAD_PAGE, 1 },
                    { SQL_TASK_LEASE_PAGE, 1 } };

static bool task_table(struct db *db, size_t table, struct check_result *r, struct err *err)
{
    struct task place = { .queue = INT64_MIN, .rank = INT64_MIN };
    int64_t n = 1;

    while (n > 0) {
        struct db_value v[] = { db_int(place.queue), db_int(place.prio), db_int(place.rank),
                                db_int(place.id), db_int(SLICE) };
        size_t keys = task_tables[table].keys;
        struct db_args args = { .values = v + 4 - keys, .count = keys + 1 };

        if (!task_slice(db, task_tables[table].id, args, &place, &r->bad, &n, err))
            return false;
        r->looked_at += n;
    }
    return true;
}

static bool check_orphan_tasks(struct store *s, struct check_result *r, struct err *err)
{
    AUTO(reader_back) struct reader reader = reader_take(s, err);
    bool ok = reader.db != NULL;

    for (size_t i = 0; ok && i < sizeof task_tables / sizeof task_tables[0]; i++)
        ok = task_table(reader.db, i, r, err);
    if (r->bad > 0)
        (void)snprintf(r->message, sizeof r->message,
                       "%lld tasks carry on what is not there, or does not wait for it",
                       (long long)r->bad);
    return ok;
}

static bool read_payload(struct store *s, const struct payload_source *source, struct err *err)
{
    struct payload_reader *reader;
    struct str piece;
    bool ok = payload_open(s, source, &reader, err);

    if (!ok)
        return false;
    do
        ok = payload_next(reader, &piece, err);
    while (ok && piece.len > 0);
    payload_close(reader);
    return ok;
}

static void watch_check_bytes(struct store *s, const struct payload_source *source,
                              const char *stage, struct check_result *r)
{
    struct err bad = { 0 };
    char id[ID_TEXT], line[300];

    r->looked_at++;
    if (read_payload(s, source, &bad))
        return;
    r->bad++;
    (void)snprintf(line, sizeof line, "document %s: %s%.200s", id_text(&source->id, id), stage,
                   bad.text);
    check_say(r, line);
}

/* Checks the bytes that steps made, and answers that were kept, by the lines of its timeline. */
static bool check_stages(struct store *s, int64_t num, struct check_result *r, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct timeline_reader lines;
    struct timeline_line line;
    struct document d;
    bool found, damaged = false;

    if (!document_numbered(s, num, &arena, &d, &found, err))
        return false;
    if (!found)
        return true; /* purged meanwhile */
    lines = timeline_read(d.timeline);
    while (timeline_next(&lines, &line, &damaged))
        if (line.has_bytes)
            watch_check_bytes(s,
                              &(struct payload_source){ .id = d.source.id,
                                                        .num = line.num,
                                                        .size = line.size,
                                                        .sha256 = line.sha256,
                                                        .place = { line.seg, line.pos } },
                              line.is_answer ? "an answer of a receiver: "
                                             : "bytes that a step changed or that were sent: ",
                              r);
    if (damaged) {
        r->bad++;
        check_say(r, "a timeline is damaged");
    }
    return true;
}

/* Checks the payloads of deliveries that have their own. */
static bool check_parts(struct store *s, int64_t doc, struct check_result *r, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct delivery *d = ARENA_ARRAY(&arena, struct delivery, DELIVERIES_MOST);
    size_t n;

    if (!delivery_of_document(s, doc, &arena, d, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (d[i].has_bytes)
            watch_check_bytes(s, &d[i].bytes, "bytes to be sent: ", r);
    return true;
}

/* EN5: every document has its payload, with the right digest. */
static bool check_payloads(struct store *s, bool deep, struct check_result *r, struct err *err)
{
    static _Thread_local struct document docs[SCAN_STEP];
    struct document_filter any = { 0 };
    int64_t below = 0;

    do {
        AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
        size_t n;

        if (!document_list(s, &any, below, SCAN_STEP, &arena, docs, &n, &below, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            watch_check_bytes(s, &docs[i].source, "", r);
            if (deep && !check_stages(s, docs[i].source.num, r, err))
                return false;
            if (docs[i].is != DOCUMENT_RECEIVED && !document_is_over(docs[i].is) &&
                !check_parts(s, docs[i].source.num, r, err))
                return false;
        }
    } while (below != 0);
    if (r->bad > 0)
        check_say(r, "A segment that is missing may be copied back from a backup: its name is not "
                     "used again. Never copy one over a segment that is there, it has newer "
                     "documents: restore the backup into another folder, and take the document "
                     "from there.");
    if (!deep)
        r->left_out = "what steps changed, what was sent, and answers of receivers (--deep)";
    return true;
}

static bool check_received(struct store *s, struct check_result *r, struct err *err)
{
    return check_payloads(s, false, r, err);
}

static bool check_every_stage(struct store *s, struct check_result *r, struct err *err)
{
    return check_payloads(s, true, r, err);
}

struct counts {
    int64_t accepted, live, ended, purged;
};

static bool count_ended(struct db *db, int64_t *ret, struct err *err)
{
    *ret = 0;
    for (int64_t slot = INT64_MAX;;) {
        if (!db_one_int(db, SQL_PART_BELOW, DB_ARGS(db_int(TABLES_DONE), db_int(slot)), 0, &slot,
                        err))
            return false;
        if (slot == 0)
            return true;
        if (!count_table(db, SQL_DONE_SLICE, slot, ret, err))
            return false;
    }
}

static bool read_counts(struct db *db, struct counts *ret, struct err *err)
{
    return db_one_int(db, SQL_TALLY_SUM, DB_ARGS(db_int(TALLY_ACCEPTED)), 0, &ret->accepted, err) &&
           db_one_int(db, SQL_TALLY_SUM, DB_ARGS(db_int(TALLY_PURGED)), 0, &ret->purged, err) &&
           count_table(db, SQL_DOC_SLICE, DB_NO_SLOT, &ret->live, err) &&
           count_ended(db, &ret->ended, err);
}

/* I9: accepted documents are live, ended or purged.  Read in one snapshot: a document that ends
 * between two counts would be counted twice. */
static bool check_counts(struct store *s, struct check_result *r, struct err *err)
{
    AUTO(reader_back) struct reader reader = reader_take(s, err);
    struct counts c = { 0 };

    if (reader.db == NULL)
        return false;
    bool ok = db_view(reader.db, err) && read_counts(reader.db, &c, err);

    db_rollback(reader.db);
    r->looked_at = c.accepted;
    if (ok && c.accepted != c.live + c.ended + c.purged) {
        r->bad = 1;
        (void)snprintf(r->message, sizeof r->message,
                       "%lld documents were accepted, %lld are live, %lld ended and %lld went",
                       (long long)c.accepted, (long long)c.live, (long long)c.ended,
                       (long long)c.purged);
    }
    return ok;
}

/* I15: the audit log is unchanged. */
static bool check_audit(struct store *s, struct check_result *r, struct err *err)
{
    struct audit_check c;

    if (!audit_verify(s, 0, NULL, &c, err))
        return false;
    r->looked_at = c.lines;
    if (c.bad != 0) {
        r->bad = 1;
        (void)snprintf(r->message, sizeof r->message, "the audit log: %s; compare it with a backup",
                       c.message);
    }
    return true;
}

struct checked_blob {
    struct sha256 sha256;
    bool is_whole;
};

static void check_read_blob(struct db_rows *row, struct arena *a, void *to)
{
    struct checked_blob *b = to;
    struct sha256 got = digest_of(db_get_str(row, CONFIG_BLOB_PAGE_BYTES));

    (void)a;
    b->sha256 = row_sha256(row, CONFIG_BLOB_PAGE_SHA256);
    b->is_whole = digest_same(&b->sha256, &got);
}

/* Every file of a version has its content, with the right digest. */
static bool check_version_files(struct store *s, struct check_result *r, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    AUTO(reader_back) struct reader reader = reader_take(s, err);
    struct checked_blob b = { .is_whole = true };
    bool found = true;
    int64_t lost;

    if (reader.db == NULL ||
        !db_one_int(reader.db, SQL_CONFIG_FILE_LOST, DB_NO_ARGS, 0, &lost, err))
        return false;
    r->bad = lost;
    while (found) {
        struct str after = r->looked_at > 0 ? str_mem(b.sha256.bytes, SHA256_SIZE) : STR("");

        if (!rows_one(reader.db, SQL_CONFIG_BLOB_PAGE, DB_NO_SLOT, DB_ARGS(db_bytes(after)),
                      check_read_blob, &arena, &b, &found, err))
            return false;
        r->looked_at += found;
        r->bad += found && !b.is_whole;
    }
    if (r->bad > 0)
        check_say(r, "files of configuration versions are damaged: restore a backup, or apply a "
                     "version again with its files");
    return true;
}

/* Every record belongs to a set, and is no larger than a step may make it. */
static bool check_records(struct store *s, struct check_result *r, struct err *err)
{
    if (!store_one_int(s, SQL_SET_RECORD_COUNT, DB_NO_ARGS, 0, &r->looked_at, err) ||
        !store_one_int(
            s, SQL_SET_RECORD_ODD,
            DB_ARGS(db_int(NAME_SET), db_int(SET_RECORD_KEY_MOST), db_int(SET_RECORD_VALUE_MOST)),
            0, &r->bad, err))
        return false;
    if (r->bad > 0)
        check_say(r, "records belong to no set, or are too large: restore a backup, or remove "
                     "them and let their documents run again");
    return true;
}

/* Every job that should run has its token, and its state is the last of those that are kept. */
static bool check_jobs(struct store *s, struct check_result *r, struct err *err)
{
    static _Thread_local struct job_record jobs[JOBS_PAGE];
    int64_t above = 0;
    size_t n = 0;

    do { /* every record can be read */
        AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);

        if (!job_list(s, above, JOBS_PAGE, &arena, jobs, &n, err))
            return false;
        above = n > 0 ? jobs[n - 1].num : above;
    } while (n == JOBS_PAGE);
    if (!check_slices(s, SQL_JOB_SLICE, SQL_JOB_WRONG, r, err))
        return false;
    if (r->bad > 0)
        (void)snprintf(r->message, sizeof r->message,
                       "%lld jobs will never run, because their token is lost, or have lost their "
                       "last state: compare with a backup",
                       (long long)r->bad);
    return true;
}

static const struct {
    const char *name;
    bool (*run)(struct store *s, struct check_result *r, struct err *err);
    bool (*deep)(struct store *s, struct check_result *r, struct err *err); /* NULL: as run */
} checks[] = {
    { .name = "database", .run = watch_check_database },
    { .name = "documents-have-tasks", .run = check_tasks },
    { .name = "tasks-have-documents", .run = check_orphan_tasks },
    { .name = "deliveries", .run = check_deliveries },
    { .name = "batches", .run = watch_check_batches },
    { .name = "parts", .run = check_offspring },
    { .name = "awaited-answers", .run = check_awaited },
    { .name = "payloads", .run = check_received, .deep = check_every_stage },
    { .name = "counts", .run = check_counts },
    { .name = "version-files", .run = check_version_files },
    { .name = "records", .run = check_records },
    { .name = "jobs", .run = check_jobs },
    { .name = "audit-chain", .run = check_audit },
};

size_t check_count(void)
{
    return sizeof checks / sizeof checks[0];
}

const char *check_name(size_t i)
{
    require(i < check_count());
    return checks[i].name;
}

bool check_run(struct store *s, size_t i, bool deep, struct check_result *ret, struct err *err)
{
    require(i < check_count());
    for (int look = 0; look < 3; look++) {
        *ret = (struct check_result){ 0 };
        if (!(deep && checks[i].deep != NULL ? checks[i].deep : checks[i].run)(s, ret, err))
            return false;
        if (ret->bad == 0)
            break;
    }
    return true;
}
