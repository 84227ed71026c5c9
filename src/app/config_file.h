/* config_file.h - reads a configuration file to send it to a node, and prints its problems. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The file, or stdin for "-", up to the cap of `to`: with room for one byte more than the limit the
 * loader refuses a file that is too large. */
struct buf;
struct err;
bool config_file_text(const char *file, struct buf *to, struct err *err);

/* The whole file, or stdin for "-", as a JSON string; NULL: the error is printed. */
json_t *config_file_read(const char *path, int *ret_exit);

/* The files that the configuration names, read from beside it, as a list of ConfigFileInput.  NULL:
 * what is wrong with them is printed.  A text that cannot be loaded here names none: the node says
 * why. */
json_t *config_file_along(const char *path, const json_t *text, bool as_json, int *ret_exit);
struct config_files;
json_t *config_file_list(const struct config_files *files);
/* Makes the list the variable `files`; none stays away.  Takes ownership of the list. */
void config_file_attach(json_t *variables, json_t *list);

/* Prints those of a list of ConfigLoss that leave nothing behind; the others are problems or
 * warnings. */
void config_file_losses(const json_t *list, bool as_json);

/* Prints a list of Problem in the form of `waybill check`. */
void config_file_problems(const json_t *list, const char *file, const char *severity, bool as_json);
