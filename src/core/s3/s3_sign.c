#include "core/s3/s3_sign.h"

#include <openssl/crypto.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/hmac.h"
#include "base/require.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SCOPE_END "aws4_request"

enum { DAY_TEXT = 8, CANONICAL_MOST = 256 << 10, SCOPE_MOST = 4 << 10 };

const char *s3_sign_time(int64_t now_us, char text[static S3_TIME_TEXT])
{
    char utc[CLOCK_TEXT]; /* 2013-05-24T00:00:00.000000Z */

    (void)clock_utc_text(now_us, utc);
    memcpy(text, utc, 4);
    memcpy(text + 4, utc + 5, 2);
    memcpy(text + 6, utc + 8, 3); /* with the T */
    memcpy(text + 9, utc + 11, 2);
    memcpy(text + 11, utc + 14, 2);
    memcpy(text + 13, utc + 17, 2);
    memcpy(text + 15, "Z", 2);
    return text;
}

/* ---- the canonical request ---- */

static char s3_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static int compare_names(struct str a, struct str b)
{
    for (size_t i = 0; i < a.len && i < b.len; i++)
        if (s3_lower(a.ptr[i]) != s3_lower(b.ptr[i]))
            return s3_lower(a.ptr[i]) < s3_lower(b.ptr[i]) ? -1 : 1;
    return a.len < b.len ? -1 : a.len > b.len;
}

/* By name; there are few. */
static void s3_sort_fields(const struct s3_unsigned *what, const struct http_out_field **sorted)
{
    require(what->field_count <= S3_SIGNED_MOST);
    for (size_t i = 0; i < what->field_count; i++) {
        size_t at = i;

        for (; at > 0 && compare_names(what->fields[i].name, sorted[at - 1]->name) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &what->fields[i];
    }
}

static void s3_put_lower(struct buf *to, struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        buf_putc(to, s3_lower(name.ptr[i]));
}

/* Without blanks at the ends, and with one where several follow each other. */
static void s3_put_value(struct buf *to, struct str value)
{
    struct str v = str_trim(value);

    for (size_t i = 0; i < v.len; i++)
        if (v.ptr[i] != ' ' || v.ptr[i - 1] != ' ')
            buf_putc(to, v.ptr[i]);
}

static void s3_put_names(struct buf *to, const struct http_out_field **sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_putc(to, ';');
        s3_put_lower(to, sorted[i]->name);
    }
}

static void put_canonical(struct buf *to, const struct s3_unsigned *what,
                          const struct http_out_field **sorted)
{
    buf_put(to, what->method);
    buf_putc(to, '\n');
    buf_put(to, what->path);
    buf_putc(to, '\n');
    buf_put(to, what->query);
    buf_putc(to, '\n');
    for (size_t i = 0; i < what->field_count; i++) {
        s3_put_lower(to, sorted[i]->name);
        buf_putc(to, ':');
        s3_put_value(to, sorted[i]->value);
        buf_putc(to, '\n');
    }
    buf_putc(to, '\n');
    s3_put_names(to, sorted, what->field_count);
    buf_putc(to, '\n');
    buf_put(to, what->digest);
}

/* ---- the signature ---- */

static void s3_hash_step(uint8_t key[static SHA256_SIZE], struct str data)
{
    uint8_t next[SHA256_SIZE];

    hmac_sha256(str_mem(key, SHA256_SIZE), data, next);
    memcpy(key, next, SHA256_SIZE);
    OPENSSL_cleanse(next, sizeof next);
}

static struct sha256 signature_of(const struct s3_signer *by, struct str day, struct str text)
{
    AUTO(buf_done) struct buf first = BUF_INIT(SCOPE_MOST);
    struct sha256 key;

    buf_puts(&first, "AWS4");
    buf_put(&first, by->secret_key);
    hmac_sha256(buf_view(&first), day, key.bytes);
    OPENSSL_cleanse(first.ptr, first.len);
    s3_hash_step(key.bytes, by->region);
    s3_hash_step(key.bytes, STR("s3"));
    s3_hash_step(key.bytes, STR(SCOPE_END));
    s3_hash_step(key.bytes, text);
    return key;
}

void s3_sign(const struct s3_signer *by, const struct s3_unsigned *what, const char *time,
             struct buf *to)
{
    AUTO(buf_done) struct buf canonical = BUF_INIT(CANONICAL_MOST);
    AUTO(buf_done) struct buf scope = BUF_INIT(SCOPE_MOST);
    AUTO(buf_done) struct buf text = BUF_INIT(SCOPE_MOST + 256);
    const struct http_out_field *sorted[S3_SIGNED_MOST];
    struct str day = str_mem(time, DAY_TEXT);
    char hex[SHA256_TEXT];

    s3_sort_fields(what, sorted);
    put_canonical(&canonical, what, sorted);
    struct sha256 sum = digest_of(buf_view(&canonical));

    buf_printf(&scope, "%.*s/%.*s/s3/" SCOPE_END, STR_ARG(day), STR_ARG(by->region));
    buf_printf(&text, ALGORITHM "\n%s\n%s\n%s", time, scope.ptr, digest_text(&sum, hex));
    struct sha256 signature = signature_of(by, day, buf_view(&text));

    buf_printf(to, ALGORITHM " Credential=%.*s/%s, SignedHeaders=", STR_ARG(by->access_key),
               scope.ptr);
    s3_put_names(to, sorted, what->field_count);
    buf_printf(to, ", Signature=%s", digest_text(&signature, hex));
}
