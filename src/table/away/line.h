/* line.h - the connection to another location: whole messages there and back, whatever their size.
 *
 * Threads: one at a time.
 */
#pragma once

#include <curl/curl.h>

#include "base/arena.h"
#include "base/buf.h"
#include "table/away/away.h"

struct away_line {
    struct away_address address; /* in `kept` */
    struct arena kept;
    CURL *curl;
    struct curl_slist *fields;
    struct call *call;
    size_t most; /* bytes of a message: the smaller of both limits */
    bool broken;
    struct buf out, in;   /* a whole question, and its answer */
    struct buf sent, got; /* one message */
    const char *barred;   /* why it may not connect there */
    int64_t alive_us;
    char failure[CURL_ERROR_SIZE];
};

bool away_line_open(const struct away_address *address, struct call *call, struct away_line **ret,
                    struct err *err);
void away_line_close(struct away_line *l); /* NULL is fine */
/* Sends l->out, a frame, and reads the frame that answers into l->in. */
bool away_line_exchange(struct away_line *l, struct err *err);
