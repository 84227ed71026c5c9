/* dies.h - proof that a mistake of ours ends the process.
 *
 * dies(f) runs f in a child and says whether the child was ended by abort(), the
 * way require() does it.  What the child wrote to stderr is kept, cut to a cap.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char dies_said[4096];

__attribute__((unused)) static bool dies(void (*f)(void))
{
    int pipe_fd[2], status = 0;
    size_t n = 0;

    fflush(stdout);
    if (pipe(pipe_fd) < 0)
        return false;
    pid_t child = fork();

    if (child == 0) {
        const struct rlimit no_core = { 0, 0 };

        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)dup2(pipe_fd[1], STDERR_FILENO);
        f();
        _exit(0);
    }
    (void)close(pipe_fd[1]);
    for (ssize_t got; n < sizeof dies_said - 1; n += (size_t)got) {
        got = read(pipe_fd[0], dies_said + n, sizeof dies_said - 1 - n);
        if (got <= 0)
            break;
    }
    dies_said[n] = '\0';
    (void)close(pipe_fd[0]);
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}
