/* mariadb_ceiling.c - up to where changes are final.
 *
 * A trigger draws the number of a change from a sequence.  The sequence hands numbers out in order,
 * but what was drawn first may be committed last; and a number that nobody has seen may have been
 * drawn by a transaction that is open, or rolled back, or may have been overtaken by a later change
 * of the same key.  So numbers that are missing tell nothing.  What tells is which transactions are
 * open:
 *
 *     1  x is read: the largest number in the journal that is committed, or was pruned
 *     2  then the transactions that are open, and `next`, the id of the next one
 *
 * Let w be a transaction that has drawn, or will draw, a number n <= x.  It has drawn it before 1:
 * x itself was drawn before that, and what is drawn later is larger.  Triggers are AFTER their row,
 * so w had changed, or at least locked for change, a row of an InnoDB table when it drew n, and had
 * an id: smaller than `next`.  Its id is in the list until its changes can be seen.  So as soon as
 * a list, that of 2 or a later one, has no id below `next`, each such w is committed, and read by
 * whoever reads from now on, or it is rolled back: all changes up to x are final.
 *
 * Such a pair of x and `next` is a sight.  While transactions come and go, a sight is settled when
 * those have ended that were open when it was taken; the ceiling is behind the largest one that is
 * settled.  Sights are kept with the connection, up to a limit: when there is no room the newest
 * gives way.  A connection that knows nothing yet waits a moment, and then says 0: nothing is
 * final.  Nobody is waited for with a lock, no writer waits for us, and a reader needs no right to
 * write; but it needs PROCESS.
 *
 * With CAPTURE_COLUMN the ceiling is a guess (database.h): now, less what is safe, and less the age
 * of the oldest transaction where that can be seen.
 */
#include <stdio.h>

#include "base/clock.h"
#include "core/call.h"
#include "table/mariadb/mariadb.h"

enum { CEILING_TRIES = 8, CEILING_FIRST_US = CLOCK_MS, CEILING_SEQUENCE = 300 };

#define CEILING_SLACK_US (2 * CLOCK_S) /* ages are told in whole seconds */

struct ceiling_numbers {
    int64_t seen, drawn; /* the largest in the journal; what is drawn is less */
    struct buf sequence; /* which sequence it is */
};

static bool ceiling_take(void *arg, const struct cell *cells, struct err *err)
{
    struct ceiling_numbers *n = arg;

    (void)err;
    n->seen = cells[0].i;
    n->drawn = cells[1].i;
    if (cells[2].type == CELL_BYTES && cells[2].s.len <= CEILING_SEQUENCE) {
        buf_clear(&n->sequence);
        buf_put(&n->sequence, cells[2].s);
    }
    return true;
}

static bool ceiling_read(struct database *d, const struct fit *fit, struct ceiling_numbers *ret,
                         struct err *err)
{
    static const enum mariadb_kind kinds[] = { MARIADB_INT, MARIADB_INT, MARIADB_BYTES };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    buf_puts(&sql, "SELECT GREATEST(COALESCE((SELECT MAX(x) FROM ");
    mariadb_put_journal(&sql, fit->shape);
    buf_puts(&sql, "), 0), COALESCE((SELECT pruned FROM "); /* what was pruned was there */
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
    buf_puts(&sql, " WHERE name = ");
    mariadb_put_literal(&sql, fit->shape->name);
    buf_puts(&sql, "), 0)), next_not_cached_value, (SELECT CONCAT(");
    mariadb_put_literal(&sql, fit->shape->schema);
    buf_puts(&sql, ", '/', MIN(epoch)) FROM ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
    buf_puts(&sql, ") FROM ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_sequence");
    const struct mariadb_ask ask = {
        .sql = buf_view(&sql), .kinds = kinds, .column_count = 3, .fn = ceiling_take, .arg = ret
    };
    bool ok = mariadb_ask(d, &ask, err);

    buf_done(&sql);
    return ok;
}

/* In a transaction, so that we are in the list ourselves. */
static bool ceiling_sight(struct database *d, const struct fit *fit, struct ceiling_numbers *n,
                          struct mariadb_writers *w, struct err *err)
{
    if (!mariadb_run(d, STR("START TRANSACTION WITH CONSISTENT SNAPSHOT"), err))
        return false;
    bool ok = ceiling_read(d, fit, n, err) && mariadb_writers(d, w, err);
    struct err ignored = { 0 };

    return mariadb_run(d, STR("ROLLBACK"), ok ? err : &ignored) && ok;
}

static void ceiling_note(struct database *d, int64_t x, uint64_t before)
{
    if (d->sight_count > 0 && d->sights[d->sight_count - 1].x == x)
        return; /* an earlier sight of the same number is settled first */
    if (d->sight_count == MARIADB_SIGHTS)
        d->sight_count--;
    d->sights[d->sight_count++] = (struct mariadb_sight){ .x = x, .before = before };
}

static void ceiling_settle(struct database *d, uint64_t oldest)
{
    size_t left = 0;

    for (size_t i = 0; i < d->sight_count; i++) {
        const struct mariadb_sight *s = &d->sights[i];

        if (oldest < s->before)
            d->sights[left++] = *s;
        else if (s->x >= d->final)
            d->final = s->x + 1;
    }
    d->sight_count = left;
}

static void ceiling_say_holder(const struct mariadb_writers *w, struct ceiling *ret)
{
    ret->held_us = w->oldest_us;
    (void)snprintf(ret->held_by, sizeof ret->held_by,
                   "transaction of connection %llu, open for %lld s",
                   (unsigned long long)w->oldest_thread, (long long)(w->oldest_us / CLOCK_S));
}

/* What is known of another sequence, or of one that was put back, does not count.  A sequence lives
 * as long as waybill_capture has a row: so if its smallest epoch is the same it is the same one. */
static void ceiling_know(struct database *d, const struct ceiling_numbers *n)
{
    if (str_eq(buf_view(&d->sights_of), buf_view(&n->sequence)) && n->drawn >= d->final)
        return;
    buf_clear(&d->sights_of);
    buf_put(&d->sights_of, buf_view(&n->sequence));
    d->sight_count = 0;
    d->final = 0;
    d->has_waited = false;
}

static bool ceiling_of_journal(struct database *d, const struct fit *fit, struct ceiling *ret,
                               struct err *err)
{
    struct ceiling_numbers n = { .sequence = BUF_INIT(CEILING_SEQUENCE) };
    struct mariadb_writers w;

    for (int try = 0;; try++) {
        if (!ceiling_sight(d, fit, &n, &w, err)) {
            buf_done(&n.sequence);
            return false;
        }
        ceiling_know(d, &n);
        ceiling_note(d, n.seen, w.next);
        ceiling_settle(d, w.oldest);
        if (d->final > 0 || d->has_waited || try == CEILING_TRIES || call_is_over(d->call))
            break;
        clock_sleep_us(CEILING_FIRST_US << try);
    }
    buf_done(&n.sequence);
    d->has_waited = true;
    ret->below = d->final;
    ret->now_x = n.drawn > n.seen ? n.drawn : n.seen + 1;
    if (d->sight_count > 0)
        ceiling_say_holder(&w, ret);
    return true;
}

/* ---- columns ---- */

static bool ceiling_of_column(struct database *d, const struct fit *fit,
                              const struct capture *capture, struct ceiling *ret, struct err *err)
{
    static const enum mariadb_kind kinds[] = { MARIADB_INT, MARIADB_INT, MARIADB_BYTES };
    const struct shape_column *c = shape_column(fit->shape, capture->column);
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    struct ceiling_numbers n = { 0 };
    struct mariadb_writers w;
    struct err ignored = { 0 };

    if (c == NULL)
        return err_set(err, ERR_CONFIG, 0, "the table has no column %.*s",
                       STR_ARG(str_first(capture->column, 60)));
    bool is_number = c->natural == CELL_INT;

    buf_puts(&sql, is_number ? "SELECT COALESCE(MAX(" : "SELECT (");
    if (is_number) {
        mariadb_put_name(&sql, c->name);
        buf_puts(&sql, "), 0), 0, NULL FROM ");
        buf_put(&sql, fit->shape->quoted);
    } else {
        buf_puts(&sql, "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)), 0, NULL");
    }
    const struct mariadb_ask ask = {
        .sql = buf_view(&sql), .kinds = kinds, .column_count = 3, .fn = ceiling_take, .arg = &n
    };
    bool ok = mariadb_ask(d, &ask, err);

    buf_done(&sql);
    if (!ok)
        return false;
    int64_t back = capture->safety_us;

    if (!is_number && mariadb_run(d, STR("START TRANSACTION WITH CONSISTENT SNAPSHOT"), err)) {
        if (mariadb_writers(d, &w, &ignored) && w.oldest != UINT64_MAX &&
            w.oldest_us + CEILING_SLACK_US > back) {
            back = w.oldest_us + CEILING_SLACK_US;
            ceiling_say_holder(&w, ret);
        }
        if (!mariadb_run(d, STR("ROLLBACK"), err))
            return false;
    }
    ret->now_x = n.seen + 1;
    ret->below = n.seen + 1 - back;
    return !d->lost || err_set(err, ERR_TRANSIENT, 0, "%s", ignored.text);
}

bool mariadb_ceiling(struct database *d, const struct fit *fit, const struct capture *capture,
                     struct ceiling *ret, struct err *err)
{
    *ret = (struct ceiling){ 0 };
    return capture->kind == CAPTURE_JOURNAL ? ceiling_of_journal(d, fit, ret, err)
                                            : ceiling_of_column(d, fit, capture, ret, err);
}
