/* document_print.h - prints one document: its facts, its errors, and the remedy. */
#pragma once

#include <jansson.h>

/* The GraphQL fields that `docs show` and `docs trace` select. */
#define DOCUMENT_FIELDS                                      \
    "id gateway sender receiver type state size sha256 name" \
    " received updated error { code message }"
#define DOCUMENT_DELIVERIES                                                                   \
    " deliveries { id endpoint system state held heldWhy blockedBy attempts due status code " \
    "message name"                                                                            \
    " updated answer { time attempt status contentType size kept sha256 } }"
#define DOCUMENT_TIMELINE                                                                  \
    " timeline { time node stage what outcome duration attempt status config step message" \
    " bytes { stage size sha256 } }"

/* Prints state, facts, deliveries with their reasons, and the remedy of a dead letter. */
void document_print(const json_t *document);
/* Prints the timeline, one line per entry. */
void document_print_trace(const json_t *document);

/* What to do about a dead letter of this code; NULL: unknown code. */
const char *document_remedy(const char *code);
