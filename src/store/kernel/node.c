#include "store/kernel/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/lease_time.h"
#include "core/retain_rule.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum { NAMES_MOST = 100000 };

#define PAUSE_KEEP_US ((int64_t)RETAIN_DAYS * 86400 * CLOCK_S)

bool node_lock(struct store *s, struct err *err)
{
    s->lock_fd = openat(s->data_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd < 0)
        return err_set(err, ERR_CONFIG, errno, "data folder %s: %s", s->options.data,
                       strerror(errno));
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_CONFIG, errno,
                       "data folder %s is in use by another process: stop it, or give this one a "
                       "folder of its own",
                       s->options.data);
    return true;
}

/* The file `node` of the folder names the node that last held it: "NODE EPOCH STORE\n". */
struct memory {
    int64_t node, epoch, store; /* 0: unknown */
};

static struct memory node_remember(struct store *s)
{
    AUTO(buf_done) struct buf text = BUF_INIT(100);
    struct err err = { 0 };
    struct memory m = { 0 };
    int64_t *const numbers[] = { &m.node, &m.epoch, &m.store };

    if (!file_read_whole(s->data_fd, "node", &text, &err))
        return m;
    struct str line, word;

    (void)str_cut(buf_view(&text), '\n', &line);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        line = str_cut(line, ' ', &word);
        if (!str_to_i64(word, numbers[i]))
            *numbers[i] = 0;
    }
    return m;
}

/* Declares the predecessor dead; this node inherits its pauses and the folders that it knew. */
static bool end_predecessor(struct store *s, struct db *db, int64_t before, struct err *err)
{
    if (before != 0 &&
        (!db_run(db, SQL_PAUSE_INHERIT, DB_ARGS(db_int(before), db_int(s->node)), NULL, err) ||
         !db_run(db, SQL_FOLDER_INHERIT, DB_ARGS(db_int(before), db_int(s->node)), NULL, err)))
        return false;
    if (s->kind == DB_SQLITE)
        /* One process owns the file: the nodes of all other rows are dead. */
        return db_run(db, SQL_NODE_END_OTHERS, DB_ARGS(db_int(s->node)), NULL, err);
    if (before == 0)
        return true;
    return db_run(db, SQL_NODE_WRITER_END, DB_ARGS(db_int(before)), NULL, err) &&
           db_run(db, SQL_NODE_END, DB_ARGS(db_int(before)), NULL, err);
}

static bool add_writers(struct store *s, struct db *db, struct err *err)
{
    struct db_value rows[WRITERS_MOST * 2];

    for (size_t i = 0; i < s->writer_count; i++) {
        rows[i * 2] = db_int(s->node);
        rows[i * 2 + 1] = db_int(i);
    }
    return s->kind == DB_SQLITE ||
           db_batch(db, SQL_NODE_WRITER_ADD, DB_NO_SLOT, rows, 2, s->writer_count, err);
}

bool node_forget(struct db *db, struct err *err)
{
    return db_run(db, SQL_NODE_FORGET, DB_NO_ARGS, NULL, err) &&
           db_run(db, SQL_PAUSE_FORGET, DB_ARGS(db_int(PAUSE_KEEP_US)), NULL, err) &&
           db_run(db, SQL_FAILING_FORGET, DB_NO_ARGS, NULL, err) &&
           db_run(db, SQL_FOLDER_FORGET, DB_ARGS(db_int(PAUSE_KEEP_US)), NULL, err) &&
           (db->kind == DB_SQLITE || (db_run(db, SQL_NODE_WRITER_FORGET, DB_NO_ARGS, NULL, err) &&
                                      db_run(db, SQL_ALLOT_FORGET, DB_NO_ARGS, NULL, err)));
}

/* The names of nodes that are gone are kept for timelines. */
static bool add_node_name(struct store *s, struct db *db, const char *host, struct err *err)
{
    const char *name = s->options.name != NULL ? s->options.name : host;

    return db_run(db, SQL_NODE_NAME_ADD, DB_ARGS(db_int(s->node), db_text(str_of(name))), NULL,
                  err) &&
           db_run(db, SQL_NODE_NAME_FORGET, DB_ARGS(db_int(NAMES_MOST)), NULL, err);
}

bool node_register(struct store *s, struct db *db, struct node_past *ret, struct err *err)
{
    char host[128] = "";
    struct memory before = node_remember(s);

    (void)gethostname(host, sizeof host - 1);
    s->node = (int64_t)(chance_u64() >> 1) | 1;
    atomic_store(&s->beaten_us, clock_mono_us());
    if (!db_one_int(db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("epoch")), db_int(1)), 0, &s->epoch,
                    err) ||
        !db_run(db, SQL_NODE_ADD,
                DB_ARGS(db_int(s->node), db_int(s->epoch), db_text(str_of(host)), db_int(getpid()),
                        db_text(str_of(s->options.area)),
                        db_text(str_of(s->options.address != NULL ? s->options.address : "")),
                        db_int(LEASE_TTL_US)),
                NULL, err) ||
        !add_node_name(s, db, host, err) || !add_writers(s, db, err) ||
        !end_predecessor(s, db, before.node, err) ||
        !db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("store"))), 0, &ret->store, err))
        return false;
    ret->node = before.node;
    /* Epochs only grow: one that this folder has already seen means that the store was reset, and
     * that deliveries it has as unsent may have been sent. */
    ret->went_back = before.store != 0 && before.store == ret->store && s->epoch <= before.epoch;
    return true;
}

bool node_note_folder(struct store *s, const struct node_past *past, struct err *err)
{
    char text[96];

    (void)snprintf(text, sizeof text, "%lld %lld %lld\n", (long long)s->node, (long long)s->epoch,
                   (long long)past->store);
    return publish_bytes(s->data_fd, "node", str_of(text), 0600, err);
}

bool node_fence(struct writer *w, struct err *err)
{
    struct db_value node = db_int(store_node(w->store)), epoch = db_int(store_epoch(w->store));

    if (w->db->kind == DB_POSTGRESQL)
        return db_send(w->db, SQL_NODE_ENTER,
                       DB_ARGS(node, epoch, db_int(w->number), db_int(++w->token)), err);
    if (!db_one_int(w->db, SQL_NODE_FENCE, DB_ARGS(node, epoch), 0, &w->token, err))
        return false;
    if (w->token == 0)
        return err_set(err, ERR_TRANSIENT, 0, "this node was declared dead");
    return true;
}

bool node_has_committed(struct writer *w, bool *ret, struct err *err)
{
    int64_t token;

    if (!db_one_int(w->db, SQL_NODE_TOKEN, DB_ARGS(db_int(store_node(w->store)), db_int(w->number)),
                    -1, &token, err))
        return false;
    if (token < 0)
        return err_set(err, ERR_UNCERTAIN, 0, "this node was declared dead and forgotten");
    *ret = token == w->token;
    return true;
}

bool node_beat(struct store *s, struct db *db, int64_t *ret_sent_us, struct err *err)
{
    int64_t changed;

    *ret_sent_us = clock_mono_us(); /* before the store starts the lease */
    if (!db_run(db, SQL_NODE_BEAT, DB_ARGS(db_int(s->node), db_int(s->epoch), db_int(LEASE_TTL_US)),
                &changed, err))
        return false;
    if (changed != 1)
        return err_set(err, ERR_PERMANENT, 0, "this node was declared dead by another");
    return true;
}

void node_renew(struct store *s, int64_t sent_us)
{
    if (!node_may_act(s))
        atomic_store(&s->resumed_us, clock_mono_us());
    atomic_store(&s->beaten_us, sent_us);
}

bool node_may_act(const struct store *s)
{
    return s->kind == DB_SQLITE || clock_mono_us() < lease_end_us(atomic_load(&s->beaten_us));
}

bool node_may_go_on(const struct store *s, int64_t since_us)
{
    return node_may_act(s) && atomic_load(&s->resumed_us) <= since_us;
}

bool node_end_silent(struct writer *w, struct err *err)
{
    int64_t dead[64];
    size_t n;

    if (!rows_ints(w->db, SQL_NODE_SILENT,
                   DB_ARGS(db_int(LEASE_GRACE_US), db_int(store_node(w->store))), dead,
                   sizeof dead / sizeof dead[0], &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct db_args node = DB_ARGS(db_int(dead[i]));
        int64_t ended, broken;

        /* A group that is still open is broken off; the next call then finds the node idle. */
        if (!db_run(w->db, SQL_NODE_END_IDLE, node, &ended, err) ||
            (ended == 1 && !db_run(w->db, SQL_NODE_WRITER_END, node, NULL, err)) ||
            (ended == 0 && !db_one_int(w->db, SQL_NODE_BREAK, node, 0, &broken, err)))
            return false;
    }
    return true;
}

static void copy_text(char *to, size_t room, struct str from)
{
    size_t n = from.len < room - 1 ? from.len : room - 1;

    memcpy(to, from.ptr, n);
    to[n] = '\0';
}

static void node_read_node(struct db_rows *row, struct arena *a, void *to)
{
    struct node_row *r = to;

    (void)a;
    *r = (struct node_row){ .node = db_get_int(row, NODE_ALL_NODE_ID),
                            .epoch = db_get_int(row, NODE_ALL_EPOCH),
                            .pid = db_get_int(row, NODE_ALL_PID),
                            .state = db_get_int(row, NODE_ALL_STATE),
                            .started_us = db_get_int(row, NODE_ALL_STARTED_US),
                            .alive_until_us = db_get_int(row, NODE_ALL_ALIVE_UNTIL_US) };
    copy_text(r->name, sizeof r->name, db_get_str(row, NODE_ALL_NAME));
    copy_text(r->host, sizeof r->host, db_get_str(row, NODE_ALL_HOST));
    copy_text(r->area, sizeof r->area, db_get_str(row, NODE_ALL_AREA));
    copy_text(r->address, sizeof r->address, db_get_str(row, NODE_ALL_ADDRESS));
}

static void read_node_name(struct db_rows *row, struct arena *a, void *to)
{
    *(struct str *)to = row_text(row, NODE_NAME_GET_NAME, a);
}

bool node_name(struct store *s, int64_t node, struct arena *a, struct str *ret, struct err *err)
{
    bool found;

    return store_one(s, SQL_NODE_NAME_GET, DB_ARGS(db_int(node)), read_node_name, a, ret, &found,
                     err) &&
           found;
}

bool node_list(struct store *s, struct node_row *out, size_t most, size_t *ret_count,
               struct err *err)
{
    return store_collect(s, SQL_NODE_ALL, DB_NO_ARGS, ROWS_INTO(out, most, NULL, node_read_node),
                         ret_count, err);
}
