#include "core/rights.h"

#define BIT(r) (1u << (r))

static const char *const words[RIGHTS] = {
    [RIGHT_ANY] = "any",           [RIGHT_SEE] = "see",         [RIGHT_PAYLOAD] = "payload",
    [RIGHT_DOWNLOAD] = "download", [RIGHT_RETRY] = "retry",     [RIGHT_EDIT] = "edit",
    [RIGHT_HOLD] = "hold",         [RIGHT_OPERATE] = "operate", [RIGHT_CONFIGURE] = "configure",
    [RIGHT_USERS] = "users",       [RIGHT_AUDIT] = "audit",     [RIGHT_WORK] = "work",
    [RIGHT_PEER] = "peer",
};

const struct rights rights_all = { .everywhere = BIT(RIGHTS) - 1 };

const struct rights_role rights_roles[] = {
    { "admin", "May do everything", BIT(RIGHTS) - 1 },
    { "operator", "Keeps documents moving",
      BIT(RIGHT_SEE) | BIT(RIGHT_PAYLOAD) | BIT(RIGHT_RETRY) | BIT(RIGHT_HOLD) |
          BIT(RIGHT_OPERATE) },
    { "viewer", "Sees what happens, but no payloads", BIT(RIGHT_SEE) },
    { "auditor", "Sees what happens and who did what", BIT(RIGHT_SEE) | BIT(RIGHT_AUDIT) },
    { "worker", "Hands jobs over, and nothing else", BIT(RIGHT_WORK) },
    { "peer", "Another location: asks for the tables that `peers` allows", BIT(RIGHT_PEER) },
};
const size_t rights_role_count = sizeof rights_roles / sizeof rights_roles[0];

const char *right_word(enum right r)
{
    return words[r];
}

bool right_find(struct str word, enum right *ret)
{
    for (int r = 0; r < RIGHTS; r++)
        if (str_is(word, words[r])) {
            *ret = (enum right)r;
            return true;
        }
    return false;
}

bool right_is_scoped(enum right r)
{
    return r >= RIGHT_SEE && r <= RIGHT_HOLD;
}

const struct rights_role *rights_role_find(struct str name)
{
    for (size_t i = 0; i < rights_role_count; i++)
        if (str_is(name, rights_roles[i].name))
            return &rights_roles[i];
    return NULL;
}

bool rights_add(struct rights *r, unsigned bits, struct str system)
{
    size_t i = 0;

    if (system.ptr == NULL) {
        r->everywhere |= bits;
        return true;
    }
    while (i < r->count && !str_eq(r->at[i].system, system))
        i++;
    if (i == RIGHTS_SYSTEMS_MOST)
        return false;
    if (i == r->count) {
        r->at[r->count].system = system;
        r->at[r->count++].bits = 0;
    }
    r->at[i].bits |= bits;
    return true;
}

bool rights_everywhere(const struct rights *r, enum right right)
{
    return right == RIGHT_ANY || (r->everywhere & BIT(right)) != 0;
}

bool rights_has(const struct rights *r, enum right right)
{
    if (rights_everywhere(r, right))
        return true;
    for (size_t i = 0; right_is_scoped(right) && i < r->count; i++)
        if ((r->at[i].bits & BIT(right)) != 0)
            return true;
    return false;
}

bool rights_cover_system(const struct rights *r, enum right right, struct str system)
{
    if (rights_everywhere(r, right))
        return true;
    for (size_t i = 0; system.len > 0 && right_is_scoped(right) && i < r->count; i++)
        if ((r->at[i].bits & BIT(right)) != 0 && str_eq(r->at[i].system, system))
            return true;
    return false;
}

bool rights_cover(const struct rights *r, enum right right, struct str sender, struct str receiver)
{
    return rights_cover_system(r, right, sender) || rights_cover_system(r, right, receiver);
}
