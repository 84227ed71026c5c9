#include "app/args.h"

#include <stdarg.h>

#include "app/exit_code.h"
#include "app/print.h"
#include "app/suggest.h"
#include "app/when.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/str.h"

static const struct arg_option node_options[] = {
    { .name = "url",
      .kind = ARG_TEXT,
      .value = "URL",
      .help = "the node to ask (http://127.0.0.1:8480)" },
    { .name = "token",
      .kind = ARG_TEXT,
      .value = "TOKEN",
      .help = "else $WAYBILL_TOKEN; locally $WAYBILL_DATA/token, ./data/token" },
    { .name = "timeout",
      .kind = ARG_NUMBER,
      .value = "S",
      .help = "give up after S seconds without an answer" },
    { 0 },
};

static const struct arg_option json_options[] = {
    { .name = "json", .kind = ARG_FLAG, .help = "one JSON object per line, times in UTC" },
    { 0 },
};

static const struct arg_option help_options[] = {
    { .name = "help", .kind = ARG_FLAG, .help = "this text" },
    { 0 },
};

static const struct arg_option no_options[] = { { 0 } };

enum { TABLES = 4 };

/* The option tables of a form: its own first, then the common ones. */
static void tables_of(const struct arg_form *form, const struct arg_option *ret[static TABLES])
{
    ret[0] = form->options != NULL ? form->options : no_options;
    ret[1] = form->common & FORM_NODE ? node_options : no_options;
    ret[2] = form->common & FORM_JSON ? json_options : no_options;
    ret[3] = help_options;
}

static const struct arg_option *args_option_find(const struct arg_form *form, struct str name)
{
    const struct arg_option *table[TABLES];

    tables_of(form, table);
    for (size_t t = 0; t < TABLES; t++)
        for (const struct arg_option *o = table[t]; o->name != NULL; o++)
            if (str_is(name, o->name))
                return o;
    return NULL;
}

static const char *dashes(const char *name)
{
    return name[1] == '\0' ? "-" : "--";
}

void args_print_usage(FILE *to, const char *verb, const struct arg_form *form)
{
    const char *word = form->word != NULL ? form->word : "";
    const char *usage = form->usage != NULL ? form->usage : "";

    (void)fprintf(to, "waybill %s%s%s%s%s", verb, *word ? " " : "", word, *usage ? " " : "", usage);
}

int args_wrong(const struct args *a, const char *fmt, ...)
{
    char text[PRINT_LINE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)print_fail(EXIT_USAGE, "%s", text);
    (void)fputs("usage: ", stderr);
    args_print_usage(stderr, a->verb, a->form);
    (void)fprintf(stderr, "\n`waybill help %s` tells more.\n", a->verb);
    return EXIT_USAGE;
}

static bool wrong_option(const struct args *a, struct str word)
{
    struct str name = word.ptr[1] == '-' ? str_from(word, 2) : str_from(word, 1);
    const struct arg_option *table[TABLES];
    struct suggestion near = { .word = name };

    tables_of(a->form, table);
    for (size_t t = 0; t < TABLES; t++)
        for (const struct arg_option *o = table[t]; o->name != NULL; o++)
            suggest(&near, o->name);
    if (near.best != NULL)
        (void)args_wrong(a, "unknown option %.*s; did you mean %s%s?", STR_ARG(word),
                         dashes(near.best), near.best);
    else
        (void)args_wrong(a, "unknown option %.*s", STR_ARG(word));
    return false;
}

static bool args_read_value(const struct args *a, struct arg_given *g)
{
    const char *name = g->option->name;
    struct err err;
    uint64_t n;

    switch (g->option->kind) {
    case ARG_NUMBER:
        if (!str_to_u64(str_of(g->value), &n) || n < 1 || n > ARGS_NUMBER_MAX) {
            (void)args_wrong(a, "%s%s takes a number from 1 to %d, not \"%s\"", dashes(name), name,
                             ARGS_NUMBER_MAX, g->value);
            return false;
        }
        g->number = (int64_t)n;
        return true;
    case ARG_TIME:
        if (!when_parse(str_of(g->value), clock_wall_us(), &g->number, &err)) {
            (void)args_wrong(a, "%s%s: %s", dashes(name), name, err.text);
            return false;
        }
        return true;
    case ARG_FLAG:
    case ARG_TEXT:
    case ARG_LIST:
        return true;
    }
    return true;
}

static bool args_add_option(struct args *a, struct arg_given g)
{
    const char *name = g.option->name;

    if (g.option->kind != ARG_LIST)
        for (size_t i = 0; i < a->given_count; i++)
            if (a->given[i].option == g.option) {
                (void)args_wrong(a, "%s%s is given twice", dashes(name), name);
                return false;
            }
    if (a->given_count == ARGS_OPTIONS) {
        (void)args_wrong(a, "more than %d options", ARGS_OPTIONS);
        return false;
    }
    if (!args_read_value(a, &g))
        return false;
    a->given[a->given_count++] = g;
    return true;
}

/* Reads one option at words[0], whose value may be words[1].  *ret_used is the number of words
 * consumed. */
static bool take_option(struct args *a, size_t count, char **words, size_t *ret_used)
{
    struct str word = str_of(words[0]), name;
    bool is_long = word.ptr[1] == '-';
    struct str value = str_cut(str_from(word, is_long ? 2 : 1), '=', &name);
    bool attached = is_long && value.ptr > name.ptr + name.len;
    struct arg_given g = { .option = args_option_find(a->form, name) };

    if (g.option == NULL || is_long != (name.len > 1))
        return wrong_option(a, (struct str){ word.ptr, (size_t)(name.ptr + name.len - word.ptr) });
    *ret_used = 1;
    if (g.option->kind == ARG_FLAG) {
        if (attached) {
            (void)args_wrong(a, "--%s takes no value", g.option->name);
            return false;
        }
        return args_add_option(a, g);
    }
    if (attached) {
        g.value = value.ptr;
        return args_add_option(a, g);
    }
    if (count < 2 || str_starts(str_of(words[1]), STR("--"))) {
        (void)args_wrong(a, "%s%s needs a value: %s", dashes(g.option->name), g.option->name,
                         g.option->value);
        return false;
    }
    g.value = words[1];
    *ret_used = 2;
    return args_add_option(a, g);
}

static bool add_operand(struct args *a, const char *word)
{
    require(a->form->most <= ARGS_OPERANDS);
    if (a->operand_count == a->form->most) {
        (void)args_wrong(a, "one word too many: \"%s\"", word);
        return false;
    }
    a->operand[a->operand_count++] = word;
    return true;
}

enum args_result args_parse(const char *verb, const struct arg_form *form, size_t count,
                            char **words, struct args *ret)
{
    bool options = true;
    size_t used;

    *ret = (struct args){ .verb = verb, .form = form };
    for (size_t i = 0; i < count; i += used) {
        const char *word = words[i];

        used = 1;
        if (options && str_is(str_of(word), "--"))
            options = false;
        else if (options && word[0] == '-' && word[1] != '\0') {
            if (!take_option(ret, count - i, words + i, &used))
                return ARGS_WRONG;
            if (ret->given[ret->given_count - 1].option == help_options)
                return ARGS_HELP;
        } else if (!add_operand(ret, word))
            return ARGS_WRONG;
    }
    if (ret->operand_count < form->least) {
        (void)args_wrong(ret, "something is missing");
        return ARGS_WRONG;
    }
    return ARGS_READY;
}

const char *args_list_at(const struct args *a, const char *name, size_t n)
{
    const struct arg_option *o = args_option_find(a->form, str_of(name));

    require(o != NULL && o->kind != ARG_FLAG);
    for (size_t i = 0; i < a->given_count; i++)
        if (a->given[i].option == o && n-- == 0)
            return a->given[i].value;
    return NULL;
}

const char *args_text(const struct args *a, const char *name)
{
    return args_list_at(a, name, 0);
}

bool args_flag(const struct args *a, const char *name)
{
    const struct arg_option *o = args_option_find(a->form, str_of(name));

    require(o != NULL && o->kind == ARG_FLAG);
    for (size_t i = 0; i < a->given_count; i++)
        if (a->given[i].option == o)
            return true;
    return false;
}

int64_t args_number(const struct args *a, const char *name, int64_t otherwise)
{
    const struct arg_option *o = args_option_find(a->form, str_of(name));

    require(o != NULL && (o->kind == ARG_NUMBER || o->kind == ARG_TIME));
    for (size_t i = 0; i < a->given_count; i++)
        if (a->given[i].option == o)
            return a->given[i].number;
    return otherwise;
}

bool args_version(const struct args *a, size_t operand, int64_t *ret)
{
    uint64_t n;

    require(operand < a->operand_count);
    if (!str_to_u64(str_of(a->operand[operand]), &n) || n < 1 || n > INT32_MAX) {
        (void)args_wrong(a, "a version is a number from 1 on, not \"%s\"", a->operand[operand]);
        return false;
    }
    *ret = (int64_t)n;
    return true;
}

bool args_name(const struct args *a, size_t operand)
{
    require(operand < a->operand_count);
    size_t len = strlen(a->operand[operand]);

    if (len >= 1 && len <= 255)
        return true;
    (void)args_wrong(a, "a name or id has 1 to 255 bytes, this one has %zu", len);
    return false;
}

void args_print_options(FILE *to, const struct arg_option *options)
{
    for (const struct arg_option *o = options; o != NULL && o->name != NULL; o++) {
        int n = fprintf(to, "  %s%s%s%s", dashes(o->name), o->name, o->value != NULL ? " " : "",
                        o->value != NULL ? o->value : "");

        (void)fprintf(to, "%*s%s%s\n", n < 22 ? 22 - n : 2, "", o->help,
                      o->kind == ARG_LIST ? "; may be repeated" : "");
    }
}

void args_print_common(FILE *to, unsigned common)
{
    if (common & FORM_NODE)
        args_print_options(to, node_options);
    if (common & FORM_JSON)
        args_print_options(to, json_options);
    args_print_options(to, help_options);
}
