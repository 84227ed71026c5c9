/* retry.h - when a delivery is tried again, and when an endpoint is left alone: pure rules.
 *
 * The wait before attempt n+1 is chosen at random between nothing and first * 2^(n-1), at
 * most `most` (full jitter), so that many do not come back at the same moment.
 *
 * The breaker of an endpoint opens after `failures` in a row that never reached it, or at
 * once when our credential is refused.  While it is open deliveries wait and use up
 * nothing; after `wait` (and up to a tenth more, by chance) one probes: success closes it,
 * failure keeps it open for longer (doubled, up to ten times `wait`).
 *
 * Threads: pure; time and chance are arguments.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct retry_rule {
    int64_t first_us, most_us, for_us;
};

/* `attempts`: how many there were, from 1. */
int64_t retry_wait_us(const struct retry_rule *rule, int64_t attempts, uint64_t chance);
/* The next attempt would come later than `for` after the first one. */
bool retry_is_over(const struct retry_rule *rule, int64_t first_us, int64_t next_us);

struct verdict;

struct breaker_rule {
    int64_t failures, wait_us;
};

struct breaker {
    int64_t failures; /* in a row */
    int64_t until_us; /* open until then; 0: closed */
    int64_t wait_us;  /* the present wait */
    int64_t since_us; /* when it opened */
    bool probing;     /* one delivery is on its way to find out */
};

enum breaker_answer { BREAKER_GO, BREAKER_PROBE, BREAKER_WAIT };

/* May one begin now?  BREAKER_PROBE is given once until that one has reported. */
enum breaker_answer breaker_ask(struct breaker *b, int64_t now_us);
bool breaker_is_open(const struct breaker *b);
/* Whether it would be BREAKER_PROBE; nothing is given. */
bool breaker_may_probe(const struct breaker *b, int64_t now_us);

/* The probe ended without saying anything about the endpoint. */
void breaker_probe_lost(struct breaker *b);
/* What an attempt says about its endpoint; `probe`: it was the one that tries out an open
 * breaker.  True: the breaker changed between open and closed. */
bool breaker_judge(struct breaker *b, const struct breaker_rule *rule, const struct verdict *v,
                   bool probe, int64_t now_us, uint64_t chance);
