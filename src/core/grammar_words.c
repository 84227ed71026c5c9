/* grammar_words.c - words that several tables of the grammar have. */
#include "core/grammar.h"

const char *const grammar_areas[] = { "localhost", "internal", "dmz", "external", NULL };

const char *const grammar_never[] = { "never", NULL };

const char *const grammar_standards[] = { "hl7", "x12", "edifact", NULL };
