#include "engine/upkeep/file_config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "engine/upkeep/live.h"
#include "engine/upkeep/removal.h"
#include "store/audit/audit.h"

enum { ARENA_MOST = 64 << 20 };

struct file_config {
    struct live *live;
    const char *file;
    bool confirmed;
    pthread_mutex_t mutex;
    char trouble[300]; /* why the file is not in force; empty: it is */
};

struct file_config *file_config_new(struct live *live, const char *file, bool confirmed)
{
    struct file_config *f = NEW(struct file_config);

    *f = (struct file_config){ .live = live, .file = file, .confirmed = confirmed };
    (void)pthread_mutex_init(&f->mutex, NULL);
    return f;
}

void file_config_free(struct file_config *f)
{
    free(f);
}

const char *file_config_name(const struct file_config *f)
{
    return f->file;
}

void file_config_tell(struct file_config *f, struct buf *to)
{
    (void)pthread_mutex_lock(&f->mutex);
    if (f->trouble[0] != '\0')
        buf_printf(to, "%s\n", f->trouble);
    (void)pthread_mutex_unlock(&f->mutex);
}

/* NULL: the file is in force. */
void file_config_trouble(struct file_config *f, const char *why)
{
    (void)pthread_mutex_lock(&f->mutex);
    f->trouble[0] = '\0';
    if (why != NULL)
        (void)snprintf(f->trouble, sizeof f->trouble, "%s is not in force: %s", f->file, why);
    (void)pthread_mutex_unlock(&f->mutex);
}

void file_config_refuse(struct file_config *f, const char *why)
{
    log_event(LOG_ERROR, "config.refuse", kv_z("file", f->file), kv_z("why", why),
              kv_z("hint", "The version in force stays."));
    file_config_trouble(f, why);
}

static void refuse_problems(struct file_config *f, const struct problem_list *problems, bool grave)
{
    for (size_t i = 0; i < problems->count; i++)
        log_event(
            LOG_ERROR, "config.refuse", kv_z("file", f->file),
            kv_int("line", problems->items[i].place.line), kv_z("why", problems->items[i].message),
            kv_z("hint", grave ? "The version in force stays. `serve --yes` confirms what the "
                                 "file removes."
                               : "The version in force stays."));
    file_config_trouble(f, problems->items[0].message);
}

static void file_config_say(const struct file_config *f, const struct config_report *report,
                            const struct losses *losses, int64_t version)
{
    for (size_t i = 0; i < report->warnings.count; i++)
        log_event(LOG_WARN, "config.warn", kv_z("what", report->warnings.items[i].message),
                  kv_int("line", report->warnings.items[i].place.line));
    log_event(LOG_INFO, "config.apply", kv_z("file", f->file), kv_int("version", version),
              kv_int("removed", (int64_t)losses->count));
}

/* Differs from the newest version. */
static void apply_changed(struct file_config *f, struct str text)
{
    static const struct audit_entry begun = { .actor = { "configuration file", 18 },
                                              .kind = { "node", 4 },
                                              .action = { "configApply", 11 } };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    const struct live_change change = { .text = text,
                                        .by = begun.actor,
                                        .note = str_of(f->file),
                                        .confirmed = f->confirmed,
                                        .beside_file = true };
    struct losses losses;
    struct err err = { 0 };
    int64_t version;

    audit_begin(&begun);
    bool ok = live_apply(f->live, &change, &report, &arena, &losses, &version, &err);

    audit_end();
    if (ok) {
        file_config_say(f, &report, &losses, version);
        file_config_trouble(f, NULL);
    } else if (report.problems.count > 0) {
        refuse_problems(f, &report.problems, losses.grave > 0);
    } else {
        file_config_refuse(f, err.text);
    }
}

void file_config_apply(struct file_config *f, struct str text)
{
    struct err err = { 0 };
    bool same;

    if (!live_is_newest(f->live, text, &same, &err))
        file_config_refuse(f, err.text);
    else if (same)
        file_config_trouble(f, NULL);
    else
        apply_changed(f, text);
}
