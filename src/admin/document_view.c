#include "admin/document_view.h"

#include "base/clock.h"
#include "base/json.h"
#include "core/intake.h"
#include "store/store.h"

static void text_or_null(struct json_out *j, const char *key, struct str value)
{
    json_key(j, key);
    if (value.len > 0)
        json_str(j, value);
    else
        json_none(j);
}

void document_view_json(struct store *s, const struct document *d, struct buf *to)
{
    struct json_out j = { .to = to };
    char id[ID_TEXT], sha[SHA256_TEXT], when[CLOCK_TEXT];

    json_open(&j, '{');
    json_key(&j, "id");
    json_z(&j, id_text(&d->source.id, id));
    json_key(&j, "gateway");
    json_str(&j, store_word_name(s, d->gateway));
    json_key(&j, "sender");
    json_none(&j);
    json_key(&j, "receiver");
    json_none(&j);
    json_key(&j, "type");
    json_none(&j);
    json_key(&j, "state");
    json_str(&j, d->state);
    json_key(&j, "size");
    json_int(&j, d->source.size);
    json_key(&j, "sha256");
    json_z(&j, digest_text(&d->source.sha256, sha));
    text_or_null(&j, "name", d->name);
    text_or_null(&j, "contentType", d->ctype);
    json_key(&j, "received");
    json_z(&j, clock_utc_text(d->received_us, when));
    json_key(&j, "updated");
    json_z(&j, clock_utc_text(d->updated_us, when));
    json_key(&j, "error");
    json_none(&j);
    json_close(&j, '}');
    buf_putc(to, '\n');
}

struct str document_view_caller(const struct document *d, struct arena *a)
{
    if (d->caller == CALLER_ADMIN)
        return STR("admin");
    if (d->caller == CALLER_BASIC)
        return STR("basic");
    return d->caller == CALLER_NONE ? STR("")
                                    : str_of(arena_printf(a, "key %lld", (long long)d->caller));
}
