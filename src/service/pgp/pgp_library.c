#include "service/pgp/pgp_library.h"

#include <rnp/rnp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* Only to have one: it signs nothing that leaves the process. */
enum { WARM_BITS = 1024 };

/* ---- what librnp prints ---- */

static ssize_t swallow(void *cookie, const char *bytes, size_t len)
{
    (void)cookie;
    (void)bytes;
    return (ssize_t)len;
}

/* The result of each call says what went wrong; what is printed besides could quote hostile input.
 */
static void silence(void)
{
    static bool done;
    FILE *nowhere =
        done ? NULL : fopencookie(NULL, "w", (cookie_io_functions_t){ .write = swallow });

    if (nowhere == NULL)
        return;
    (void)setvbuf(nowhere, NULL, _IONBF, 0);
    stderr = nowhere;
    done = true;
}

/* ---- threads ---- */

static bool sign_nothing(rnp_ffi_t ffi, rnp_key_handle_t key)
{
    rnp_input_t in = NULL;
    rnp_output_t out = NULL;
    rnp_op_sign_t op = NULL;
    bool ok = rnp_input_from_memory(&in, (const uint8_t *)"-", 1, false) == 0 &&
              rnp_output_to_null(&out) == 0 && rnp_op_sign_create(&op, ffi, in, out) == 0 &&
              rnp_op_sign_add_signature(op, key, NULL) == 0 && rnp_op_sign_execute(op) == 0;

    (void)rnp_op_sign_destroy(op);
    (void)rnp_output_destroy(out);
    (void)rnp_input_destroy(in);
    return ok;
}

/* The pool starts with the first signature.  A key made for it works whatever keys the step has:
 * those may have expired. */
static bool start_threads(void)
{
    rnp_ffi_t ffi = NULL;
    rnp_key_handle_t key = NULL;
    bool ok = rnp_ffi_create(&ffi, "GPG", "GPG") == 0 &&
              rnp_generate_key_rsa(ffi, WARM_BITS, 0, "-", NULL, &key) == 0 &&
              sign_nothing(ffi, key);

    (void)rnp_key_handle_destroy(key);
    (void)rnp_ffi_destroy(ffi);
    return ok;
}

bool pgp_library_begin(bool caged, struct err *err)
{
    if (!caged)
        return true;
    silence();
    (void)setenv("BOTAN_THREAD_POOL_SIZE", "1", 1); /* a step serves one document at a time */
    return start_threads() || err_set(err, ERR_TRANSIENT, 0, "librnp does not start");
}
