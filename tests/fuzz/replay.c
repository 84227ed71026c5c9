/* replay.c - main() of the programs replay_NAME: gives a fuzz target every input of its corpus.
 *
 * The fuzzer itself needs clang and time (tools/run_fuzz).  What it once found is replayed with
 * every build that is tested.  TAP: one line per input.  An input that ends the process is the one
 * of the last comment line.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"

enum { INPUT_MOST = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int is_input(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* The input is an allocation of exactly its size, so that a sanitizer sees a read behind it. */
static void replay(const char *name, struct str bytes)
{
    uint8_t *copy = xmalloc(bytes.len + (bytes.len == 0));

    (void)printf("# %s, %zu bytes\n", name, bytes.len);
    (void)fflush(stdout);
    memcpy(copy, bytes.ptr, bytes.len);
    (void)LLVMFuzzerTestOneInput(copy, bytes.len);
    free(copy);
}

static bool replay_file(const char *name)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(INPUT_MOST);
    char path[4096];
    struct err err;

    (void)snprintf(path, sizeof path, "%s/%s", CORPUS, name);
    if (!file_read_whole(AT_FDCWD, path, &bytes, &err)) {
        (void)printf("# %s\n", err.text);
        return false;
    }
    replay(name, buf_view(&bytes));
    return true;
}

int main(void)
{
    struct dirent **inputs = NULL;
    int count = scandir(CORPUS, &inputs, is_input, alphasort), bad = 0;

    if (count <= 0) {
        (void)printf("1..1\nnot ok 1 - %s has no inputs\n", CORPUS);
        return 1;
    }
    (void)printf("1..%d\n", count + 1);
    replay("nothing", STR(""));
    (void)printf("ok 1 - nothing\n");
    for (int i = 0; i < count; i++) {
        bool ok = replay_file(inputs[i]->d_name);

        bad += !ok;
        (void)printf("%s %d - %s\n", ok ? "ok" : "not ok", i + 2, inputs[i]->d_name);
        free(inputs[i]);
    }
    free(inputs);
    return bad > 0;
}
