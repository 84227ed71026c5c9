/* postgres_run.c - statements are sent, and their answers read row by row.
 *
 * The server ends what takes longer than the time limit; a server that does not even say that is
 * given up some seconds later.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/call.h"
#include "table/postgres/postgres.h"

#define GRACE_US (5 * CLOCK_S)
#define SLICE_US (250 * CLOCK_MS)

/* ---- waiting ---- */

static bool postgres_poll(struct postgres *p, int64_t left_us, bool unsent, struct err *err)
{
    struct pollfd f = { .fd = PQsocket(p->conn),
                        .events = (short)(POLLIN | (unsent ? POLLOUT : 0)) };
    int n = poll(&f, 1, (int)((left_us < SLICE_US ? left_us : SLICE_US) / CLOCK_MS) + 1);

    if (n < 0 && errno != EINTR)
        return postgres_lost(p, err);
    if (n > 0)
        call_alive(p->call);
    if (n > 0 && (f.revents & ~POLLOUT) != 0 && PQconsumeInput(p->conn) == 0)
        return postgres_lost(p, err);
    if (n == 0 && call_is_over(p->call)) {
        p->broken = true;
        return err_set(err, ERR_TRANSIENT, ECANCELED, "it is not wanted any more");
    }
    return true;
}

bool postgres_await(struct postgres *p, int64_t *until_us, bool unsent, struct err *err)
{
    int64_t now = clock_mono_us();

    if (*until_us == 0)
        *until_us = now + p->timeout_us + GRACE_US;
    if (now >= *until_us) {
        p->broken = true;
        return err_set(err, ERR_TRANSIENT, ETIMEDOUT, "it does not answer");
    }
    return postgres_poll(p, *until_us - now, unsent, err);
}

static bool postgres_wait(struct postgres *p, struct err *err)
{
    int64_t until = 0;

    for (;;) {
        int unsent = PQflush(p->conn);

        if (unsent < 0)
            return postgres_lost(p, err);
        if (PQisBusy(p->conn) == 0)
            return true;
        if (!postgres_await(p, &until, unsent > 0, err))
            return false;
    }
}

/* ---- parameters ---- */

struct postgres_args *postgres_args(struct arena *a)
{
    struct postgres_args *args = ARENA_NEW(a, struct postgres_args);

    return args;
}

size_t postgres_arg(struct postgres_args *args, Oid type, struct str bytes)
{
    require(args->count < POSTGRES_ARGS && bytes.len <= INT32_MAX);
    args->types[args->count] = type;
    args->values[args->count] = bytes.ptr != NULL ? bytes.ptr : "";
    args->lengths[args->count] = (int)bytes.len;
    return ++args->count;
}

size_t postgres_arg_text(struct postgres_args *args, struct str text)
{
    return postgres_arg(args, TYPE_TEXT, text);
}

static size_t postgres_arg_number(struct postgres_args *args, Oid type, uint64_t value, size_t size)
{
    uint64_t big = htobe64(value);

    require(args->number_count < sizeof args->numbers / sizeof args->numbers[0]);
    char *to = args->numbers[args->number_count++];

    memcpy(to, &big, sizeof big);
    return postgres_arg(args, type, str_mem(to + sizeof big - size, size));
}

size_t postgres_arg_int(struct postgres_args *args, int64_t value)
{
    return postgres_arg_number(args, TYPE_INT8, (uint64_t)value, 8);
}

size_t postgres_arg_x(struct postgres_args *args, int64_t x)
{
    return postgres_arg_number(args, TYPE_XID8, (uint64_t)(x < 0 ? 0 : x), 8);
}

size_t postgres_arg_oid(struct postgres_args *args, Oid value)
{
    return postgres_arg_number(args, TYPE_OID, value, 4);
}

/* ---- answers ---- */

struct postgres_reading {
    postgres_row_fn *fn;
    struct postgres_copy *copy;
    void *arg;
    bool ended; /* by fn: what comes is passed over */
    bool failed, kept_used;
};

static void postgres_fail(struct postgres_reading *r, const struct err *why, struct err *err)
{
    if (!r->failed)
        *err = *why;
    r->failed = true;
}

static void postgres_take_result(struct postgres *p, struct postgres_reading *r,
                                 const PGresult *result, struct err *err)
{
    struct err why = { 0 };

    switch (PQresultStatus(result)) {
    case PGRES_SINGLE_TUPLE:
        if (r->ended || r->failed || r->fn == NULL)
            return;
        arena_reset(&p->row);
        if (r->fn(r->arg, result, &why))
            return;
        r->ended = true;
        if (why.kind != ERR_NONE)
            postgres_fail(r, &why, err);
        return;
    case PGRES_COPY_OUT:
        if (r->copy != NULL && postgres_copy_take(p, r->copy, &why))
            return;
        if (r->copy == NULL) /* it was not asked for */
            (void)postgres_lost(p, &why);
        postgres_fail(r, &why, err);
        return;
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK: {
        int64_t n = 0;
        const char *tuples = PQcmdTuples((PGresult *)(uintptr_t)result);

        p->affected = str_to_i64(str_of(tuples), &n) ? n : 0;
        return;
    }
    default:
        if (!r->failed)
            (void)postgres_failed(p, result, r->kept_used, err);
        r->failed = true;
    }
}

/* All answers to what was sent. */
static bool postgres_read(struct postgres *p, struct postgres_reading *r, struct err *err)
{
    struct err why = { 0 };

    for (;;) {
        if (!postgres_wait(p, &why)) {
            postgres_fail(r, &why, err);
            return false;
        }
        PGresult *result = PQgetResult(p->conn);

        if (result == NULL)
            return !r->failed;
        ExecStatusType status = PQresultStatus(result);

        postgres_take_result(p, r, result, err);
        PQclear(result);
        if (status == PGRES_COPY_IN || status == PGRES_COPY_BOTH)
            p->broken = true; /* nothing of ours asks for it */
        if (p->broken &&
            (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH))
            return false;
    }
}

static bool postgres_usable(const struct postgres *p, struct err *err)
{
    return !p->broken || err_set(err, ERR_TRANSIENT, 0, "the connection was lost before");
}

bool postgres_run(struct postgres *p, const char *sql, struct err *err)
{
    struct postgres_reading r = { 0 };

    if (!postgres_usable(p, err))
        return false;
    if (PQsendQuery(p->conn, sql) == 0)
        return postgres_lost(p, err);
    return postgres_read(p, &r, err);
}

bool postgres_copy(struct postgres *p, struct postgres_copy *copy, struct err *err)
{
    struct postgres_reading r = { .copy = copy };

    if (!postgres_usable(p, err))
        return false;
    if (PQsendQuery(p->conn, p->sql.ptr) == 0)
        return postgres_lost(p, err);
    return postgres_read(p, &r, err);
}

/* ---- prepared statements ---- */

void postgres_drop_kept(struct postgres *p)
{
    for (size_t i = 0; i < p->kept_count; i++)
        free(p->kept[i].text);
    p->kept_count = 0;
}

static void postgres_kept_name(size_t i, char name[static 16])
{
    (void)snprintf(name, 16, "waybill_%zu", i);
}

/* A column may have become of another type. */
static uint64_t postgres_types(const struct postgres_args *args)
{
    uint64_t hash = 14695981039346656037U;

    for (size_t i = 0; args != NULL && i < args->count; i++)
        hash = (hash ^ args->types[i]) * 1099511628211U;
    return hash;
}

/* The statement p->sql, prepared. */
static bool postgres_prepare(struct postgres *p, const struct postgres_args *args, size_t *ret,
                             struct err *err)
{
    struct postgres_reading r = { 0 };
    uint64_t types = postgres_types(args);
    char name[16];

    for (size_t i = 0; i < p->kept_count; i++)
        if (p->kept[i].types == types && strcmp(p->kept[i].text, p->sql.ptr) == 0) {
            *ret = i;
            return true;
        }
    if (p->kept_count == POSTGRES_KEPT) {
        if (!postgres_run(p, "DEALLOCATE ALL", err))
            return false;
        postgres_drop_kept(p);
    }
    postgres_kept_name(p->kept_count, name);
    if (PQsendPrepare(p->conn, name, p->sql.ptr, args != NULL ? (int)args->count : 0,
                      args != NULL ? args->types : NULL) == 0)
        return postgres_lost(p, err);
    if (!postgres_read(p, &r, err))
        return false;
    *ret = p->kept_count;
    p->kept[p->kept_count++] =
        (struct postgres_kept){ .text = xstrdup(p->sql.ptr), .types = types };
    return true;
}

/* All parameters are in binary form. */
static const int *postgres_formats(void)
{
    static const int formats[POSTGRES_ARGS] = { [0 ... POSTGRES_ARGS - 1] = 1 };

    return formats;
}

bool postgres_ask(struct postgres *p, const struct postgres_args *args, postgres_row_fn *fn,
                  void *arg, struct err *err)
{
    struct postgres_reading r = { .fn = fn, .arg = arg };
    char name[16];
    size_t at = 0;

    if (!postgres_usable(p, err) || !postgres_prepare(p, args, &at, err))
        return false;
    r.kept_used = p->kept[at].used;
    postgres_kept_name(at, name);
    if (PQsendQueryPrepared(p->conn, name, args != NULL ? (int)args->count : 0,
                            args != NULL ? args->values : NULL, args != NULL ? args->lengths : NULL,
                            postgres_formats(), 1) == 0 ||
        PQsetSingleRowMode(p->conn) == 0)
        return postgres_lost(p, err);
    if (!postgres_read(p, &r, err))
        return false;
    p->kept[at].used = true;
    return true;
}

bool postgres_ask_once(struct postgres *p, const struct postgres_args *args, postgres_row_fn *fn,
                       void *arg, struct err *err)
{
    struct postgres_reading r = { .fn = fn, .arg = arg };

    if (!postgres_usable(p, err))
        return false;
    if (PQsendQueryParams(p->conn, p->sql.ptr, args != NULL ? (int)args->count : 0,
                          args != NULL ? args->types : NULL, args != NULL ? args->values : NULL,
                          args != NULL ? args->lengths : NULL, postgres_formats(), 1) == 0 ||
        PQsetSingleRowMode(p->conn) == 0)
        return postgres_lost(p, err);
    return postgres_read(p, &r, err);
}
