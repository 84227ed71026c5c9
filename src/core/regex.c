#include "core/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"

/* The processor clock is read every TICKS callouts.  Between two callouts a match scans the text at
 * most once. */
enum { TICKS = 64 };
enum { MATCHES_MOST = 10000000, DEPTH_MOST = 250000, HEAP_MOST_KIB = 32 << 10 };

struct regex {
    pcre2_code *code;
    /* Without JIT each match validates the rest of the text as UTF-8, which is quadratic over many
     * matches.  This one is used without that check, for texts that were validated once. */
    pcre2_code *trusting;
};

/* A pattern, and which of the two dialects it is written in. */
struct regex_source {
    struct str pattern;
    uint32_t options;
    uint32_t extra; /* PCRE2_EXTRA_... */
};

static pcre2_code *core_regex_compile(const struct regex_source *source, uint32_t more,
                                      struct err *err)
{
    /* Automatic callouts call tick(), which reads the clock. */
    uint32_t options =
        PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT | source->options | more;
    struct str pattern = source->pattern;
    PCRE2_SIZE at = 0, characters = 0;
    unsigned char why[160];
    int code = 0;
    pcre2_compile_context *dialect = pcre2_compile_context_create(NULL);

    require(dialect != NULL);
    (void)pcre2_set_compile_extra_options(dialect, source->extra);
    pcre2_code *made =
        pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &code, &at, dialect);

    pcre2_compile_context_free(dialect);
    if (made != NULL)
        return made;
    (void)pcre2_get_error_message(code, why, sizeof why);
    for (size_t i = 0; i < at && i < pattern.len; i++)
        characters += ((unsigned char)pattern.ptr[i] & 0xc0) != 0x80;
    (void)err_set(err, ERR_CONFIG, code, "%s, at character %zu of the regular expression", why,
                  characters + 1);
    return NULL;
}

/* With (*NO_JIT) in the pattern pcre2_jit_compile() does nothing and returns success. */
static bool has_jit(const pcre2_code *code)
{
    size_t size = 0;

    return pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &size) == 0 && size > 0;
}

static bool regex_make(const struct regex_source *source, struct regex **ret, struct err *err)
{
    if (source->pattern.len > REGEX_PATTERN_MOST)
        return err_set(err, ERR_CONFIG, 0, "a regular expression has at most %d bytes",
                       REGEX_PATTERN_MOST);
    pcre2_code *code = core_regex_compile(source, PCRE2_MATCH_INVALID_UTF, err);

    if (code == NULL)
        return false;
    struct regex *r = NEW(struct regex);

    r->code = code;
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    if (!has_jit(code)) {
        r->trusting = core_regex_compile(source, 0, err);
        require(r->trusting != NULL);
    }
    *ret = r;
    return true;
}

bool regex_compile(struct str pattern, struct regex **ret, struct err *err)
{
    const struct regex_source source = { .pattern = pattern };

    if (pattern.len == 0)
        return err_set(err, ERR_CONFIG, 0, "a regular expression is not empty");
    return regex_make(&source, ret, err);
}

bool regex_compile_ecma(struct str pattern, struct regex **ret, struct err *err)
{
    const struct regex_source source = {
        .pattern = pattern.len > 0 ? pattern : STR(""),
        .options = PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF,
        .extra = PCRE2_EXTRA_ALT_BSUX,
    };

    return regex_make(&source, ret, err);
}

void regex_free(struct regex *r)
{
    if (r == NULL)
        return;
    pcre2_code_free(r->code);
    pcre2_code_free(r->trusting);
    free(r);
}

unsigned regex_groups(const struct regex *r)
{
    uint32_t count = 0;

    (void)pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &count);
    return count;
}

bool regex_group_named(const struct regex *r, struct str name, unsigned *ret)
{
    char terminated[64]; /* longer than PCRE2 allows for a name */

    if (name.len >= sizeof terminated || memchr(name.ptr, '\0', name.len) != NULL)
        return false;
    memcpy(terminated, name.ptr, name.len);
    terminated[name.len] = '\0';
    int n = pcre2_substring_number_from_name(r->code, (PCRE2_SPTR)terminated);

    if (n <= 0)
        return false;
    *ret = (unsigned)n;
    return true;
}

/* PCRE2 calls this before it tries each item of the pattern. */
static int tick(pcre2_callout_block *block, void *user)
{
    struct regex_search *s = user;

    (void)block;
    if (++s->ticks % TICKS != 0)
        return 0;
    int64_t now_us = clock_cpu_us();

    if (s->cpu_us == 0)
        s->cpu_us = now_us;
    return now_us - s->cpu_us > REGEX_CPU_US ? PCRE2_ERROR_CALLOUT : 0;
}

void regex_search_init(struct regex_search *s, const struct regex *r, struct str text)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(r->code, NULL);

    require(limits != NULL && match != NULL);
    (void)pcre2_set_match_limit(limits, MATCHES_MOST);
    (void)pcre2_set_depth_limit(limits, DEPTH_MOST);
    (void)pcre2_set_heap_limit(limits, HEAP_MOST_KIB);
    (void)pcre2_set_callout(limits, tick, s);
    *s = (struct regex_search){ .regex = r,
                                .text = text.ptr != NULL ? text : STR(""),
                                .is_utf8 = r->trusting != NULL && str_is_utf8(text),
                                .match = match,
                                .limits = limits };
}

void regex_search_done(struct regex_search *s)
{
    pcre2_match_data_free(s->match);
    pcre2_match_context_free(s->limits);
    s->match = s->limits = NULL;
}

static int match_once(struct regex_search *s, uint32_t options)
{
    const pcre2_code *code = s->is_utf8 ? s->regex->trusting : s->regex->code;
    PCRE2_SPTR text = (PCRE2_SPTR)s->text.ptr;

    if (s->is_utf8)
        options |= PCRE2_NO_UTF_CHECK;
    int n = pcre2_match(code, text, s->text.len, s->at, options, s->match, s->limits);

    if (n == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter has its frames on the heap */
        n = pcre2_match(code, text, s->text.len, s->at, options | PCRE2_NO_JIT, s->match,
                        s->limits);
    return n;
}

enum regex_found regex_next(struct regex_search *s)
{
    if (s->at > s->text.len)
        return REGEX_NONE;
    int n = match_once(s, s->empty ? PCRE2_NOTEMPTY_ATSTART : 0);

    if (n == PCRE2_ERROR_NOMATCH) {
        s->at = s->text.len + 1;
        return REGEX_NONE;
    }
    if (n < 0) {
        s->at = s->text.len + 1;
        return REGEX_OVER;
    }
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(s->match);

    /* With \K in an assertion a match can end before it starts. */
    if (ends[1] < ends[0]) {
        s->at = s->text.len + 1;
        return REGEX_NONE;
    }
    s->empty = ends[1] == ends[0];
    s->at = ends[1];
    return REGEX_FOUND;
}

struct str regex_group(const struct regex_search *s, unsigned n)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(s->match);

    if (n >= pcre2_get_ovector_count(s->match) || ends[2 * n] == PCRE2_UNSET ||
        ends[2 * n + 1] < ends[2 * n])
        return (struct str){ 0 };
    return str_mem(s->text.ptr + ends[2 * n], ends[2 * n + 1] - ends[2 * n]);
}
