/* config_value.c - checks one scalar against its option, and builds the hints of messages. */
#include <stdio.h>

#include "base/auto.h"
#include "base/network.h"
#include "base/require.h"
#include "base/safe_path.h"
#include "core/config_check.h"
#include "core/connector.h"
#include "core/cron.h"
#include "core/expr.h"

/* ---- hints ---- */

void check_hint_start(struct check_hint *hint, const struct check *c, struct str word)
{
    hint->off = c->problems->count == PROBLEM_MOST;
    hint->guess = (struct option_guess){ .word = word };
    hint->names[0] = '\0';
    hint->used = hint->left_out = 0;
    hint->plan = false;
}

void check_hint_add(struct check_hint *hint, struct str candidate)
{
    char name[PROBLEM_QUOTE];
    size_t room = sizeof hint->names - hint->used;

    if (hint->off)
        return;
    option_guess_try(&hint->guess, candidate);
    if (room < PROBLEM_QUOTE + sizeof "; planned: ") {
        hint->left_out++;
        return;
    }
    const char *before = hint->used == 0 ? "" : hint->plan ? "; planned: " : ", ";
    int n =
        snprintf(hint->names + hint->used, room, "%s%s", before, problem_quote(name, candidate));

    require(n >= 0 && (size_t)n < room);
    hint->used += (size_t)n;
    hint->plan = false;
}

void check_hint_plan(struct check_hint *hint)
{
    hint->plan = true;
}

void check_hint_add_names(struct check_hint *hint, const struct check_names *names)
{
    enum { MOST = 1000 }; /* bounds the work on a long list */

    for (size_t i = 0; i < names->count && i < MOST; i++)
        check_hint_add(hint, names->items[i].text);
}

void check_hint_add_kinds(struct check_hint *hint, const struct connectors *connectors,
                          enum option_role role)
{
    const struct option_kind *kind;
    bool planned = false;

    for (size_t i = 0; (kind = kind_at(connectors, role, i)) != NULL; i++) {
        if (kind->planned && !planned)
            check_hint_plan(hint);
        planned = kind->planned;
        if (!kind->linked)
            check_hint_add(hint, str_of(kind->name));
    }
}

const char *check_hint_text(struct check_hint *hint, const char *lead, char text[static 1400])
{
    char best[PROBLEM_QUOTE], more[40] = "", mean[PROBLEM_QUOTE + 24] = "";

    if (hint->guess.best.ptr != NULL)
        (void)snprintf(mean, sizeof mean, "did you mean `%s`? ",
                       problem_quote(best, hint->guess.best));
    if (hint->left_out > 0)
        (void)snprintf(more, sizeof more, " and %zu more", hint->left_out);
    (void)snprintf(text, 1400, "%s%s: %s%s", mean, lead,
                   hint->used > 0 ? hint->names : "nothing yet", more);
    return text;
}

/* ---- references to values outside of the file ---- */

static const char *const schemes[] = { "env", "file", "secret", NULL };

/* The scheme of a ${scheme:...} at s, or NULL. */
static const char *scheme_at(struct str s)
{
    for (size_t i = 0; schemes[i] != NULL; i++)
        if (str_starts(str_from(s, 2), str_of(schemes[i])) &&
            str_starts(str_from(s, 2 + strlen(schemes[i])), STR(":")))
            return schemes[i];
    return NULL;
}

bool check_has_reference(struct str text)
{
    if (str_starts(text, STR("secret:")))
        return true;
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.ptr[i] == '$' && text.ptr[i + 1] == '{' && scheme_at(str_from(text, i)) != NULL)
            return true;
    return false;
}

/* Each ${env:, ${file: and ${secret: is closed and has a name; in a template every ${ is. */
static bool check_references(struct str text, bool template, struct err *err)
{
    if (str_starts(text, STR("secret:")))
        return units_name(str_from(text, 7), err);
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] != '$' || text.ptr[i + 1] != '{')
            continue;
        struct str at = str_from(text, i);
        const char *scheme = scheme_at(at);

        if (scheme == NULL && !template)
            continue;
        ptrdiff_t close = str_find(at, '}');
        size_t skip = 2 + (scheme != NULL ? strlen(scheme) + 1 : 0);

        if (close < 0)
            return err_set(err, ERR_CONFIG, 0, "a `${` is not closed");
        if ((size_t)close <= skip)
            return err_set(err, ERR_CONFIG, 0, "a `${` names nothing");
        if (scheme != NULL && strcmp(scheme, "secret") == 0 &&
            !units_name(str_mem(at.ptr + skip, (size_t)close - skip), err))
            return false;
        i += (size_t)close;
    }
    return true;
}

/* ---- the types ---- */

/* In days, or in seconds if it is less than one or not whole days. */
static bool over_duration(int64_t most_us, struct err *err)
{
    int64_t seconds = most_us / INT64_C(1000000);
    bool days = seconds >= 86400 && seconds % 86400 == 0;

    return err_set(err, ERR_CONFIG, 0, "the most is %lld%s",
                   (long long)(days ? seconds / 86400 : seconds), days ? "d" : "s");
}

static bool check_bounds(const struct option *o, uint64_t value, struct err *err)
{
    if (o->least > 0 && value < (uint64_t)o->least) {
        if (value == 0)
            return err_set(err, ERR_CONFIG, 0, "it must be more than 0");
        return o->type == OPT_INT
                   ? err_set(err, ERR_CONFIG, 0, "the least is %lld", (long long)o->least)
                   : err_set(err, ERR_CONFIG, 0, "it is too small");
    }
    if (o->most > 0 && value > (uint64_t)o->most && o->type == OPT_DURATION)
        return over_duration(o->most, err);
    if (o->most > 0 && value > (uint64_t)o->most)
        return err_set(err, ERR_CONFIG, 0, "the most is %lld", (long long)o->most);
    return true;
}

/* The text is one of the words that may replace a value. */
static bool is_word(const struct option *o, struct str text)
{
    for (size_t i = 0; o->words != NULL && o->words[i] != NULL; i++)
        if (str_is(text, o->words[i]))
            return true;
    return false;
}

static bool check_number(const struct option *o, struct str text, struct err *err)
{
    uint64_t value = 0;
    int64_t us = 0;

    switch (o->type) {
    case OPT_INT:
        if (!str_to_u64(text, &value))
            return err_set(err, ERR_CONFIG, 0, "this is not a whole number");
        break;
    case OPT_SIZE:
        if (!units_size(text, &value, err))
            return false;
        break;
    default:
        if (!units_duration(text, &us, err))
            return false;
        value = (uint64_t)us;
        break;
    }
    return check_bounds(o, value, err);
}

static bool check_address(const struct option *o, struct str text, struct err *err)
{
    struct units_address address;

    if (!units_address(text, &address, err))
        return false;
    if (address.port == 0 && (o->flags & OPT_OUTGOING) != 0)
        return err_set(err, ERR_CONFIG, 0, "a port from 1 to 65535 is expected");
    return true;
}

static bool check_hash(struct str text, struct err *err)
{
    if (!str_starts(text, STR("$argon2id$")))
        return err_set(err, ERR_CONFIG, 0, "it is not an argon2id hash");
    if (text.len > 127)
        return err_set(err, ERR_CONFIG, 0, "it is too long for an argon2id hash");
    return true;
}

static bool takes_references(enum option_type type)
{
    return type == OPT_TEXT || type == OPT_SECRET || type == OPT_TEMPLATE || type == OPT_PATH ||
           type == OPT_URL || type == OPT_ADDRESS;
}

static bool check_typed(const struct option *o, struct str text, struct err *err)
{
    struct units_instant instant;
    struct units_rate rate;
    int64_t share;
    struct units_date date;
    struct network network;
    struct cron cron;
    struct expr expr;
    unsigned days;
    int minutes;

    switch (o->type) {
    case OPT_URL:
        return units_url(text, o->words, err);
    case OPT_ADDRESS:
        return check_address(o, text, err);
    case OPT_NETWORK:
        return network_parse(text, &network, err);
    case OPT_PATH:
        return text.len > 0 || err_set(err, ERR_CONFIG, 0, "it is empty");
    case OPT_FILE:
        return safe_path(str_from(text, str_starts(text, STR("./")) ? 2 : 0), err);
    case OPT_NAME:
        return units_name(text, err);
    case OPT_BOOL:
        return str_is(text, "true") || str_is(text, "false") ||
               err_set(err, ERR_CONFIG, 0, "it is true or false");
    case OPT_SIZE:
        return check_number(o, text, err);
    case OPT_INT:
    case OPT_DURATION:
        return is_word(o, text) || check_number(o, text, err);
    case OPT_RATE:
        return units_rate(text, &rate, err);
    case OPT_SHARE:
        return units_share(text, &share, err);
    case OPT_TIME:
        return units_time(text, &minutes, err);
    case OPT_DAYS:
        return units_days(text, &days, err);
    case OPT_DATE:
        return units_date(text, &date, err);
    case OPT_ZONE:
        return units_zone(text, err);
    case OPT_CRON:
        return cron_parse(text, &cron, err);
    case OPT_AT:
        return cron_parse_at(text, &cron, err);
    case OPT_INSTANT:
        return units_instant(text, &instant, err);
    case OPT_EXPR:
        return expr_parse(text, (o->flags & OPT_RELATIVE) != 0, &expr, err);
    case OPT_XML_PATH:
        return expr_check(EXPR_XML, text, false, err);
    case OPT_POINTER:
        return expr_check(EXPR_JSON, text, false, err);
    case OPT_HASH:
        return check_hash(text, err);
    case OPT_REGEX:
        return expr_check(EXPR_REGEX, text, false, err);
    default:
        return true;
    }
}

/* ---- messages ---- */

static void say_wrong(struct check *c, const struct yaml_node *node, const struct option *o,
                      struct str label, const char *hint, const char *why)
{
    char name[PROBLEM_QUOTE], value[PROBLEM_QUOTE];

    if (option_may_show(o->type) && !node->outside)
        problem_add(c->problems, node->place, hint, "`%s` cannot be `%s`: %s",
                    problem_quote(name, label), problem_quote(value, node->text), why);
    else
        problem_add(c->problems, node->place, hint, "the value of `%s` is not valid: %s",
                    problem_quote(name, label), why);
}

static void check_word(struct check *c, const struct yaml_node *node, const struct option *o,
                       struct str label)
{
    struct check_hint hint;
    char text[1400];

    check_hint_start(&hint, c, node->text);
    for (size_t i = 0; o->words[i] != NULL; i++) {
        if (str_is(node->text, o->words[i]))
            return;
        check_hint_add(&hint, str_of(o->words[i]));
    }
    say_wrong(c, node, o, label, check_hint_text(&hint, "allowed", text),
              "it is not among the allowed words");
}

/* The hint for an expression: an example of its source, the nearest source, or how to write a
 * fixed text. */
static const char *expr_hint(const struct check *c, struct str text, char out[static 1400])
{
    struct check_hint hint;
    char value[PROBLEM_QUOTE];
    struct str word;

    (void)str_cut(text, ':', &word);
    check_hint_start(&hint, c, word);
    for (size_t i = 0; expr_sources[i] != NULL; i++) {
        if (str_is(word, expr_sources[i])) {
            (void)snprintf(out, 1400, "written like %s", expr_examples[i]);
            return out;
        }
        check_hint_add(&hint, str_of(expr_sources[i]));
    }
    if (str_find(text, ':') >= 0 || hint.guess.best.ptr != NULL)
        return check_hint_text(&hint, "allowed", out);
    (void)snprintf(out, 1400, "a fixed text is written `value:%s`; allowed: %s",
                   problem_quote(value, text), hint.names);
    return out;
}

static bool expand_here(struct check *c, struct yaml_node *node, struct str label)
{
    AUTO(buf_done) struct buf out = BUF_INIT(1024 * 1024);
    char name[PROBLEM_QUOTE];
    struct err err;

    if (!config_expand(node->text, c->file, &out, &err)) {
        problem_add(
            c->problems, node->place,
            "set it, or write the value itself; who starts the node must be able to read it",
            "`%s`: %s", problem_quote(name, label), err.text);
        return false;
    }
    node->text = arena_copy(c->tree, buf_view(&out));
    node->outside = true;
    return true;
}

/* Collects the words of a template that are filled in per document. */
static void see_words(struct check *c, struct yaml_node *node)
{
    struct str rest = node->text;

    for (ptrdiff_t at; (at = str_find(rest, '$')) >= 0;) {
        rest = str_from(rest, (size_t)at);
        ptrdiff_t close = str_starts(rest, STR("${")) ? str_find(rest, '}') : 0;

        if (close < 0)
            return;
        if (close > 2 && scheme_at(rest) == NULL)
            check_see(c, &c->words, node, OPT_TEMPLATE, str_mem(rest.ptr + 2, (size_t)close - 2));
        rest = str_from(rest, (size_t)close + 1);
    }
}

void check_value(struct check *c, struct yaml_node *node, const struct option *option, bool in_node,
                 struct str label)
{
    const char *form = option_form(option->type);
    char text[1400];
    struct err err;

    if ((option->flags & OPT_STAR) != 0 && str_is(node->text, "*"))
        return;
    if ((option->flags & OPT_FILLED) != 0)
        see_words(c, node);
    if (option->type != OPT_REGEX && check_has_reference(node->text)) {
        if (!in_node && !takes_references(option->type)) {
            say_wrong(c, node, option, label,
                      "references such as ${env:NAME} and secret:NAME stand in texts, paths, URLs, "
                      "addresses and secrets",
                      "a plain value is expected");
            return;
        }
        if (!check_references(node->text, option->type == OPT_TEMPLATE, &err)) {
            say_wrong(c, node, option, label, "${env:NAME}, ${file:PATH}, ${secret:NAME}",
                      err.text);
            return;
        }
        if (option->type == OPT_TEMPLATE)
            see_words(c, node);
        if (!in_node || !c->options->expand_node || !expand_here(c, node, label) ||
            check_has_reference(node->text))
            return; /* the value after expansion is unknown here */
    } else if (option->type == OPT_TEMPLATE) {
        if (!check_references(node->text, true, &err))
            say_wrong(c, node, option, label, form, err.text);
        else
            see_words(c, node);
        return;
    }
    if (option->type == OPT_WORD) {
        check_word(c, node, option, label);
        return;
    }
    if (option->type == OPT_SYSTEM || option->type == OPT_DOCTYPE || option->type == OPT_ENDPOINT ||
        option->type == OPT_GATEWAY || option->type == OPT_CALENDAR ||
        option->type == OPT_SUBSCRIPTION || option->type == OPT_DATABASE) {
        check_see(c, &c->references, node, option->type, node->text);
        return;
    }
    if (check_typed(option, node->text, &err)) {
        if (option->type == OPT_ZONE)
            check_see(c, &c->references, node, OPT_ZONE, node->text);
        if (option->type == OPT_FILE)
            check_see(c, &c->files, node, OPT_FILE, node->text);
        check_safe_value(c, node, option, in_node, label);
        return;
    }
    if (option->type == OPT_EXPR)
        form = expr_hint(c, node->text, text);
    say_wrong(c, node, option, label, form, err.text);
}
