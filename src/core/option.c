#include "core/option.h"

#include "base/require.h"

static const struct {
    enum option_type type;
    bool may_show;
    const char *name, *form;
} types[] = {
    { OPT_TEXT, false, "text", "a text" },
    { OPT_SECRET, false, "secret", "best written as secret:NAME; never shown" },
    { OPT_TEMPLATE, false, "template",
      "a text in which ${id}, ${sender}, ${receiver}, ${type}, ${date} and attributes are filled "
      "in" },
    { OPT_PATH, false, "path", "the path of a file or folder" },
    { OPT_FILE, true, "file",
      "a file beside the configuration file or below its folder, such as scripts/clean.lua; it is "
      "stored with the version" },
    { OPT_URL, false, "URL", "scheme://host/path" },
    { OPT_ADDRESS, false, "address", "host:port, such as 127.0.0.1:8480 or [::1]:8480" },
    { OPT_NETWORK, true, "network", "an address or a range, such as 10.0.0.0/8 or fd00::/8" },
    { OPT_WORD, true, "word", "one of the words that are allowed" },
    { OPT_NAME, true, "name", "1 to 64 letters, digits, `.`, `_` and `-`" },
    { OPT_BOOL, true, "boolean", "true or false" },
    { OPT_INT, true, "number", "a whole number" },
    { OPT_SIZE, true, "size", "a whole number of bytes, KiB, MiB or GiB, such as 64 MiB" },
    { OPT_DURATION, true, "duration",
      "a whole number and a unit, such as 30s; the units are ms s m h d" },
    { OPT_RATE, true, "rate", "a whole number per s, m or h, such as 50/s" },
    { OPT_SHARE, true, "share", "percent, such as 5% or 0.5%" },
    { OPT_TIME, true, "time of day", "HH:MM, such as \"22:00\"" },
    { OPT_DAYS, true, "days",
      "mon tue wed thu fri sat sun, ranges and lists, such as mon-fri, or daily" },
    { OPT_DATE, true, "date", "YYYY-MM-DD, such as 2026-12-24, or MM-DD for each year" },
    { OPT_ZONE, true, "time zone", "a name such as UTC or Europe/Berlin" },
    { OPT_CRON, true, "schedule",
      "five fields: minute hour day month weekday, such as \"0 2 * * *\", or @daily" },
    { OPT_AT, true, "schedule or time of day",
      "five fields: minute hour day month weekday, such as \"0 2 * * *\", or @daily; or HH:MM, "
      "such "
      "as \"22:00\"" },
    { OPT_INSTANT, true, "point in time",
      "YYYY-MM-DDTHH:MM, such as 2026-12-24T22:00, on the clock of `zone`; or with an offset: "
      "2026-12-24T22:00Z" },
    { OPT_EXPR, true, "expression",
      "value: header: query: name: regex: json: xml: hl7: x12: edifact: csv: and what to look "
      "for" },
    { OPT_XML_PATH, true, "XML path", "steps from the root, such as /Envelope/Doc" },
    { OPT_POINTER, true, "JSON Pointer", "names from the root, such as /orders" },
    { OPT_HASH, false, "password hash", "an argon2id hash, which starts with $argon2id$" },
    { OPT_REGEX, true, "regular expression",
      "a regular expression of PCRE2, such as id=([0-9]+); ( ) [ ] { } . * + ? ^ $ | \\ have a "
      "meaning, and stand for themselves behind a \\" },
    { OPT_SYSTEM, true, "system", "the name of one of `systems`" },
    { OPT_DOCTYPE, true, "type", "the name of one of `types`" },
    { OPT_ENDPOINT, true, "endpoint", "the name of one of `endpoints`" },
    { OPT_GATEWAY, true, "gateway", "the name of one of `gateways`" },
    { OPT_CALENDAR, true, "calendar", "the name of one of `calendars`" },
    { OPT_SUBSCRIPTION, true, "subscription", "the name of one of `subscriptions`" },
    { OPT_DATABASE, true, "database", "the name of one of `databases`" },
    { OPT_MAP, false, "map", "a map of keys and values" },
    { OPT_NAMED, false, "map", "a map of names" },
    { OPT_LIST, false, "list", "a list" },
    { OPT_KIND, false, "map", "a map with the key `kind`" },
    { OPT_STEP, false, "step",
      "a map with one key, the name of a service; or the name of one of `services`" },
    { OPT_ANY, false, "anything", "anything" },
};

static size_t option_index_of(enum option_type type)
{
    size_t n = sizeof types / sizeof types[0];

    for (size_t i = 0; i < n; i++)
        if (types[i].type == type)
            return i;
    require(type == OPT_END); /* every type has a row above */
    return n - 1;
}

const char *option_type_name(enum option_type type)
{
    return types[option_index_of(type)].name;
}

const char *option_form(enum option_type type)
{
    return types[option_index_of(type)].form;
}

bool option_may_show(enum option_type type)
{
    return types[option_index_of(type)].may_show;
}

const struct option *option_next(struct option_walk *w)
{
    if (w->at != NULL && w->at->type == OPT_GROUP) {
        w->back = w->at + 1;
        w->at = w->at->keys;
    }
    if (w->at != NULL && w->at->type == OPT_END && w->back != NULL) {
        w->at = w->back;
        w->back = NULL;
        return option_next(w);
    }
    return w->at != NULL && w->at->type != OPT_END ? w->at++ : NULL;
}

const struct option *option_find(const struct option *keys, struct str name)
{
    const struct option *o;

    for (struct option_walk w = { keys }; (o = option_next(&w)) != NULL;)
        if (str_is(name, o->name))
            return o;
    return NULL;
}

bool option_word_is_planned(const struct option *option, struct str word)
{
    for (size_t i = 0; option->planned != NULL && option->planned[i] != NULL; i++)
        if (str_is(word, option->planned[i]))
            return true;
    return false;
}

/* Two adjacent characters are swapped: the most common typing error. */
static bool is_swap(struct str a, struct str b)
{
    size_t i = 0;

    if (a.len != b.len)
        return false;
    while (i < a.len && a.ptr[i] == b.ptr[i])
        i++;
    return i + 1 < a.len && a.ptr[i] == b.ptr[i + 1] && a.ptr[i + 1] == b.ptr[i] &&
           str_eq(str_from(a, i + 2), str_from(b, i + 2));
}

void option_guess_try(struct option_guess *guess, struct str candidate)
{
    size_t longer = guess->word.len > candidate.len ? guess->word.len : candidate.len;
    size_t most = longer < 6 ? 1 : longer < 9 ? 2 : 3;
    size_t distance = str_eq_nocase(guess->word, candidate) ? 0
                      : is_swap(guess->word, candidate)     ? 1
                                                            : str_distance(guess->word, candidate);

    if (distance > most || distance >= longer)
        return;
    if (guess->best.ptr == NULL || distance < guess->distance) {
        guess->best = candidate;
        guess->distance = distance;
    }
}
