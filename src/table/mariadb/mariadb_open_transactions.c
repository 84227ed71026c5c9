/* mariadb_open_transactions.c - which transactions of the server are open.
 *
 * They are read from SHOW ENGINE INNODB STATUS.  information_schema.INNODB_TRX has the same in
 * columns, but of a moment that may be long ago: it is filled anew only when nobody has read it for
 * a tenth of a second, so that a few readers keep it as it was.
 *
 * The list has, for each session with a transaction,
 *
 *     ---TRANSACTION 51, ACTIVE 1 sec
 *     ...
 *     MariaDB thread id 8, OS thread handle ...
 *     the text of its statement
 *
 * and `(0x7fd02c2c4680)` instead of the id where it has changed nothing yet, and "not started"
 * behind it where the session has none.  Texts of statements are other people's: a line in one that
 * looks like a transaction can only add one, never hide one, since all lines to the end of the text
 * are looked at.  Ours must be in it, or the form is another one.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "table/mariadb/mariadb.h"

struct writers_reading {
    struct mariadb_writers *ret;
    uint64_t own;
    bool in_open; /* the lines are those of an open transaction */
    bool is_oldest;
    bool has_own;
};

/* The digits that the text begins with. */
static bool writers_number(struct str s, uint64_t *ret)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
        n++;
    return str_to_u64(str_mem(s.ptr, n), ret);
}

static void writers_transaction(struct writers_reading *r, struct str line)
{
    struct str id, rest = str_cut(line, ',', &id);
    uint64_t number, seconds;

    r->in_open = !str_starts(rest, STR(" not started"));
    r->is_oldest = false;
    if (!r->in_open || !writers_number(id, &number) || number >= r->ret->oldest)
        return;
    r->is_oldest = true;
    r->ret->oldest = number;
    r->ret->oldest_thread = 0;
    r->ret->oldest_us = 0;
    for (size_t i = 0; i + 1 < rest.len; i++)
        if (rest.ptr[i] == ' ' && writers_number(str_from(rest, i + 1), &seconds) &&
            seconds < UINT32_MAX) {
            r->ret->oldest_us = (int64_t)seconds * CLOCK_S;
            break;
        }
}

static void writers_thread(struct writers_reading *r, struct str line)
{
    static const char *const words[] = { "MariaDB thread id ", "MySQL thread id " };
    uint64_t number;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!str_starts(line, str_of(words[i])) ||
            !writers_number(str_from(line, strlen(words[i])), &number))
            continue;
        r->has_own = r->has_own || (r->in_open && number == r->own);
        if (r->is_oldest && r->ret->oldest_thread == 0)
            r->ret->oldest_thread = number;
    }
}

bool mariadb_writers_read(struct str status, uint64_t own_thread, struct mariadb_writers *ret,
                          struct err *err)
{
    static const char counter[] = "Trx id counter ", list[] = "LIST OF TRANSACTIONS FOR EACH",
                      head[] = "---TRANSACTION ";
    struct writers_reading r = { .ret = ret, .own = own_thread };
    bool has_counter = false, has_list = false, has_end = false;
    struct str line;

    *ret = (struct mariadb_writers){ .oldest = UINT64_MAX };
    if (memmem(status.ptr, status.len, "... truncated...", 16) != NULL)
        return err_set(err, ERR_TRANSIENT, 0,
                       "more transactions are open than the server tells of");
    while (status.len > 0) {
        status = str_cut(status, '\n', &line);
        has_end = has_end || str_starts(line, STR("END OF INNODB MONITOR OUTPUT"));
        if (!has_counter && str_starts(line, STR(counter)))
            has_counter = writers_number(str_from(line, sizeof counter - 1), &ret->next);
        else if (str_starts(line, STR(list)))
            has_list = true;
        else if (has_list && str_starts(line, STR(head)))
            writers_transaction(&r, str_from(line, sizeof head - 1));
        else if (has_list)
            writers_thread(&r, line);
    }
    return (has_counter && has_list && has_end && r.has_own) ||
           err_set(err, ERR_PERMANENT, 0,
                   "this server tells of its transactions in a form that is not known");
}

bool mariadb_writers(struct database *d, struct mariadb_writers *ret, struct err *err)
{
    static const char sql[] = "SHOW ENGINE INNODB STATUS";
    bool ok;

    if (mysql_real_query(d->my, sql, sizeof sql - 1) != 0) {
        if (mysql_errno(d->my) == 1227)
            return err_set(err, ERR_CONFIG, 1227,
                           "which transactions are open is shown to those with a right that this "
                           "account has not: GRANT PROCESS ON *.* TO it");
        return mariadb_failed(d, err);
    }
    MYSQL_RES *result = mysql_store_result(d->my);

    if (result == NULL)
        return mariadb_failed(d, err);
    MYSQL_ROW row = mysql_fetch_row(result);
    unsigned long *lengths = row != NULL ? mysql_fetch_lengths(result) : NULL;

    if (lengths == NULL || mysql_num_fields(result) < 3 || row[2] == NULL)
        ok = err_set(err, ERR_PERMANENT, 0, "this server does not tell of its transactions");
    else
        ok = mariadb_writers_read(str_mem(row[2], lengths[2]), mysql_thread_id(d->my), ret, err);
    mysql_free_result(result);
    return ok;
}
