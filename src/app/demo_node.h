/* demo_node.h - the node that `waybill demo` runs: its folder, its process, its face.
 *
 * The node is this same program, started as `serve` with a configuration that is
 * written here.  It does not outlive the demo, and it is told apart from it: Ctrl-C
 * reaches the demo alone, which stops the node in good order.
 *
 *     DIR/waybill.yaml  data/  inbox/  taken/  archive/  node.log  node.pid
 *
 * Threads: the main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { DEMO_PORT = 8480 }; /* or any free one */

struct demo_node {
    struct arena *arena;
    const char *program; /* this binary    */
    const char *dir;     /* absolute       */
    int dir_fd, inbox_fd;
    uint16_t port, mock_port;
    char url[40];
    bool used_before; /* the folder had a store in it */
    pid_t pid;        /* 0: not running */
    void *curl;       /* CURL * */
};

/* Make the folders and the configuration.  Texts hang on the arena. */
bool demo_node_prepare(struct demo_node *n, struct arena *a, const char *dir, uint16_t mock_port,
                       struct err *err);
void demo_node_done(struct demo_node *n); /* the process is gone; the folder stays */

bool demo_node_spawn(struct demo_node *n, struct err *err);
/* Wait until it is ready, and give it the configuration when its store has another. */
bool demo_node_await(struct demo_node *n, struct err *err);
/* SIGTERM, and patience; then it is killed. */
void demo_node_stop(struct demo_node *n);
/* True when the process has ended by itself; *ret_how tells how, in static storage. */
bool demo_node_ended(struct demo_node *n, const char **ret_how);

/* One document into a gateway; true: the node has it. */
bool demo_node_post(struct demo_node *n, const char *gateway, const char *ctype, const char *key,
                    struct str body);
/* The text of /metrics into `to`; false: no answer. */
bool demo_node_metrics(struct demo_node *n, struct buf *to);

/* The last lines of its log to stderr. */
void demo_node_tell_log(const struct demo_node *n);
