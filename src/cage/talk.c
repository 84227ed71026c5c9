#include "cage/talk.h"

#include "base/clock.h"
#include "base/require.h"

void talk_init(struct talk *t, struct cage_job *jobs, size_t count, int64_t output)
{
    require(count <= CAGE_JOBS_MOST);
    *t = (struct talk){ .jobs = jobs,
                        .count = count,
                        .output = output,
                        .out = BUF_INIT(TALK_OUT_MOST),
                        .arena = ARENA_INIT(1 << 20) };
    for (size_t i = 0; i < count; i++)
        jobs[i].result = CAGE_NOT_RUN;
}

void talk_done(struct talk *t)
{
    buf_done(&t->out);
    arena_done(&t->arena);
}

/* ---- sending ---- */

/* False: the io failed. */
static bool talk_next(struct talk *t, struct cage_job *job, struct service_failure *ret_failure)
{
    int64_t from = clock_mono_us();
    bool ok = job->io->next(job->io, &t->rest, ret_failure);

    t->io_us += clock_mono_us() - from;
    t->at_end = ok && t->rest.len == 0;
    return ok;
}

/* Appends bytes of the job to the frame that was begun, until it is full or the bytes end. */
static bool fill_frame(struct talk *t, struct cage_job *job, size_t begun,
                       struct service_failure *ret_failure)
{
    for (;;) {
        size_t room = FRAME_WHOLE_MOST - (t->out.len - begun);
        size_t n = t->rest.len < room ? t->rest.len : room;

        buf_put(&t->out, str_mem(t->rest.ptr, n));
        t->rest = str_from(t->rest, n);
        if (t->rest.len > 0 || t->at_end)
            return true;
        if (!talk_next(t, job, ret_failure))
            return false;
    }
}

/* A document whose bytes cannot be read, or whose head is too large, is not sent at all.  It takes
 * its place among those that ended when its turn comes: see skip_failed(). */
static void fail_unsent(struct talk *t, struct cage_job *job, size_t begun)
{
    t->out.len = begun;
    t->unsent |= UINT32_C(1) << (job - t->jobs);
    job->result = CAGE_FAILED;
}

static void send_document(struct talk *t)
{
    struct cage_job *job = &t->jobs[t->sent++];
    size_t begun = frame_begin(&t->out, FRAME_DOCUMENT);

    t->rest = (struct str){ 0 };
    t->at_end = t->wanted = t->more = false;
    if (!frame_put_document(&t->out, job->io->document)) {
        (void)service_fail(&job->failure, DEAD_LIMIT,
                           "what is known of the document is too much for this step: more than %d "
                           "bytes",
                           FRAME_HEAD_MOST);
        fail_unsent(t, job, begun);
    } else if (!fill_frame(t, job, begun, &job->failure)) {
        fail_unsent(t, job, begun);
    } else {
        t->more = t->large = !t->at_end;
        frame_end(&t->out, begun, t->at_end);
    }
}

/* Steps over documents that were not sent. */
static void skip_failed(struct talk *t)
{
    while (t->ended < t->sent && t->jobs[t->ended].result == CAGE_FAILED) {
        t->ended++;
        t->answer = (struct talk_answer){ 0 };
    }
}

/* Sends the next bytes of the large document that the process works on. */
static void send_piece(struct talk *t)
{
    struct cage_job *job = &t->jobs[t->ended];
    size_t begun = frame_begin(&t->out, FRAME_PIECE);
    struct service_failure failure;

    t->wanted = false;
    if (!t->answer.over && fill_frame(t, job, begun, &failure)) {
        t->more = !t->at_end;
        frame_end(&t->out, begun, t->at_end);
        return;
    }
    t->out.len = begun;
    if (!t->answer.over) {
        t->answer.over = true;
        job->failure = failure;
    }
    t->more = false;
    frame_put(&t->out, FRAME_STOP, false, STR(""));
}

void talk_fill(struct talk *t)
{
    if (t->wanted)
        send_piece(t);
    while (!t->large && t->sent < t->count && t->out.len < TALK_OUT_FULL) {
        send_document(t);
        skip_failed(t);
    }
}

/* ---- hearing ---- */

static bool talk_broken(struct talk *t, const char *rule)
{
    t->broken = rule;
    return false;
}

/* The document fails because of what the process did; it is killed. */
static bool talk_overrun(struct talk *t)
{
    struct cage_job *job = &t->jobs[t->ended];

    t->answer.overrun = true;
    return service_fail(&job->failure, DEAD_LIMIT, "what comes out is larger than %lld bytes",
                        (long long)t->output);
}

/* Counts what comes out. */
static bool talk_count(struct talk *t, size_t bytes)
{
    t->answer.put += (int64_t)bytes;
    return t->answer.put <= t->output || talk_overrun(t);
}

static struct service_failure *answer_failure(struct talk *t)
{
    return &t->jobs[t->ended].failure;
}

static bool hear_out(struct talk *t, struct str body)
{
    struct service_io *io = t->jobs[t->ended].io;

    if (t->answer.none)
        return talk_broken(t, "bytes after the word that there are none");
    if (!talk_count(t, body.len))
        return false;
    if (t->answer.over || body.len == 0)
        return true;
    int64_t from = clock_mono_us();

    t->answer.begun = true;
    t->answer.over = !io->put(io, body, answer_failure(t));
    t->io_us += clock_mono_us() - from;
    return true;
}

/* Names come from a hostile process and go into rows, headers and file names. */
static const char *head_problem(const struct service_part *p)
{
    const struct str names[] = { p->sender, p->receiver, p->type, p->name, p->ctype };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].len > FACTS_VALUE_MOST || !str_is_utf8(names[i]) || str_has_control(names[i]))
            return "a name";
    for (size_t i = 0; i < p->attribute_count; i++) {
        const struct fact *f = &p->attributes[i];

        if (f->name.len == 0 || f->name.len > FACTS_VALUE_MOST || !str_is_utf8(f->name) ||
            str_has_control(f->name) || f->value.ptr == NULL || f->value.len > FACTS_VALUE_MOST ||
            !str_is_utf8(f->value) || memchr(f->value.ptr, '\0', f->value.len) != NULL)
            return "an attribute";
    }
    return NULL;
}

static bool hear_part(struct talk *t, struct str body)
{
    struct service_io *io = t->jobs[t->ended].io;
    struct service_part head;

    if (t->answer.none || (t->answer.parts == 0 && t->answer.put > 0))
        return talk_broken(t, "a part after other output");
    arena_reset(&t->arena);
    if (!frame_take_part(body, &t->arena, &head))
        return talk_broken(t, "a malformed head of a part");
    t->answer.parts++;
    if (!talk_count(t, body.len + FRAME_HEADER))
        return false;
    if (t->answer.over)
        return true;
    const char *what = head_problem(&head);
    int64_t from = clock_mono_us();

    t->answer.begun = true;
    if (what != NULL)
        t->answer.over = !service_fail(answer_failure(t), DEAD_SERVICE_FAILED,
                                       "part %zu: %s is too long, is not UTF-8 or has control "
                                       "characters",
                                       t->answer.parts, what);
    else
        t->answer.over = !io->part(io, &head, answer_failure(t));
    t->io_us += clock_mono_us() - from;
    return true;
}

static bool hear_none(struct talk *t)
{
    struct service_io *io = t->jobs[t->ended].io;

    if (t->answer.none || t->answer.put > 0 || t->answer.parts > 0)
        return talk_broken(t, "no document after other output");
    t->answer.none = true;
    if (!t->answer.over) {
        t->answer.begun = true;
        t->answer.over = !io->none(io, answer_failure(t));
    }
    return true;
}

static void hear_note(struct talk *t, struct str line)
{
    struct service_io *io = t->jobs[t->ended].io;
    struct verdict clean;

    if (t->answer.over || t->answer.notes == SERVICE_NOTES_MOST)
        return;
    t->answer.notes++;
    line = str_first(line, SERVICE_NOTE_BYTES);
    (void)verdict_say(&clean, VERDICT_FAILED, "%.*s", STR_ARG(line));
    io->note(io, str_of(clean.message));
}

static bool hear_rewind(struct talk *t)
{
    struct cage_job *job = &t->jobs[t->ended];

    /* Only the document that was sent last can have more bytes than its frame. */
    if (!t->large || t->ended + 1 != t->sent || t->wanted ||
        ++t->answer.rewinds > TALK_REWINDS_MOST)
        return talk_broken(t, "a rewind out of turn, or too many of them");
    int64_t from = clock_mono_us();

    t->rest = (struct str){ 0 };
    t->at_end = false;
    t->more = true;
    if (!t->answer.over)
        t->answer.over = !job->io->rewind(job->io, &job->failure);
    t->io_us += clock_mono_us() - from;
    return true;
}

static bool hear_want(struct talk *t)
{
    if (t->ended + 1 != t->sent || t->wanted || !t->more)
        return talk_broken(t, "a piece was asked for that there is not");
    t->wanted = true;
    return true;
}

static void talk_end(struct talk *t, enum cage_result result)
{
    struct cage_job *job = &t->jobs[t->ended++];

    job->result = t->answer.over ? CAGE_FAILED : result;
    t->answer = (struct talk_answer){ 0 };
    if (t->ended == t->sent) /* it was sent last: if one has more bytes, it is this one */
        t->large = t->more = t->wanted = false;
    skip_failed(t);
}

static bool may_fail_with(unsigned code)
{
    return code == DEAD_SERVICE_FAILED || code == DEAD_DECRYPT_FAILED || code == DEAD_BUDGET ||
           code == DEAD_LIMIT || code == DEAD_EXTRACT_FAILED;
}

static bool hear_fail(struct talk *t, struct str body)
{
    struct verdict clean;

    if (body.len < 1 || !may_fail_with((unsigned char)body.ptr[0]))
        return talk_broken(t, "a failure without a code of a dead letter");
    if (!t->answer.over) {
        struct service_failure *f = answer_failure(t);
        struct str text = str_from(body, 1);

        text = str_first(text, VERDICT_MESSAGE_MOST - 1);
        (void)verdict_say(&clean, VERDICT_FAILED, "%.*s", STR_ARG(text));
        f->code = (enum dead_code)(unsigned char)body.ptr[0];
        memcpy(f->message, clean.message, sizeof f->message);
    }
    talk_end(t, CAGE_FAILED);
    return true;
}

bool talk_hear(struct talk *t, const struct frame *f)
{
    if (t->ended == t->sent)
        return talk_broken(t, "an answer that nobody asked for");
    switch (f->kind) {
    case FRAME_OUT:
        return hear_out(t, f->body);
    case FRAME_PART:
        return hear_part(t, f->body);
    case FRAME_NONE:
        return hear_none(t);
    case FRAME_NOTE:
        hear_note(t, f->body);
        return true;
    case FRAME_WANT:
        return hear_want(t);
    case FRAME_REWIND:
        return hear_rewind(t);
    case FRAME_END:
        talk_end(t, CAGE_DONE);
        return true;
    case FRAME_FAIL:
        return hear_fail(t, f->body);
    default:
        return talk_broken(t, "a frame of another kind");
    }
}

void talk_rewind(struct talk *t)
{
    for (size_t i = t->ended; i < t->sent; i++) {
        struct cage_job *job = &t->jobs[i];

        if (job->result == CAGE_NOT_RUN && !job->io->rewind(job->io, &job->failure))
            job->result = CAGE_FAILED;
    }
}
