#include "app/registry.h"

#include "table/database.h"

#define GATEWAY(name)
#define SERVICE(name)
#define ENDPOINT(name)
#define JOB(name)
#define DATABASE(name)

static const struct gateway_type *const gateways[] = {
#undef GATEWAY
#define GATEWAY(name) &gateway_##name,
#include "connectors.def"
#undef GATEWAY
#define GATEWAY(name)
    NULL
};

static const struct service_type *const services[] = {
#undef SERVICE
#define SERVICE(name) &service_##name,
#include "connectors.def"
#undef SERVICE
#define SERVICE(name)
    NULL
};

static const struct endpoint_type *const endpoints[] = {
#undef ENDPOINT
#define ENDPOINT(name) &endpoint_##name,
#include "connectors.def"
#undef ENDPOINT
#define ENDPOINT(name)
    NULL
};

static const struct job_type *const jobs[] = {
#undef JOB
#define JOB(name) &job_##name,
#include "connectors.def"
#undef JOB
#define JOB(name)
    NULL
};

static const struct database_type *const databases[] = {
#undef DATABASE
#define DATABASE(name) &database_##name,
#include "connectors.def"
    NULL
};

static const struct option_kind *const database_kinds[] = {
#undef DATABASE
#define DATABASE(name) &database_##name.kind,
#include "connectors.def"
#undef DATABASE
    NULL
};

const struct connectors registry = {
    gateways, services, endpoints, jobs, databases, database_kinds
};
