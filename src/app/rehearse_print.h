/* rehearse_print.h - what a rehearsal found, for people: document by document, and in sum.
 *
 * The sum counts how many documents differ in which way, and what becomes what how often,
 * up to a number of such changes; what is beyond it is counted together.
 *
 * Ownership: the sum owns what it has counted.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What is asked for of one document (RehearsedDocument), as GraphQL. */
#define REHEARSE_WAY                                                \
    "{ config sender receiver type attributes { name value } route" \
    " deliveries { endpoint system } message error { code message } }"
#define REHEARSE_FIELDS                                                       \
    "id gateway name received kinds was " REHEARSE_WAY " would " REHEARSE_WAY \
    " payloads { endpoint system wasSize wouldSize diff cut } redefined"

struct rehearse_sum {
    int64_t looked, different, left;
    json_t *kinds;   /* word: documents */
    json_t *changes; /* "route a -> b": documents */
    json_t *first;   /* of those that were left: { id message } */
    int64_t others;  /* changes beyond those that are counted */
};

void rehearse_sum_init(struct rehearse_sum *s);
void rehearse_sum_done(struct rehearse_sum *s);

/* Count one document, and print it unless `quiet`. */
void rehearse_print(const json_t *document, struct rehearse_sum *s, bool quiet);
void rehearse_sum_print(const struct rehearse_sum *s);
json_t *rehearse_sum_json(const struct rehearse_sum *s);
