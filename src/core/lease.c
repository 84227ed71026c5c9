#include "core/lease.h"

bool lease_is_alive(const struct lease_node *n, int64_t node, int64_t epoch, int64_t now_us)
{
    return n->node == node && n->epoch == epoch && !n->dead && n->alive_until_us > now_us;
}

bool lease_may_change(const struct lease_claim *mine, const struct lease_claim *row,
                      const struct lease_node *n, int64_t now_us)
{
    return mine->token != 0 && mine->token == row->token && mine->node == row->node &&
           mine->epoch == row->epoch && lease_is_alive(n, mine->node, mine->epoch, now_us);
}

bool lease_is_silent(const struct lease_node *n, int64_t grace_us, int64_t now_us)
{
    return !n->dead && now_us - n->alive_until_us > grace_us;
}

bool lease_may_send(int64_t beaten_us, int64_t ttl_us, int64_t longest_us, int64_t now_us)
{
    return now_us - beaten_us < ttl_us - longest_us;
}
