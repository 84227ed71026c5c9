#include "admin/view/doctor.h"

#include "base/require.h"
#include "store/backup/restore.h"
#include "store/recover.h"
#include "store/watch/check.h"

static bool doctor_add(struct doctor_report *r, struct arena *a, const char *name, bool ok,
                       int64_t count, const char *message)
{
    require(r->count < DOCTOR_CHECKS_MOST);
    r->checks[r->count++] = (struct doctor_check){
        .name = name, .ok = ok, .count = count, .message = arena_text(a, str_of(message))
    };
    r->ok = r->ok && ok;
    return true;
}

/* What to say of a check that found nothing. */
static const char *well(struct arena *a, const struct check_result *c)
{
    if (c->left_out == NULL)
        return "as it should be";
    return arena_printf(a, "as it should be; not looked at: %s", c->left_out);
}

/* The database went back in time, and what its segments still have is not taken in again. */
static bool check_lost(struct store *s, struct arena *a, struct doctor_report *ret, struct err *err)
{
    struct restore last = { 0 };
    bool waits;

    if (!recover_waits(s, &waits, err) || (waits && !restore_newest(s, a, &last, err)))
        return false;
    return doctor_add(ret, a, "lost-documents", !waits, 0,
                      !waits
                          ? "as it should be"
                          : arena_printf(a,
                                         "%.*s\nTo take in again what the payload segments still "
                                         "have of it, start the node, or run `waybill doctor "
                                         "--recover --data DIR` on the stopped node.",
                                         (int)last.source.len, last.source.ptr));
}

bool doctor_run(struct store *s, bool deep, struct arena *a, struct doctor_report *ret,
                struct err *err)
{
    *ret = (struct doctor_report){ .ok = true };
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result c;

        struct err why = { 0 };

        if (!check_run(s, i, deep, &c, &why)) {
            if (why.kind != ERR_PERMANENT) {
                *err = why;
                return err_context(err, "check %s", check_name(i));
            }
            (void)doctor_add(ret, a, check_name(i), false, 0,
                             why.text); /* damaged: the other checks still run */
            continue;
        }
        (void)doctor_add(ret, a, check_name(i), c.bad == 0, c.looked_at,
                         c.bad == 0 ? well(a, &c) : c.message);
    }
    struct err why = { 0 };

    if (check_lost(s, a, ret, &why))
        return true;
    if (why.kind == ERR_PERMANENT)
        return doctor_add(ret, a, "lost-documents", false, 0, why.text);
    *err = why;
    return err_context(err, "check lost-documents");
}
