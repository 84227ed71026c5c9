#include "service/pgp/pgp_stream.h"

#include <rnp/rnp_err.h>

static bool pgp_take(void *arg, void *to, size_t len, size_t *ret_len)
{
    struct pgp_stream *x = arg;

    *ret_len = 0;
    if (x->failed)
        return false;
    if (x->rest.len == 0 && !x->ended) {
        x->failed = !x->io->next(x->io, &x->rest, x->failure);
        if (x->failed)
            return false;
        x->ended = x->rest.len == 0;
    }
    size_t n = x->rest.len < len ? x->rest.len : len;

    if (n > 0)
        memcpy(to, x->rest.ptr, n);
    x->rest = str_from(x->rest, n);
    *ret_len = n;
    return true;
}

static bool pgp_give(void *arg, const void *bytes, size_t len)
{
    struct pgp_stream *x = arg;

    if (!x->failed && len > 0)
        x->failed = !x->io->put(x->io, str_mem(bytes, len), x->failure);
    return !x->failed;
}

bool pgp_stream_open(struct pgp_stream *x, struct service_io *io,
                     struct service_failure *ret_failure)
{
    *x = (struct pgp_stream){ .io = io, .failure = ret_failure };
    return (rnp_input_from_callback(&x->in, pgp_take, NULL, x) == RNP_SUCCESS &&
            rnp_output_to_callback(&x->out, pgp_give, NULL, x) == RNP_SUCCESS) ||
           service_fail(ret_failure, DEAD_BUDGET, "there is not enough memory");
}

void pgp_stream_done(struct pgp_stream *x)
{
    (void)rnp_output_destroy(x->out);
    (void)rnp_input_destroy(x->in);
}

bool pgp_stream_end(const struct pgp_stream *x, rnp_result_t result, const char *who)
{
    if (x->failed)
        return false;
    if (result == RNP_SUCCESS)
        return true;
    return service_fail(x->failure,
                        result == RNP_ERROR_OUT_OF_MEMORY ? DEAD_BUDGET : DEAD_SERVICE_FAILED,
                        "%s: %s", who, rnp_result_to_string(result));
}
