/* config_describe.h - the whole grammar as a Markdown page: docs/configuration.md. */
#pragma once

#include <stdio.h>

#include "base/require.h"
#include "core/config.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/planned.h"

/* Recursion here follows our own tables, whose depth is ours. */
enum { PATH_MOST = 160 };

static const char intro[] =
    "# Configuration\n"
    "\n"
    "A configuration is one YAML file of sections. `waybill check FILE` validates it and names\n"
    "every problem with its place; a key that this page does not list is one of them.\n"
    "This page is made from the tables that the program itself uses (`src/core/grammar*.c`, and "
    "the\n"
    "file of each connector).\n"
    "\n"
    "```yaml\n"
    "node:\n"
    "  listen: 127.0.0.1:8480\n"
    "  data: ./data\n"
    "\n"
    "gateways:\n"
    "  orders: { kind: http, auth: key }     # POST /in/orders\n"
    "```\n"
    "\n"
    "The section `node` is this node's own, read at start. Everything else becomes version 1 when\n"
    "the store has none; from then on the newest stored version is the truth. What is marked\n"
    "as planned here is not run by this build yet: it is checked, kept, and named once in a\n"
    "warning.\n"
    "\n"
    "The file is UTF-8, at most 4 MiB, one document, without anchors, aliases and tags; no key\n"
    "stands twice in a map. Values are never guessed: `no` is a text, a boolean is `true` or\n"
    "`false`.\n"
    "\n"
    "Names (of systems, gateways, routes, ...) are 1 to 64 letters, digits, `.`, `_` and `-`.\n"
    "\n"
    "## References\n"
    "\n"
    "| written | means |\n"
    "| --- | --- |\n"
    "| `secret:NAME` | as a whole value: the secret of that name |\n"
    "| `${secret:NAME}` | inside a value: likewise |\n"
    "| `${env:NAME}` | the environment variable, if `node.expose` lists it |\n"
    "| `${file:PATH}` | the text of the file, if `node.expose` lists it, without a newline at its "
    "end; a relative path starts at the folder of the node's configuration file |\n"
    "\n"
    "They stand in texts, paths, URLs, addresses and secrets, and in every value of `node`, where\n"
    "nothing needs to be listed ([reach.md](reach.md)).\n"
    "Secrets are never shown.\n";

static const char expressions[] =
    "\n"
    "## Expressions\n"
    "\n"
    "They say where a sender, receiver, type or attribute is found. A list means the first that\n"
    "yields. The bare words `hl7`, `x12` and `edifact` use that standard's own sender, receiver "
    "and\n"
    "type: MSH-4, MSH-6 (MSH-3, MSH-5 where they are empty) and the first two components of "
    "MSH-9,\n"
    "joined as in `ADT^A01`; ISA06, ISA08 and ST01 (GS01 without a transaction); UNB-2.1, UNB-3.1\n"
    "and UNH-2.1. Of a payload the first 4 MiB are looked at; what reaches their end, and may go "
    "on,\n"
    "is not found.\n"
    "\n"
    "| written | finds |\n"
    "| --- | --- |\n"
    "| `value:order` | this very text |\n"
    "| `header:X-Sender` | a header of the request |\n"
    "| `query:from` | a parameter of the request's URL |\n"
    "| `name:^([a-z]+)-` | the first group of a regular expression on the file name |\n"
    "| `regex:id=([0-9]+)` | likewise on the payload; without a group the whole match |\n"
    "| `json:/order/buyer` | a JSON Pointer |\n"
    "| `xml:/Order/ShipTo/@id` | a path |\n"
    "| `hl7:MSH-4` | a field; `hl7:PID-3.1` a component, `hl7:PID-3[2].1` of the second "
    "repetition, "
    "`hl7:OBX[2]-5` of the second OBX |\n"
    "| `x12:ISA06` | an element; `x12:SVC01-2` a component |\n"
    "| `edifact:UNB-2` | an element; `edifact:UNB-2.1` a component, `edifact:NAD[2]-3` of the "
    "second "
    "NAD |\n"
    "| `csv:buyer` | a column of the first data row |\n";

static const char routes[] =
    "\n"
    "## Routes\n"
    "\n"
    "Exactly one route takes a document. A field of `when` that is left out or `\"*\"` matches\n"
    "anything; a list matches any of its values. Routes are compared by receiver, then type, then\n"
    "sender, then the number of attributes: exact before any. Two routes that tie and can match "
    "the\n"
    "same document are a problem that names both.\n"
    "\n"
    "A step is a map with one key, the name of a service. A bare value is the service's first\n"
    "option: `- deliver: archive` is `- deliver: { to: archive }`. After `split`, `batch`,\n"
    "`subscribe`, `route` and `drop` a chain ends.\n"
    "\n"
    "A step that several chains have is written once, in `services`, and named where it runs:\n"
    "\n"
    "```yaml\n"
    "services:\n"
    "  tidy: { replace: { find: \"\\r\\n\", with: \"\\n\" } }\n"
    "routes:\n"
    "  - { name: orders, when: { type: order }, do: [ tidy, deliver: archive ] }\n"
    "```\n"
    "\n"
    "A service is a step of a kind, with its options, and not the name of another service; its\n"
    "name is not that of a kind. It means the same as the step written out in each place.\n";

static const char times[] =
    "\n"
    "## Times and clock changes\n"
    "\n"
    "A zone is a name of the IANA database as this machine has it (the package tzdata), read when\n"
    "a configuration comes into force. A local time means the first instant at which the clock\n"
    "there shows this time or a later one: what is left out when clocks go forward is the instant\n"
    "of the change, and of what comes twice when they go back the first counts.\n"
    "\n"
    "A window belongs to the day on which it opens: with `days: fri, open: \"22:00\", close: "
    "\"04:00\"`\n"
    "it is open until Saturday 04:00. On a day of its `holidays` it does not open; what opened "
    "the\n"
    "evening before goes on. Of a list of windows any will do.\n"
    "\n"
    "A schedule has lists (`1,15`), ranges (`mon-fri`), steps (`*/10`, `10-50/20`, `5/15`) and "
    "the\n"
    "short forms `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`. When both day and "
    "weekday "
    "are\n"
    "given, either is enough. One that names every hour follows the clock, so that the time from\n"
    "run to run stays the same over a change; any other one runs once for each local time it "
    "names.\n";

static void put_words(struct buf *out, const char *const *words, const char *after)
{
    for (size_t i = 0; words[i] != NULL; i++)
        buf_printf(out, "%s`%s%s`", i > 0 ? ", " : "", words[i], after);
}

/* Words that run, then those that do not. */
static void put_choice(struct buf *out, const struct option *o)
{
    const char *before = "";

    for (size_t i = 0; o->words[i] != NULL; i++)
        if (!option_word_is_planned(o, str_of(o->words[i]))) {
            buf_printf(out, "%s`%s`", before, o->words[i]);
            before = ", ";
        }
    if (o->planned != NULL) {
        buf_puts(out, "; planned: ");
        put_words(out, o->planned, "");
    }
}

/* Help texts start small; here they are sentences. */
static void put_sentence(struct buf *out, const char *text, const char *end)
{
    bool small = text[0] >= 'a' && text[0] <= 'z';

    buf_printf(out, "%c%s%s.\n", small ? text[0] - 'a' + 'A' : text[0], text + 1, end);
}

static bool has_parts(enum option_type type)
{
    return type == OPT_MAP || type == OPT_NAMED || type == OPT_LIST || type == OPT_KIND ||
           type == OPT_STEP;
}

static void put_type(struct buf *out, const struct option *o)
{
    if (o->type == OPT_WORD && o->words == NULL)
        buf_puts(out, "a kind");
    else if (o->type == OPT_WORD)
        put_choice(out, o);
    else if (o->type == OPT_LIST)
        buf_printf(out, "list of %ss",
                   o->each->noun != NULL ? o->each->noun : option_type_name(o->each->type));
    else
        buf_puts(out, option_type_name(o->type));
    if (o->type == OPT_URL) {
        buf_puts(out, ": ");
        put_words(out, o->words, "://");
    }
    if ((o->type == OPT_MAP || o->type == OPT_DURATION) && o->words != NULL) {
        buf_puts(out, ", or ");
        put_words(out, o->words, "");
    }
    if ((o->flags & OPT_STAR) != 0 && o->type != OPT_NAMED)
        buf_puts(out, " or `\"*\"`");
    if ((o->flags & OPT_OR_LIST) != 0)
        buf_puts(out, ", or a list");
}

/* In a file these defaults would stand in quotes. */
static bool needs_quotes(const struct option *o)
{
    return o->type == OPT_TIME || *o->fallback == '\0' || strcmp(o->fallback, "*") == 0;
}

static void put_row(struct buf *out, const char *path, const struct option *o)
{
    buf_printf(out, "| `%s` | ", path);
    put_type(out, o);
    buf_puts(out, " | ");
    if ((o->flags & OPT_REQUIRED) != 0)
        buf_puts(out, "required");
    else if ((o->flags & OPT_ONE_OF) != 0)
        buf_puts(out, "one of these");
    else if (o->fallback != NULL && needs_quotes(o))
        buf_printf(out, "`\"%s\"`", o->fallback);
    else if (o->fallback != NULL)
        buf_printf(out, "`%s`", o->fallback);
    buf_puts(out, (o->flags & OPT_PLANNED) != 0 ? " | planned: " : " | ");
    if (o->help != NULL)
        buf_puts(out, o->help);
    buf_puts(out, " |\n");
}

static const char *join(char path[static PATH_MOST], const char *prefix, const char *name,
                        const char *end)
{
    int n = snprintf(path, PATH_MOST, "%s%s%s", prefix, name, end);

    require(n > 0 && n < PATH_MOST);
    return path;
}

static void put_keys(struct buf *out, const char *prefix, const struct option *keys)
{
    const struct option *o;

    for (struct option_walk w = { keys }; (o = option_next(&w)) != NULL;) {
        char path[PATH_MOST];

        put_row(out, join(path, prefix, o->name, ""), o);
        if (o->type == OPT_MAP)
            put_keys(out, join(path, prefix, o->name, "."), o->keys);
        else if (o->type == OPT_NAMED && !has_parts(o->each->type))
            put_row(out, join(path, prefix, o->name, ".NAME"), o->each);
        else if (o->type == OPT_NAMED && o->each->type == OPT_MAP)
            put_keys(out, join(path, prefix, o->name, ".NAME."), o->each->keys);
        else if (o->type == OPT_LIST && o->each->type == OPT_MAP)
            put_keys(out, join(path, prefix, o->name, "[]."), o->each->keys);
    }
}

static void put_table_head(struct buf *out)
{
    buf_puts(out, "\n| key | takes | default | meaning |\n| --- | --- | --- | --- |\n");
}

static void put_kinds(struct buf *out, const struct connectors *all, const char *title,
                      enum option_role role)
{
    const struct option *common = kind_common(role);
    const struct option_kind *k;

    if (common != NULL) {
        buf_printf(out, "\nKeys of every %s:\n", title);
        put_table_head(out);
        put_keys(out, "", common);
    }
    for (size_t i = 0; (k = kind_at(all, role, i)) != NULL; i++) {
        buf_printf(out, "\n### %s `%s`%s\n\n", title, k->name, k->planned ? ", planned" : "");
        put_sentence(out, k->help, k->ends ? "; nothing follows it" : "");
        if (k->keys->type == OPT_END)
            continue;
        put_table_head(out);
        put_keys(out, "", k->keys);
    }
}

static void put_section(struct buf *out, const struct connectors *all, const struct option *section)
{
    const struct option *each = section->each;

    buf_printf(out, "\n## `%s`%s\n\n", section->name,
               (section->flags & OPT_PLANNED) != 0 ? ", planned" : "");
    put_sentence(out, section->help, "");
    if (section->type == OPT_MAP) {
        put_table_head(out);
        put_keys(out, "", section->keys);
        return;
    }
    buf_printf(out, "\nA %s.\n", section->type == OPT_LIST ? "list" : "map of names");
    if (each->type == OPT_STEP) {
        buf_puts(out, "\nEach is a step: a map with one key, the name of a service.\n");
        return;
    }
    if (each->type == OPT_KIND) {
        put_kinds(out, all, each->noun, each->role);
        return;
    }
    put_table_head(out);
    put_keys(out, "", each->keys);
}

static bool is_reserved(const struct option *section)
{
    return section->type == OPT_ANY || (section->each != NULL && section->each->type == OPT_ANY);
}

static void put_types(struct buf *out)
{
    buf_puts(out, "\n## How values are written\n\n| value | written as |\n| --- | --- |\n");
    for (enum option_type type = OPT_TEXT; type <= OPT_DATABASE; type++) {
        buf_printf(out, "| %s | ", option_type_name(type));
        buf_puts(out, option_form(type));
        buf_puts(out, " |\n");
    }
}

static void config_describe(const struct connectors *all, struct buf *out)
{
    const struct option *s;

    buf_puts(out, intro);
    put_types(out);
    buf_puts(out, expressions);
    buf_puts(out, routes);
    buf_puts(out, times);
    for (struct option_walk w = { grammar_sections }; (s = option_next(&w)) != NULL;)
        if (!is_reserved(s))
            put_section(out, all, s);
    buf_puts(out, "\n## Services\n\nThe steps of a route.\n");
    put_kinds(out, all, "service", ROLE_SERVICE);
    buf_puts(out, "\n## Reserved sections\n\nPlanned, and their shape is not fixed yet; what they "
                  "contain is kept.\n\n| section | meaning |\n| --- | --- |\n");
    for (struct option_walk w = { grammar_sections }; (s = option_next(&w)) != NULL;)
        if (is_reserved(s))
            buf_printf(out, "| `%s` | %s |\n", s->name, s->help);
}
