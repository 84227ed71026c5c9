/* spare.h - an allocator for a library that takes and gives back many small pieces: each
 * thread keeps some of what it was given back, by size, and hands it out again without
 * asking malloc.  Pieces may change threads.
 *
 * In builds with sanitizers it is malloc itself, so that they see every piece.
 */
#pragma once

#include <stddef.h>

void *spare_malloc(size_t size);
void *spare_calloc(size_t count, size_t size);
void *spare_realloc(void *p, size_t size);
char *spare_strdup(const char *z);
void spare_free(void *p);
size_t spare_size(const void *p); /* the bytes that it can hold */
