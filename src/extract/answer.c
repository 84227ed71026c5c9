#include "extract/answer.h"

#include "core/facts.h"

static bool answer_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct answer answer_make(struct str value, ptrdiff_t at, struct arena *a)
{
    struct answer answer = { .kind = ANSWER_UNFIT, .at = at };
    bool beyond = false;

    for (; value.len > 0 && answer_is_blank(value.ptr[0]); value.len--)
        value.ptr++;
    while (value.len > 0 && answer_is_blank(value.ptr[value.len - 1]))
        value.len--;
    if (value.len == 0) {
        answer.kind = ANSWER_NOTHING;
        answer.why = "is empty";
        return answer;
    }
    if (value.len > FACTS_VALUE_MOST) {
        answer.why = "is too long";
        return answer;
    }
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        beyond = beyond || c >= 0x80;
        if (c < ' ' || c == 0x7f) {
            answer.why = "has control characters";
            return answer;
        }
    }
    if (beyond && !str_is_utf8(value)) {
        answer.why = "is not UTF-8";
        return answer;
    }
    answer.kind = ANSWER_FOUND;
    answer.value = arena_copy(a, value);
    return answer;
}

void answer_rest(struct answer *answers, size_t count, struct answer with)
{
    for (size_t i = 0; i < count; i++)
        if (answers[i].kind == ANSWER_ASKED)
            answers[i] = with;
}
