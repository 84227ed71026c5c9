/* pg_files.h - the files that libpq reads to connect: certificates, keys, the password file. */
#pragma once

typedef void pg_file(void *arg, const char *path);

/* Calls `each` for every file that the address or the environment names, and for those that libpq
 * looks for in the home folder; whether they exist is not asked.  An address that is not valid has
 * none: connecting will say so. */
void pg_files(const char *url, pg_file *each, void *arg);
