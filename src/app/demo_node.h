/* demo_node.h - the node that `waybill demo` runs: its folder, its process, its HTTP interface.
 *
 * The node is this same program, started as `serve` with a configuration that is
 * written here.  It does not outlive the demo.  It has a process group of its own, so
 * that Ctrl-C reaches the demo alone, which then stops the node cleanly.
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

enum { DEMO_PORT = 8480 }; /* preferred; any free port if it is taken */

struct demo_node {
    struct arena *arena;
    const char *program; /* this binary    */
    const char *dir;     /* absolute       */
    int dir_fd, inbox_fd;
    uint16_t port, mock_port, mllp_port;
    char url[40];
    bool used_before; /* the folder has a store already */
    pid_t pid;        /* 0: not running */
    void *curl;       /* CURL * */
};

/* Makes the folders and the configuration.  Texts are in the arena. */
bool demo_node_prepare(struct demo_node *n, struct arena *a, const char *dir, uint16_t mock_port,
                       struct err *err);
void demo_node_done(struct demo_node *n); /* after the process has ended; the folder stays */

bool demo_node_spawn(struct demo_node *n, struct err *err);
/* Waits until the node is ready.  In a folder that was used before, applies the configuration,
 * because the stored version has old ports. */
bool demo_node_await(struct demo_node *n, struct err *err);
/* Sends SIGTERM and waits; after a time-out, SIGKILL. */
void demo_node_stop(struct demo_node *n);
/* True: the process has ended; *ret_how says how, in static storage. */
bool demo_node_ended(struct demo_node *n, const char **ret_how);

/* Sends one document to a gateway; true: the node has accepted it. */
bool demo_node_post(struct demo_node *n, const char *gateway, const char *ctype, const char *key,
                    struct str body);
/* Reads /metrics into `to`; false: no answer. */
bool demo_node_metrics(struct demo_node *n, struct buf *to);

/* Prints the last lines of the node's log on stderr. */
void demo_node_tell_log(const struct demo_node *n);
