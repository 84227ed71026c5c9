/* jq_program.h - compiles a jq program that reaches nothing but its document. */
#pragma once

#include <jq.h>

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* ERR_CONFIG: the text says what is wrong, and in which line and column. */
bool jq_program_compile(struct str filter, jq_state **ret, struct err *err);
