/* fuzz_regex.c - any pattern on any text: a search ends, and what it finds lies in the text.
 *
 * Input: the pattern, a line feed, the text. */
#include <stdint.h>

#include "base/require.h"
#include "core/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct str pattern, text = str_cut(str_mem(bytes, size), '\n', &pattern);
    struct regex_search s;
    struct regex *r;
    struct err err = { 0 };
    size_t found = 0;

    if (!regex_compile(pattern, &r, &err)) {
        require(err.kind == ERR_CONFIG && err.text[0] != '\0');
        return 0;
    }
    regex_search_init(&s, r, text);
    while (regex_next(&s) == REGEX_FOUND) {
        /* At each place at most one empty match and one that is not. */
        require(++found <= 2 * text.len + 1);
        for (unsigned g = 0; g <= regex_groups(r) + 1; g++) {
            struct str group = regex_group(&s, g);

            require(group.ptr == NULL ||
                    (group.ptr >= text.ptr && group.ptr + group.len <= text.ptr + text.len));
            require(group.ptr == NULL || str_is_utf8(group)); /* other bytes never match */
        }
    }
    regex_search_done(&s);
    regex_free(r);
    return 0;
}
