/* script_job.c - a program in Lua, in a process that can do nothing but compute.
 *
 *     fifths: { kind: script, every: 1m, script: "return { state = (tonumber(job.state) or 0) + 5
 * }" }
 *
 * It finds its run in the global `job`: name, run, nominal (text) and state (text, empty at first),
 * and returns a table as a service answers `call` (service_answer.h): state, more, moved, message,
 * or error and retry.  It reaches what a step `lua` reaches (docs/scripts.md); now() is the nominal
 * time, and log() writes a step of the run.  So the same state gives the same result.
 *
 * The program runs as the service `lua` (cage/cage.h): its document is the run, as JSON.  Its
 * process is killed when the run is told to stop.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "cage/cage.h"
#include "core/facts.h"
#include "core/grammar.h"
#include "core/job_type.h"
#include "core/problem.h"
#include "core/yaml.h"
#include "job/service_answer.h"

enum {
    SCRIPT_MOST = 4 << 20,
    SCRIPT_RUN_MOST = 1 << 20, /* the run as JSON: a state with its escapes has room in it */
    SCRIPT_OUT_MOST = 512 << 10
};

struct script_job {
    struct cage *cage;
};

/* On the first line of the script, so that lines keep their numbers. */
static const char script_before[] = "job = json.decode(doc.bytes) local function work() ";
static const char script_behind[] = "\nend return json.encode(work() or {})";

static const struct option options[] = {
    OPTION("script", OPT_TEXT,
           "the program in Lua: `job` has name, run, nominal and state; it returns a table with "
           "state, more, moved and message, or with error and retry; or `file`"),
    OPTION("file", OPT_FILE, "a file with it; or `script`"),
    OPTIONS(grammar_limits),
    { 0 },
};

static void script_job_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *script = yaml_get(map, "script"), *file = yaml_get(map, "file");

    if ((script != NULL) == (file != NULL))
        problem_add(problems, yaml_position(script != NULL ? file : map),
                    "`script` is the program, or `file` names one",
                    "the program comes from `script` or from `file`: give one of them");
}

/* ---- making ---- */

/* The options of the service `lua`, as JSON. */
static bool script_job_options(const struct settings *s, struct buf *to, struct err *err)
{
    AUTO(buf_done) struct buf whole = BUF_INIT(SCRIPT_MOST);
    struct str script, file;

    if (!settings_text(s, "script", &script, err) || !settings_file(s, "file", &file, err))
        return false;
    if (script.ptr == NULL)
        script = file;
    if (script.ptr == NULL)
        return err_set(err, ERR_CONFIG, 0, "it has no program");
    if (!buf_append(&whole, str_of(script_before), err) || !buf_append(&whole, script, err) ||
        !buf_append(&whole, str_of(script_behind), err))
        return err_context(err, "the program is too large");
    json_auto_t *json = json_pack("{s:s%}", "script", whole.ptr, whole.len);
    char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;

    if (text == NULL)
        return err_set(err, ERR_CONFIG, 0, "the program is not text");
    bool ok = buf_append(to, str_of(text), err);

    free(text);
    return ok;
}

static bool script_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(2 * SCRIPT_MOST);
    struct script_job *j = ARENA_NEW(s->arena, struct script_job);
    struct cage_limits limits;

    if (!cage_limits_read(s, &limits, err) || !script_job_options(s, &text, err))
        return false;
    if (limits.concurrency == 0)
        limits.concurrency = 1;
    j->cage = cage_new(&(struct cage_recipe){ .service = STR("lua"), .options = buf_view(&text) },
                       &limits);
    *ret_self = j;
    return true;
}

static void script_job_unmake(void *self)
{
    cage_free(((struct script_job *)self)->cage);
}

/* ---- running ---- */

static bool script_job_describe(const struct job_io *io, struct buf *to, struct err *err)
{
    char nominal[CLOCK_TEXT];
    json_auto_t *run =
        json_pack("{s:s%,s:s%,s:s,s:s%}", "name", io->job.ptr, io->job.len, "run", io->run.ptr,
                  io->run.len, "nominal", clock_utc_text(io->nominal_us, nominal), "state",
                  io->state.len > 0 ? io->state.ptr : "", io->state.len);
    char *text = run != NULL ? json_dumps(run, JSON_COMPACT) : NULL;

    if (text == NULL)
        return err_set(err, ERR_PERMANENT, 0, "its state is not text");
    bool ok = buf_append(to, str_of(text), err);

    free(text);
    return ok;
}

static void script_job_take(struct str out, struct job_result *ret)
{
    struct err err = { 0 };
    AUTO(service_answer_drop) json_t *answer = service_answer_parse(out, &err);

    ret->moved = true;
    job_done(ret);
    if (json_is_object(answer) || (json_is_array(answer) && json_array_size(answer) == 0))
        service_answer_take(answer, ret);
    else
        job_fail(ret, "the program returned something that is no table with names");
}

static void script_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    const struct script_job *j = self;
    AUTO(buf_done) struct buf in = BUF_INIT(SCRIPT_RUN_MOST);
    static const struct facts no_facts;
    const struct service_document document = { .name = io->job,
                                               .received_us = io->nominal_us,
                                               .facts = &no_facts };
    AUTO(service_memory_done) struct service_memory m = { 0 };
    struct err err = { 0 };

    if (!script_job_describe(io, &in, &err)) {
        job_fail(ret, "%s", err.text);
        return;
    }
    service_memory_init(&m, &document, buf_view(&in), SCRIPT_OUT_MOST, io->arena);
    struct cage_job run = { .io = &m.io, .call = io->call };
    int64_t began_us = clock_mono_us();

    cage_run(j->cage, &run, 1);
    for (size_t i = 0; i < m.note_count; i++)
        job_step(io, arena_text(io->arena, m.notes[i]), 0);
    job_step(io, "computed", clock_mono_us() - began_us);
    if (run.result == CAGE_DONE) {
        script_job_take(buf_view(&m.out), ret);
        return;
    }
    job_fail(ret, "%s",
             run.result != CAGE_NOT_RUN ? run.failure.message
             : call_is_over(io->call)   ? "it was told to stop"
                                        : "its process ended before its turn");
    /* The same state gives the same failure; but time and memory depend on the machine, too. */
    ret->final = run.result == CAGE_FAILED && run.failure.code != DEAD_BUDGET;
}

const struct job_type job_script = {
    .kind = { .name = "script",
              .help = "run a program in Lua, which computes the next state",
              .keys = options,
              .check = script_job_check,
              .example = "count: { kind: script, every: 1m, script: \"return { state = "
                         "(tonumber(job.state) or 0) + 1 }\" }" },
    .make = script_job_make,
    .unmake = script_job_unmake,
    .run = script_job_run,
};
