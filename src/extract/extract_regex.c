#include "extract/extract_regex.h"

struct answer extract_regex_run(const struct regex *regex, struct str text, bool whole,
                                struct arena *a)
{
    struct answer answer = { .at = ANSWER_NOWHERE };
    struct regex_search s;

    regex_search_init(&s, regex, text);
    enum regex_found found = regex_next(&s);

    /* At a cut the text may go on: `$` and `\b` do not mark an end there, and a number may be
     * longer. */
    bool at_cut = found == REGEX_FOUND && !whole && s.at == text.len;

    if (found == REGEX_FOUND && !at_cut) {
        struct str value = regex_group(&s, 0);
        unsigned groups = regex_groups(regex);

        for (unsigned i = groups; i > 0; i--)
            if (regex_group(&s, i).ptr != NULL)
                value = regex_group(&s, i);
        answer = answer_make(value, value.ptr - s.text.ptr, a);
    } else if (found == REGEX_OVER) {
        answer.kind = ANSWER_OVER;
        answer.why = "the search was given up: the regular expression takes too long on this text";
    } else if (!whole)
        answer.kind = ANSWER_CUT;
    regex_search_done(&s);
    return answer;
}
