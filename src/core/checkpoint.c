#include "core/checkpoint.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/require.h"

enum { SIGNATURE_DIGITS = crypto_sign_BYTES * 2 };

_Static_assert(crypto_sign_SEEDBYTES == KEY_FILE_BYTES, "a key file has a seed");
_Static_assert(crypto_sign_PUBLICKEYBYTES * 2 + 1 == CHECKPOINT_KEY, "a public key fits");

void checkpoint_key(const unsigned char seed[static KEY_FILE_BYTES],
                    char ret[static CHECKPOINT_KEY])
{
    unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];

    require(sodium_init() >= 0);
    (void)crypto_sign_seed_keypair(public, secret, seed);
    (void)sodium_bin2hex(ret, CHECKPOINT_KEY, public, sizeof public);
    sodium_memzero(secret, sizeof secret);
}

/* The lines that are signed; their length. */
static size_t put_signed(const struct checkpoint *c, char *to)
{
    char hash[SHA256_TEXT];
    int n =
        snprintf(to, CHECKPOINT_TEXT, "waybill audit checkpoint 1\nhead %lld:%s\ntime %s\nkey %s\n",
                 (long long)c->seq, digest_text(&c->hash, hash), c->time, c->key);

    require(n > 0 && n + SIGNATURE_DIGITS + (int)sizeof "signature \n" <= CHECKPOINT_TEXT);
    return (size_t)n;
}

static void put_signature(const unsigned char *signature, size_t at, char *text)
{
    char digits[SIGNATURE_DIGITS + 1];

    (void)sodium_bin2hex(digits, sizeof digits, signature, crypto_sign_BYTES);
    (void)snprintf(text + at, CHECKPOINT_TEXT - at, "signature %s\n", digits);
}

void checkpoint_sign(struct checkpoint *io, const unsigned char seed[static KEY_FILE_BYTES],
                     char ret[static CHECKPOINT_TEXT])
{
    unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
    unsigned char signature[crypto_sign_BYTES];

    checkpoint_key(seed, io->key);
    (void)crypto_sign_seed_keypair(public, secret, seed);
    size_t n = put_signed(io, ret);

    (void)crypto_sign_detached(signature, NULL, (const unsigned char *)ret, n, secret);
    sodium_memzero(secret, sizeof secret);
    put_signature(signature, n, ret);
}

/* The rest of a line that begins with `name` and a blank; false: the next line is another one. */
static bool take_line(struct str *io, struct str name, struct str *ret)
{
    struct str line;

    *io = str_cut(*io, '\n', &line);
    if (!str_starts(line, name) || line.len <= name.len + 1 || line.ptr[name.len] != ' ')
        return false;
    *ret = str_from(line, name.len + 1);
    return true;
}

static bool hex_bytes(struct str digits, unsigned char *to, size_t room)
{
    size_t len;

    return digits.len == room * 2 &&
           sodium_hex2bin(to, room, digits.ptr, digits.len, NULL, &len, NULL) == 0 && len == room;
}

static bool read_fields(struct str text, struct checkpoint *ret, unsigned char *ret_key,
                        unsigned char *ret_signature)
{
    struct str version, head, time, key, signature, seq;

    if (!take_line(&text, STR("waybill audit checkpoint"), &version) || !str_is(version, "1") ||
        !take_line(&text, STR("head"), &head) || !take_line(&text, STR("time"), &time) ||
        !take_line(&text, STR("key"), &key) || !take_line(&text, STR("signature"), &signature))
        return false;
    head = str_cut(head, ':', &seq);
    if (!str_to_i64(seq, &ret->seq) || ret->seq < 1 || !digest_parse(head, &ret->hash) ||
        time.len >= sizeof ret->time || !hex_bytes(key, ret_key, crypto_sign_PUBLICKEYBYTES) ||
        !hex_bytes(signature, ret_signature, crypto_sign_BYTES))
        return false;
    (void)snprintf(ret->time, sizeof ret->time, "%.*s", STR_ARG(time));
    (void)snprintf(ret->key, sizeof ret->key, "%.*s", STR_ARG(key));
    return true;
}

/* What was read is written again, and must be the text: it has exactly one form. */
bool checkpoint_read(struct str text, struct checkpoint *ret, struct err *err)
{
    unsigned char key[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];
    char again[CHECKPOINT_TEXT];
    struct checkpoint c = { 0 };

    require(sodium_init() >= 0);
    if (!read_fields(text, &c, key, signature))
        return err_set(err, ERR_PERMANENT, 0, "it is no checkpoint of an audit log");
    size_t n = put_signed(&c, again);

    put_signature(signature, n, again);
    if (!str_is(text, again) ||
        crypto_sign_verify_detached(signature, (const unsigned char *)again, n, key) != 0)
        return err_set(err, ERR_PERMANENT, 0,
                       "it was changed: its signature is not that of its key");
    *ret = c;
    return true;
}
