/* ports.h - the parts of the engine that a kind of job may use (core/job_type.h).
 *
 * Whatever a kind changes in the store it changes through the engine's rooms, as people do.
 */
#pragma once

struct engine;
struct store;

struct job_ports {
    struct engine *engine;
    struct store *store;
};
