#include "service/pgp/pgp_read.h"

#include <rnp/rnp_err.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "service/pgp/pgp_stream.h"

enum {
    AHEAD_S = 300, /* the clock of who signs may be so much ahead of ours */
    SIGNATURES_MOST = 50,
    RECIPIENTS_SHOWN = 4
};

struct pgp_message {
    const struct pgp_reading *how;
    const struct service_document *document;
    struct service_failure *failure;
    rnp_op_verify_t op;
    rnp_result_t result;
    char mode[16]; /* of its encryption: none, cfb, cfb-mdc, aead-.. */
    bool whole;    /* its integrity protection is right */
};

static bool message_bad(const struct pgp_message *m, const char *what)
{
    return service_fail(m->failure, DEAD_DECRYPT_FAILED, "%s: %s", m->how->who, what);
}

/* ---- encryption ---- */

static void read_protection(struct pgp_message *m)
{
    char *mode = NULL;

    (void)snprintf(m->mode, sizeof m->mode, "none");
    if (rnp_op_verify_get_protection_info(m->op, &mode, NULL, &m->whole) == RNP_SUCCESS &&
        mode != NULL)
        (void)snprintf(m->mode, sizeof m->mode, "%s", mode);
    rnp_buffer_destroy(mode);
}

static bool is_mode(const struct pgp_message *m, const char *mode)
{
    return strcmp(m->mode, mode) == 0;
}

static bool is_ours(const struct pgp_message *m, const char *id)
{
    rnp_key_handle_t key = NULL;
    bool secret = false;

    if (rnp_locate_key(m->how->keys->ffi, "keyid", id, &key) == RNP_SUCCESS && key != NULL)
        (void)rnp_key_have_secret(key, &secret);
    (void)rnp_key_handle_destroy(key);
    return secret;
}

/* The ids of the keys that it is encrypted for; how many. */
static size_t list_recipients(const struct pgp_message *m, struct buf *to, bool *ret_ours)
{
    size_t count = 0;

    (void)rnp_op_verify_get_recipient_count(m->op, &count);
    for (size_t i = 0; i < count && i < RECIPIENTS_SHOWN; i++) {
        rnp_recipient_handle_t one = NULL;
        char *id = NULL;

        if (rnp_op_verify_get_recipient_at(m->op, i, &one) == RNP_SUCCESS &&
            rnp_recipient_get_keyid(one, &id) == RNP_SUCCESS && id != NULL) {
            buf_printf(to, "%s%s", i > 0 ? ", " : "", id);
            *ret_ours = *ret_ours || is_ours(m, id);
        }
        rnp_buffer_destroy(id);
    }
    if (count > RECIPIENTS_SHOWN)
        buf_printf(to, " and %zu more", count - RECIPIENTS_SHOWN);
    return count;
}

static bool no_key_fits(const struct pgp_message *m)
{
    AUTO(buf_done) struct buf ids = BUF_INIT(VERDICT_MESSAGE_MOST);
    bool ours = false;

    if (!m->how->decrypts)
        return message_bad(m, "it is encrypted: a step `decrypt` comes first");
    if (list_recipients(m, &ids, &ours) == 0)
        return message_bad(m, "it is encrypted with a password, not for a key");
    if (ours)
        return message_bad(m,
                           "it is damaged or cut off: it is for our key, which does not open it");
    return service_fail(m->failure, DEAD_DECRYPT_FAILED,
                        "%s: it is encrypted for the key %s, and the step has no such key",
                        m->how->who, ids.ptr);
}

static bool is_key_trouble(rnp_result_t result)
{
    return result == RNP_ERROR_NO_SUITABLE_KEY || result == RNP_ERROR_KEY_NOT_FOUND ||
           result == RNP_ERROR_BAD_PASSWORD;
}

/* What is said of a message that cannot be read to its end. */
static bool judge_result(const struct pgp_message *m)
{
    bool wrong_signature =
        m->result == RNP_ERROR_SIGNATURE_INVALID || m->result == RNP_ERROR_NO_SIGNATURES_FOUND;

    if (m->result == RNP_SUCCESS || (wrong_signature && (m->whole || is_mode(m, "none"))))
        return true; /* signatures are looked at by themselves */
    if (m->result == RNP_ERROR_OUT_OF_MEMORY)
        return service_fail(m->failure, DEAD_BUDGET, "%s: there is not enough memory", m->how->who);
    if (is_key_trouble(m->result))
        return no_key_fits(m);
    if (!is_mode(m, "none"))
        return message_bad(m, "it is damaged or cut off, or was changed on its way");
    if (m->result == RNP_ERROR_BAD_FORMAT)
        return message_bad(m, "this is no OpenPGP message, or it is damaged");
    return service_fail(m->failure, DEAD_DECRYPT_FAILED,
                        "%s: it is damaged, cut off or no OpenPGP message (%s)", m->how->who,
                        rnp_result_to_string(m->result));
}

static bool judge_protection(const struct pgp_message *m)
{
    if (!m->how->decrypts)
        return is_mode(m, "none") ||
               message_bad(m, "it is encrypted: a step `decrypt` comes first");
    if (is_mode(m, "none"))
        return message_bad(m, "it is not encrypted");
    if (is_mode(m, "cfb"))
        return message_bad(m,
                           "it has no integrity protection (MDC), so nobody knows whether it was "
                           "changed on its way; the sender has to encrypt it with one");
    return m->whole || message_bad(m, "it is damaged or cut off, or was changed on its way");
}

/* ---- signatures ---- */

struct pgp_signature {
    rnp_result_t status;
    rnp_key_handle_t key;  /* NULL: not known */
    char print[PGP_PRINT]; /* of its primary key; or the id of a key that is not known */
};

static void read_signer(rnp_op_verify_signature_t from, struct pgp_signature *s)
{
    rnp_signature_handle_t handle = NULL;
    char *id = NULL;

    if (rnp_op_verify_signature_get_key(from, &s->key) == RNP_SUCCESS && s->key != NULL) {
        pgp_print(s->key, s->print);
        return;
    }
    s->key = NULL;
    /* When it fails, the handle is not to be freed: it is set, and freed already. */
    if (rnp_op_verify_signature_get_handle(from, &handle) == RNP_SUCCESS) {
        (void)rnp_signature_get_keyid(handle, &id);
        (void)rnp_signature_handle_destroy(handle);
    }
    (void)snprintf(s->print, sizeof s->print, "%s", id != NULL ? id : "unknown");
    rnp_buffer_destroy(id);
}

/* The key itself, and the primary key whose subkey it is. */
static bool signer_is_good(const struct pgp_message *m, const struct pgp_signature *s,
                           const struct pgp_key *trusted)
{
    char why[PGP_WHY];
    int64_t at = m->document->received_us;

    if (pgp_is_good(trusted->primary, at, why) && pgp_is_good(s->key, at, why))
        return true;
    return service_fail(m->failure, DEAD_DECRYPT_FAILED,
                        "%s: it is signed with the key %s, which %s", m->how->who, s->print, why);
}

/* True: it counts.  False, with *ret_wrong: the message is refused whatever other signatures it
 * has. */
static bool judge_signature(const struct pgp_message *m, const struct pgp_signature *s,
                            bool *ret_wrong)
{
    const struct pgp_key *trusted = s->key != NULL ? pgp_trusted(m->how->keys, s->print) : NULL;

    if (s->status == RNP_ERROR_SIGNATURE_UNKNOWN)
        return message_bad(m,
                           "its signature is damaged or cut off, or of a kind that is not known");
    if (trusted == NULL)
        return service_fail(m->failure, DEAD_DECRYPT_FAILED,
                            "%s: it is signed with the key %s, which is not among those of `%s`",
                            m->how->who, s->print, m->how->option);
    if (!signer_is_good(m, s, trusted))
        return false;
    if (s->status == RNP_SUCCESS)
        return true;
    *ret_wrong = s->status != RNP_ERROR_SIGNATURE_EXPIRED;
    return service_fail(m->failure, DEAD_DECRYPT_FAILED, "%s: its signature with the key %s %s",
                        m->how->who, s->print,
                        *ret_wrong ? "is wrong: it was changed after it was signed"
                                   : "has expired, or is of a time to come");
}

/* One signature that counts is enough, if none of a trusted key is wrong. */
static bool judge_signatures(const struct pgp_message *m)
{
    size_t count = 0, good = 0;
    bool wrong = false;

    if (!m->how->verifies)
        return true;
    (void)rnp_op_verify_get_signature_count(m->op, &count);
    if (count == 0)
        return message_bad(m, "it is not signed");
    if (count > SIGNATURES_MOST)
        return message_bad(m, "it has too many signatures");
    for (size_t i = 0; i < count && !wrong; i++) {
        rnp_op_verify_signature_t from = NULL;
        struct pgp_signature s = { .status = RNP_ERROR_SIGNATURE_UNKNOWN };

        if (rnp_op_verify_get_signature_at(m->op, i, &from) == RNP_SUCCESS) {
            s.status = rnp_op_verify_signature_get_status(from);
            read_signer(from, &s);
        }
        good += judge_signature(m, &s, &wrong);
        (void)rnp_key_handle_destroy(s.key);
    }
    return good > 0 && !wrong;
}

/* ---- reading ---- */

static bool judge(struct pgp_message *m)
{
    read_protection(m);
    return judge_result(m) && judge_protection(m) && judge_signatures(m);
}

bool pgp_read(const struct pgp_reading *r, struct service_io *io,
              struct service_failure *ret_failure)
{
    struct pgp_message m = { .how = r, .document = io->document, .failure = ret_failure };
    uint32_t now = pgp_time(io->document->received_us + (int64_t)AHEAD_S * CLOCK_S);
    AUTO(pgp_stream_done) struct pgp_stream x = { 0 };

    if (!pgp_stream_open(&x, io, ret_failure))
        return false;
    bool ok = rnp_set_timestamp(r->keys->ffi, now) == RNP_SUCCESS &&
              rnp_op_verify_create(&m.op, r->keys->ffi, x.in, x.out) == RNP_SUCCESS &&
              rnp_op_verify_set_flags(m.op, RNP_VERIFY_IGNORE_SIGS_ON_DECRYPT) == RNP_SUCCESS;

    if (ok)
        m.result = rnp_op_verify_execute(m.op);
    else
        (void)service_fail(ret_failure, DEAD_BUDGET, "%s: there is not enough memory", r->who);
    ok = ok && !x.failed && judge(&m);
    (void)rnp_op_verify_destroy(m.op);
    return ok;
}
