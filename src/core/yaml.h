/* yaml.h - a YAML text as a tree, with the place of everything in it.
 *
 * Reads the part of YAML that a configuration needs: maps, lists and scalars in
 * one document.  Scalars stay text ("no" is a text, not a boolean); the
 * caller decides what they mean.  Refused, with their places: duplicate keys,
 * anchors and aliases, tags, several documents, text that is not UTF-8, and
 * anything larger or deeper than the limits below.
 *
 * Invariants
 *   (1) a child of a map has a key, a child of a list has none.
 *   (2) text.ptr is never NULL; it is empty for maps and lists.
 *   (3) no path from the root is longer than YAML_DEPTH nodes.
 *
 * Ownership: the tree lives in the arena given to yaml_load().
 * Threads: the tree is immutable once loaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/problem.h"

enum { YAML_DEPTH = 64, YAML_NODES = 200000, YAML_BYTES = 4 * 1024 * 1024 };

/* The most that one tree takes in its arena. */
#define YAML_ARENA ((size_t)128 * 1024 * 1024)

enum yaml_kind { YAML_SCALAR, YAML_MAP, YAML_LIST };

struct yaml_node {
    enum yaml_kind kind;
    bool quoted;   /* a scalar that was written in quotes or as a block */
    bool outside;  /* its text came from a reference: never shown      */
    bool flow;     /* a map or list that was written in brackets       */
    bool borrowed; /* its content stands elsewhere too, and is checked there */
    struct place place;
    size_t at, end;              /* first character, and the one after the last, from 0 */
    struct str text;             /* of a scalar */
    const struct yaml_node *key; /* in a map    */
    struct yaml_node *first, *last, *next;
    size_t count; /* of children */
};

/* The root, or NULL when the text cannot be read; an empty text is an empty map.
 * With a root there may still be problems (a key that appears twice): the caller
 * goes on to find more, and then refuses the text. */
struct yaml_node *yaml_load(struct str text, struct arena *arena, struct problem_list *problems);

/* The value of a key; NULL when there is none or `map` is no map (or NULL). */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* The text of a scalar; empty for everything else and for NULL. */
struct str yaml_text(const struct yaml_node *node);

/* Nothing was written: `key:`, `key: ~` or `key: null`. */
bool yaml_is_null(const struct yaml_node *node);

/* Adds a copy of the value to a map; its children are shared.  `key` is terminated, and lives as
 * long. */
void yaml_put(struct yaml_node *map, struct str key, const struct yaml_node *value,
              struct arena *arena);

/* Equal content: maps in any order, scalars by their texts. */
bool yaml_same(const struct yaml_node *a, const struct yaml_node *b);

/* The place to report for a child: its key in a map, else the child itself. */
struct place yaml_position(const struct yaml_node *node);

/* The byte at which the n-th character of the text starts. */
size_t yaml_byte_of(struct str text, size_t character);
