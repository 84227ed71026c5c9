#include "table/row.h"

#include <endian.h>

#include "base/require.h"
#include "base/varint.h"
#include "table/cell_cast.h"
#include "table/cell_dec.h"
#include "table/cell_json.h"
#include "table/cell_time.h"

enum { COUNT_BYTES = 2, NUMBER_BYTES = 8, DATE_BYTES = 4, WORDS = 4 };

static uint64_t row_zigzag(int64_t i)
{
    return (uint64_t)i << 1 ^ (uint64_t)(i >> 63);
}

static int64_t row_unzigzag(uint64_t n)
{
    return (int64_t)(n >> 1 ^ -(n & 1));
}

/* Big-endian, and back. */
static void row_put64(char *to, uint64_t n)
{
    n = htobe64(n);
    memcpy(to, &n, sizeof n);
}

static uint64_t row_get64(const char *from)
{
    uint64_t n;

    memcpy(&n, from, sizeof n);
    return be64toh(n);
}

/* ---- writing ---- */

/* Of what stands behind the length. */
static size_t row_cell_size(const struct cell *c)
{
    switch (c->type) {
    case CELL_NULL:
        return 0;
    case CELL_INT:
        return varint_size(row_zigzag(c->i));
    case CELL_BOOL:
        return 1;
    case CELL_DATE:
        return DATE_BYTES;
    case CELL_FLOAT:
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_TIME:
        return NUMBER_BYTES;
    default:
        return c->s.len;
    }
}

/* The ends of the range stand for infinity. */
static void row_put_date(char *to, int64_t day)
{
    int32_t i = day == CELL_FOREVER ? INT32_MAX : day == CELL_NEVER ? INT32_MIN : (int32_t)day;
    uint32_t n = htobe32((uint32_t)i);

    memcpy(to, &n, sizeof n);
}

static char *row_put_cell(const struct cell *c, char *to)
{
    size_t size = row_cell_size(c);
    uint64_t bits;

    *to++ = (char)c->type;
    to = varint_put(to, size);
    switch (c->type) {
    case CELL_NULL:
        break;
    case CELL_INT:
        (void)varint_put(to, row_zigzag(c->i));
        break;
    case CELL_BOOL:
        *to = (char)(c->i != 0);
        break;
    case CELL_DATE:
        row_put_date(to, c->i);
        break;
    case CELL_FLOAT:
        memcpy(&bits, &c->f, sizeof bits);
        row_put64(to, bits);
        break;
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_TIME:
        row_put64(to, (uint64_t)c->i);
        break;
    default:
        if (size > 0)
            memcpy(to, c->s.ptr, size);
        break;
    }
    return to + size;
}

bool row_put(struct buf *to, const struct cell *cells, size_t count, struct err *err)
{
    size_t size = COUNT_BYTES;

    require(count <= UINT16_MAX);
    for (size_t i = 0; i < count; i++) {
        size_t more = row_cell_size(&cells[i]);

        size += 1 + varint_size(more) + more;
    }
    if (!buf_reserve(to, size, err))
        return err_context(err, "a row of %zu bytes", size);
    char *at = to->ptr + to->len;

    *at++ = (char)(count >> 8);
    *at++ = (char)count;
    for (size_t i = 0; i < count; i++)
        at = row_put_cell(&cells[i], at);
    buf_added(to, size);
    return true;
}

/* ---- reading ---- */

static bool row_take_int(struct str s, int64_t *ret)
{
    uint64_t n;

    if (!varint_take_least(&s, &n) || s.len > 0)
        return false;
    *ret = row_unzigzag(n);
    return true;
}

static bool row_take_date(struct str s, int64_t *ret)
{
    uint32_t n;
    int32_t day;

    if (s.len != DATE_BYTES)
        return false;
    memcpy(&n, s.ptr, sizeof n);
    day = (int32_t)be32toh(n);
    *ret = day == INT32_MAX ? CELL_FOREVER : day == INT32_MIN ? CELL_NEVER : day;
    return true;
}

/* Only in the one form: no -0, and one NaN. */
static bool row_take_float(struct str s, double *ret)
{
    uint64_t bits, one;
    double f;

    if (s.len != NUMBER_BYTES)
        return false;
    bits = row_get64(s.ptr);
    memcpy(ret, &bits, sizeof bits);
    f = cell_dec_one_double(*ret);
    memcpy(&one, &f, sizeof one);
    return one == bits;
}

static bool row_take_value(struct str s, struct cell *c)
{
    switch (c->type) {
    case CELL_NULL:
        return s.len == 0;
    case CELL_INT:
        return row_take_int(s, &c->i);
    case CELL_FLOAT:
        return row_take_float(s, &c->f);
    case CELL_BOOL:
        c->i = s.len == 1 ? (unsigned char)s.ptr[0] : 2;
        return c->i < 2;
    case CELL_DATE:
        return row_take_date(s, &c->i);
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_TIME:
        if (s.len != NUMBER_BYTES)
            return false;
        c->i = (int64_t)row_get64(s.ptr);
        return cell_time_is_fine(c->type, c->i);
    default:
        c->s = s;
        return c->type == CELL_TEXT   ? cell_text_is_fine(s)
               : c->type == CELL_DEC  ? cell_dec_is_normal(s)
               : c->type == CELL_JSON ? cell_json_is_normal(s)
               : c->type == CELL_UUID ? s.len == CELL_UUID_BYTES
                                      : c->type == CELL_BYTES;
    }
}

static bool row_take_cell(struct str *s, enum cell_type type, struct cell *ret)
{
    uint64_t len;

    if (s->len < 1)
        return false;
    ret->type = (enum cell_type)(unsigned char)s->ptr[0];
    *s = str_from(*s, 1);
    if ((ret->type != type && ret->type != CELL_NULL) || !varint_take_least(s, &len) ||
        len > s->len || !row_take_value(str_mem(s->ptr, (size_t)len), ret))
        return false;
    *s = str_from(*s, (size_t)len);
    return true;
}

bool row_take(struct str bytes, const enum cell_type *types, size_t count, struct cell *cells,
              struct err *err)
{
    size_t has;

    if (bytes.len < COUNT_BYTES)
        return err_set(err, ERR_PERMANENT, 0, "the row is cut off");
    has = (size_t)(unsigned char)bytes.ptr[0] << 8 | (unsigned char)bytes.ptr[1];
    if (has != count)
        return err_set(err, ERR_PERMANENT, 0, "the row has %zu columns, not %zu", has, count);
    bytes = str_from(bytes, COUNT_BYTES);
    for (size_t i = 0; i < count; i++)
        if (!row_take_cell(&bytes, types[i], &cells[i]))
            return err_set(err, ERR_PERMANENT, 0, "column %zu of the row is no %s", i + 1,
                           cell_types[types[i]]);
    if (bytes.len > 0)
        return err_set(err, ERR_PERMANENT, 0, "something stands behind the row");
    return true;
}

/* ---- hashes and sums ---- */

struct sha256 row_hash(struct str bytes)
{
    return digest_of(bytes);
}

static void sum_add_words(struct row_sum *s, const uint64_t words[static WORDS])
{
    unsigned carry = 0;

    for (size_t i = 0; i < WORDS; i++) {
        unsigned a = __builtin_add_overflow(s->words[i], words[i], &s->words[i]);
        unsigned b = __builtin_add_overflow(s->words[i], (uint64_t)carry, &s->words[i]);

        carry = a | b;
    }
}

void row_sum_add(struct row_sum *s, const struct sha256 *hash)
{
    uint64_t words[WORDS];

    for (size_t i = 0; i < WORDS; i++)
        words[i] = row_get64((const char *)hash->bytes + 8 * (WORDS - 1 - i));
    sum_add_words(s, words);
    s->rows++;
}

void row_sum_join(struct row_sum *s, const struct row_sum *more)
{
    sum_add_words(s, more->words);
    s->rows += more->rows;
}

bool row_sum_same(const struct row_sum *a, const struct row_sum *b)
{
    return a->rows == b->rows && memcmp(a->words, b->words, sizeof a->words) == 0;
}

void row_sum_put(const struct row_sum *s, uint8_t to[static ROW_SUM_BYTES])
{
    row_put64((char *)to, (uint64_t)s->rows);
    for (size_t i = 0; i < WORDS; i++)
        row_put64((char *)to + 8 * (WORDS - i), s->words[i]);
}

void row_sum_take(struct row_sum *s, const uint8_t from[static ROW_SUM_BYTES])
{
    s->rows = (int64_t)row_get64((const char *)from);
    for (size_t i = 0; i < WORDS; i++)
        s->words[i] = row_get64((const char *)from + 8 * (WORDS - i));
}
