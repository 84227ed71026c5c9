#include "app/verb.h"

#include "app/exit_code.h"
#include "app/print.h"
#include "app/suggest.h"
#include "base/str.h"

static void print_forms(const struct verb *v, FILE *to)
{
    for (const struct arg_form *f = v->forms; f->summary != NULL; f++) {
        (void)fputs("  ", to);
        args_print_usage(to, v->name, f);
        (void)fprintf(to, "\n      %s\n", f->summary);
    }
}

/* Adjacent forms with the same option table are named in one title. */
static void print_title(const struct verb *v, const struct arg_form *f, FILE *to)
{
    const struct arg_option *options = f->options;

    (void)fputs("\noptions", to);
    for (; f->word != NULL && f->summary != NULL && f->options == options; f++)
        (void)fprintf(to, "%s%s %s", f > v->forms && f[-1].options == options ? ", " : " of ",
                      v->name, f->word);
    (void)fputs(":\n", to);
}

static void print_options(const struct verb *v, FILE *to)
{
    unsigned common = 0;

    for (const struct arg_form *f = v->forms; f->summary != NULL; f++) {
        common |= f->common;
        if (f->options == NULL || (f > v->forms && f[-1].options == f->options))
            continue; /* printed with the form before */
        print_title(v, f, to);
        args_print_options(to, f->options);
    }
    (void)fprintf(to, "\n%soptions:\n", common != 0 ? "common " : "other ");
    args_print_common(to, common);
}

void verb_help(const struct verb *v, FILE *to)
{
    (void)fprintf(to, "waybill %s - %s\n\nusage:\n", v->name, v->summary);
    print_forms(v, to);
    if (v->about != NULL)
        (void)fprintf(to, "\n%s", v->about);
    print_options(v, to);
    (void)fputs("\nexample:\n", to);
    for (struct str rest = str_of(v->example), line; rest.len > 0;) {
        rest = str_cut(rest, '\n', &line);
        (void)fprintf(to, "  %.*s\n", STR_ARG(line));
    }
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc && !str_is(str_of(argv[i]), "--"); i++)
        if (str_is(str_of(argv[i]), "--help"))
            return true;
    return false;
}

static int wrong_form(const struct verb *v, const char *word)
{
    struct suggestion near = { .word = str_of(word != NULL ? word : "") };

    for (const struct arg_form *f = v->forms; f->summary != NULL; f++)
        suggest(&near, f->word);
    if (word == NULL)
        (void)print_fail(0, "%s: what shall be done?", v->name);
    else if (near.best != NULL)
        (void)print_fail(0, "%s: unknown word \"%s\"; did you mean %s?", v->name, word, near.best);
    else
        (void)print_fail(0, "%s: unknown word \"%s\"", v->name, word);
    for (const struct arg_form *f = v->forms; f->summary != NULL; f++) {
        (void)fputs(f == v->forms ? "usage: " : "       ", stderr);
        args_print_usage(stderr, v->name, f);
        (void)fputc('\n', stderr);
    }
    (void)fprintf(stderr, "`waybill help %s` tells more.\n", v->name);
    return EXIT_USAGE;
}

static const struct arg_form *form_find(const struct verb *v, const char *word)
{
    if (v->forms[0].word == NULL)
        return v->forms;
    for (const struct arg_form *f = v->forms; word != NULL && f->summary != NULL; f++)
        if (str_is(str_of(word), f->word))
            return f;
    return NULL;
}

static int help_for(const struct verb *v)
{
    verb_help(v, stdout);
    return EXIT_DONE;
}

int verb_run(const struct verb *v, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const struct arg_form *f = form_find(v, word);
    struct args args;

    if (v->run != NULL)
        return asks_help(argc, argv) ? help_for(v) : v->run(argc, argv);
    if (f == NULL)
        return asks_help(argc, argv) ? help_for(v) : wrong_form(v, word);

    int skip = f->word != NULL ? 2 : 1;

    switch (args_parse(v->name, f, (size_t)(argc - skip), argv + skip, &args)) {
    case ARGS_READY:
        return f->run(&args);
    case ARGS_HELP:
        return help_for(v);
    case ARGS_WRONG:
        break;
    }
    return EXIT_USAGE;
}
