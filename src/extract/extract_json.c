/* extract_json.c - answers all JSON pointers in one pass, without building a tree of the document
 * and without recursion.  The pointers are merged into a tree of tokens; the pass descends in both
 * at once, and parts of the document that no pointer leads to are only validated. */
#include "extract/extract_json.h"

#include "core/facts.h"
#include "core/json_scan.h"
#include "core/json_text.h"

/* A token of the pointers.  Index 0 is reserved for "no pointer leads here". */
struct token {
    struct str text;    /* without ~ escapes */
    int64_t index;      /* as an array index; -1: not a number */
    size_t child, next; /* first child, next sibling */
    ptrdiff_t answer;   /* the pointer that ends here; -1: none */
};

struct extract_json {
    struct token *tokens;
    size_t count, answers;
};

enum { ROOT = 1 };

/* ---- the pointers ---- */

static size_t token_under(struct extract_json *plan, size_t parent, struct str text)
{
    struct token *tokens = plan->tokens;
    size_t i = tokens[parent].child;

    while (i != 0 && !str_eq(tokens[i].text, text))
        i = tokens[i].next;
    if (i != 0)
        return i;
    i = plan->count++;
    tokens[i] = (struct token){
        .text = text, .index = json_pointer_index(text), .next = tokens[parent].child, .answer = -1
    };
    tokens[parent].child = i;
    return i;
}

struct extract_json *extract_json_new(const struct str *pointers, size_t count, struct arena *a)
{
    struct extract_json *plan = ARENA_NEW(a, struct extract_json);
    size_t most = 2;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < pointers[i].len; k++)
            most += pointers[i].ptr[k] == '/';
    plan->tokens = ARENA_ARRAY(a, struct token, most);
    plan->tokens[ROOT].answer = -1;
    plan->count = 2;
    plan->answers = count;
    for (size_t i = 0; i < count; i++) {
        struct str token, rest = str_from(pointers[i], 1);
        size_t at = ROOT;

        for (bool more = pointers[i].len > 0; more;) {
            more = str_find(rest, '/') >= 0;
            rest = str_cut(rest, '/', &token);
            at = token_under(plan, at, json_pointer_token(token, a));
        }
        plan->tokens[at].answer = (ptrdiff_t)i;
    }
    return plan;
}

/* ---- the pass ---- */

struct level {
    size_t token;  /* of this object or array; 0: none */
    int64_t index; /* of the current value; -1: this is an object */
};

struct pass {
    const struct extract_json *plan;
    struct json_scan scan;
    struct arena *arena;
    struct answer *answers;
    size_t open; /* unanswered questions */
    struct level levels[EXTRACT_DEPTH_MOST];
};

struct text {
    struct str raw; /* between the quotes */
    bool escapes;
};

/* ---- texts ---- */

static struct answer answer_text(const struct text *t, ptrdiff_t at, struct arena *a)
{
    enum { MOST = 16 * FACTS_VALUE_MOST }; /* no valid value has more escaped bytes */
    size_t n = 0;

    if (!t->escapes)
        return answer_make(t->raw, at, a);
    if (t->raw.len > MOST)
        return (struct answer){ .kind = ANSWER_UNFIT, .why = "is too long", .at = at };
    char *text = arena_alloc(a, t->raw.len);

    for (size_t i = 0; i < t->raw.len;) {
        if (t->raw.ptr[i] != '\\') {
            text[n++] = t->raw.ptr[i++];
            continue;
        }
        char piece[4];
        size_t len = json_scan_unescape(t->raw, &i, piece);

        if (len == 0)
            return (struct answer){ .kind = ANSWER_UNFIT,
                                    .why = "has half of a pair of surrogates",
                                    .at = at };
        memcpy(text + n, piece, len);
        n += len;
    }
    return answer_make(str_mem(text, n), at, a);
}

/* ---- descending ---- */

/* The answer of the pointer that ends here, if it is asked; else NULL. */
static struct answer *extract_json_asked(struct pass *p, size_t token)
{
    ptrdiff_t i = token != 0 ? p->plan->tokens[token].answer : -1;

    return i >= 0 && p->answers[i].kind == ANSWER_ASKED ? &p->answers[i] : NULL;
}

static void extract_json_give(struct pass *p, struct answer *to, struct answer answer)
{
    *to = answer;
    p->open--;
}

static size_t token_of_key(const struct pass *p, size_t parent, const struct text *key)
{
    const struct token *tokens = p->plan->tokens;
    size_t i = parent != 0 ? tokens[parent].child : 0;

    while (i != 0 && !json_text_is(key->raw, key->escapes, tokens[i].text))
        i = tokens[i].next;
    return i;
}

static size_t token_of_index(const struct pass *p, const struct level *level)
{
    const struct token *tokens = p->plan->tokens;
    size_t i = level->token != 0 ? tokens[level->token].child : 0;

    while (i != 0 && tokens[i].index != level->index)
        i = tokens[i].next;
    return i;
}

/* The token of the value that begins or ends now; `key`: the token of the last member name. */
static size_t token_of_value(const struct pass *p, size_t depth, size_t key)
{
    if (depth == 0)
        return ROOT;
    return p->levels[depth - 1].index < 0 ? key : token_of_index(p, &p->levels[depth - 1]);
}

/* False: the nesting is too deep. */
static bool extract_json_open_level(struct pass *p, size_t token)
{
    bool object = json_scan_in_object(&p->scan);
    struct answer *to = extract_json_asked(p, token);
    ptrdiff_t at = (ptrdiff_t)json_scan_at(&p->scan) - 1;

    if (to != NULL)
        extract_json_give(
            p, to,
            (struct answer){ .why = object ? "is an object, not a value" : "is a list, not a value",
                             .at = at });
    if (p->scan.depth > EXTRACT_DEPTH_MOST)
        return false;
    p->levels[p->scan.depth - 1] = (struct level){ .token = token, .index = object ? -1 : 0 };
    return true;
}

static void give_value(struct pass *p, enum json_event e, size_t token)
{
    struct answer *to = extract_json_asked(p, token);
    struct text text = { p->scan.text, p->scan.escapes };
    ptrdiff_t at = p->scan.from - p->scan.piece;

    if (to == NULL)
        return;
    if (e == JSON_TEXT)
        extract_json_give(p, to, answer_text(&text, at, p->arena));
    else if (text.raw.ptr[0] == 'n')
        extract_json_give(p, to, (struct answer){ .why = "is null", .at = at });
    else
        extract_json_give(p, to, answer_make(text.raw, at, p->arena));
}

/* Advances the index of the enclosing array. */
static void extract_json_value_ended(struct pass *p)
{
    if (p->scan.depth > 0 && p->levels[p->scan.depth - 1].index >= 0)
        p->levels[p->scan.depth - 1].index++;
}

/* Scans until all is answered; else returns the event that ended it (JSON_OPEN: too deep). */
static enum json_event extract_json_pass_all(struct pass *p)
{
    enum json_event e = JSON_MORE;
    size_t key = 0;

    while (p->open > 0 && (e = json_scan_next(&p->scan)) > JSON_END) {
        size_t depth = p->scan.depth;

        if (e == JSON_OPEN && !extract_json_open_level(p, token_of_value(p, depth - 1, key)))
            return e;
        if (e == JSON_KEY)
            key = token_of_key(p, p->levels[depth - 1].token,
                               &(struct text){ p->scan.text, p->scan.escapes });
        if (e == JSON_TEXT || e == JSON_SCALAR)
            give_value(p, e, token_of_value(p, depth, key));
        if (e != JSON_OPEN && e != JSON_KEY)
            extract_json_value_ended(p);
    }
    return e;
}

void extract_json_run(const struct extract_json *plan, struct str body, bool whole, struct arena *a,
                      struct answer *answers)
{
    struct pass p; /* not zeroed: levels are written before they are read */
    struct answer rest = { .at = ANSWER_NOWHERE };

    p.plan = plan;
    p.arena = a;
    p.answers = answers;
    p.open = 0;
    p.scan = (struct json_scan){ 0 };
    json_scan_give(&p.scan, body, whole);
    if (str_starts(body, STR("\xef\xbb\xbf")))
        p.scan.at += 3;
    for (size_t i = 0; i < plan->answers; i++)
        p.open += answers[i].kind == ANSWER_ASKED;
    enum json_event e = extract_json_pass_all(&p);

    if (e == JSON_WRONG || e == JSON_OPEN || (e == JSON_MORE && !json_scan_is_over(&p.scan))) {
        rest.kind = e == JSON_WRONG ? ANSWER_BROKEN : e == JSON_MORE ? ANSWER_CUT : ANSWER_OVER;
        rest.why = e == JSON_OPEN ? "objects and lists stand too deep in each other" : p.scan.why;
        rest.at = (ptrdiff_t)json_scan_at(&p.scan) - (e == JSON_OPEN);
    }
    answer_rest(answers, plan->answers, rest);
}
