#include "engine/watch/notice_text.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"

enum { CODE_MOST = 64, OBJECT_MOST = 200, MESSAGE_MOST = 1000, LINE_MOST = 4096 };

/* The reason that it was cleared for, or the message. */
static struct str notice_reason(const struct notice *w, const struct alert *a)
{
    return str_first(w->kind == NOTICE_CLEARED && a->ended.len > 0 ? a->ended : a->message,
                     MESSAGE_MOST);
}

static const char *notice_verb(const struct notice *w)
{
    return w->kind == NOTICE_REMINDER ? "lasts" : notice_kinds[w->kind];
}

/* ---- JSON ---- */

static void json_put_time(struct json_out *j, const char *key, int64_t us)
{
    char text[CLOCK_TEXT];

    json_key(j, key);
    if (us == 0)
        json_none(j);
    else
        json_z(j, clock_utc_text(us, text));
}

void notice_put_json(struct buf *to, const struct notice *w, const struct alert *a)
{
    struct json_out j = { .to = to };
    AUTO(buf_done) struct buf line = BUF_INIT(LINE_MOST);

    buf_printf(&line, "Waybill: %.*s %s (%.*s): %.*s", STR_ARG(str_first(a->code, CODE_MOST)),
               notice_verb(w), STR_ARG(str_first(a->object, OBJECT_MOST)),
               STR_ARG(notice_reason(w, a)));
    json_open(&j, '{');
    json_key(&j, "notice");
    json_z(&j, notice_kinds[w->kind]);
    json_key(&j, "text");
    json_str(&j, buf_view(&line));
    json_key(&j, "alert");
    json_open(&j, '{');
    json_key(&j, "id");
    buf_clear(&line);
    buf_put_int(&line, a->num);
    json_str(&j, buf_view(&line));
    json_key(&j, "code");
    json_str(&j, a->code);
    json_key(&j, "object");
    json_str(&j, a->object);
    json_key(&j, "message");
    json_str(&j, str_first(a->message, MESSAGE_MOST));
    json_key(&j, "count");
    json_int(&j, a->count);
    json_put_time(&j, "raised", a->raised_us);
    json_put_time(&j, "last", a->last_us);
    json_put_time(&j, "cleared", w->kind == NOTICE_CLEARED ? a->cleared_us : 0);
    json_close(&j, '}');
    json_close(&j, '}');
}

/* ---- lines ---- */

static void put_line_time(struct buf *to, const char *label, int64_t us)
{
    char text[CLOCK_TEXT];

    if (us != 0)
        buf_printf(to, "%-9s%s\n", label, clock_utc_text(us, text));
}

void notice_put_lines(struct buf *to, const struct notice *w, const struct alert *a)
{
    buf_printf(to, "Waybill: %.*s %s (%.*s)\n\n%.*s\n\n", STR_ARG(str_first(a->code, CODE_MOST)),
               notice_verb(w), STR_ARG(str_first(a->object, OBJECT_MOST)),
               STR_ARG(notice_reason(w, a)));
    put_line_time(to, "raised", a->raised_us);
    put_line_time(to, "last", a->last_us);
    put_line_time(to, "cleared", w->kind == NOTICE_CLEARED ? a->cleared_us : 0);
    buf_printf(to, "count    %lld\nmore     waybill alerts show %lld\n", (long long)a->count,
               (long long)a->num);
}
