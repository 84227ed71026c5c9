#include "admin/view/document_derive.h"

/* The delivery that is the trouble of its document: a dead one first.  NULL: none. */
static const struct delivery_view *find_trouble(const struct document_view *v)
{
    const struct delivery_view *found = NULL;

    for (size_t i = 0; i < v->delivery_count; i++) {
        const struct delivery_view *d = &v->deliveries[i];

        if (d->code.len == 0 || d->state == DELIVERY_DELIVERED || d->state == DELIVERY_CANCELLED)
            continue;
        if (d->state == DELIVERY_DEAD)
            return d;
        if (found == NULL)
            found = d;
    }
    return found;
}

void document_derive_view(struct document_view *v)
{
    enum delivery_state states[DELIVERIES_MOST];

    if (v->delivery_count == 0 || document_is_over(v->doc.is) || v->doc.is == DOCUMENT_DEAD)
        return;
    for (size_t i = 0; i < v->delivery_count; i++)
        states[i] = v->deliveries[i].state;
    const struct delivery_view *trouble = find_trouble(v);

    v->state = document_derive(states, v->delivery_count);
    v->doc.code = trouble != NULL ? trouble->code : (struct str){ 0 };
    v->doc.message = trouble != NULL ? trouble->message : (struct str){ 0 };
}
