/* away.h - a side at another location: asked by messages over HTTP.
 *
 * Every question of side.h is a message, and so is its answer (message.h).  Here is how one is
 * asked; how one that came is answered is in answering.h.
 *
 *     POST /peer/ask     a question; its answer, or the first part of it
 *     POST /peer/put     a part of a question that is larger than a message may be
 *     POST /peer/get     the next part of an answer that is
 *
 * No message is larger than `message_most`, and than what the other location takes, which it says
 * in each answer (Waybill-Message-Limit).  A row is at most AWAY_ROW_MOST bytes; a larger one is
 * set aside.
 *
 * Errors   as those of a database (database.h): ERR_TRANSIENT, it does not answer; ERR_CONFIG, it
 *          does not let us in.
 */
#pragma once

#include "table/side.h"

enum {
    AWAY_ROW_MOST = 16 << 20,
    AWAY_WHOLE_MOST = 40 << 20, /* bytes of a question or an answer, in parts */
    AWAY_MESSAGE_LEAST = 1000
};

struct away_address {
    struct str peer;               /* in the configuration, for messages */
    struct str url, key;           /* terminated */
    struct str ca, cert, cert_key; /* files, or what they hold; may be empty; terminated */
    bool verify;
    struct str database; /* as it is called there */
    size_t message_most;
    int64_t timeout_us;
};

/* Sets s->away and s->line; nothing is asked yet.  The address is copied. */
bool side_away_open(struct side *s, const struct away_address *address, struct call *call,
                    struct err *err);
