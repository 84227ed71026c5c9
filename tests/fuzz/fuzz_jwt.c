/* Sets of keys and ID tokens from anywhere: nothing that no key of ours signed is taken. */
#include <stdint.h>

#include "admin/login/jwt.h"
#include "base/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The first line is a set of keys, the rest a token. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct jwt_rules rules = { .iss = { "https://op.example", 18 },
                                            .aud = { "waybill", 7 },
                                            .nonce = { "n-1", 3 },
                                            .now_s = 1800000000 };
    struct str set, token = str_cut(str_mem(bytes, size), '\n', &set);
    struct jwt_keys *keys = NULL;
    struct err err = { 0 };
    json_t *claims = NULL;

    if (!jwt_keys_read(set, &keys, &err)) {
        require(err.kind == ERR_PERMANENT);
        return 0;
    }
    if (!jwt_check(keys, token, &rules, &claims, &err))
        require(err.kind == ERR_PERMANENT || err.kind == ERR_LIMIT);
    json_decref(claims);
    jwt_keys_free(keys);
    return 0;
}
