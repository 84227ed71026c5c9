#include "service/pgp/pgp_keys.h"

#include <jansson.h>
#include <rnp/rnp_err.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "service/pgp/pgp_library.h"

static const char *const usages[] = { [PGP_ENCRYPTS] = "encrypt",
                                      [PGP_SIGNS] = "sign",
                                      [PGP_DECRYPTS] = "encrypt",
                                      [PGP_VERIFIES] = "sign" };

static bool is_private(enum pgp_use use)
{
    return use == PGP_SIGNS || use == PGP_DECRYPTS;
}

bool pgp_make(const struct settings *s, struct pgp **ret, struct err *err)
{
    struct pgp *p = ARENA_NEW(s->arena, struct pgp);

    if (!pgp_library_begin(s->literal, err)) /* literal: in a process of its own */
        return false;
    if (rnp_ffi_create(&p->ffi, "GPG", "GPG") != RNP_SUCCESS)
        return err_set(err, ERR_TRANSIENT, 0, "librnp does not start");
    *ret = p;
    return true;
}

void pgp_unmake(struct pgp *p)
{
    for (size_t i = 0; p != NULL && i < p->count; i++) {
        (void)rnp_key_handle_destroy(p->keys[i].part);
        (void)rnp_key_handle_destroy(p->keys[i].primary);
    }
    if (p != NULL)
        (void)rnp_ffi_destroy(p->ffi);
}

size_t pgp_count(const struct pgp *p, enum pgp_use use)
{
    size_t n = 0;

    for (size_t i = 0; i < p->count; i++)
        n += p->keys[i].use == use;
    return n;
}

const struct pgp_key *pgp_trusted(const struct pgp *p, const char *primary_print)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->keys[i].use == PGP_VERIFIES && strcmp(p->keys[i].print, primary_print) == 0)
            return &p->keys[i];
    return NULL;
}

void pgp_print(rnp_key_handle_t key, char to[static PGP_PRINT])
{
    char *print = NULL;

    /* A primary key has no other one above it. */
    if (rnp_key_get_primary_fprint(key, &print) != RNP_SUCCESS)
        (void)rnp_key_get_fprint(key, &print);
    (void)snprintf(to, PGP_PRINT, "%s", print != NULL ? print : "unknown");
    rnp_buffer_destroy(print);
}

/* ---- time ---- */

uint32_t pgp_time(int64_t us)
{
    int64_t s = us / CLOCK_S;

    return s < 1 ? 1 : s > UINT32_MAX ? UINT32_MAX : (uint32_t)s;
}

uint32_t pgp_signing_time(const struct pgp *p, int64_t received_us)
{
    uint32_t at = pgp_time(received_us), made = 0;

    for (size_t i = 0; i < p->count; i++)
        if (p->keys[i].use == PGP_SIGNS &&
            rnp_key_get_creation(p->keys[i].part, &made) == RNP_SUCCESS && made > at)
            at = made;
    return at;
}

static void say_revoked(rnp_key_handle_t key, char why[static PGP_WHY])
{
    char *reason = NULL;

    (void)rnp_key_get_revocation_reason(key, &reason);
    for (char *c = reason; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?'; /* the text of its owner */
    bool has = reason != NULL && reason[0] != '\0';

    (void)snprintf(why, PGP_WHY, "is revoked%s%.60s", has ? ": " : "", has ? reason : "");
    rnp_buffer_destroy(reason);
}

bool pgp_is_good(rnp_key_handle_t key, int64_t at_us, char why[static PGP_WHY])
{
    char date[CLOCK_TEXT];
    uint64_t till = 0;
    bool revoked = true;

    if (rnp_key_is_revoked(key, &revoked) != RNP_SUCCESS || revoked) {
        say_revoked(key, why);
        return false;
    }
    if (rnp_key_valid_till64(key, &till) == RNP_SUCCESS && (uint64_t)(at_us / CLOCK_S) <= till)
        return true;
    /* A key whose own signatures are wrong was never valid. */
    if (till == 0)
        (void)snprintf(why, PGP_WHY, "is not valid");
    else
        (void)snprintf(why, PGP_WHY, "has expired on %.10s",
                       clock_utc_text((int64_t)till * CLOCK_S, date));
    return false;
}

bool pgp_all_good(const struct pgp *p, enum pgp_use use, const struct service_document *d,
                  const char *who, struct service_failure *ret_failure)
{
    char why[PGP_WHY];

    for (size_t i = 0; i < p->count; i++) {
        const struct pgp_key *k = &p->keys[i];

        if (k->use == use && (!pgp_is_good(k->primary, d->received_us, why) ||
                              !pgp_is_good(k->part, d->received_us, why)))
            return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s: the key %s of `%s` %s", who,
                                k->print, k->option, why);
    }
    return true;
}

/* ---- what a key is good for ---- */

/* Why a key has no part for this use. */
static bool refuse_key(const struct pgp_key *k, struct err *err)
{
    char why[PGP_WHY];
    int64_t now = clock_wall_us();
    size_t count = 0;
    bool good = pgp_is_good(k->primary, now, why);

    (void)rnp_key_get_subkey_count(k->primary, &count);
    for (size_t i = 0; good && i < count; i++) {
        rnp_key_handle_t sub = NULL;
        bool fits = false;

        if (rnp_key_get_subkey_at(k->primary, i, &sub) == RNP_SUCCESS &&
            rnp_key_allows_usage(sub, usages[k->use], &fits) == RNP_SUCCESS && fits)
            good = pgp_is_good(sub, now, why);
        (void)rnp_key_handle_destroy(sub);
    }
    if (good)
        (void)snprintf(why, sizeof why, "has no part that can %s", usages[k->use]);
    return err_set(err, ERR_CONFIG, 0, "the key %s %s", k->print, why);
}

/* What a private key is unlocked with. */
struct pgp_lock {
    const char *passphrase; /* NULL: none */
    bool stored;            /* it comes from a file of the version */
};

static bool pgp_unlock(rnp_key_handle_t key, const struct pgp_lock *l, struct err *err)
{
    bool locked = true, protected = false;

    if (l->stored && (rnp_key_is_protected(key, &protected) != RNP_SUCCESS || !protected))
        return err_set(err, ERR_CONFIG, 0,
                       "a private key in a file needs a passphrase: who may read the configuration "
                       "reads the file; or keep the key as a secret");
    if (rnp_key_is_locked(key, &locked) == RNP_SUCCESS && !locked)
        return true;
    if (l->passphrase == NULL)
        return err_set(err, ERR_CONFIG, 0, "the private key is locked: `passphrase` is needed");
    return rnp_key_unlock(key, l->passphrase) == RNP_SUCCESS ||
           err_set(err, ERR_CONFIG, 0, "`passphrase` does not unlock the private key");
}

/* Unlocks this key or subkey if it decrypts; counts it then. */
static bool unlock_decrypting(rnp_key_handle_t key, const struct pgp_lock *l, size_t *count,
                              struct err *err)
{
    bool fits = false, secret = false;

    if (rnp_key_allows_usage(key, "encrypt", &fits) != RNP_SUCCESS || !fits ||
        rnp_key_have_secret(key, &secret) != RNP_SUCCESS || !secret)
        return true;
    *count += 1;
    return pgp_unlock(key, l, err);
}

static bool unlock_all(const struct pgp_key *k, const struct pgp_lock *l, struct err *err)
{
    size_t subkeys = 0, unlocked = 0;
    bool ok = unlock_decrypting(k->primary, l, &unlocked, err);

    (void)rnp_key_get_subkey_count(k->primary, &subkeys);
    for (size_t i = 0; ok && i < subkeys; i++) {
        rnp_key_handle_t sub = NULL;

        ok = rnp_key_get_subkey_at(k->primary, i, &sub) != RNP_SUCCESS ||
             unlock_decrypting(sub, l, &unlocked, err);
        (void)rnp_key_handle_destroy(sub);
    }
    if (ok && unlocked == 0)
        return err_set(err, ERR_CONFIG, 0, "the key %s has no private part that decrypts",
                       k->print);
    return ok;
}

static bool find_key_part(struct pgp_key *k, struct err *err)
{
    char why[PGP_WHY];

    if (rnp_key_get_default_key(k->primary, usages[k->use], 0, &k->part) != RNP_SUCCESS) {
        k->part = NULL;
        return refuse_key(k, err);
    }
    return pgp_is_good(k->primary, clock_wall_us(), why) || refuse_key(k, err);
}

static bool prepare_key(struct pgp_key *k, const struct pgp_lock *l, struct err *err)
{
    bool revoked = false;

    switch (k->use) {
    case PGP_ENCRYPTS:
        return find_key_part(k, err);
    case PGP_SIGNS:
        return find_key_part(k, err) && pgp_unlock(k->part, l, err);
    case PGP_DECRYPTS:
        return unlock_all(k, l, err);
    case PGP_VERIFIES:
        break;
    }
    /* Whether it has expired is asked of each signature. */
    return (rnp_key_is_revoked(k->primary, &revoked) == RNP_SUCCESS && !revoked) ||
           refuse_key(k, err);
}

/* ---- importing ---- */

/* The text that is imported: from which option, and how its keys are used. */
struct pgp_import {
    struct pgp *p;
    enum pgp_use use;
    const char *option;
    struct pgp_lock lock;
};

static bool add_key(const struct pgp_import *m, const char *print, bool secret, struct err *err)
{
    struct pgp *p = m->p;
    rnp_key_handle_t key = NULL;
    bool primary = false;

    if (rnp_locate_key(p->ffi, "fingerprint", print, &key) != RNP_SUCCESS || key == NULL)
        return err_set(err, ERR_CONFIG, 0, "it is no OpenPGP key");
    if (rnp_key_is_primary(key, &primary) != RNP_SUCCESS || !primary) {
        (void)rnp_key_handle_destroy(key);
        return true;
    }
    if (p->count == PGP_KEYS_MOST) {
        (void)rnp_key_handle_destroy(key);
        return err_set(err, ERR_CONFIG, 0, "more than %d keys", PGP_KEYS_MOST);
    }
    struct pgp_key *k = &p->keys[p->count++];

    *k = (struct pgp_key){ .use = m->use, .option = m->option, .primary = key };
    pgp_print(key, k->print);
    if (is_private(m->use) && !secret)
        return err_set(err, ERR_CONFIG, 0, "this is a public key, the private one is needed");
    if (!is_private(m->use) && secret)
        return err_set(err, ERR_CONFIG, 0,
                       "this is a private key: `gpg --armor --export` gives the public one");
    return prepare_key(k, &m->lock, err);
}

/* The keys that librnp has taken; {"keys":[{"public":"new","secret":"none","fingerprint":".."}]} */
static bool add_imported(const struct pgp_import *m, const char *taken, struct err *err)
{
    json_t *root = json_loads(taken, 0, NULL), *keys = json_object_get(root, "keys");
    size_t before = m->p->count;
    bool ok = true;

    for (size_t i = 0; ok && i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        const char *print = json_string_value(json_object_get(key, "fingerprint"));
        const char *secret = json_string_value(json_object_get(key, "secret"));

        ok = print == NULL || add_key(m, print, secret != NULL && strcmp(secret, "none") != 0, err);
    }
    json_decref(root);
    if (ok && m->p->count == before)
        return err_set(err, ERR_CONFIG, 0, "it is no OpenPGP key");
    return ok;
}

static bool import_text(const struct pgp_import *m, struct str text, struct err *err)
{
    /* Signatures of strangers that librnp does not know do no harm: they are left out. */
    uint32_t flags =
        RNP_LOAD_SAVE_PUBLIC_KEYS | RNP_LOAD_SAVE_SECRET_KEYS | RNP_LOAD_SAVE_PERMISSIVE;
    rnp_input_t in = NULL;
    char *taken = NULL;

    if (text.len == 0)
        return err_set(err, ERR_CONFIG, 0, "it is empty");
    bool ok =
        rnp_input_from_memory(&in, (const uint8_t *)text.ptr, text.len, false) == RNP_SUCCESS &&
        rnp_import_keys(m->p->ffi, in, flags, &taken) == RNP_SUCCESS && taken != NULL;

    (void)rnp_input_destroy(in);
    ok = ok ? add_imported(m, taken, err) : err_set(err, ERR_CONFIG, 0, "it is no OpenPGP key");
    rnp_buffer_destroy(taken);
    return ok;
}

/* ---- options ---- */

static bool add_key_texts(struct pgp_import *m, const struct settings *s, struct err *err)
{
    const struct str *texts;
    size_t count;

    if (!settings_texts(s, m->option, &texts, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!import_text(m, texts[i], err))
            return count == 1 ? err_context(err, "`%s`", m->option)
                              : err_context(err, "`%s`: number %zu", m->option, i + 1);
    return true;
}

static bool add_key_file(struct pgp_import *m, const struct settings *s,
                         const struct yaml_node *value, struct err *err)
{
    struct str bytes;

    return settings_content(s, value, &bytes, err) && import_text(m, bytes, err);
}

static bool add_key_files(struct pgp_import *m, const struct settings *s, struct err *err)
{
    const struct yaml_node *value = s->node != NULL ? yaml_get(s->node, m->option) : NULL;
    size_t n = 0;

    m->lock.stored = is_private(m->use);
    if (value == NULL || yaml_is_null(value))
        return true;
    if (value->kind != YAML_LIST)
        return add_key_file(m, s, value, err) || err_context(err, "`%s`", m->option);
    for (const struct yaml_node *each = value->first; each != NULL; each = each->next, n++)
        if (!add_key_file(m, s, each, err))
            return err_context(err, "`%s`: number %zu", m->option, n + 1);
    return true;
}

bool pgp_add(struct pgp *p, const struct settings *s, const char *option, enum pgp_use use,
             struct err *err)
{
    struct pgp_import m = { .p = p, .use = use, .option = option };
    struct str passphrase = { 0 };

    if (is_private(use) && !settings_text(s, "passphrase", &passphrase, err))
        return false;
    m.lock.passphrase = passphrase.ptr;
    if (!add_key_texts(&m, s, err))
        return false;
    m.option = arena_printf(s->arena, "%s_file", option);
    return add_key_files(&m, s, err);
}
