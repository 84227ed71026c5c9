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

enum { REMEMBERED = 256, AT_ONCE = 1, WAITING_MOST = 64 }; /* the last two of each queue */
#define REMEMBER_US (INT64_C(600) * CLOCK_S)

struct verify_job {
    struct background_job job;
    struct background *background;
    struct queue *queue;
    struct verify_job *next; /* in the queue */
    struct sha256 pair;
    char *password, *hash;
    bool ok;
    void (*verified)(void *arg, bool ok);
    void *arg;
};

/* Waiting occupies no thread. */
struct queue {
    struct verify_job *first, *last;
    size_t hashing, waiting;
};

static struct {
    pthread_mutex_t mutex;
    struct queue queues[PASSWORD_QUEUES];
    struct {
        struct sha256 pair;
        int64_t until_us;
    } right[REMEMBERED];
    size_t next;
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
    struct queue *q = v->queue;
    struct verify_job *next = q->first;

    if (next != NULL)
        q->first = next->next;
    else
        q->hashing--;
    q->waiting--;
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

    v->verified(v->arg, v->ok);
    job_free(v);
}

/* With the mutex held: begins now, or queues.  False: the queue or the background pool is full. */
static bool password_begin(struct verify_job *v)
{
    struct queue *q = v->queue;

    if (q->waiting >= WAITING_MOST)
        return false;
    if (q->hashing < AT_ONCE) {
        if (!background_submit(v->background, &v->job))
            return false;
        q->hashing++;
    } else {
        *(q->first != NULL ? &q->last->next : &q->first) = v;
        q->last = v;
    }
    q->waiting++;
    return true;
}

bool password_is_remembered(struct str user, struct str password, const char *hash)
{
    (void)pthread_mutex_lock(&self.mutex);
    struct sha256 pair = pair_of(user, password, hash);
    bool right = is_remembered(&pair);

    (void)pthread_mutex_unlock(&self.mutex);
    return right;
}

bool password_verify(const struct password_check *c)
{
    struct verify_job *v = NEW(struct verify_job);

    *v = (struct verify_job){ .job = { .loop = c->loop, .run = run, .done = { .fn = done } },
                              .background = c->background,
                              .queue = &self.queues[c->queue],
                              .password = xstrndup(c->password),
                              .hash = c->hash != NULL ? xstrdup(c->hash) : NULL,
                              .verified = c->verified,
                              .arg = c->arg };
    (void)pthread_mutex_lock(&self.mutex);
    v->pair = pair_of(c->user, c->password, c->hash);
    bool right = is_remembered(&v->pair);
    bool begun = !right && password_begin(v);

    (void)pthread_mutex_unlock(&self.mutex);
    if (begun)
        return true;
    job_free(v);
    if (right)
        c->verified(c->arg, true);
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
