#include "app/registry.h"

static const struct gateway_type *const gateways[] = {
#define GATEWAY(name) &gateway_##name,
#include "connectors.def"
#undef GATEWAY
};

const struct gateway_type *registry_gateway_at(size_t i)
{
    return i < sizeof gateways / sizeof gateways[0] ? gateways[i] : NULL;
}

const struct gateway_type *registry_gateway(const char *name)
{
    for (size_t i = 0; i < sizeof gateways / sizeof gateways[0]; i++)
        if (str_is(str_of(name), gateways[i]->name))
            return gateways[i];
    return NULL;
}
