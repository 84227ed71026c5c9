/* checkpoint_keep.h - where the command line puts a signed head of the audit log, and how it reads
 * one back.  Each prints its error and returns the exit status. */
#pragma once

#include "core/checkpoint.h"

/* Writes a new file, durably; one that exists is not replaced. */
int checkpoint_keep_file(const char *path, const char *text);
/* Posts the text, as text/plain.  Redirects are not followed, and no proxy of the environment is
 * used. */
int checkpoint_keep_post(const char *url, const char *text);
/* Reads a file, or `-`, and checks the signature. */
int checkpoint_keep_read(const char *path, struct checkpoint *ret);
