/* store.c - the properties of an open store, and its pool of read connections. */
#include "store/kernel/store.h"

#include "base/require.h"
#include "store/db/pg_lineage.h"
#include "store/kernel/health.h"
#include "store/kernel/store_state.h"

enum db_kind store_kind(const struct store *s)
{
    return s->kind;
}

struct writers *store_writers(struct store *s)
{
    return s->writers;
}

int store_data_fd(const struct store *s)
{
    return s->data_fd;
}

int64_t store_node(const struct store *s)
{
    return s->node;
}

int64_t store_epoch(const struct store *s)
{
    return s->epoch;
}

struct recorder *store_recorder(struct store *s)
{
    return s->recorder;
}

void store_trouble(struct store *s, const char *what, const struct err *err)
{
    if (s->options.trouble != NULL)
        s->options.trouble(s->options.trouble_arg, what, err);
}

bool store_connect(struct store *s, bool reader, struct db **ret, struct err *err)
{
    struct db_sqlite_options sqlite = { .path = s->sqlite_path, .reader = reader };

    if (s->kind == DB_POSTGRESQL)
        return db_open_postgres(s->options.url, reader, s->lineage, ret, err);
    return db_open_sqlite(&sqlite, ret, err);
}

bool store_connect_beat(struct store *s, struct db **ret, struct err *err)
{
    return store_connect(s, false, ret, err);
}

bool store_passed_over(struct store *s, char *ret, size_t room)
{
    return pg_lineage_passed_over(s->lineage, ret, room);
}

/* ---- readers ---- */

struct db *store_reader(struct store *s, struct err *err)
{
    struct db *db = NULL;

    (void)pthread_mutex_lock(&s->reader_mutex);
    while (s->reader_idle == 0 && s->reader_made == READERS)
        (void)pthread_cond_wait(&s->reader_free, &s->reader_mutex);
    if (s->reader_idle > 0)
        db = s->readers[--s->reader_idle];
    else
        s->reader_made++;
    (void)pthread_mutex_unlock(&s->reader_mutex);

    bool ok = db != NULL ? db_alive(db) || db_revive(db, err) : store_connect(s, true, &db, err);

    if (ok)
        return db;
    db_close(db);
    (void)pthread_mutex_lock(&s->reader_mutex);
    s->reader_made--;
    (void)pthread_cond_signal(&s->reader_free);
    (void)pthread_mutex_unlock(&s->reader_mutex);
    return NULL;
}

void store_reader_back(struct store *s, struct db *db)
{
    if (db->damaged)
        health_damaged(s->health);
    (void)pthread_mutex_lock(&s->reader_mutex);
    require(s->reader_idle < READERS);
    s->readers[s->reader_idle++] = db;
    (void)pthread_cond_signal(&s->reader_free);
    (void)pthread_mutex_unlock(&s->reader_mutex);
}
