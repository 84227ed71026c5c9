#include "core/state.h"

#include <stdint.h>

#include "base/require.h"

struct move {
    unsigned from, to;
    const char *why; /* without : and ; which end a label in a diagram */
};

/* ---- deliveries ---- */

const char *const delivery_states[DELIVERY_STATES] = {
    [DELIVERY_READY] = "ready",       [DELIVERY_SENDING] = "sending",
    [DELIVERY_HELD] = "held",         [DELIVERY_RETRYING] = "retrying",
    [DELIVERY_IN_DOUBT] = "in_doubt", [DELIVERY_DELIVERED] = "delivered",
    [DELIVERY_DEAD] = "dead",         [DELIVERY_CANCELLED] = "cancelled",
};

static const char *const delivery_meanings[DELIVERY_STATES] = {
    [DELIVERY_READY] = "it may go out as soon as there is a place for it",
    [DELIVERY_SENDING] = "a node has claimed it and is sending it",
    [DELIVERY_HELD] = "something keeps it back: see the reasons below; it uses up nothing",
    [DELIVERY_RETRYING] =
        "an attempt failed, or its receiver is asked whether it has it: the next try "
        "comes at a known time",
    [DELIVERY_IN_DOUBT] = "the receiver may have it: nobody sends it again before that is settled",
    [DELIVERY_DELIVERED] = "the receiver has it",
    [DELIVERY_DEAD] = "it will not go out by itself: a person looks at it",
    [DELIVERY_CANCELLED] = "a person ended it",
};

static const struct move delivery_moves[] = {
    { DELIVERY_READY, DELIVERY_SENDING, "claimed" },
    { DELIVERY_READY, DELIVERY_HELD, "a reason to wait" },
    { DELIVERY_READY, DELIVERY_DEAD, "expired, or its bytes are gone" },
    { DELIVERY_READY, DELIVERY_CANCELLED, "cancel" },
    { DELIVERY_SENDING, DELIVERY_DELIVERED, "the receiver took it, or is taken to have it" },
    { DELIVERY_SENDING, DELIVERY_RETRYING,
      "the receiver does not have it, may get it twice, or is asked" },
    { DELIVERY_SENDING, DELIVERY_READY, "given back, or its node died" },
    { DELIVERY_SENDING, DELIVERY_IN_DOUBT, "unclear, and may not be sent twice" },
    { DELIVERY_SENDING, DELIVERY_DEAD, "rejected, or tried long enough" },
    { DELIVERY_HELD, DELIVERY_READY, "no reason left" },
    { DELIVERY_HELD, DELIVERY_RETRYING, "no reason left, its time has not come" },
    { DELIVERY_HELD, DELIVERY_DEAD, "expired" },
    { DELIVERY_HELD, DELIVERY_CANCELLED, "cancel" },
    { DELIVERY_RETRYING, DELIVERY_READY, "due, or retry" },
    { DELIVERY_RETRYING, DELIVERY_HELD, "a reason to wait" },
    { DELIVERY_RETRYING, DELIVERY_SENDING, "due and claimed" },
    { DELIVERY_RETRYING, DELIVERY_DEAD, "expired" },
    { DELIVERY_RETRYING, DELIVERY_CANCELLED, "cancel" },
    { DELIVERY_IN_DOUBT, DELIVERY_DELIVERED, "resolve --delivered" },
    { DELIVERY_IN_DOUBT, DELIVERY_READY, "resolve --resend" },
    { DELIVERY_IN_DOUBT, DELIVERY_CANCELLED, "cancel" },
    { DELIVERY_DEAD, DELIVERY_READY, "retry" },
    { DELIVERY_DEAD, DELIVERY_CANCELLED, "discard, or cancel" },
};

enum { DELIVERY_MOVES = sizeof delivery_moves / sizeof delivery_moves[0] };

bool delivery_may_move(enum delivery_state from, enum delivery_state to)
{
    for (size_t i = 0; i < DELIVERY_MOVES; i++)
        if (delivery_moves[i].from == from && delivery_moves[i].to == to)
            return true;
    return false;
}

bool delivery_is_over(enum delivery_state s)
{
    for (size_t i = 0; i < DELIVERY_MOVES; i++)
        if (delivery_moves[i].from == s)
            return false;
    return true;
}

/* ---- documents ---- */

const char *const document_states[DOCUMENT_STATES] = {
    [DOCUMENT_RECEIVED] = "received",   [DOCUMENT_ACTIVE] = "active",
    [DOCUMENT_HELD] = "held",           [DOCUMENT_RETRYING] = "retrying",
    [DOCUMENT_DEAD] = "dead",           [DOCUMENT_IN_DOUBT] = "in_doubt",
    [DOCUMENT_DELIVERED] = "delivered", [DOCUMENT_DONE] = "done",
    [DOCUMENT_CANCELLED] = "cancelled", [DOCUMENT_SUPERSEDED] = "superseded",
};

static const char *const document_meanings[DOCUMENT_STATES] = {
    [DOCUMENT_RECEIVED] = "stored and acknowledged; its road has not begun",
    [DOCUMENT_ACTIVE] = "on its road: extracted, routed, processed, or being sent",
    [DOCUMENT_HELD] = "a delivery waits for a reason",
    [DOCUMENT_RETRYING] = "an attempt failed, and another one comes",
    [DOCUMENT_DEAD] = "it, or a delivery of it, is a dead letter",
    [DOCUMENT_IN_DOUBT] = "a receiver may have it, or not",
    [DOCUMENT_DELIVERED] = "every receiver has it",
    [DOCUMENT_DONE] = "it ended without a delivery: split, batched, stored or dropped",
    [DOCUMENT_CANCELLED] = "a person ended it",
    [DOCUMENT_SUPERSEDED] = "an edited copy took its place",
};

/* The moves of a document while its state is not derived from deliveries. */
static const struct move document_moves[] = {
    { DOCUMENT_RECEIVED, DOCUMENT_ACTIVE, "claimed" },
    { DOCUMENT_RECEIVED, DOCUMENT_CANCELLED, "cancel" },
    { DOCUMENT_ACTIVE, DOCUMENT_RECEIVED, "not now, or its node died" },
    { DOCUMENT_ACTIVE, DOCUMENT_DELIVERED, "everything delivered" },
    { DOCUMENT_ACTIVE, DOCUMENT_DONE, "no delivery" },
    { DOCUMENT_ACTIVE, DOCUMENT_DEAD, "no way on" },
    { DOCUMENT_DEAD, DOCUMENT_RECEIVED, "retry" },
    { DOCUMENT_DEAD, DOCUMENT_CANCELLED, "discard, or cancel" },
    { DOCUMENT_DEAD, DOCUMENT_SUPERSEDED, "edit" },
    { DOCUMENT_DELIVERED, DOCUMENT_RECEIVED, "retry --again" },
    { DOCUMENT_DONE, DOCUMENT_RECEIVED, "retry --again" },
    { DOCUMENT_CANCELLED, DOCUMENT_RECEIVED, "retry --again" },
};

enum { DOCUMENT_MOVES = sizeof document_moves / sizeof document_moves[0] };

/* Worst first: the first row that matches a delivery of the document gives its state. */
static const struct {
    enum document_state is;
    unsigned when; /* a set of delivery states, as bits */
} document_worst[] = {
    { DOCUMENT_IN_DOUBT, 1u << DELIVERY_IN_DOUBT },
    { DOCUMENT_DEAD, 1u << DELIVERY_DEAD },
    { DOCUMENT_RETRYING, 1u << DELIVERY_RETRYING },
    { DOCUMENT_HELD, 1u << DELIVERY_HELD },
    { DOCUMENT_ACTIVE, 1u << DELIVERY_READY | 1u << DELIVERY_SENDING },
    { DOCUMENT_DELIVERED, 1u << DELIVERY_DELIVERED },
    { DOCUMENT_CANCELLED, 1u << DELIVERY_CANCELLED },
};

enum { WORST = sizeof document_worst / sizeof document_worst[0] };

bool document_state_find(struct str word, enum document_state *ret)
{
    for (unsigned i = 0; i < DOCUMENT_STATES; i++)
        if (str_is(word, document_states[i])) {
            *ret = i;
            return true;
        }
    return false;
}

bool document_is_over(enum document_state s)
{
    return s == DOCUMENT_DELIVERED || s == DOCUMENT_DONE || s == DOCUMENT_CANCELLED ||
           s == DOCUMENT_SUPERSEDED;
}

enum document_state document_derive(const enum delivery_state *deliveries, size_t count)
{
    unsigned there = 0;

    for (size_t i = 0; i < count; i++) {
        require(deliveries[i] < DELIVERY_STATES);
        there |= 1u << deliveries[i];
    }
    for (size_t i = 0; i < WORST; i++)
        if ((there & document_worst[i].when) != 0)
            return document_worst[i].is;
    unreachable("a document without deliveries has a state of its own");
}

/* ---- dead letters, reasons to wait ---- */

const char *const dead_codes[DEAD_CODES + 1] = {
    [DEAD_EXTRACT_FAILED] = "extract_failed",
    [DEAD_UNKNOWN_SYSTEM] = "unknown_system",
    [DEAD_FORBIDDEN_SENDER] = "forbidden_sender",
    [DEAD_NO_ROUTE] = "no_route",
    [DEAD_LOOP] = "loop",
    [DEAD_SERVICE_FAILED] = "service_failed",
    [DEAD_BUDGET] = "budget",
    [DEAD_DECRYPT_FAILED] = "decrypt_failed",
    [DEAD_PAYLOAD_MISSING] = "payload_missing",
    [DEAD_PAYLOAD_CORRUPT] = "payload_corrupt",
    [DEAD_REJECTED] = "rejected",
    [DEAD_EXPIRED] = "expired",
    [DEAD_RETRIES_EXHAUSTED] = "retries_exhausted",
    [DEAD_POISON] = "poison",
    [DEAD_LIMIT] = "limit",
    [DEAD_RESTORED] = "restored",
    [DEAD_CODES] = NULL,
};

static const char *const dead_meanings[DEAD_CODES] = {
    [DEAD_EXTRACT_FAILED] = "sender, receiver or type is not where `extract` looks, or the bytes "
                            "are not what it expects",
    [DEAD_UNKNOWN_SYSTEM] = "the sender or receiver that was found is no system and no id of one",
    [DEAD_FORBIDDEN_SENDER] = "its sender is none of the systems that the key it came with is for",
    [DEAD_NO_ROUTE] = "no route takes this sender, receiver and type, or the type is not listed",
    [DEAD_LOOP] = "it came back to the router, or out of batches, too often",
    [DEAD_SERVICE_FAILED] = "a step could not work on these bytes",
    [DEAD_BUDGET] = "extraction or a step needed more time or memory than one document may use",
    [DEAD_DECRYPT_FAILED] =
        "it could not be decrypted, or its signature does not count: a wrong key, or damaged bytes",
    [DEAD_PAYLOAD_MISSING] = "its stored bytes are not there",
    [DEAD_PAYLOAD_CORRUPT] = "its stored bytes are not those that were received: nothing was sent",
    [DEAD_REJECTED] = "the receiver said that it will never take it",
    [DEAD_EXPIRED] = "`expires` of its route or type passed before it could be sent",
    [DEAD_RETRIES_EXHAUSTED] = "the receiver did not take it for as long as `retry` allows",
    [DEAD_POISON] = "the program ended three times while it worked on this one alone",
    [DEAD_LIMIT] = "it, or what a step made of it, is larger or more than allowed",
    [DEAD_RESTORED] =
        "it waited in a batch when the backup was taken that was restored, and may have "
        "been sent since",
};

static const struct {
    enum held_reason bit;
    const char *word, *meaning;
} held_reasons[] = {
    { HELD_HOLD, "hold", "a person holds the system (`waybill hold add`)" },
    { HELD_WINDOW, "window", "the delivery window of the system is closed" },
    { HELD_RATE, "rate", "the rate limit of the system is reached" },
    { HELD_ORDER, "order", "an earlier document goes first" },
    { HELD_BREAKER, "breaker",
      "the endpoint cannot be reached, gives no clear answer, refuses our credential, or rejects "
      "everything" },
    { HELD_PAUSE, "pause", "deliveries are paused, or the receiver asked for a pause" },
    { HELD_ENDPOINT, "endpoint", "the endpoint is not configured any more" },
    { HELD_RESTORE, "restore",
      "the store came out of a backup, and nobody has chosen yet (`waybill node release`)" },
    { HELD_THREADS, "threads",
      "calls to the endpoint hang in too many threads; it goes on when one of them returns" },
};

enum { HELD_REASONS = sizeof held_reasons / sizeof held_reasons[0] };

void held_reasons_print(unsigned reasons, struct buf *to)
{
    const char *between = "";

    for (size_t i = 0; i < HELD_REASONS; i++)
        if ((reasons & held_reasons[i].bit) != 0) {
            buf_puts(to, between);
            buf_puts(to, held_reasons[i].word);
            between = ", ";
        }
}

/* ---- the page ---- */

static void describe_meanings(struct buf *out, const char *head, const char *const *words,
                              const char *const *meanings, size_t count)
{
    buf_printf(out, "| %s | |\n| --- | --- |\n", head);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "| `%s` | %s |\n", words[i], meanings[i]);
    buf_puts(out, "\n");
}

static void describe_moves(struct buf *out, const char *const *words, const struct move *moves,
                           size_t count, const char *first, uint64_t last)
{
    buf_printf(out, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", first);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "    %s --> %s: %s\n", words[moves[i].from], words[moves[i].to],
                   moves[i].why);
    for (size_t i = 0; last >> i != 0; i++)
        if ((last >> i & 1) != 0)
            buf_printf(out, "    %s --> [*]\n", words[i]);
    buf_puts(out, "```\n\n");
}

static void describe_deliveries(struct buf *out)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < DELIVERY_STATES; i++)
        last |= (uint64_t)delivery_is_over(i) << i;
    buf_puts(out, "## Deliveries\n\n"
                  "One document on its way to one endpoint. It moves along the arrows below and "
                  "no other way.\n\n");
    describe_meanings(out, "state", delivery_states, delivery_meanings, DELIVERY_STATES);
    describe_moves(out, delivery_states, delivery_moves, DELIVERY_MOVES,
                   delivery_states[DELIVERY_READY], last);
    buf_puts(out, "A held delivery carries every reason that keeps it:\n\n"
                  "| reason | |\n| --- | --- |\n");
    for (size_t i = 0; i < HELD_REASONS; i++)
        buf_printf(out, "| `%s` | %s |\n", held_reasons[i].word, held_reasons[i].meaning);
    buf_puts(out, "\n");
}

static void describe_worst(struct buf *out)
{
    buf_puts(out, "Of a document with deliveries, the first line that one of them fits:\n\n"
                  "| a delivery is | the document is |\n| --- | --- |\n");
    for (size_t i = 0; i < WORST; i++) {
        const char *between = "";

        buf_puts(out, "| ");
        for (unsigned s = 0; s < DELIVERY_STATES; s++)
            if ((document_worst[i].when >> s & 1) != 0) {
                buf_printf(out, "%s`%s`", between, delivery_states[s]);
                between = ", ";
            }
        buf_printf(out, " | `%s` |\n", document_states[document_worst[i].is]);
    }
    buf_puts(out, "\n");
}

static void describe_documents(struct buf *out)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < DOCUMENT_STATES; i++)
        last |= (uint64_t)document_is_over(i) << i;
    buf_puts(out, "## Documents\n\n"
                  "The state of a document that has deliveries is theirs, worst first; before "
                  "and without them it has its own.\n\n");
    describe_meanings(out, "state", document_states, document_meanings, DOCUMENT_STATES);
    describe_worst(out);
    buf_puts(out, "Of a document without deliveries that wait:\n\n");
    describe_moves(out, document_states, document_moves, DOCUMENT_MOVES,
                   document_states[DOCUMENT_RECEIVED], last);
}

void state_describe(struct buf *out)
{
    buf_puts(out, "# States\n\n"
                  "Made from the tables of `src/core/state.c` by `state_describe()`; do not "
                  "edit.\n\n");
    describe_deliveries(out);
    describe_documents(out);
    buf_puts(out, "## Codes of dead letters\n\n"
                  "A dead letter keeps its bytes and waits for a person: `waybill dead ls` lists "
                  "them, `waybill docs retry` and\n`waybill dead retry` start them again, "
                  "`waybill dead discard` ends them.\n\n");
    describe_meanings(out, "code", dead_codes, dead_meanings, DEAD_CODES);
    out->len--; /* one newline ends the page */
    out->ptr[out->len] = '\0';
}
