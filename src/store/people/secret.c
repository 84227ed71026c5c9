#include "store/people/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/chance.h"
#include "base/container_of.h"
#include "base/file.h"
#include "base/key_file.h"
#include "base/require.h"
#include "core/units.h"
#include "store/audit/audit.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum {
    KEY_BYTES = KEY_FILE_BYTES,
    KEY_TEXT = KEY_BYTES * 2,
    FORMAT = 1,
    KEY_ID = 8,
    NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    TAG = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    HEAD = 1 + KEY_ID + NONCE,
    FINGERPRINT = 8, /* bytes */
};

#define KEY_NAME "secret.key"
#define KEY_ENV  "WAYBILL_SECRET_KEY_FILE"

/* Keys derived from the key file, one per purpose. */
struct keys {
    unsigned char seal[KEY_BYTES], print[KEY_BYTES], id[KEY_ID];
};

static void keys_done(struct keys *k)
{
    sodium_memzero(k, sizeof *k);
}

/* ---- the key file ---- */

static void secret_derive(const unsigned char key[KEY_BYTES], struct keys *ret)
{
    unsigned char id[crypto_kdf_BYTES_MIN];

    _Static_assert(crypto_kdf_KEYBYTES == KEY_BYTES, "the key is a master key of libsodium's kdf");
    (void)crypto_kdf_derive_from_key(ret->seal, KEY_BYTES, 1, "waybill.", key);
    (void)crypto_kdf_derive_from_key(ret->print, KEY_BYTES, 2, "waybill.", key);
    (void)crypto_kdf_derive_from_key(id, sizeof id, 3, "waybill.", key);
    memcpy(ret->id, id, KEY_ID);
}

static bool read_key_file(int dirfd, const char *path, struct keys *ret, struct err *err)
{
    unsigned char key[KEY_FILE_BYTES];

    if (!key_file_read(dirfd, path, key, err))
        return false;
    secret_derive(key, ret);
    sodium_memzero(key, sizeof key);
    return true;
}

/* Creates the key file if it is missing, but not while values are sealed under a lost key. */
static bool make_first_key(struct store *s, struct err *err)
{
    struct stat st;
    int64_t sealed;

    if (fstatat(s->data_fd, KEY_NAME, &st, 0) == 0)
        return true;
    if (!store_one_int(s, SQL_SECRET_OTHERS, DB_ARGS(db_text(STR(""))), 0, &sealed, err))
        return false;
    if (sealed > 0)
        return err_set(
            err, ERR_CONFIG, 0,
            "the key file secret.key is missing, and %lld secrets need it: bring it back, "
            "set " KEY_ENV ", or remove the secrets and add them again",
            (long long)sealed);
    return key_file_make(s->data_fd, KEY_NAME, err);
}

static bool load_keys(struct store *s, bool make, struct keys *ret, struct err *err)
{
    static pthread_mutex_t one_maker = PTHREAD_MUTEX_INITIALIZER;
    const char *elsewhere = getenv(KEY_ENV);

    require(sodium_init() >= 0);
    if (elsewhere != NULL && *elsewhere != '\0')
        return read_key_file(AT_FDCWD, elsewhere, ret, err);
    (void)pthread_mutex_lock(&one_maker);
    bool ok = !make || make_first_key(s, err);

    (void)pthread_mutex_unlock(&one_maker);
    return ok && read_key_file(s->data_fd, KEY_NAME, ret, err);
}

static void key_text(const struct keys *k, char ret[static SECRET_KEY_ID])
{
    (void)sodium_bin2hex(ret, SECRET_KEY_ID, k->id, KEY_ID);
}

bool secret_key_id_of(int dirfd, const char *path, char ret[static SECRET_KEY_ID], struct err *err)
{
    AUTO(keys_done) struct keys keys = { 0 };

    require(sodium_init() >= 0);
    if (!read_key_file(dirfd, path, &keys, err))
        return false;
    key_text(&keys, ret);
    return true;
}

static const char *elsewhere(void)
{
    const char *path = getenv(KEY_ENV);

    return path != NULL && *path != '\0' ? path : NULL;
}

bool secret_key_id(struct store *s, char ret[static SECRET_KEY_ID], struct err *err)
{
    AUTO(keys_done) struct keys keys = { 0 };
    int64_t sealed;
    struct stat st;

    ret[0] = '\0';
    if (!store_one_int(s, SQL_SECRET_OTHERS, DB_ARGS(db_text(STR(""))), 0, &sealed, err))
        return false;
    if (sealed == 0 && elsewhere() == NULL && fstatat(s->data_fd, KEY_NAME, &st, 0) < 0)
        return true;
    if (!load_keys(s, false, &keys, err))
        return false;
    key_text(&keys, ret);
    return true;
}

bool secret_key_copy(struct store *s, int dirfd, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(KEY_TEXT + 3);
    bool away = elsewhere() != NULL;
    bool ok =
        file_read_whole(away ? AT_FDCWD : s->data_fd, away ? elsewhere() : KEY_NAME, &text, err);
    AUTO_FD fd = ok ? openat(dirfd, KEY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

    if (ok && fd < 0)
        ok = err_set(err, file_err_kind(errno), errno, "create %s: %s", KEY_NAME, strerror(errno));
    ok = ok && file_write_all(fd, buf_view(&text), err) && file_try_sync(fd, KEY_NAME, err);
    sodium_memzero(text.ptr, text.len);
    return ok;
}

/* ---- sealing ---- */

static void secret_seal(const struct keys *k, struct str name, struct str value, unsigned char *ret)
{
    unsigned char *nonce = ret + 1 + KEY_ID;

    ret[0] = FORMAT;
    memcpy(ret + 1, k->id, KEY_ID);
    chance_bytes(nonce, NONCE);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(
        ret + HEAD, NULL, (const unsigned char *)value.ptr, value.len,
        (const unsigned char *)name.ptr, name.len, NULL, nonce, k->seal);
}

static bool unseal(const struct keys *k, struct str name, struct str sealed, struct arena *a,
                   struct str *ret, struct err *err)
{
    const unsigned char *at = (const unsigned char *)sealed.ptr;

    if (sealed.len < HEAD + TAG || sealed.len > HEAD + TAG + SECRET_MOST || at[0] != FORMAT)
        return err_set(err, ERR_CONFIG, 0,
                       "the secret %.*s was written by another program: add it "
                       "again",
                       STR_ARG(name));
    if (memcmp(at + 1, k->id, KEY_ID) != 0)
        return err_set(
            err, ERR_CONFIG, 0,
            "the secret %.*s is sealed under another key than this node's: give all nodes "
            "one " KEY_ENV ", or add the secret again",
            STR_ARG(name));
    size_t len = sealed.len - HEAD - TAG;
    char *plain = arena_alloc(a, len + 1);

    if (crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)plain, NULL, NULL, at + HEAD,
                                                   len + TAG, (const unsigned char *)name.ptr,
                                                   name.len, at + 1 + KEY_ID, k->seal) != 0)
        return err_set(err, ERR_CONFIG, 0, "the secret %.*s is damaged: add it again",
                       STR_ARG(name));
    *ret = str_mem(plain, len);
    return true;
}

/* The name is part of it: otherwise a value could be found by storing guesses under other names and
 * comparing their fingerprints. */
static void fingerprint(const struct keys *k, struct str name, struct str value,
                        char ret[FINGERPRINT * 2 + 1])
{
    unsigned char digest[crypto_generichash_BYTES_MIN];
    crypto_generichash_state state;

    _Static_assert((int)crypto_generichash_BYTES_MIN >= (int)FINGERPRINT, "it is cut");
    (void)crypto_generichash_init(&state, k->print, KEY_BYTES, sizeof digest);
    (void)crypto_generichash_update(&state, (const unsigned char *)name.ptr, name.len);
    (void)crypto_generichash_update(&state, (const unsigned char *)"", 1); /* ends the name */
    (void)crypto_generichash_update(&state, (const unsigned char *)value.ptr, value.len);
    (void)crypto_generichash_final(&state, digest, sizeof digest);
    (void)sodium_bin2hex(ret, FINGERPRINT * 2 + 1, digest, FINGERPRINT);
}

/* ---- changes ---- */

struct secret_op {
    struct store_op op;
    struct str name, sealed, who; /* sealed.ptr NULL: drop */
    const char *fingerprint;
    int64_t changed;
    bool full;
};

/* Notes the old and new fingerprint in the audit log. */
static bool note_change(struct writer *w, struct secret_op *o, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool there;

    if (!db_query(w->db, SQL_SECRET_PRINT, DB_ARGS(db_text(o->name)), &rows, err) ||
        !db_next(&rows, &there, err))
        return false;
    struct str was = there ? db_get_str(&rows, 0) : STR("");

    if (o->sealed.ptr != NULL)
        audit_note(w, &o->op, o->name, was, str_of(o->fingerprint));
    else if (there)
        audit_note(w, &o->op, o->name, was, STR("removed"));
    return true;
}

static bool secret_change_run(struct writer *w, struct store_op **ops, size_t count,
                              struct err *err)
{
    struct secret_op *o = container_of(ops[0], struct secret_op, op);
    int64_t others;

    require(count == 1);
    if (!mark_take(w, "secret", NULL, err) ||
        !db_one_int(w->db, SQL_SECRET_OTHERS, DB_ARGS(db_text(o->name)), 0, &others, err))
        return false;
    o->full = o->sealed.ptr != NULL && others >= SECRETS_MOST;
    if (o->full)
        return true;
    return note_change(w, o, err) &&
           (o->sealed.ptr == NULL
                ? db_run(w->db, SQL_SECRET_DROP, DB_ARGS(db_text(o->name)), &o->changed, err)
                : db_run(w->db, SQL_SECRET_PUT,
                         DB_ARGS(db_text(o->name), db_bytes(o->sealed),
                                 db_text(str_of(o->fingerprint)), db_text(o->who)),
                         &o->changed, err));
}

static const struct store_verb change_verb = { .name = "change secrets",
                                               .run = secret_change_run,
                                               .notes = true };

bool secret_put(struct store *s, struct str name, struct str value, struct str who, struct err *err)
{
    unsigned char sealed[HEAD + SECRET_MOST + TAG];
    AUTO(keys_done) struct keys keys;
    char print[FINGERPRINT * 2 + 1];

    if (!units_name(name, err))
        return err_context(err, "the name of a secret");
    if (value.len == 0)
        return err_set(err, ERR_CONFIG, 0, "the value is empty");
    if (value.len > SECRET_MOST)
        return err_set(err, ERR_CONFIG, 0, "a secret is at most %d bytes", SECRET_MOST);
    if (!load_keys(s, true, &keys, err))
        return false;
    secret_seal(&keys, name, value, sealed);
    fingerprint(&keys, name, value, print);
    struct secret_op o = { .name = name,
                           .sealed = str_mem(sealed, HEAD + value.len + TAG),
                           .who = who,
                           .fingerprint = print };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    return !o.full || err_set(err, ERR_LIMIT, 0,
                              "there are %d secrets already: remove those that "
                              "nothing uses",
                              SECRETS_MOST);
}

bool secret_drop(struct store *s, struct str name, bool *ret_was, struct err *err)
{
    struct secret_op o = { .name = name };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_was = o.changed == 1;
    return true;
}

/* ---- reading ---- */

static void read_secret(struct db_rows *row, struct arena *a, void *to)
{
    *(struct secret *)to = (struct secret){ .name = row_text(row, SECRET_ALL_NAME, a),
                                            .fingerprint = row_text(row, SECRET_ALL_FINGERPRINT, a),
                                            .made_by = row_text(row, SECRET_ALL_MADE_BY, a),
                                            .made_us = db_get_int(row, SECRET_ALL_MADE_US) };
}

bool secret_list(struct store *s, struct arena *a, struct secret *ret, size_t *ret_count,
                 struct err *err)
{
    return store_collect(s, SQL_SECRET_ALL, DB_NO_ARGS,
                         ROWS_INTO(ret, SECRETS_MOST, a, read_secret), ret_count, err);
}

static bool read_sealed(struct db *db, struct str name, struct buf *to, bool *ret_there,
                        struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };

    return db_query(db, SQL_SECRET_SEALED, DB_ARGS(db_text(name)), &rows, err) &&
           db_next(&rows, ret_there, err) &&
           (!*ret_there || buf_append(to, db_get_str(&rows, 0), err));
}

bool secret_get(struct store *s, struct str name, struct arena *a, struct str *ret, struct err *err)
{
    AUTO(buf_done) struct buf sealed = BUF_INIT(HEAD + SECRET_MOST + TAG);
    AUTO(keys_done) struct keys keys = { 0 };
    AUTO(reader_back) struct reader r = reader_take(s, err);
    bool there = false;

    if (r.db == NULL || !read_sealed(r.db, name, &sealed, &there, err))
        return false;
    reader_back(&r);
    if (!there)
        return err_set(err, ERR_CONFIG, 0, "there is no secret %.*s: waybill secret add %.*s",
                       STR_ARG(name), STR_ARG(name));
    return load_keys(s, false, &keys, err) && unseal(&keys, name, buf_view(&sealed), a, ret, err);
}

void secret_clear(struct str value)
{
    union {
        const char *lent;
        char *own;
    } bytes = { .lent = value.ptr }; /* writable: it is in the arena of secret_get() */

    if (value.len > 0)
        sodium_memzero(bytes.own, value.len);
}

bool secret_mark(struct store *s, int64_t *ret, struct err *err)
{
    return store_mark(s, "secret", ret, err);
}

bool secret_blind(struct store *s, struct sha256 *io, struct err *err)
{
    AUTO(keys_done) struct keys keys = { 0 };
    struct sha256 plain = *io;

    if (!load_keys(s, true, &keys, err))
        return false;
    _Static_assert(sizeof io->bytes == crypto_generichash_BYTES, "of the same size");
    (void)crypto_generichash(io->bytes, sizeof io->bytes, plain.bytes, sizeof plain.bytes,
                             keys.print, KEY_BYTES);
    return true;
}
