#include "service/script/jq_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/buf.h"
#include "core/service.h"
#include "service/script/results.h"

enum { JQ_PROGRAM_MOST = 1 << 20, JQ_MESSAGE_MOST = 4096 };

/* Shadows what reaches out of the program; the builtin `input` gives what is known of the document
 * (jq.c).  It is one line, so that the lines of the filter keep their numbers.  A directive such as
 * `import` must be the first thing in a program: behind this it is a syntax error. */
static const char prelude[] =
    "def document: input; def now: input | .received; "
    "def input: error(\"there is one document, which is `.`\"); def inputs: empty; "
    "def input_filename: null; def input_line_number: 0; "
    "def env: {}; def stderr: .; def get_search_list: []; "
    "def modulemeta: error(\"there are no modules\"); "
    "def localtime: gmtime; def strflocaltime(f): strftime(f); "
    "{} as $ENV | ";

/* Keeps the first message; the next one only counts them. */
static void jq_keep_message(void *arg, jv message)
{
    struct buf *to = arg;
    jv text = jq_format_error(message);
    struct err err;

    if (to->len == 0 &&
        !buf_append(to, str_first(str_of(jv_string_value(text)), JQ_MESSAGE_MOST), &err))
        buf_clear(to);
    jv_free(text);
}

static bool jq_compile_part(struct str filter, jq_state **ret, struct buf *message)
{
    AUTO(buf_done) struct buf program = BUF_INIT(sizeof prelude + JQ_PROGRAM_MOST);
    jq_state *state = jq_init();

    buf_clear(message);
    buf_puts(&program, prelude);
    buf_put(&program, filter);
    jq_set_error_cb(state, jq_keep_message, message);
    bool ok = jq_compile(state, program.ptr) != 0;

    jq_set_error_cb(state, NULL, NULL);
    if (ok && ret != NULL)
        *ret = state;
    else
        jq_teardown(&state);
    return ok;
}

/* ---- where a mistake is ---- */

/* The message of a syntax error that is not "the program ends too early". */
static bool jq_is_misplaced(const struct buf *message)
{
    return strstr(message->ptr, "syntax error") != NULL &&
           strstr(message->ptr, "unexpected $end") == NULL &&
           strstr(message->ptr, "unexpected end of file") == NULL;
}

static bool jq_is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The compiler tells the line only.  A part of the filter from its start, that ends before the
 * first wrong token, is only too short: halving finds the shortest one that is wrong.  A keyword is
 * wrong at its last letter. */
static size_t jq_find_wrong(struct str filter)
{
    AUTO(buf_done) struct buf message = BUF_INIT(JQ_MESSAGE_MOST);
    size_t good = 0, bad = filter.len;

    while (good + 1 < bad) {
        size_t half = good + (bad - good) / 2;
        bool ok = jq_compile_part(str_mem(filter.ptr, half), NULL, &message);

        if (!ok && jq_is_misplaced(&message))
            bad = half;
        else
            good = half;
    }
    size_t at = bad == 0 ? 0 : bad - 1;

    while (at > 0 && jq_is_of_word(filter.ptr[at]) && jq_is_of_word(filter.ptr[at - 1]))
        at--;
    return at;
}

/* Where the word of "NAME/1 is not defined" stands in its line; the start of the line when it is
 * not found. */
static size_t jq_find_name(struct str filter, size_t line_start, struct str what)
{
    size_t len = strcspn(what.ptr, "/ ");
    const char *found = memmem(filter.ptr + line_start, filter.len - line_start, what.ptr, len);

    return found != NULL ? (size_t)(found - filter.ptr) : line_start;
}

static size_t jq_line_start(struct str filter, long line)
{
    size_t at = 0;

    while (--line > 0) {
        const char *end = memchr(filter.ptr + at, '\n', filter.len - at);

        if (end == NULL)
            break;
        at = (size_t)(end - filter.ptr) + 1;
    }
    return at;
}

static size_t jq_find_mistake(struct str filter, const struct buf *message, struct str what,
                              long line)
{
    if (jq_is_misplaced(message))
        return jq_find_wrong(filter);
    if (strstr(message->ptr, "syntax error") != NULL)
        return filter.len;
    return jq_find_name(filter, jq_line_start(filter, line), what);
}

/* "jq: error: WHAT (Unix shell quoting issues?) at <top-level>, line 3:" and lines of the program.
 */
static bool jq_say_mistake(struct str filter, const struct buf *message, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(JQ_MESSAGE_MOST);
    struct str what = buf_view(message);
    const char *at = strstr(message->ptr, " at <top-level>, line "), *hint;
    long number = at != NULL ? strtol(at + sizeof " at <top-level>, line " - 1, NULL, 10) : 1;

    if (str_starts(what, STR("jq: error: ")))
        what = str_from(what, sizeof "jq: error: " - 1);
    size_t place = jq_find_mistake(filter, message, what, number);
    size_t row = 1, start = 0;

    for (size_t i = 0; i < place; i++)
        if (filter.ptr[i] == '\n') {
            row++;
            start = i + 1;
        }
    hint = strstr(what.ptr, " (Unix shell");
    if (hint != NULL || at != NULL)
        what.len = (size_t)((hint != NULL ? hint : at) - what.ptr);
    script_line(&line, what);
    return err_set(err, ERR_CONFIG, 0, "line %zu, column %zu: %.120s", row, place - start + 1,
                   line.ptr);
}

bool jq_program_compile(struct str filter, jq_state **ret, struct err *err)
{
    AUTO(buf_done) struct buf message = BUF_INIT(JQ_MESSAGE_MOST);

    if (filter.len > JQ_PROGRAM_MOST)
        return err_set(err, ERR_CONFIG, 0, "it is longer than %d bytes", JQ_PROGRAM_MOST);
    if (jq_compile_part(filter, ret, &message))
        return true;
    return jq_say_mistake(filter, &message, err);
}
