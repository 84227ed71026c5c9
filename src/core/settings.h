/* settings.h - the options of one connector, ready to use.
 *
 * Reads a node of the configuration that was checked already (config.h): ${env:}, ${file:} and
 * ${secret:} are replaced, and a missing key has the fallback of its option table (option.h).
 * Results live in the arena; texts are terminated.
 *
 * Replaced text is not searched for references again.  An error (ERR_CONFIG, or the error of
 * secret_find) names the key, never a value.
 *
 * Threads: reading ${file:} may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/known_folder.h"
#include "base/str.h"
#include "core/option.h"
#include "core/units.h"
#include "core/yaml.h"

/* Finds the value of a secret; ERR_CONFIG: no secret has that name. */
typedef bool secret_find(void *arg, struct str name, struct arena *a, struct str *ret,
                         struct err *err);

struct config_files;
struct config_node;
struct connectors;

struct settings {
    const struct yaml_node *node;      /* a map; any other value is that of the first key of `own`,
                                        * as in a step; NULL: no key is set */
    const struct option *common, *own; /* tables of keys; either may be NULL */
    const char *file;                  /* relative paths start in its folder; NULL: as they are */
    secret_find *secret;
    void *secret_arg;
    /* What ${env:} and ${file:} may name is listed by the node that runs it; relative paths of
     * ${file:} start in the folder of its file.  NULL: nothing. */
    const struct config_node *reach;
    const struct folder_port *folders;   /* keeps what is known of folders; NULL: nothing does */
    const struct config_files *files;    /* of the version, for OPT_FILE; NULL: none */
    const struct connectors *connectors; /* for settings that name a kind themselves; NULL: none */
    bool literal; /* over settings_json(): nothing is replaced, a file is its content */
    struct arena *arena;
};

/* The settings of a map below this one, such as `retry`. */
struct settings settings_below(const struct settings *s, const char *key);

bool settings_has(const struct settings *s, const char *key);
/* Empty, with ptr NULL, when the key is not set and has no fallback. */
bool settings_text(const struct settings *s, const char *key, struct str *ret, struct err *err);
/* These leave *ret alone when the key is not set and has no fallback.  settings_int reads sizes
 * too, as bytes. */
bool settings_int(const struct settings *s, const char *key, int64_t *ret, struct err *err);
bool settings_bool(const struct settings *s, const char *key, bool *ret, struct err *err);
bool settings_duration(const struct settings *s, const char *key, int64_t *ret_us, struct err *err);
/* `rate` and `burst`, which is a second's worth of the rate when it is left out. */
bool settings_rate(const struct settings *s, struct units_rate *ret, uint64_t *ret_burst,
                   struct err *err);
/* As a path: relative ones start in the folder of the configuration file; a PEM text
 * (config_is_pem) stays as it is. */
bool settings_path(const struct settings *s, const char *key, struct str *ret, struct err *err);
/* A path that is a folder, with the proof of the key `mounted`; it is not touched. */
bool settings_folder(const struct settings *s, const char *key, struct known_folder *ret,
                     struct err *err);

/* The content of a file of the version, any bytes; ptr NULL when the key is not set. */
bool settings_file(const struct settings *s, const char *key, struct str *ret, struct err *err);

/* An error that begins with the key of a file gets its path, for who reads the message; one of a
 * list begins with "`KEY`: number 2". */
void settings_name_file(const struct settings *s, struct err *err);

/* A text, or a list of texts; none when the key is not set and has no fallback. */
bool settings_texts(const struct settings *s, const char *key, const struct str **ret,
                    size_t *ret_count, struct err *err);

/* One value of a list or of a map of texts. */
bool settings_expand(const struct settings *s, const struct yaml_node *value, struct str *ret,
                     struct err *err);
/* The content of the file that one value names. */
bool settings_content(const struct settings *s, const struct yaml_node *value, struct str *ret,
                      struct err *err);

/* ---- options for another process (settings_json.c) ---- */

/* Appends the options that are set as one JSON object, in which every reference is replaced by its
 * value and every file by its content: it has secrets in it.  Keys of `common` and `limits` are
 * left out: they are for the caller. */
bool settings_json(const struct settings *s, struct buf *out, struct err *err);
/* The way back: settings over such a text, `literal`, on the arena.  Whatever a value looks like,
 * it is taken as it stands. */
bool settings_of_json(struct str json, const struct option *own, struct arena *a,
                      struct settings *ret, struct err *err);
