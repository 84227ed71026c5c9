/* schema_say.c - the message about a rule that is broken.  It has places and rules in it, not the
 * values of the document: who reads messages may not be allowed to read payloads. */
#include "base/auto.h"
#include "core/verdict.h"
#include "service/schema/schema_walk.h"

enum { POINTER_SHOWN = 150, VALUE_SHOWN = 40 };

static const struct {
    const char *text;
    bool has_value; /* the value of the keyword follows, if it is short */
} broken_words[WORD_COUNT] = {
    [WORD_TYPE] = { "it is not of the type", true },
    [WORD_CONST] = { "it is not the constant", true },
    [WORD_ENUM] = { "it is none of the values of `enum`", false },
    [WORD_MINIMUM] = { "it is less than", true },
    [WORD_EXCLUSIVE_MINIMUM] = { "it is not greater than", true },
    [WORD_MAXIMUM] = { "it is greater than", true },
    [WORD_EXCLUSIVE_MAXIMUM] = { "it is not less than", true },
    [WORD_MULTIPLE_OF] = { "it is not a multiple of", true },
    [WORD_MIN_LENGTH] = { "it is shorter than", true },
    [WORD_MAX_LENGTH] = { "it is longer than", true },
    [WORD_PATTERN] = { "it does not match the pattern", true },
    [WORD_MIN_ITEMS] = { "its items are fewer than", true },
    [WORD_MAX_ITEMS] = { "its items are more than", true },
    [WORD_UNIQUE_ITEMS] = { "an item is there twice", false },
    [WORD_MIN_PROPERTIES] = { "its members are fewer than", true },
    [WORD_MAX_PROPERTIES] = { "its members are more than", true },
    [WORD_REQUIRED] = { "a member is missing:", false },
    [WORD_DEPENDENT_REQUIRED] = { "a member is missing beside another one:", false },
    [WORD_ANY_OF] = { "it fits none of `anyOf`", false },
    [WORD_ONE_OF] = { "of `oneOf` it fits", false },
    [WORD_NOT] = { "it fits what it must not", false },
    [WORD_CONTAINS] = { "too few or too many of its items fit `contains`", false },
};

static void schema_say_rule(const struct schema_walk *w, struct buf *to)
{
    const struct json_tree *t = &w->s->tree;
    enum schema_word word = w->broken.rule->word;
    struct str value = json_tree_raw(t, w->broken.rule->node);

    buf_puts(to, broken_words[word].text != NULL ? broken_words[word].text : "it is not allowed");
    if (broken_words[word].has_value && value.len > 1 && value.len <= VALUE_SHOWN)
        buf_printf(to, " %.*s", STR_ARG(value));
    else if (broken_words[word].has_value && t->nodes[w->broken.rule->node].kind == TREE_NUMBER)
        buf_printf(to, " %.*s", STR_ARG(str_first(value, VALUE_SHOWN)));
    if (word == WORD_REQUIRED || word == WORD_DEPENDENT_REQUIRED) {
        struct str name = str_first(json_tree_text(t, w->broken.detail), VALUE_SHOWN);

        if (!str_has_control(name))
            buf_printf(to, " `%.*s`", STR_ARG(name));
    }
    if (word == WORD_ONE_OF)
        buf_puts(to, w->broken.detail == 0 ? " none" : " more than one");
}

bool schema_say(const struct schema_walk *w, struct service_failure *ret_failure)
{
    AUTO(buf_done) struct buf line = BUF_INIT(VERDICT_MESSAGE_MOST * 2);
    const struct json_tree *t = &w->s->tree;
    uint32_t rule = w->broken.rule != NULL ? w->broken.rule->node : w->s->subs[w->broken.sub].node;
    size_t start = 0;

    json_tree_pointer(&w->doc, w->broken.node, POINTER_SHOWN, &line);
    if (line.len == start)
        buf_puts(&line, "the document");
    buf_printf(&line, ", line %zu: ", json_tree_line(&w->doc, w->broken.node));
    if (w->broken.node == w->doc.count)
        buf_puts(&line, "its name: ");
    if (w->broken.rule == NULL)
        buf_puts(&line, "it is not allowed");
    else
        schema_say_rule(w, &line);
    buf_puts(&line, " (rule ");
    start = line.len;
    json_tree_pointer(t, rule, POINTER_SHOWN, &line);
    buf_puts(&line, line.len == start ? "/)" : ")");
    return service_fail(ret_failure, DEAD_SERVICE_FAILED, "%s", line.ptr);
}
