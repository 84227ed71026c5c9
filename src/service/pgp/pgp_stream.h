/* pgp_stream.h - a document as librnp reads and writes it.
 *
 * A call of the io that failed has set the failure: librnp is told that reading or writing failed,
 * the io is not called again, and `failed` says that the failure stands.
 */
#pragma once

#include <rnp/rnp.h>
#include <stdbool.h>

#include "core/service.h"

struct pgp_stream {
    struct service_io *io;
    struct service_failure *failure;
    rnp_input_t in;
    rnp_output_t out;
    bool failed;

    /* Its own. */
    struct str rest; /* of the last piece */
    bool ended;
};

/* False: the failure is set.  pgp_stream_done() follows in any case. */
bool pgp_stream_open(struct pgp_stream *x, struct service_io *io,
                     struct service_failure *ret_failure);
void pgp_stream_done(struct pgp_stream *x);

/* The result of an operation that made a document (not of one that read a message). */
bool pgp_stream_end(const struct pgp_stream *x, rnp_result_t result, const char *who);
