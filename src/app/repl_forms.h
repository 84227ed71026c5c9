/* repl_forms.h - those forms of `waybill repl` that take more than one question.
 *
 * Threads: the main thread.
 */
#pragma once

#include "app/args.h"

extern const struct arg_option repl_change_options[], repl_verify_options[], repl_diff_options[],
    repl_digest_options[];

int repl_run_plan(const struct args *a);
int repl_run_install(const struct args *a);
int repl_run_remove(const struct args *a);
int repl_run_verify(const struct args *a);
int repl_run_diff(const struct args *a);
int repl_run_digest(const struct args *a);
