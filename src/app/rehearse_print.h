/* rehearse_print.h - prints the result of a rehearsal: each document, and a summary.
 *
 * The summary counts how many documents differ in which way, and how often each change ("route
 * a -> b") occurs.  The number of different changes is limited; further ones are counted together.
 *
 * Ownership: the summary owns its JSON values.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The GraphQL fields that are selected of a RehearsedDocument. */
#define REHEARSE_WAY                                                \
    "{ config sender receiver type attributes { name value } route" \
    " deliveries { endpoint system } message error { code message } }"
#define REHEARSE_FIELDS                                                       \
    "id gateway name received kinds was " REHEARSE_WAY " would " REHEARSE_WAY \
    " payloads { endpoint system wasSize wouldSize diff cut } redefined"

struct rehearse_sum {
    int64_t looked, different, left;
    json_t *kinds;   /* kind of difference: number of documents */
    json_t *changes; /* "route a -> b": number of documents */
    json_t *first;   /* the first documents that could not be rehearsed: { id message } */
    int64_t others;  /* changes that are not in `changes`, which is full */
};

void rehearse_sum_init(struct rehearse_sum *s);
void rehearse_sum_done(struct rehearse_sum *s);

/* Counts one document, and prints it unless `quiet`. */
void rehearse_print(const json_t *document, struct rehearse_sum *s, bool quiet);
void rehearse_sum_print(const struct rehearse_sum *s);
json_t *rehearse_sum_json(const struct rehearse_sum *s);
