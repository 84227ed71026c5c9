#include "core/yaml.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"

struct loader {
    struct arena *arena;
    struct problem_list *problems;
    struct yaml_node *root;
    struct yaml_node *open[YAML_DEPTH]; /* the open maps and lists */
    struct yaml_node *key[YAML_DEPTH];  /* in open maps: the key without a value yet */
    size_t depth, count;
    size_t last_end; /* where the last scalar or bracket ended */
    bool stop;
};

/* Messages of libyaml, and ours in their place. */
static const struct {
    const char *theirs, *ours, *hint;
} complaints[] = {
    { "found character that cannot start any token", "a value cannot start with this character",
      "indent with blanks, never with tabs; a text that starts with @, ` or % stands in quotes" },
    { "mapping values are not allowed in this context", "a `:` is not expected here",
      "the line may be indented too far; a text that contains `: ` stands in quotes" },
    { "did not find expected key", "a key is expected here",
      "keys of one map stand in the same column; perhaps a quote or bracket above is not closed" },
    { "did not find expected '-' indicator", "a list item (`- `) is expected here",
      "items of one list stand in the same column" },
    { "did not find expected ',' or '}'", "a `,` or `}` is expected here",
      "perhaps a `{` above is not closed, or a text with special characters needs quotes" },
    { "did not find expected ',' or ']'", "a `,` or `]` is expected here",
      "perhaps a `[` above is not closed, or a text with special characters needs quotes" },
    { "could not find expected ':'", "a `:` is expected after this key",
      "a key is followed by `: ` and its value" },
    { "found unexpected end of stream", "the file ends inside a quoted text",
      "a quote above is not closed" },
    { "found unexpected ':'", "a `:` is not expected here",
      "in brackets a blank follows the `:`; a text that contains `:` there stands in quotes" },
    { "found unknown escape character", "this escape is not known",
      "in \"double quotes\" a backslash starts an escape; 'single quotes' take it as it is" },
    { "did not find expected alphabetic or numeric character",
      "a text that starts with `*` or `&` stands in quotes", "write \"*\" for anything" },
    { "control characters are not allowed", "control characters are not allowed",
      "take it out; in \"double quotes\" it is written as an escape, such as \\t" },
    { "invalid leading UTF-8 octet", "the text is not UTF-8", "save the file as UTF-8" },
    { "invalid trailing UTF-8 octet", "the text is not UTF-8", "save the file as UTF-8" },
    { "incomplete UTF-8 octet sequence", "the text is not UTF-8", "save the file as UTF-8" },
    { "invalid length of a UTF-8 sequence", "the text is not UTF-8", "save the file as UTF-8" },
    { "invalid Unicode character", "the text is not UTF-8", "save the file as UTF-8" },
};

static struct place yaml_place_of(yaml_mark_t mark)
{
    return (struct place){ (unsigned)mark.line + 1, (unsigned)mark.column + 1 };
}

static struct place place_at_byte(struct str text, size_t offset)
{
    struct place place = { 1, 1 };

    for (size_t i = 0; i < offset && i < text.len; i++) {
        if (text.ptr[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if ((text.ptr[i] & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static void yaml_complain(struct loader *l, const yaml_parser_t *parser, struct str text)
{
    const char *theirs = parser->problem != NULL ? parser->problem : "it cannot be read";
    struct place place = parser->error == YAML_READER_ERROR
                             ? place_at_byte(text, parser->problem_offset)
                             : yaml_place_of(parser->problem_mark);

    for (size_t i = 0; i < sizeof complaints / sizeof complaints[0]; i++)
        if (strcmp(theirs, complaints[i].theirs) == 0) {
            problem_add(l->problems, place, complaints[i].hint, "%s", complaints[i].ours);
            return;
        }
    problem_add(l->problems, place,
                "look at the lines above as well: the cause often stands before its effect",
                "not valid YAML: %s", theirs);
}

static void yaml_give_up(struct loader *l, struct place place, const char *hint, const char *what)
{
    problem_add(l->problems, place, hint, "%s", what);
    l->stop = true;
}

/* Attaches the node to its parent; in a map keys and values alternate. */
static void attach(struct loader *l, struct yaml_node *node)
{
    if (l->depth == 0) {
        l->root = node;
        return;
    }
    struct yaml_node *parent = l->open[l->depth - 1];
    struct yaml_node **key = &l->key[l->depth - 1];

    if (parent->kind == YAML_MAP && *key == NULL) {
        if (node->kind != YAML_SCALAR)
            problem_add(l->problems, node->place, "write `KEY: VALUE`",
                        "a key is a single word, not a %s",
                        node->kind == YAML_MAP ? "map" : "list");
        *key = node;
        return;
    }
    if (parent->kind == YAML_MAP) {
        node->key = *key; /* (1) */
        *key = NULL;
    }
    if (parent->last != NULL)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
}

static struct yaml_node *yaml_add(struct loader *l, enum yaml_kind kind, const yaml_event_t *event)
{
    struct place place = yaml_place_of(event->start_mark);

    if (++l->count > YAML_NODES) {
        yaml_give_up(l, place, "a list in `when` takes the place of many routes",
                     "the file has more than 200000 values");
        return NULL;
    }
    if (l->depth == YAML_DEPTH) { /* (3) */
        yaml_give_up(l, place, "nothing here needs more than ten",
                     "maps and lists are nested more than 64 deep");
        return NULL;
    }
    struct yaml_node *node = ARENA_NEW(l->arena, struct yaml_node);

    *node = (struct yaml_node){
        .kind = kind,
        .place = place,
        .at = event->start_mark.index,
        .end = event->end_mark.index,
        .text = STR(""), /* (2) */
    };
    attach(l, node);
    return node;
}

static void refuse_marks(struct loader *l, const yaml_event_t *event, const yaml_char_t *anchor,
                         const yaml_char_t *tag)
{
    if (anchor != NULL)
        problem_add(l->problems, yaml_place_of(event->start_mark),
                    "write the value out where it is needed",
                    "anchors (`&name`) are not used here");
    if (tag != NULL)
        problem_add(l->problems, yaml_place_of(event->start_mark),
                    "leave it out; a text that starts with `!` stands in quotes",
                    "tags (`!name`) are not used here");
}

static void on_scalar(struct loader *l, const yaml_event_t *event)
{
    struct yaml_node *node = yaml_add(l, YAML_SCALAR, event);

    if (node == NULL)
        return;
    refuse_marks(l, event, event->data.scalar.anchor, event->data.scalar.tag);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->text = arena_copy(l->arena, str_mem(event->data.scalar.value, event->data.scalar.length));
    l->last_end = node->end;
}

static void on_open(struct loader *l, const yaml_event_t *event)
{
    bool map = event->type == YAML_MAPPING_START_EVENT;
    struct yaml_node *node = yaml_add(l, map ? YAML_MAP : YAML_LIST, event);

    if (node == NULL)
        return;
    if (map) {
        refuse_marks(l, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        node->flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    } else {
        refuse_marks(l, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        node->flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    }
    require(l->depth < YAML_DEPTH);
    l->key[l->depth] = NULL;
    l->open[l->depth++] = node;
}

static int yaml_by_key(const void *a, const void *b)
{
    const struct yaml_node *x = *(const struct yaml_node *const *)a;
    const struct yaml_node *y = *(const struct yaml_node *const *)b;
    int c = str_cmp(x->key->text, y->key->text);

    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

static void refuse_duplicates(struct loader *l, const struct yaml_node *map)
{
    if (map->count < 2)
        return;
    struct yaml_node **sorted = xcalloc(map->count, sizeof *sorted);
    size_t n = 0;

    for (struct yaml_node *child = map->first; child != NULL; child = child->next)
        sorted[n++] = child;
    require(n == map->count);
    qsort(sorted, n, sizeof sorted[0], yaml_by_key);
    for (size_t i = 1; i < n; i++) {
        const struct yaml_node *one = sorted[i - 1]->key, *two = sorted[i]->key;
        char name[PROBLEM_QUOTE];

        if (str_eq(one->text, two->text) && two->kind == YAML_SCALAR)
            problem_add(l->problems, two->place, "keep one of them",
                        "the key `%s` stands here twice; the other one is in line %u",
                        problem_quote(name, two->text), one->place.line);
    }
    free(sorted);
}

static void on_close(struct loader *l, const yaml_event_t *event)
{
    require(l->depth > 0);
    struct yaml_node *node = l->open[--l->depth];

    /* A block ends with its last value; the mark of libyaml is the start of the next line. */
    if (node->flow)
        l->last_end = event->end_mark.index;
    node->end = l->last_end;
    if (node->kind == YAML_MAP)
        refuse_duplicates(l, node);
}

static void on_event(struct loader *l, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (l->root != NULL)
            yaml_give_up(l, yaml_place_of(event->start_mark), "put everything into one document",
                         "a second document starts here");
        break;
    case YAML_ALIAS_EVENT:
        problem_add(l->problems, yaml_place_of(event->start_mark),
                    "write the value out; a text that starts with `*` stands in quotes",
                    "aliases (`*name`) are not used here");
        (void)yaml_add(l, YAML_SCALAR, event);
        break;
    case YAML_SCALAR_EVENT:
        on_scalar(l, event);
        break;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        on_open(l, event);
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        on_close(l, event);
        break;
    case YAML_STREAM_END_EVENT:
        l->stop = true;
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
}

struct yaml_node *yaml_load(struct str text, struct arena *arena, struct problem_list *problems)
{
    struct loader l = { .arena = arena, .problems = problems };
    bool ended = false;
    yaml_parser_t parser;

    if (text.ptr == NULL)
        text = STR("");
    if (text.len > YAML_BYTES) {
        problem_add(problems, (struct place){ 1, 1 },
                    "a list in `when` takes the place of many routes",
                    "the file is larger than 4 MiB");
        return NULL;
    }
    if (!yaml_parser_initialize(&parser)) {
        problem_add(problems, (struct place){ 1, 1 }, "try again", "out of memory");
        return NULL; /* uncovered: out of memory in libyaml */
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.ptr, text.len);
    while (!l.stop) {
        yaml_event_t event;

        if (!yaml_parser_parse(&parser, &event)) {
            yaml_complain(&l, &parser, text);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        on_event(&l, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (!ended)
        return NULL;
    if (l.root == NULL) {
        l.root = ARENA_NEW(arena, struct yaml_node);
        *l.root = (struct yaml_node){ .kind = YAML_MAP, .place = { 1, 1 }, .text = STR("") };
    }
    return l.root;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    if (map == NULL || map->kind != YAML_MAP)
        return NULL;
    for (const struct yaml_node *child = map->first; child != NULL; child = child->next)
        if (str_is(child->key->text, key))
            return child;
    return NULL;
}

void yaml_put(struct yaml_node *map, struct str key, const struct yaml_node *value,
              struct arena *arena)
{
    struct yaml_node *k = ARENA_NEW(arena, struct yaml_node);
    struct yaml_node *n = ARENA_NEW(arena, struct yaml_node);

    *k = (struct yaml_node){ .kind = YAML_SCALAR, .place = value->place, .text = key };
    *n = *value;
    n->key = k;
    n->next = NULL;
    if (map->last != NULL)
        map->last->next = n;
    else
        map->first = n;
    map->last = n;
    map->count++;
}

struct str yaml_text(const struct yaml_node *node)
{
    return node == NULL || node->kind != YAML_SCALAR ? STR("") : node->text;
}

bool yaml_is_null(const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && !node->quoted &&
           (node->text.len == 0 || str_is(node->text, "~") || str_is(node->text, "null"));
}

/* The value in `map` whose key has the same text. */
static const struct yaml_node *yaml_partner(const struct yaml_node *map,
                                            const struct yaml_node *key)
{
    for (const struct yaml_node *child = map->first; child != NULL; child = child->next)
        if (str_eq(child->key->text, key->text))
            return child;
    return NULL;
}

bool yaml_same(const struct yaml_node *a, const struct yaml_node *b)
{
    struct {
        const struct yaml_node *next, *in, *beside; /* a child of a; b; in a list, the child of b */
    } above[YAML_DEPTH + 1];
    size_t depth = 0;

    for (;;) {
        if (b == NULL || a->kind != b->kind || a->count != b->count || !str_eq(a->text, b->text))
            return false;
        if (a->first != NULL) {
            require(depth <= YAML_DEPTH);
            above[depth].next = a->first;
            above[depth].in = b;
            above[depth++].beside = b->first;
        }
        while (depth > 0 && above[depth - 1].next == NULL)
            depth--;
        if (depth == 0)
            return true;
        a = above[depth - 1].next;
        b = above[depth - 1].in;
        b = b->kind == YAML_MAP ? yaml_partner(b, a->key) : above[depth - 1].beside;
        above[depth - 1].next = a->next;
        if (above[depth - 1].beside != NULL)
            above[depth - 1].beside = above[depth - 1].beside->next;
    }
}

struct place yaml_position(const struct yaml_node *node)
{
    return node->key != NULL ? node->key->place : node->place;
}

size_t yaml_byte_of(struct str text, size_t character)
{
    size_t i = 0;

    for (; i < text.len; i++)
        if ((text.ptr[i] & 0xc0) != 0x80 && character-- == 0)
            break;
    return i;
}
