/* test_case.h - one case of `waybill test`: what comes in, and what is expected.
 *
 *     NAME.in.EXT           the document
 *     NAME.out.EXT          what is delivered; or of several deliveries in their order
 *     NAME.out.1.EXT ...
 *     NAME.answer.EXT       what a service answers that a step asks; or of several questions, in
 *     NAME.answer.1.EXT ... their order
 *     NAME.facts.yaml       how it comes in, and what becomes of it (docs/testing-a-transform.md)
 *
 * Ownership: everything is on the arena of the case, but the names of files, which are lent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/problem.h"
#include "core/yaml.h"

struct test_names {
    char **list; /* sorted names of a folder's files */
    size_t count;
};

bool test_names_read(const char *folder, struct test_names *ret, struct err *err);
void test_names_done(struct test_names *n);

struct test_file {
    const char *file;
    struct str bytes;
};

/* In the order of their numbers. */
struct test_files {
    struct test_file *list;
    size_t count;
};

struct test_case {
    struct arena arena;
    struct str name;
    const char *file;
    struct str bytes;
    struct test_files outs, answers;
    const char *facts_file;
    const struct yaml_node *facts; /* NULL: there is none */
    struct problem_list problems;  /* of the facts */
};

/* True: the file is the `in` of a case, of this name. */
bool test_case_is(const char *file, struct str *ret_name);
/* Reads the files of the case in folder `dirfd`.  ERR_CONFIG: they do not fit together.  Problems
 * of its facts are in c->problems.  test_case_done() is needed after a failure, too. */
bool test_case_read(struct test_case *c, int dirfd, const struct test_names *names,
                    const char *file, struct err *err);
void test_case_done(struct test_case *c);
/* The name of the file of delivery `at` of so many, for those that are to be written. */
const char *test_case_out_file(struct test_case *c, size_t at, size_t count);
