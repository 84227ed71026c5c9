/* store_test.h - what the store suite shares: one suite, run on each database.
 *
 *     store_NAME -d sqlite FOLDER          an empty folder
 *     store_NAME -d postgres ADDRESS       a database that gets the tables, to make copies of
 *
 * Each test makes a home of its own (a folder, and on PostgreSQL a database), opens stores
 * in it, and may look behind their back with ask() and tell().  A test whose name begins
 * with sqlite_ or postgres_ is run on that database only.
 *
 * A test that needs faults runs a CHILD: the same program again, with WAYBILL_FAULT set,
 * in a process that may die.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "store/open.h"
#include "store/road/accept.h"
#include "store/road/settle.h"
#include "store/road/task.h"
#include "store/search/document.h"
#include "store/store.h"

/* ---- homes ---- */

struct home {
    char folder[240];
    char url[600]; /* empty: SQLite */
};

bool on_sqlite(void);
bool on_postgres(void);

struct home fresh_home(void); /* an empty store; on PostgreSQL its tables are there already */
struct home empty_home(void); /* nothing: the first open makes the tables */
/* Another node's folder on the same database (PostgreSQL). */
struct home home_beside(const struct home *h);

/* The defaults of this suite; change them before open_with(). */
struct store_options options_of(const struct home *h);
struct store *open_store(const struct home *h); /* says why when it is NULL; lives for an hour */

/* Behind the store's back: one integer, or -1; a statement, false when it fails. */
int64_t ask(const struct home *h, const char *sql);
bool tell(const struct home *h, const char *sql);
/* The same server, but another database than the one under test (PostgreSQL). */
bool tell_elsewhere(const char *sql);
/* A text of one row; "" when there is none. */
const char *ask_text(const struct home *h, const char *sql, char *to, size_t room);

/* ---- documents ---- */

/* An operation with a body of its own; gateway 1. */
struct accept_op doc_of(struct str body);
struct accept_op keyed_doc(struct str body, const char *key, int64_t period_us);

/* Queue them together and wait; true when all were stored. */
bool accept_docs(struct store *s, struct accept_op *ops, size_t count);
bool accept_doc(struct store *s, struct accept_op *op);
/* `count` documents "body N", from N = from, in groups of up to `group`. */
bool accept_many(struct store *s, int from, int count, int group);

struct payload_source source_of(const struct accept_op *op);
/* The payload, read whole and checked. */
bool read_payload(struct store *s, const struct payload_source *source, struct buf *to,
                  struct err *err);
bool payload_is(struct store *s, const struct accept_op *op, struct str want);

/* ---- tasks ---- */

enum { LEASE_US = 60 * CLOCK_S };

/* How many were claimed, -1 on an error. */
int claim(struct store *s, size_t limit, struct task *tasks);
/* How many tasks stand in each place; -1: nobody knows. */
struct task_places {
    int ready, lease, later, dead;
};
struct task_places places(struct store *s);
/* A claimed task is ready again. */
bool give_back(struct store *s, const struct task *t);

/* Documents whose tasks come claimed; false when one does not. */
bool born_docs(struct store *s, struct accept_op *ops, size_t count);
/* A delivery to endpoint 31 of system 32, tried once. */
struct settle_delivery part_of(struct str id, int64_t queue, enum delivery_state state);
/* A run of the task that is over in `end`; change it before settle_ops(). */
struct settle_op settle_of(const struct task *t, int64_t doc, enum settle_outcome end);
/* Queue them together and wait; true when all were committed and ours. */
bool settle_ops(struct store *s, struct settle_op *ops, size_t count);

/* The document is over, whatever its task. */
bool document_end(struct store *s, int64_t num, enum document_state state, int64_t keep_days,
                  struct err *err);

/* ---- children ---- */

struct child {
    const char *name;
    int (*run)(const struct home *h, const char *arg);
    struct child *next;
};

extern struct child *child_first;

#define CHILD(id)                                                   \
    static int child_##id(const struct home *h, const char *arg);   \
    __attribute__((constructor)) static void child_add_##id(void)   \
    {                                                               \
        static struct child c = { .name = #id, .run = child_##id }; \
        c.next = child_first;                                       \
        child_first = &c;                                           \
    }                                                               \
    static int child_##id(const struct home *h, const char *arg)

struct running {
    pid_t pid;
    int out; /* what it prints */
};

/* fault: WAYBILL_FAULT of the child, or NULL. */
struct running start_child(const char *name, const struct home *h, const char *fault,
                           const char *arg);
/* Everything it printed (said may be NULL), and the status of waitpid(). */
int end_child(struct running *r, struct buf *said);
int run_child(const char *name, const struct home *h, const char *fault, const char *arg,
              struct buf *said);
bool ended_well(int status);
bool was_killed(int status);

/* A child that is killed at each of these points, when it passes it for the 1st, 2nd, ... time: one
 * home for each point, so that it goes on where its predecessor died.  After each, whole() looks at
 * the store, and at what the child has said. */
struct kill_scene {
    const char *child;
    const char *const *points;
    size_t point_count;
    const int *passes;
    size_t pass_count;
    bool (*whole)(const struct home *h, struct store *s, struct str said);
};
/* How often it was killed; -1: it failed otherwise, or something was not whole. */
int kill_everywhere(const struct kill_scene *k);

/* ---- main ---- */

/* Parses the arguments; true: run the tests, else *ret_status is the end. */
bool store_test_start(int argc, char **argv, int *ret_status);
void store_test_end(void);

#ifndef STORE_TEST_SHARED /* for the tests themselves */

#include "test.h"

static inline bool runs_here(const struct test *t)
{
    return strncmp(t->name, on_sqlite() ? "postgres_" : "sqlite_", on_sqlite() ? 9 : 7) != 0;
}

#define STORE_TEST_MAIN                                  \
    int main(int argc, char **argv)                      \
    {                                                    \
        int status;                                      \
                                                         \
        if (!store_test_start(argc, argv, &status))      \
            return status;                               \
        for (struct test **t = &test_first; *t != NULL;) \
            if (runs_here(*t))                           \
                t = &(*t)->next;                         \
            else                                         \
                *t = (*t)->next;                         \
        status = test_main();                            \
        store_test_end();                                \
        return status;                                   \
    }

#endif
