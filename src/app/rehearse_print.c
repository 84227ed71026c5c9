#include "app/rehearse_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/client.h"
#include "app/print.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"

enum { CHANGES_MOST = 1000, CHANGES_SHOWN = 20, CHANGE_MOST = 240, NAME_SHOWN = 100 };

void rehearse_sum_init(struct rehearse_sum *s)
{
    *s = (struct rehearse_sum){ .kinds = json_object(),
                                .changes = json_object(),
                                .first = json_array() };
}

void rehearse_sum_done(struct rehearse_sum *s)
{
    json_decref(s->kinds);
    json_decref(s->changes);
    json_decref(s->first);
    *s = (struct rehearse_sum){ 0 };
}

static void rehearse_print_count(json_t *in, const char *key)
{
    (void)json_object_set_new(in, key, json_integer(member_number(in, key) + 1));
}

static struct str rehearse_print_shown(const char *text)
{
    return str_first(str_of(text != NULL && text[0] != '\0' ? text : "-"), NAME_SHOWN);
}

static bool rehearse_print_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* ---- one change ---- */

/* Prints the changes of a document, and counts each kind of change over all documents. */
struct teller {
    struct rehearse_sum *sum;
    bool quiet;
};

static void rehearse_print_tell(const struct teller *t, const char *title, const char *text)
{
    char key[CHANGE_MOST];

    if (!t->quiet) {
        (void)printf("  %-12s", title);
        print_text(stdout, text);
        (void)fputc('\n', stdout);
    }
    (void)snprintf(key, sizeof key, "%s %s", title, text);
    if (json_object_get(t->sum->changes, key) == NULL &&
        json_object_size(t->sum->changes) == CHANGES_MOST)
        t->sum->others++;
    else
        rehearse_print_count(t->sum->changes, key);
}

static void tell_change(const struct teller *t, const char *title, const char *was,
                        const char *would)
{
    char text[CHANGE_MOST];

    if (rehearse_print_same_text(was, would))
        return;
    (void)snprintf(text, sizeof text, "%.*s -> %.*s", STR_ARG(rehearse_print_shown(was)),
                   STR_ARG(rehearse_print_shown(would)));
    rehearse_print_tell(t, title, text);
}

/* ---- lists of pairs ---- */

struct pair {
    const char *first, *second;
};

static struct pair pair_at(const json_t *list, size_t i, const char *first, const char *second)
{
    const json_t *one = json_array_get(list, i);

    return (struct pair){ member_text(one, first), member_text(one, second) };
}

static size_t rehearse_print_times(const json_t *list, size_t most, struct pair p,
                                   const char *first, const char *second)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(list) && i < most; i++) {
        struct pair o = pair_at(list, i, first, second);

        n += rehearse_print_same_text(o.first, p.first) &&
             rehearse_print_same_text(o.second, p.second);
    }
    return n;
}

/* Prints the pairs that `list` has more often than `than`, with `sign` in front. */
static void tell_more(const struct teller *t, const char *title, const json_t *list,
                      const json_t *than, const char *first, const char *second, char sign)
{
    const char *between = strcmp(first, "name") == 0 ? "=" : " of ";

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct pair p = pair_at(list, i, first, second);
        char text[CHANGE_MOST];

        if (rehearse_print_times(list, i + 1, p, first, second) <=
            rehearse_print_times(than, SIZE_MAX, p, first, second))
            continue;
        (void)snprintf(text, sizeof text, "%c %.*s%s%.*s", sign,
                       STR_ARG(rehearse_print_shown(p.first)), between,
                       STR_ARG(rehearse_print_shown(p.second)));
        rehearse_print_tell(t, title, text);
    }
}

static void tell_lists(const struct teller *t, const char *title, const char *field,
                       const json_t *was, const json_t *would, const char *first,
                       const char *second)
{
    const json_t *old = json_object_get(was, field), *new = json_object_get(would, field);

    tell_more(t, title, old, new, first, second, '-');
    tell_more(t, title, new, old, first, second, '+');
}

/* ---- one document ---- */

static void print_head(const json_t *d)
{
    const char *name = member_text(d, "name");
    char text[PRINT_SHORT];
    const json_t *kind;
    size_t i;

    if (member_text(d, "id") != NULL) {
        print_text(stdout, member_text(d, "id"));
        (void)printf("  %s  ", print_time(member_text(d, "received"), text));
    } else {
        (void)fputs("(a document out of your scope)  ", stdout);
    }
    print_text(stdout, member_text(d, "gateway"));
    if (name != NULL) {
        (void)fputs("  ", stdout);
        print_text(stdout, name);
    }
    (void)fputs("  (", stdout);
    json_array_foreach(json_object_get(d, "kinds"), i, kind)
    {
        (void)fputs(i > 0 ? ", " : "", stdout);
        print_text(stdout, json_string_value(kind));
    }
    (void)fputs(")\n", stdout);
}

/* Prints how the end of the document differs: its dead-letter code or the refusal. */
static void rehearse_print_tell_end(const struct teller *t, const json_t *was, const json_t *would)
{
    const json_t *old = json_object_get(was, "error"), *new = json_object_get(would, "error");
    const char *before = member_text(old, "code"), *after = member_text(new, "code");

    if (rehearse_print_same_text(before, after))
        return;
    if (after != NULL && strcmp(after, "refused") == 0)
        rehearse_print_tell(t, "refused", member_text(new, "message"));
    else
        tell_change(t, "dead letter", before, after);
    if (!t->quiet && after != NULL && strcmp(after, "refused") != 0) {
        (void)printf("  %-12s", "");
        print_text(stdout, member_text(new, "message"));
        (void)fputc('\n', stdout);
    }
}

static void print_diff(const char *diff)
{
    for (struct str rest = str_of(diff), line; rest.len > 0;) {
        rest = str_cut(rest, '\n', &line);
        AUTO_TEXT text = xstrndup(line);

        (void)fputs("    ", stdout);
        print_text(stdout, text);
        (void)fputc('\n', stdout);
    }
}

static void tell_payload(const struct teller *t, const json_t *p)
{
    const char *endpoint = member_text(p, "endpoint"), *diff = member_text(p, "diff");
    char text[CHANGE_MOST], old[PRINT_SHORT], new[PRINT_SHORT];

    (void)snprintf(text, sizeof text, "to %.*s of %.*s", STR_ARG(rehearse_print_shown(endpoint)),
                   STR_ARG(rehearse_print_shown(member_text(p, "system"))));
    rehearse_print_tell(t, "bytes", text);
    if (t->quiet)
        return;
    (void)printf("  %-12s%s -> %s\n", "", print_size(member_number(p, "wasSize"), old),
                 print_size(member_number(p, "wouldSize"), new));
    if (diff != NULL)
        print_diff(diff);
    if (diff == NULL || member_true(p, "cut"))
        (void)printf("    %s\n", diff == NULL ? "(no text, or too long to compare)" : "...");
}

static void tell_redefined(const struct teller *t, const char *endpoint)
{
    char text[CHANGE_MOST];

    (void)snprintf(text, sizeof text, "%.*s is defined differently",
                   STR_ARG(rehearse_print_shown(endpoint)));
    rehearse_print_tell(t, "endpoint", text);
}

void rehearse_print(const json_t *document, struct rehearse_sum *s, bool quiet)
{
    static const char *const fields[] = { "sender", "receiver", "type", "route", NULL };
    const struct teller t = { .sum = s, .quiet = quiet };
    const json_t *was = json_object_get(document, "was"),
                 *would = json_object_get(document, "would"), *one;
    bool refused =
        rehearse_print_same_text(member_text(json_object_get(would, "error"), "code"), "refused");
    size_t i;

    s->different++;
    json_array_foreach(json_object_get(document, "kinds"), i, one)
    {
        if (json_is_string(one))
            rehearse_print_count(s->kinds, json_string_value(one));
    }
    if (!quiet)
        print_head(document);
    if (!json_is_object(was) || !json_is_object(would)) {
        if (!quiet)
            (void)printf("  %-12sshown with the right `payload`\n", "would be");
        return;
    }
    rehearse_print_tell_end(&t, was, would);
    if (refused)
        return;
    for (const char *const *f = fields; *f != NULL; f++)
        tell_change(&t, *f, member_text(was, *f), member_text(would, *f));
    tell_lists(&t, "attribute", "attributes", was, would, "name", "value");
    tell_lists(&t, "delivery", "deliveries", was, would, "endpoint", "system");
    json_array_foreach(json_object_get(document, "redefined"), i, one)
        tell_redefined(&t, json_string_value(one));
    tell_change(&t, "ends", member_text(was, "message"), member_text(would, "message"));
    json_array_foreach(json_object_get(document, "payloads"), i, one) tell_payload(&t, one);
}

/* ---- the sum ---- */

struct counted {
    const char *key;
    int64_t count;
};

static int most_first(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->key, y->key);
}

/* Prints the `most` largest counters of an object; returns how many were left out. */
static size_t print_counts(json_t *of, size_t most)
{
    size_t n = json_object_size(of), i = 0;
    struct counted *all = xcalloc(n + 1, sizeof *all);
    const char *key;
    json_t *value;

    json_object_foreach(of, key, value) all[i++] =
        (struct counted){ key, json_integer_value(value) };
    qsort(all, n, sizeof *all, most_first);
    for (i = 0; i < n && i < most; i++) {
        (void)printf("%9lld  ", (long long)all[i].count);
        print_text(stdout, all[i].key);
        (void)fputc('\n', stdout);
    }
    free(all);
    return n > most ? n - most : 0;
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

void rehearse_sum_print(const struct rehearse_sum *s)
{
    size_t hidden, i;
    const json_t *one;

    (void)printf("%s%lld document%s looked at, %lld would come out differently\n",
                 s->different > 0 ? "\n" : "", (long long)s->looked, plural(s->looked),
                 (long long)s->different);
    (void)print_counts(s->kinds, SIZE_MAX);
    if (json_object_size(s->changes) > 0)
        (void)fputc('\n', stdout);
    hidden = print_counts(s->changes, CHANGES_SHOWN);
    if (hidden > 0 || s->others > 0)
        (void)printf("%9s  %zu%s other changes\n", "", hidden, s->others > 0 ? " or more" : "");
    if (s->left == 0)
        return;
    (void)printf("\n%lld could not be rehearsed, such as\n", (long long)s->left);
    json_array_foreach(s->first, i, one)
    {
        const char *id = member_text(one, "id"), *why = member_text(one, "message");

        (void)fputs("  ", stdout);
        print_text(stdout, id != NULL ? id : "a document out of your scope");
        if (why != NULL) {
            (void)fputs(": ", stdout);
            print_text(stdout, why);
        }
        (void)fputc('\n', stdout);
    }
}

json_t *rehearse_sum_json(const struct rehearse_sum *s)
{
    return json_pack("{s:I,s:I,s:I,s:O,s:O,s:O}", "looked", (json_int_t)s->looked, "different",
                     (json_int_t)s->different, "left", (json_int_t)s->left, "kinds", s->kinds,
                     "changes", s->changes, "leftSome", s->first);
}
