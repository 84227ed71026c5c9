#include "job/words.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/problem.h"
#include "core/yaml.h"

/* The words, ${state} last. */
static const char *const words_all[] = { "job", "run", "nominal", "state", NULL };

/* The word of a reference at the start of the text; empty: there is none that is ours to fill in.
 */
static struct str word_at(struct str text)
{
    struct str word = { 0 };

    if (!str_starts(text, STR("${")) || str_find(text, '}') < 0)
        return word;
    (void)str_cut(str_from(text, 2), '}', &word);
    return str_find(word, ':') >= 0 ? (struct str){ 0 } : word;
}

static bool word_is_ours(struct str word, enum words_of of)
{
    for (size_t i = 0; words_all[i] != NULL; i++)
        if (str_is(word, words_all[i]))
            return of == WORDS_STATE || words_all[i + 1] != NULL;
    return false;
}

void words_check(const struct yaml_node *value, enum words_of of, struct problem_list *problems)
{
    struct str text = yaml_text(value);

    for (; text.len > 0; text = str_from(text, 1)) {
        struct str word = word_at(text);
        char name[PROBLEM_QUOTE];

        if (word.len > 0 && !word_is_ours(word, of))
            problem_add(problems, value->place,
                        of == WORDS_STATE ? "allowed: job, run, nominal, state"
                                          : "allowed: job, run, nominal",
                        "a job does not have the word `%s`", problem_quote(name, word));
    }
}

bool words_fill(const struct job_io *io, struct str text, struct arena *a, struct str *ret)
{
    AUTO(buf_done) struct buf to = BUF_INIT(WORDS_MOST);
    char nominal[CLOCK_TEXT];
    struct err err = { 0 };
    const struct str values[] = { io->job, io->run, str_of(clock_utc_text(io->nominal_us, nominal)),
                                  io->state };

    while (text.len > 0) {
        struct str word = word_at(text), piece = { text.ptr, 1 };

        for (size_t i = 0; words_all[i] != NULL && word.len > 0; i++)
            if (str_is(word, words_all[i]))
                piece = values[i];
        bool filled = piece.ptr != text.ptr;

        if (!buf_append(&to, piece, &err))
            return false;
        text = str_from(text, filled ? word.len + 3 : 1);
    }
    *ret = arena_copy(a, buf_view(&to));
    return true;
}
