#include "sql/sql_row.h"

#include "base/base64.h"
#include "base/json.h"

bool sql_row_check(const struct sql_field *columns, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (str_eq(columns[i].name, columns[k].name))
                return err_set(err, ERR_CONFIG, 0,
                               "the query returns two columns named %.*s: name one of them with AS",
                               STR_ARG(str_first(columns[i].name, 60)));
    return true;
}

static struct str row_digits(struct str s, size_t *ret_count)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
        n++;
    *ret_count = n;
    return str_from(s, n);
}

/* The grammar of RFC 8259. */
static bool is_json_number(struct str s)
{
    size_t n;

    if (s.len > 0 && s.ptr[0] == '-')
        s = str_from(s, 1);
    bool zero = s.len > 0 && s.ptr[0] == '0';

    s = row_digits(s, &n);
    if (n == 0 || (zero && n > 1))
        return false;
    if (s.len > 0 && s.ptr[0] == '.') {
        s = row_digits(str_from(s, 1), &n);
        if (n == 0)
            return false;
    }
    if (s.len > 0 && (s.ptr[0] == 'e' || s.ptr[0] == 'E')) {
        s = str_from(s, 1);
        if (s.len > 0 && (s.ptr[0] == '+' || s.ptr[0] == '-'))
            s = str_from(s, 1);
        s = row_digits(s, &n);
        if (n == 0)
            return false;
    }
    return s.len == 0;
}

static bool row_cannot_tell(const struct sql_field *c, const char *why, struct err *err)
{
    return err_set(err, ERR_PERMANENT, 0, "the value of %.*s %s", STR_ARG(str_first(c->name, 60)),
                   why);
}

/* Room for a text in which every byte is escaped, and what stands around it. */
static bool row_has_room(struct buf *to, size_t bytes, struct err *err)
{
    return (bytes < to->cap / 6 && to->len + bytes * 6 + 64 < to->cap) ||
           err_set(err, ERR_LIMIT, 0, "the row is too large");
}

static bool row_put_value(const struct sql_field *c, const struct datum *d, struct json_out *j,
                          struct err *err)
{
    switch (d->kind) {
    case DATUM_NULL:
        json_none(j);
        return true;
    case DATUM_BOOL:
        json_bool(j, str_is(d->bytes, "true"));
        return true;
    case DATUM_INTEGER:
    case DATUM_DECIMAL:
    case DATUM_FLOAT:
        if (is_json_number(d->bytes)) {
            json_raw(j, d->bytes);
            return true;
        }
        break;
    case DATUM_BYTES:
        json_raw(j, STR("\""));
        if (!base64_encode(d->bytes, j->to, err))
            return false;
        buf_put(j->to, STR("\""));
        return true;
    case DATUM_FAILED:
        return err_set(err, ERR_PERMANENT, 0, "the value of %.*s cannot be read: %.*s",
                       STR_ARG(str_first(c->name, 60)),
                       STR_ARG(str_is_utf8(d->bytes)
                                   ? str_first(d->bytes, 100)
                                   : STR("the driver says why, but not in UTF-8")));
    case DATUM_TEXT:
    case DATUM_DATE:
    case DATUM_TIME:
    case DATUM_TIMESTAMP:
        break;
    }
    if (!str_is_utf8(d->bytes))
        return row_cannot_tell(c, "is not UTF-8", err);
    json_str(j, d->bytes);
    return true;
}

static void row_put_name(struct json_out *j, struct str name)
{
    json_str(j, name);
    buf_put(j->to, STR(":"));
    j->comma = false;
}

bool sql_row_json(const struct sql_field *columns, const struct datum *row, size_t count,
                  struct buf *to, struct err *err)
{
    struct json_out j = { .to = to };
    size_t before = to->len;
    bool ok = row_has_room(to, 2, err);

    if (ok)
        json_open(&j, '{');
    for (size_t i = 0; i < count && ok; i++) {
        ok = row_has_room(to, columns[i].name.len + row[i].bytes.len, err);
        if (ok) {
            row_put_name(&j, columns[i].name);
            ok = row_put_value(&columns[i], &row[i], &j, err);
        }
    }
    if (ok)
        json_close(&j, '}');
    else
        buf_cut(to, before);
    return ok;
}
