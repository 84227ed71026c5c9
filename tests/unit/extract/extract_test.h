/* extract_test.h - ask a document, and read the answer as one line of text. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "extract/extract.h"
#include "test.h"

/* An extractor out of YAML: `{ sender: "json:/a" }`.  NULL, and *err, when it is refused. */
__attribute__((unused)) static struct extractor *extractor_of(const char *yaml, bool relative,
                                                              struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(YAML_ARENA);
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    struct yaml_node *node = yaml_load(str_of(yaml), &a, &problems);
    struct extractor *x = NULL;

    *err = (struct err){ 0 };
    if (node == NULL || problems.count > 0) {
        (void)err_set(err, ERR_CONFIG, 0, "not YAML: %s", yaml);
        return NULL;
    }
    return extractor_compile(node, relative, &x, err) ? x : NULL;
}

static char asked_text[4096];

/* "sender|receiver|type name=value ..." of what was found, "-" for what was not asked; a
 * failure as "extract_failed: message" or "budget: message". */
__attribute__((unused)) static const char *asked(const struct extractor *x,
                                                 const struct extract_source *source)
{
    AUTO(arena_done) struct arena a = ARENA_INIT((size_t)4 << 20);
    struct extract_failure failure = { 0 };
    struct facts f = { 0 };
    size_t n;

    if (x == NULL)
        return "not compiled";
    if (!extract_run(x, source, &a, &f, &failure)) {
        (void)snprintf(asked_text, sizeof asked_text, "%s: %s",
                       failure.code == DEAD_BUDGET           ? "budget"
                       : failure.code == DEAD_EXTRACT_FAILED ? "extract_failed"
                                                             : "?",
                       failure.message);
        return asked_text;
    }
    struct str fields[] = { f.sender, f.receiver, f.type };

    n = 0;
    for (size_t i = 0; i < 3; i++) {
        struct str s = fields[i].ptr != NULL ? fields[i] : STR("-");

        n += (size_t)snprintf(asked_text + n, sizeof asked_text - n, "%s%.*s", i > 0 ? "|" : "",
                              STR_ARG(s));
    }
    for (size_t i = 0; i < f.attribute_count && n < sizeof asked_text; i++)
        n += (size_t)snprintf(asked_text + n, sizeof asked_text - n, " %.*s=%.*s",
                              STR_ARG(f.attributes[i].name), STR_ARG(f.attributes[i].value));
    return asked_text;
}

/* One expression, as sender, of one body; without the rest of the line. */
__attribute__((unused)) static const char *asked_one(const char *expression, struct str body,
                                                     bool whole, bool relative)
{
    AUTO_TEXT yaml = malloc(strlen(expression) + 64);
    struct err err;

    if (yaml == NULL)
        return "no memory";
    (void)snprintf(yaml, strlen(expression) + 64, "sender: |-\n  %s\n", expression);
    struct extractor *x = extractor_of(yaml, relative, &err);

    if (x == NULL)
        return "not compiled";
    const char *got = asked(x, &(struct extract_source){ .body = body, .whole = whole });
    char *end = strstr(asked_text, "|-|-");

    if (end != NULL)
        *end = '\0';
    extractor_free(x);
    return got;
}

struct asked_case {
    const char *expression, *body, *want; /* want: a failure is found by a part of it */
};

__attribute__((unused)) static bool asked_all(const struct asked_case *cases, size_t count,
                                              bool relative)
{
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        const char *got = asked_one(cases[i].expression, str_of(cases[i].body), true, relative);
        bool failed = strstr(got, "no sender: ") != NULL || strstr(got, "sender: `") != NULL;
        bool same = failed ? strstr(got, cases[i].want) != NULL && cases[i].want[0] != '\0'
                           : strcmp(got, cases[i].want) == 0;

        if (!same)
            printf("# %s of %.60s: %s\n", cases[i].expression, cases[i].body, got);
        ok = ok && same;
    }
    return ok;
}

#define ASKED_ALL(cases, relative) asked_all((cases), sizeof(cases) / sizeof(cases)[0], (relative))

/* `n` times a piece, between two ends; free() it. */
__attribute__((unused)) static char *repeated(const char *head, const char *piece, size_t n,
                                              const char *tail)
{
    size_t len = strlen(piece), at = strlen(head);
    char *text = malloc(at + len * n + strlen(tail) + 1);

    if (text == NULL)
        abort();
    memcpy(text, head, at);
    for (size_t i = 0; i < n; i++, at += len)
        memcpy(text + at, piece, len);
    memcpy(text + at, tail, strlen(tail) + 1);
    return text;
}
