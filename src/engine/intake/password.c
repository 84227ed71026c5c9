#include "engine/intake/password.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/digest.h"
#include "engine/threads/background.h"

enum { REMEMBERED = 256, AT_ONCE = 2, WAITING_MOST = 64 };
#define REMEMBER_US (INT64_C(600) * CLOCK_S)

struct verify_job {
    struct background_job job;
    struct background *background;
    struct verify_job *next; /* in the waiting list */
    struct sha256 pair;
    char *password, *hash;
    bool ok;
    void (*verified)(void *user, bool ok);
    void *user;
};

static struct {
    pthread_mutex_t mutex;
    struct verify_job *first, *last; /* the waiting list; waiting occupies no thread */
    struct {
        struct sha256 pair;
        int64_t until_us;
    } right[REMEMBERED];
    size_t next, hashing, waiting;
    unsigned char secret[32];
    bool ready;
} self = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* With the mutex held. */
static struct sha256 pair_of(struct str name, struct str password, const char *hash)
{
    struct digest d = digest_start();
    size_t lens[2] = { name.len, password.len };

    if (!self.ready) {
        chance_bytes(self.secret, sizeof self.secret);
        self.ready = true;
    }
    digest_add(&d, str_mem(self.secret, sizeof self.secret));
    digest_add(&d, str_mem(lens, sizeof lens));
    digest_add(&d, name);
    digest_add(&d, password);
    digest_add(&d, str_of(hash != NULL ? hash : ""));
    return digest_end(&d);
}

static bool is_remembered(const struct sha256 *pair)
{
    int64_t now = clock_mono_us();

    for (size_t i = 0; i < REMEMBERED; i++)
        if (self.right[i].until_us > now && digest_same(&self.right[i].pair, pair))
            return true;
    return false;
}

bool password_is(struct str password, const char *hash)
{
    /* The hash of a random text, verified for users that do not exist, so that timing does not
     * tell. */
    static const char nobody[crypto_pwhash_STRBYTES] =
        "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    return crypto_pwhash_str_verify(hash != NULL ? hash : nobody, password.ptr, password.len) ==
               0 &&
           hash != NULL;
}

/* With the mutex held. */
static void password_remember(const struct sha256 *pair)
{
    self.right[self.next].pair = *pair;
    self.right[self.next].until_us = clock_mono_us() + REMEMBER_US;
    self.next = (self.next + 1) % REMEMBERED;
}

/* Verifies; returns the next waiting job, or NULL. */
static struct verify_job *intake_password_verify(struct verify_job *v)
{
    v->ok = password_is(str_of(v->password), v->hash);
    (void)pthread_mutex_lock(&self.mutex);
    struct verify_job *next = self.first;

    if (next != NULL)
        self.first = next->next;
    else
        self.hashing--;
    self.waiting--;
    if (v->ok)
        password_remember(&v->pair);
    (void)pthread_mutex_unlock(&self.mutex);
    return next;
}

static void run(struct background_job *job)
{
    struct verify_job *next = intake_password_verify(container_of(job, struct verify_job, job));

    while (next != NULL &&
           !background_submit(next->background, &next->job)) { /* full: run it here */
        struct verify_job *v = next;

        next = intake_password_verify(v);
        loop_post(v->job.loop, &v->job.done);
    }
}

static void job_free(struct verify_job *v)
{
    explicit_bzero(v->password, strlen(v->password));
    free(v->password);
    free(v->hash);
    free(v);
}

static void done(struct loop_msg *msg)
{
    struct verify_job *v = container_of(msg, struct verify_job, job.done);

    v->verified(v->user, v->ok);
    job_free(v);
}

/* With the mutex held: begins now, or queues.  False: the background pool is full. */
static bool password_begin(struct verify_job *v)
{
    if (self.hashing < AT_ONCE) {
        if (!background_submit(v->background, &v->job))
            return false;
        self.hashing++;
    } else {
        *(self.first != NULL ? &self.last->next : &self.first) = v;
        self.last = v;
    }
    self.waiting++;
    return true;
}

bool password_verify(struct background *background, struct loop *loop, struct str user_name,
                     struct str password, const char *hash, void (*verified)(void *user, bool ok),
                     void *user)
{
    struct verify_job *v = NEW(struct verify_job);

    *v = (struct verify_job){ .job = { .loop = loop, .run = run, .done = { .fn = done } },
                              .background = background,
                              .password = xstrndup(password),
                              .hash = hash != NULL ? xstrdup(hash) : NULL,
                              .verified = verified,
                              .user = user };
    (void)pthread_mutex_lock(&self.mutex);
    v->pair = pair_of(user_name, password, hash);
    bool right = is_remembered(&v->pair);
    bool begun = !right && self.waiting < WAITING_MOST && password_begin(v);

    (void)pthread_mutex_unlock(&self.mutex);
    if (begun)
        return true;
    job_free(v);
    if (right)
        verified(user, true);
    return right;
}

bool password_hash(struct str password, char ret[static PASSWORD_TEXT], struct err *err)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

    _Static_assert((int)PASSWORD_TEXT >= (int)crypto_pwhash_STRBYTES, "a hash fits");
    (void)pthread_mutex_lock(&one);
    bool ok = crypto_pwhash_str_alg(
                  ret, password.ptr, password.len, crypto_pwhash_OPSLIMIT_INTERACTIVE,
                  crypto_pwhash_MEMLIMIT_INTERACTIVE, crypto_pwhash_ALG_ARGON2ID13) == 0;

    (void)pthread_mutex_unlock(&one);
    return ok || err_set(err, ERR_TRANSIENT, ENOMEM, "no memory to hash a password");
}
