#include "store/backup/move_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

enum { SEND_BYTES = 256 << 10 };

static void result_done(PGresult **r)
{
    PQclear(*r);
}

static bool failed(struct mover *k, const PGresult *r, const char *what, struct err *err)
{
    const char *text = r != NULL ? PQresultErrorMessage(r) : PQerrorMessage(k->conn);
    int len = (int)strcspn(text, "\n");

    return err_set(err, PQstatus(k->conn) == CONNECTION_OK ? ERR_PERMANENT : ERR_TRANSIENT, 0,
                   "%.60s: %.*s", what, len, text);
}

bool move_sql(struct mover *k, const char *text, struct err *err)
{
    AUTO(result_done) PGresult *r = PQexec(k->conn, text);
    ExecStatusType status = PQresultStatus(r);

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || failed(k, r, text, err);
}

bool move_number(struct mover *k, const char *text, int64_t *ret, struct err *err)
{
    AUTO(result_done) PGresult *r = PQexec(k->conn, text);

    if (PQresultStatus(r) != PGRES_TUPLES_OK || PQntuples(r) != 1)
        return failed(k, r, text, err);
    return str_to_i64(str_of(PQgetvalue(r, 0, 0)), ret) ||
           err_set(err, ERR_PERMANENT, 0, "%.60s: no number", text);
}

bool move_copy_begin(struct mover *k, const char *into, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(8192);

    buf_printf(&text, "COPY %s FROM STDIN", into);
    AUTO(result_done) PGresult *r = PQexec(k->conn, text.ptr);

    buf_clear(&k->stream);
    k->streamed = 0;
    return PQresultStatus(r) == PGRES_COPY_IN || failed(k, r, text.ptr, err);
}

static bool send(struct mover *k, struct err *err)
{
    if (k->stream.len > 0 && PQputCopyData(k->conn, k->stream.ptr, (int)k->stream.len) != 1)
        return failed(k, NULL, "copy", err);
    buf_clear(&k->stream);
    return true;
}

void move_cell(struct mover *k, bool first)
{
    if (!first)
        buf_putc(&k->stream, '\t');
}

void move_put_int(struct mover *k, int64_t v)
{
    buf_put_int(&k->stream, v);
}

/* PostgreSQL text is UTF-8 without zero bytes: what is not becomes '?'. */
void move_put_text(struct mover *k, struct str text)
{
    bool good = str_is_utf8(text);

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '\0' || (!good && (unsigned char)c >= 0x80))
            c = '?';
        if (c == '\\' || c == '\t' || c == '\n' || c == '\r') {
            buf_putc(&k->stream, '\\');
            c = c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : c;
        }
        buf_putc(&k->stream, c);
    }
}

void move_put_bytes(struct mover *k, struct str bytes)
{
    static const char digits[] = "0123456789abcdef";
    struct err err;

    buf_puts(&k->stream, "\\\\x");
    if (!buf_reserve(&k->stream, bytes.len * 2, &err))
        return; /* cannot happen: the buffer holds the largest piece */
    char *to = k->stream.ptr + k->stream.len;

    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];

        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    buf_added(&k->stream, bytes.len * 2);
}

void move_put_null(struct mover *k)
{
    buf_puts(&k->stream, "\\N");
}

bool move_row_end(struct mover *k, struct err *err)
{
    buf_putc(&k->stream, '\n');
    k->streamed++;
    return k->stream.len < SEND_BYTES || send(k, err);
}

bool move_copy_end(struct mover *k, struct err *err)
{
    if (!send(k, err))
        return false;
    if (PQputCopyEnd(k->conn, NULL) != 1)
        return failed(k, NULL, "copy", err);
    bool ok = true;

    for (PGresult *r; (r = PQgetResult(k->conn)) != NULL; PQclear(r))
        if (PQresultStatus(r) != PGRES_COMMAND_OK && ok)
            ok = failed(k, r, "copy", err);
    return ok;
}
