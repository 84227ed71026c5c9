/* retry.h - when a delivery is tried again, and when an endpoint is left alone: pure rules.
 *
 * The wait before attempt n+1 is random between 0 and first * 2^(n-1), at most `most` (full
 * jitter), so that deliveries that failed together do not come back together.
 *
 * The breaker of an endpoint opens after `failures` attempts in a row without a clear answer, or at
 * once when our credential is refused or a call hangs.  While it is open, deliveries wait and use
 * up no attempt; after `wait` (and up to a tenth more, at random) one delivery probes the endpoint:
 * an answer closes the breaker, a failure keeps it open for longer (doubled, up to ten times
 * `wait`).  After `rejections` in a row the endpoint is *rejecting*: its breaker opens too, and
 * only a delivery closes it.
 *
 * An endpoint that answers and takes nothing is *refusing*: `failures` attempts in a row were put
 * off (503, 429 ...), and none was decided.  Its breaker stays closed, because a receiver may put
 * off one document and take the next; each delivery waits by its own schedule.  But people are
 * told.
 *
 * Threads: pure; time and chance are arguments.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct retry_rule {
    int64_t first_us, most_us, for_us;
};

/* The wait after attempt number `attempts`, from 1; `chance` is 64 random bits. */
int64_t retry_wait_us(const struct retry_rule *rule, int64_t attempts, uint64_t chance);
/* An attempt at next_us would come later than `for` after the first attempt. */
bool retry_is_over(const struct retry_rule *rule, int64_t first_us, int64_t next_us);

struct verdict;

struct breaker_rule {
    int64_t failures, wait_us;
    int64_t rejections; /* in a row that open it; 0: they never do */
};

struct breaker {
    int64_t failures;   /* in a row, without a clear answer */
    int64_t rejections; /* since the last delivery */
    int64_t until_us;   /* open until then; 0: closed */
    int64_t wait_us;    /* the present wait; doubles with each failed probe */
    int64_t since_us;   /* when it opened */
    bool probing;       /* one delivery is on its way as a probe */
    bool rejecting;     /* open because of rejections */
};

enum breaker_answer { BREAKER_GO, BREAKER_PROBE, BREAKER_WAIT };

/* May a delivery begin now?  BREAKER_PROBE is given to one delivery until it has reported. */
enum breaker_answer breaker_ask(struct breaker *b, int64_t now_us);
bool breaker_is_open(const struct breaker *b);
/* breaker_ask() would return BREAKER_PROBE; changes nothing. */
bool breaker_may_probe(const struct breaker *b, int64_t now_us);

/* The probe ended without saying anything about the endpoint. */
void breaker_probe_lost(struct breaker *b);
/* Counts the verdict of an attempt; `probe`: the attempt was given BREAKER_PROBE.  True: the
 * breaker changed between open and closed. */
bool breaker_judge(struct breaker *b, const struct breaker_rule *rule, const struct verdict *v,
                   bool probe, int64_t now_us, uint64_t chance);

struct refusing {
    int64_t count, last_us; /* attempts in a row that were put off, and the last of them */
    bool is;                /* it is refusing */
};

enum refusing_change { REFUSING_SAME, REFUSING_BEGAN, REFUSING_ENDED };

/* Counts the verdict of an attempt.  It ends with one that is decided, delivered or rejected, and
 * where the breaker takes over. */
enum refusing_change refusing_judge(struct refusing *r, const struct breaker_rule *rule,
                                    const struct verdict *v, int64_t now_us);
/* Ends it when the last attempt was before `since_us`: nothing waits for the endpoint any more. */
enum refusing_change refusing_calm(struct refusing *r, int64_t since_us);
