#include "store/audit/audit_sign.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/audit/audit.h"
#include "store/kernel/store_state.h"

#define SIGN_KEY_NAME "audit.key"
#define SIGN_KEY_ENV  "WAYBILL_AUDIT_KEY_FILE"

/* *ret_there: there is a key; with `make` there always is. */
static bool load_seed(struct store *s, bool make, unsigned char ret[static KEY_FILE_BYTES],
                      bool *ret_there, struct err *err)
{
    static pthread_mutex_t one_maker = PTHREAD_MUTEX_INITIALIZER;
    const char *elsewhere = getenv(SIGN_KEY_ENV);
    struct stat st;

    *ret_there = true;
    if (elsewhere != NULL && *elsewhere != '\0')
        return key_file_read(AT_FDCWD, elsewhere, ret, err);
    (void)pthread_mutex_lock(&one_maker);
    bool there = fstatat(s->data_fd, SIGN_KEY_NAME, &st, 0) == 0;
    bool ok = there || !make || key_file_make(s->data_fd, SIGN_KEY_NAME, err);

    (void)pthread_mutex_unlock(&one_maker);
    *ret_there = there || make;
    return ok && (!*ret_there || key_file_read(s->data_fd, SIGN_KEY_NAME, ret, err));
}

bool audit_sign(struct store *s, struct checkpoint *ret, char ret_text[static CHECKPOINT_TEXT],
                struct err *err)
{
    unsigned char seed[KEY_FILE_BYTES];
    struct audit_check check;
    bool there;

    if (!audit_verify(s, 0, NULL, &check, err))
        return false;
    if (check.bad != 0)
        return err_set(err, ERR_PERMANENT, 0, "a broken log is not signed: %s", check.message);
    if (check.seq == 0)
        return err_set(err, ERR_PERMANENT, 0, "there is no line to sign yet");
    if (!load_seed(s, true, seed, &there, err))
        return false;
    *ret = (struct checkpoint){ .seq = check.seq, .hash = check.hash };
    (void)clock_utc_text(clock_wall_us(), ret->time);
    checkpoint_sign(ret, seed, ret_text);
    explicit_bzero(seed, sizeof seed);
    return true;
}

bool audit_sign_key(struct store *s, char ret[static CHECKPOINT_KEY], struct err *err)
{
    unsigned char seed[KEY_FILE_BYTES];
    bool there;

    ret[0] = '\0';
    if (!load_seed(s, false, seed, &there, err))
        return false;
    if (there)
        checkpoint_key(seed, ret);
    explicit_bzero(seed, sizeof seed);
    return true;
}
