/* document_print.h - one document for people: what is known, what is wrong, what helps. */
#pragma once

#include <jansson.h>

/* What `docs show` and `docs trace` ask for, as GraphQL. */
#define DOCUMENT_FIELDS                                      \
    "id gateway sender receiver type state size sha256 name" \
    " received updated error { code message }"
#define DOCUMENT_DELIVERIES                                                                       \
    " deliveries { id endpoint system state held blockedBy attempts due status code message name" \
    " updated }"
#define DOCUMENT_TIMELINE                                                             \
    " timeline { time node stage what outcome duration attempt status config message" \
    " bytes { stage size sha256 } }"

/* State, facts, deliveries with their reasons, and the remedy of a dead letter. */
void document_print(const json_t *document);
/* The timeline, one line each. */
void document_print_trace(const json_t *document);

/* What helps against a dead letter of this code; NULL: nothing is known. */
const char *document_remedy(const char *code);
