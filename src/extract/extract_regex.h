/* extract_regex.h - a regular expression over the body, or over the name of a file. */
#pragma once

#include "core/regex.h"
#include "extract/answer.h"

/* The first group that participated in the first match; without groups, the match. */
struct answer extract_regex_run(const struct regex *regex, struct str text, bool whole,
                                struct arena *a);
