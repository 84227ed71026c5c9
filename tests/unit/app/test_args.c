#include "app/args.h"

#include <fcntl.h>
#include <unistd.h>

#include "app/exit_code.h"
#include "base/str.h"
#include "test.h"

static const struct arg_option options[] = {
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "how many" },
    { .name = "since", .kind = ARG_TIME, .value = "T", .help = "from when on" },
    { .name = "title", .kind = ARG_TEXT, .value = "T", .help = "a text" },
    { .name = "header", .kind = ARG_LIST, .value = "K:V", .help = "many texts" },
    { .name = "o", .kind = ARG_TEXT, .value = "FILE", .help = "a short one" },
    { .name = "dry", .kind = ARG_FLAG, .help = "a flag" },
    { 0 },
};

static const struct arg_form form = {
    .word = "ls",
    .usage = "A [B]",
    .summary = "for the test",
    .least = 1,
    .most = 2,
    .options = options,
    .common = FORM_NODE | FORM_JSON,
};

enum { WORDS = 160 };

/* Parse a line of words that are separated by one blank; what goes to stderr stands
 * in `told` afterwards. */
static struct args args;
static char line_copy[4096], told[4096];

static enum args_result parse_words(size_t count, char **words)
{
    int out[2], saved = dup(STDERR_FILENO);
    ssize_t n;

    (void)fflush(stderr);
    if (pipe(out) != 0 || dup2(out[1], STDERR_FILENO) < 0)
        return ARGS_HELP;
    enum args_result r = args_parse("test", &form, count, words, &args);

    (void)fflush(stderr);
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    (void)close(out[1]);
    n = read(out[0], told, sizeof told - 1);
    told[n > 0 ? n : 0] = '\0';
    (void)close(out[0]);
    return r;
}

static enum args_result parse(const char *line)
{
    char *words[WORDS], *p = line_copy;
    size_t count = 0;

    (void)snprintf(line_copy, sizeof line_copy, "%s", line);
    while (*p != '\0' && count < WORDS) {
        words[count++] = p;
        p += strcspn(p, " ");
        if (*p == ' ')
            *p++ = '\0';
    }
    return parse_words(count, words);
}

static bool text_is(const char *text, const char *want)
{
    return text != NULL && strcmp(text, want) == 0;
}

TEST(args_options_and_operands_mix)
{
    CHECK(parse("one --limit 7 two --title=a=b --dry") == ARGS_READY);
    CHECK(args.operand_count == 2 && args.operand[2] == NULL);
    CHECK(text_is(args.operand[0], "one") && text_is(args.operand[1], "two"));
    CHECK(args_number(&args, "limit", 50) == 7);
    CHECK(text_is(args_text(&args, "title"), "a=b"));
    CHECK(args_flag(&args, "dry") && !args_flag(&args, "json"));
    CHECK(args_text(&args, "url") == NULL);
}

TEST(args_what_is_not_given_has_its_default)
{
    CHECK(parse("one") == ARGS_READY);
    CHECK(args_number(&args, "limit", 50) == 50);
    CHECK(args_list_at(&args, "header", 0) == NULL);
    CHECK(args.operand[1] == NULL);
}

TEST(args_a_list_keeps_its_order)
{
    CHECK(parse("one --header a:1 --header b:2 --header=c:3") == ARGS_READY);
    CHECK(text_is(args_list_at(&args, "header", 0), "a:1"));
    CHECK(text_is(args_list_at(&args, "header", 1), "b:2"));
    CHECK(text_is(args_list_at(&args, "header", 2), "c:3"));
    CHECK(args_list_at(&args, "header", 3) == NULL);
}

TEST(args_two_dashes_end_the_options)
{
    CHECK(parse("-- --limit --help") == ARGS_READY);
    CHECK(text_is(args.operand[0], "--limit") && text_is(args.operand[1], "--help"));
}

TEST(args_one_dash_is_an_operand)
{
    CHECK(parse("one -") == ARGS_READY);
    CHECK(text_is(args.operand[1], "-"));
}

TEST(args_a_short_option_takes_the_next_word)
{
    CHECK(parse("-o - one") == ARGS_READY);
    CHECK(text_is(args_text(&args, "o"), "-"));
    CHECK(parse("one --title -5") == ARGS_READY);
    CHECK(text_is(args_text(&args, "title"), "-5"));
    CHECK(parse("one --title= --dry") == ARGS_READY);
    CHECK(text_is(args_text(&args, "title"), ""));
    CHECK(parse("one --title=--dry") == ARGS_READY);
    CHECK(text_is(args_text(&args, "title"), "--dry") && !args_flag(&args, "dry"));
}

TEST(args_help_wins_over_what_is_missing)
{
    CHECK(parse("--help") == ARGS_HELP);
    CHECK(parse("one --json --help nonsense of all sorts") == ARGS_HELP);
}

TEST(args_what_is_wrong_is_told)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        { "", "missing" },
        { "--limit 3", "missing" },
        { "one two three", "one word too many: \"three\"" },
        { "one --limti 3", "unknown option --limti; did you mean --limit?" },
        { "one --zzzzzzzz=secret", "unknown option --zzzzzzzz\n" },
        { "one -x", "unknown option -x" },
        { "one --o FILE", "unknown option --o" },
        { "one -limit 3", "unknown option -limit" },
        { "one -o=FILE", "-o needs a value: FILE" },
        { "one --limit", "--limit needs a value: N" },
        { "one --limit --json", "--limit needs a value: N" },
        { "one --limit 0", "--limit takes a number from 1 to 1000000" },
        { "one --limit 1000001", "--limit takes a number" },
        { "one --limit 99999999999999999999", "--limit takes a number" },
        { "one --limit 3x", "--limit takes a number" },
        { "one --limit -3", "--limit takes a number" },
        { "one --since soon", "--since: \"soon\" is not a time" },
        { "one --dry=yes", "--dry takes no value" },
        { "one --dry --dry", "--dry is given twice" },
        { "one --title a --title a", "--title is given twice" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(parse(cases[i].line) == ARGS_WRONG);
        if (strstr(told, cases[i].says) == NULL)
            printf("# %s: told \"%s\"\n", cases[i].line, told);
        CHECK(strstr(told, cases[i].says) != NULL);
        CHECK(strstr(told, "usage: waybill test ls A [B]\n") != NULL);
        CHECK(strstr(told, "`waybill help test`") != NULL);
    }
}

TEST(args_more_options_than_there_is_room_are_refused)
{
    char *words[2 * ARGS_OPTIONS + 3], one[] = "one", header[] = "--header", value[] = "a:b";
    size_t n = 0;

    words[n++] = one;
    for (size_t i = 0; i < ARGS_OPTIONS + 1; i++) {
        words[n++] = header;
        words[n++] = value;
    }
    CHECK(parse_words(n - 2, words) == ARGS_READY);
    CHECK(args.given_count == ARGS_OPTIONS);
    CHECK(parse_words(n, words) == ARGS_WRONG);
    CHECK(strstr(told, "more than 64 options") != NULL);
}

TEST(args_control_characters_do_not_reach_the_terminal)
{
    char word[] = "--\033[31mred";
    char *words[] = { word };

    CHECK(parse_words(1, words) == ARGS_WRONG);
    CHECK(strchr(told, '\033') == NULL && strstr(told, "?[31mred") != NULL);
}

int main(void)
{
    return test_main();
}
