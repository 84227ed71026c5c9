/* config_file.h - the text of a configuration on its way to a node, and its problems. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The whole file, or stdin for "-", as a JSON string; NULL has been told. */
json_t *config_file_read(const char *path, int *ret_exit);

/* A list of Problem, as `waybill check` prints them. */
void config_file_problems(const json_t *list, const char *file, const char *severity, bool as_json);
