/* lex.h - GraphQL text to tokens, one at a time.
 *
 * Source is UTF-8.  Names have a maximal length, and so has every text that is built from them.
 * A string's value may not contain NUL; the JSON that we read may not either.
 *
 * Ownership      tokens lend from the source; decoded strings live in the arena
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { GRAPHQL_NAME_MAX = 128, GRAPHQL_NUMBER_MAX = 64 };

/* A punctuator's kind is its character. */
enum {
    GRAPHQL_TOKEN_END = 0,
    GRAPHQL_TOKEN_NAME = 256,
    GRAPHQL_TOKEN_INT,
    GRAPHQL_TOKEN_FLOAT,
    GRAPHQL_TOKEN_STRING,
    GRAPHQL_TOKEN_SPREAD,
};

struct graphql_token {
    int kind;
    size_t at, end;  /* in the source                                 */
    struct str text; /* as written; the decoded value of a string */
};

struct graphql_lex {
    struct str source;
    struct arena *arena;
    size_t at;               /* where the search for the next token begins */
    size_t count, count_max; /* tokens so far, and their limit               */
    size_t fault;            /* where the source is wrong, after a failure   */
    size_t last_end;         /* where the token before the present one ended */
    struct graphql_token token;
};

/* Checks the encoding and reads the first token. */
bool graphql_lex_init(struct graphql_lex *lex, struct str source, size_t tokens_max,
                      struct arena *arena, struct err *err);

/* Reads the next token into lex->token. */
bool graphql_lex_next(struct graphql_lex *lex, struct err *err);

/* Line and column, from 1; a column is a character. */
void graphql_lex_place(struct str source, size_t at, size_t *ret_line, size_t *ret_column);
