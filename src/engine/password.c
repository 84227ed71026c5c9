#include "engine/password.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/digest.h"
#include "engine/desk.h"

enum { REMEMBERED = 256, AT_ONCE = 2, WAITING_MOST = 64 };
#define REMEMBER_US (INT64_C(600) * CLOCK_S)

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t free;
    struct {
        struct sha256 pair;
        int64_t until_us;
    } right[REMEMBERED];
    size_t next, hashing, waiting;
    unsigned char secret[32];
    bool ready;
} self = { .mutex = PTHREAD_MUTEX_INITIALIZER, .free = PTHREAD_COND_INITIALIZER };

struct verify_job {
    struct desk_job job;
    struct sha256 pair;
    char *password, *hash;
    bool ok;
    void (*verified)(void *user, bool ok);
    void *user;
};

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

static void run(struct desk_job *job)
{
    /* The hash of a random text, for users that do not exist. */
    static const char nobody[] = "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
                                 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    struct verify_job *v = (struct verify_job *)job;
    const char *hash = v->hash != NULL ? v->hash : nobody;

    (void)pthread_mutex_lock(&self.mutex);
    while (self.hashing == AT_ONCE)
        (void)pthread_cond_wait(&self.free, &self.mutex);
    self.hashing++;
    (void)pthread_mutex_unlock(&self.mutex);
    v->ok =
        crypto_pwhash_str_verify(hash, v->password, strlen(v->password)) == 0 && v->hash != NULL;
    (void)pthread_mutex_lock(&self.mutex);
    self.hashing--;
    self.waiting--;
    (void)pthread_cond_signal(&self.free);
    if (v->ok) {
        self.right[self.next].pair = v->pair;
        self.right[self.next].until_us = clock_mono_us() + REMEMBER_US;
        self.next = (self.next + 1) % REMEMBERED;
    }
    (void)pthread_mutex_unlock(&self.mutex);
}

static void done(struct loop_msg *msg)
{
    struct verify_job *v =
        (struct verify_job *)((char *)msg - offsetof(struct verify_job, job.done));

    v->verified(v->user, v->ok);
    explicit_bzero(v->password, strlen(v->password));
    free(v->password);
    free(v->hash);
    free(v);
}

bool password_verify(struct desk *desk, struct loop *loop, struct str user_name,
                     struct str password, const char *hash, void (*verified)(void *user, bool ok),
                     void *user)
{
    struct verify_job *v;

    (void)pthread_mutex_lock(&self.mutex);
    struct sha256 pair = pair_of(user_name, password, hash);
    bool right = is_remembered(&pair), room = self.waiting < WAITING_MOST;

    self.waiting += !right && room;
    (void)pthread_mutex_unlock(&self.mutex);
    if (right) {
        verified(user, true);
        return true;
    }
    if (!room)
        return false;
    v = NEW(struct verify_job);
    *v = (struct verify_job){ .job = { .loop = loop, .run = run, .done = { .fn = done } },
                              .pair = pair,
                              .password = xstrndup(password),
                              .hash = hash != NULL ? xstrdup(hash) : NULL,
                              .verified = verified,
                              .user = user };
    if (desk_submit(desk, &v->job))
        return true;
    (void)pthread_mutex_lock(&self.mutex);
    self.waiting--;
    (void)pthread_mutex_unlock(&self.mutex);
    free(v->password);
    free(v->hash);
    free(v);
    return false;
}
