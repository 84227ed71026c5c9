/* other_program.h - runs a program of Debian in a folder of the test, for its opinion. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "folder.h"

__attribute__((unused)) static bool other_program_file(const struct folder *f, const char *name,
                                                       struct str bytes)
{
    AUTO_FD fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return fd >= 0 && write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len;
}

/* The result of the command, which a shell runs in the folder: 0 is success. */
static int other_program_run(const struct folder *f, const char *command, struct buf *out)
{
    char line[1024], piece[4096];
    size_t n;

    (void)snprintf(line, sizeof line, "cd '%s' && %s", f->path, command);
    FILE *p = popen(line, "re");

    if (p == NULL)
        return -1;
    while ((n = fread(piece, 1, sizeof piece, p)) > 0)
        buf_put(out, str_mem(piece, n));
    return pclose(p);
}
