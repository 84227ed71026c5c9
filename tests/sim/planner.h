/* planner.h - the plans of jobs, by src/job/planning.c, which ships, in words of the model.
 *
 * Apart from sim.h: records and plans of the store have the same names there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/schedule/schedule.h"

struct planner_record {
    const struct schedule *schedule;
    uint64_t seed;
    struct schedule_known known;
    int64_t next_us, nominal_us, turn, open_runs, asked_us;
    int64_t held_us, awaited_nominal_us; /* of the run that has the token; 0: there is none */
    bool running, gone;
};

struct planner_answer {
    struct schedule_known known;
    int64_t next_us, nominal_us; /* 0: never again */
    int64_t left_out;
    int64_t served_us; /* CANCELLED */
    bool suspended;
};

struct planner_run {
    int64_t nominal_us, began_us, ended_us, planned_us;
    enum schedule_outcome outcome;
};

enum planner_why {
    PLANNER_NOW,
    PLANNER_BESIDE,
    PLANNER_CHANGED,
    PLANNER_RESUMED,
    PLANNER_CANCELLED
};

struct planner_answer planner_new(const struct schedule *s, uint64_t seed, int64_t now_us);
struct planner_answer planner_ask(enum planner_why why, const struct planner_record *r,
                                  int64_t now_us);
struct planner_answer planner_end(const struct planner_record *r, const struct planner_run *run,
                                  int64_t now_us);
