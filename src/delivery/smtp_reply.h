/* smtp_reply.h - what the answer of a mail server means for a delivery, as a rule and as `outcome`
 * says.
 *
 * Threads: read() while a plan is built; then nothing is changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/connector.h"
#include "core/settings.h"

enum { SMTP_REPLY_LEAST = 400, SMTP_REPLY_MOST = 599 }; /* failures */

struct smtp_replies {
    unsigned char outcomes[SMTP_REPLY_MOST - SMTP_REPLY_LEAST + 1]; /* 0: as a rule */
};

/* The key `outcome`. */
bool smtp_reply_read(const struct settings *s, struct smtp_replies *ret, struct err *err);
/* Of `outcome`, before that; NULL is fine. */
void smtp_reply_check(const struct yaml_node *map, struct problem_list *problems);

/* `code` is at most SMTP_REPLY_MOST. */
enum verdict_kind smtp_reply_kind(const struct smtp_replies *r, int64_t code);
