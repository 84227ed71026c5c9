/* again.h - run the test program once more, as a child of its own.
 *
 * For what must happen in a fresh process: a plan of faults is read once, and some
 * things end the process.
 *
 *     again(scene, fault, arg)     runs `PROGRAM scene arg` with WAYBILL_FAULT=fault
 *     again_scene(argc, argv)      in main(): the scene, or NULL in an ordinary run
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct again_end {
    int signal, status; /* what ended it: the signal, or else the exit status */
};

__attribute__((unused)) static struct again_end again(const char *scene, const char *fault,
                                                      const char *arg)
{
    int status = 0;

    fflush(stdout);
    pid_t child = fork();

    if (child == 0) {
        const struct rlimit no_core = { 0, 0 };

        (void)setrlimit(RLIMIT_CORE, &no_core);
        if (fault != NULL)
            (void)setenv("WAYBILL_FAULT", fault, 1);
        (void)execl("/proc/self/exe", "again", scene, arg, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return (struct again_end){ .status = -1 };
    if (WIFSIGNALED(status))
        return (struct again_end){ .signal = WTERMSIG(status) };
    return (struct again_end){ .status = WEXITSTATUS(status) };
}

__attribute__((unused)) static const char *again_scene(int argc, char **argv)
{
    return argc == 3 ? argv[1] : NULL;
}
