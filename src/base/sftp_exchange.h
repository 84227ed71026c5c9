/* sftp_exchange.h - requests and answers over one SFTP connection: what sftp_client.c and
 * sftp_fetch.c share.
 *
 * A request is put into `out` under a new id, and sent with what stands there already.  A
 * connection is `lost` for good when it failed, or when the server answered what was not asked.
 *
 * Threads: one at a time per connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/dial.h"
#include "base/err.h"
#include "base/sftp_client.h"
#include "base/sftp_wire.h"
#include "base/ssh_link.h"

struct sftp_client {
    struct ssh_link *link;
    struct sftp_client_pace pace;
    struct buf out, in;
    uint32_t last_id;
    unsigned extensions;
    size_t read_most, write_most;
    bool lost;
};

struct dial_wait sftp_exchange_wait(const struct sftp_client_pace *p);

uint32_t sftp_exchange_id(struct sftp_client *s); /* the next one; never 0 */
/* Sends what stands in `out`. */
bool sftp_exchange_flush(struct sftp_client *s, struct err *err);
/* The next packet, in `in`. */
bool sftp_exchange_packet(struct sftp_client *s, struct err *err);
/* The next answer, whichever it is; its texts stand in `in`. */
bool sftp_exchange_hear(struct sftp_client *s, struct sftp_answer *ret, struct err *err);

/* Sends what stands in `out` under the last id, and reads its answer: of this kind, or a status
 * that is not OK, which is the error. */
bool sftp_exchange(struct sftp_client *s, enum sftp_kind kind, struct sftp_answer *ret,
                   struct err *err);
bool sftp_exchange_status(struct sftp_client *s, struct err *err);

/* Errors: the server answers nonsense, and the connection is lost; it refuses, in its own words. */
bool sftp_exchange_confused(struct sftp_client *s, struct err *err);
bool sftp_exchange_refused(const struct sftp_answer *a, struct err *err);
