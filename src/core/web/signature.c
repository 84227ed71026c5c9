#include "core/web/signature.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/http_target.h"
#include "base/require.h"
#include "core/problem.h"

enum {
    NAME_MOST = 128,
    PREFIX_MOST = 64,
    SECRET_LEAST = 8,
    SECRET_MOST = 4096,
    TIME_DIGITS = 12,
    VALUE_MOST = PREFIX_MOST + 2 * HMAC_MOST,
};

/* ---- options ---- */

#define COMMON_KEYS                                                                               \
    OPTION("secret", OPT_SECRET, "the secret; a list of two while it is changed",                 \
           .flags = OPT_REQUIRED | OPT_OR_LIST),                                                  \
        OPTION("algorithm", OPT_WORD, "the digest", .words = OPTION_WORDS("sha256", "sha512"),    \
               .fallback = "sha256"),                                                             \
        OPTION("encoding", OPT_WORD, "how it is written", .words = OPTION_WORDS("hex", "base64"), \
               .fallback = "hex"),                                                                \
        OPTION("prefix", OPT_TEXT, "what stands before it, such as `sha256=`"),                   \
        OPTION("timestamp", OPT_TEXT,                                                             \
               "the header of the time, in seconds since 1970, which is signed before the body: " \
               "TIME.BODY")

const struct option signature_checks[] = {
    OPTION("header", OPT_TEXT, "the header that has the signature", .flags = OPT_REQUIRED),
    COMMON_KEYS,
    OPTION("tolerance", OPT_DURATION, "how far the time may be from that of the node",
           .least = CLOCK_S, .most = INT64_C(86400) * CLOCK_S, .fallback = "5m"),
    { 0 },
};

const struct option signature_makes[] = {
    OPTION("header", OPT_TEXT, "the header that gets the signature", .flags = OPT_REQUIRED),
    COMMON_KEYS,
    { 0 },
};

/* Headers that say something else already. */
static bool is_taken(struct str name)
{
    static const char *const taken[] = { "authorization",  "content-length", "transfer-encoding",
                                         "connection",     "content-type",   "host",
                                         "idempotency-key" };

    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (str_eq_nocase(name, str_of(taken[i])))
            return true;
    return false;
}

static void check_name(const struct yaml_node *node, struct problem_list *problems)
{
    char name[PROBLEM_QUOTE];

    if (node == NULL || node->outside || node->kind != YAML_SCALAR)
        return;
    if (!http_is_token(node->text) || node->text.len > NAME_MOST || is_taken(node->text))
        problem_add(problems, node->place, "such as X-Signature",
                    "`%s` cannot be the header of a signature", problem_quote(name, node->text));
}

void signature_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *secret = yaml_get(map, "secret"),
                           *timestamp = yaml_get(map, "timestamp"),
                           *tolerance = yaml_get(map, "tolerance");

    if (map == NULL || map->kind != YAML_MAP)
        return;
    check_name(yaml_get(map, "header"), problems);
    check_name(timestamp, problems);
    if (timestamp != NULL &&
        str_eq_nocase(yaml_text(timestamp), yaml_text(yaml_get(map, "header"))))
        problem_add(problems, timestamp->place, NULL, "`timestamp` and `header` are two headers");
    if (secret != NULL && secret->kind == YAML_LIST &&
        (secret->count == 0 || secret->count > SIGNATURE_SECRETS))
        problem_add(problems, secret->place, "the new one first", "`secret` is one or two");
    if (tolerance != NULL && timestamp == NULL)
        problem_add(problems, tolerance->place, "add `timestamp`, the name of its header",
                    "`tolerance` is only used with `timestamp`");
}

static bool check_text(const char *key, struct str value, size_t least, size_t most,
                       struct err *err)
{
    if (value.len < least || value.len > most)
        return err_set(err, ERR_CONFIG, 0, "`%s` has %zu to %zu bytes", key, least, most);
    if (str_has_control(value))
        return err_set(err, ERR_CONFIG, 0, "`%s` holds a control character", key);
    return true;
}

static bool signature_check_header(const char *key, struct str name, struct err *err)
{
    return (http_is_token(name) && name.len <= NAME_MOST && !is_taken(name)) ||
           err_set(err, ERR_CONFIG, 0, "`%s` is no name of a header for this", key);
}

bool signature_read(const struct settings *s, const char *key, const struct signature **ret,
                    struct err *err)
{
    struct settings below = settings_below(s, key);
    struct str algorithm, encoding;
    const struct str *secrets;

    *ret = NULL;
    if (!settings_has(s, key))
        return true;
    struct signature *r = ARENA_NEW(s->arena, struct signature);

    if (!settings_text(&below, "header", &r->header, err) ||
        !settings_text(&below, "prefix", &r->prefix, err) ||
        !settings_text(&below, "timestamp", &r->timestamp, err) ||
        !settings_text(&below, "algorithm", &algorithm, err) ||
        !settings_text(&below, "encoding", &encoding, err) ||
        !settings_texts(&below, "secret", &secrets, &r->secret_count, err) ||
        (option_find(below.own, STR("tolerance")) != NULL &&
         !settings_duration(&below, "tolerance", &r->tolerance_us, err)))
        return err_context(err, "`%s`", key);
    if (!signature_check_header("header", r->header, err) ||
        (r->timestamp.len > 0 && !signature_check_header("timestamp", r->timestamp, err)) ||
        !check_text("prefix", r->prefix, 0, PREFIX_MOST, err))
        return err_context(err, "`%s`", key);
    if (r->secret_count == 0 || r->secret_count > SIGNATURE_SECRETS)
        return err_set(err, ERR_CONFIG, 0, "`%s`: `secret` is one or two", key);
    for (size_t i = 0; i < r->secret_count; i++) {
        r->secrets[i] = secrets[i];
        if (secrets[i].len < SECRET_LEAST || secrets[i].len > SECRET_MOST)
            return err_set(err, ERR_CONFIG, 0, "`%s`: a secret has %d to %d bytes", key,
                           SECRET_LEAST, SECRET_MOST);
    }
    r->kind = str_is(algorithm, "sha512") ? HMAC_SHA512 : HMAC_SHA256;
    r->base64 = str_is(encoding, "base64");
    *ret = r;
    return true;
}

/* ---- checking ---- */

static bool read_hex(struct str text, size_t size, struct hmac_value *ret)
{
    if (text.len != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        int high = str_hex_digit(text.ptr[2 * i]), low = str_hex_digit(text.ptr[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret->bytes[i] = (uint8_t)(high << 4 | low);
    }
    ret->size = size;
    return true;
}

static bool read_base64(struct str text, size_t size, struct hmac_value *ret)
{
    char room[HMAC_MOST + 4];
    struct buf bytes = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };
    struct err err;

    if (text.len > 2 * size || !base64_decode(text, &bytes, &err) || bytes.len != size)
        return false;
    memcpy(ret->bytes, bytes.ptr, size);
    ret->size = size;
    return true;
}

static const char *check_time(const struct signature *rule, struct str time, int64_t now_us)
{
    uint64_t seconds;

    if (time.ptr == NULL)
        return "The header with the time of the signature is missing.";
    if (time.len > TIME_DIGITS || !str_to_u64(time, &seconds))
        return "The time of the signature is not a number of seconds since 1970.";
    int64_t away = (int64_t)seconds * CLOCK_S - now_us;

    if (away > rule->tolerance_us || away < -rule->tolerance_us)
        return "The time of the signature is too far from the time of this node.";
    return NULL;
}

const char *signature_begin(struct signature_check *c, const struct signature *rule,
                            struct str value, struct str time, int64_t now_us)
{
    const char *wrong = NULL;

    *c = (struct signature_check){ .rule = rule };
    if (value.ptr == NULL)
        return "The header with the signature is missing.";
    value = str_trim(value);
    time = str_trim(time);
    if (!str_starts(value, rule->prefix))
        return "The signature does not begin as it should.";
    struct str text = str_from(value, rule->prefix.len);
    size_t size = hmac_size(rule->kind);

    if (!(rule->base64 ? read_base64(text, size, &c->given) : read_hex(text, size, &c->given)))
        return "The signature is not written as it should be.";
    if (rule->timestamp.len > 0 && (wrong = check_time(rule, time, now_us)) != NULL)
        return wrong;
    for (size_t i = 0; i < rule->secret_count; i++) {
        c->by[i] = hmac_start(rule->kind, rule->secrets[i]);
        if (rule->timestamp.len > 0) {
            hmac_add(&c->by[i], time);
            hmac_add(&c->by[i], STR("."));
        }
    }
    return NULL;
}

void signature_add(struct signature_check *c, struct str bytes)
{
    for (size_t i = 0; i < c->rule->secret_count; i++)
        hmac_add(&c->by[i], bytes);
}

bool signature_end(struct signature_check *c)
{
    bool good = false;

    for (size_t i = 0; i < c->rule->secret_count; i++) {
        struct hmac_value made = hmac_end(&c->by[i]);

        good |= hmac_same(&made, &c->given); /* of all of them: nobody learns which was right */
    }
    return good;
}

void signature_drop(struct signature_check *c)
{
    for (size_t i = 0; i < SIGNATURE_SECRETS; i++)
        hmac_drop(&c->by[i]);
}

/* ---- making ---- */

struct hmac signature_start(const struct signature *rule, int64_t now_us,
                            char time[static SIGNATURE_TIME])
{
    struct hmac h = hmac_start(rule->kind, rule->secrets[0]);

    time[0] = '\0';
    if (rule->timestamp.len > 0) {
        (void)snprintf(time, SIGNATURE_TIME, "%" PRId64, now_us / CLOCK_S);
        hmac_add(&h, str_of(time));
        hmac_add(&h, STR("."));
    }
    return h;
}

struct str signature_value(const struct signature *rule, struct hmac *h, struct arena *a)
{
    static const char digits[] = "0123456789abcdef";
    struct hmac_value v = hmac_end(h);
    char room[VALUE_MOST + 8];
    struct buf text = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };
    struct err err;

    buf_put(&text, rule->prefix);
    if (rule->base64) {
        require(base64_encode(str_mem((const char *)v.bytes, v.size), &text, &err));
    } else {
        for (size_t i = 0; i < v.size; i++) {
            buf_putc(&text, digits[v.bytes[i] >> 4]);
            buf_putc(&text, digits[v.bytes[i] & 15]);
        }
    }
    return arena_copy(a, buf_view(&text));
}
