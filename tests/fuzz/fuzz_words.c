/* fuzz_words.c - the small texts: networks, addresses, names, sizes, patterns, ids, base64,
 * cookies, checkpoints.
 *
 * Input: one text, a line feed, another. */
#include <arpa/inet.h>
#include <stdint.h>

#include "app/when.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/cookie.h"
#include "base/glob.h"
#include "base/id.h"
#include "base/network.h"
#include "base/require.h"
#include "base/safe_path.h"
#include "core/checkpoint.h"
#include "core/expr.h"
#include "core/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void try_network(struct str text)
{
    struct network network;
    struct network_address address;
    struct err err;

    if (network_parse(text, &network, &err))
        require(network.bits <= 128 && network_has(&network, &network.base));
    if (network_address_parse(text, &address)) {
        struct network one = { .base = address, .bits = 128 };

        require(network_has(&one, &address) && network_parse(text, &network, &err));
    }
}

static void try_units(struct str text)
{
    struct units_address address;
    struct units_rate rate;
    struct units_date date;
    unsigned days;
    uint64_t number;
    int64_t us;
    int minutes;
    struct err err;

    if (units_duration(text, &us, &err))
        require(us >= 0);
    (void)units_size(text, &number, &err);
    if (units_rate(text, &rate, &err))
        require(rate.count > 0 && units_rate_burst(rate) > 0);
    if (units_time(text, &minutes, &err))
        require(minutes >= 0 && minutes <= 1440);
    if (units_days(text, &days, &err))
        require(days > 0 && days < 128);
    if (units_date(text, &date, &err))
        require(date.month >= 1 && date.month <= 12 && date.day >= 1 && date.day <= 31);
    if (units_address(text, &address, &err))
        require(strlen(address.host) < text.len);
    if (units_name(text, &err))
        require(safe_name(text, &err));
    (void)units_zone(text, &err);
    (void)when_parse(text, INT64_C(1794711130000000), &us, &err);
}

static void try_base64(struct str text)
{
    AUTO(buf_done) struct buf once = BUF_INIT(1u << 20u), back = BUF_INIT(1u << 20u);
    AUTO(buf_done) struct buf decoded = BUF_INIT(1u << 20u), again = BUF_INIT(1u << 20u);
    struct err err;

    require(base64_encode(text, &once, &err) && base64_decode(buf_view(&once), &back, &err));
    require(str_eq(buf_view(&back), text));
    if (base64url_decode(text, &decoded, &err)) { /* one text for given bytes */
        require(base64url_encode(buf_view(&decoded), &again, &err));
        require(str_eq(buf_view(&again), text));
    }
}

/* The value is part of the field, behind its name, and ends before the next pair. */
static void try_cookie(struct str field)
{
    struct str value = cookie_value(field, "waybill");

    if (value.ptr == NULL)
        return;
    require(value.ptr - field.ptr > 7 && value.len > 0 && str_find(value, ';') < 0 &&
            value.ptr + value.len <= field.ptr + field.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct str one, two = str_cut(str_mem(bytes, size), '\n', &one);
    struct expr expr;
    struct id id;
    struct checkpoint checkpoint;
    struct err err;

    if (size > 2048)
        return 0;
    try_network(one);
    try_units(one);
    try_base64(one);
    try_cookie(one);
    (void)checkpoint_read(str_mem(bytes, size), &checkpoint, &err);
    (void)expr_parse(one, size % 2 == 0, &expr, &err);
    (void)id_parse(one, &id);
    if (safe_name(one, &err))
        require(safe_path(one, &err));
    require(glob_match(STR("*"), two) && (glob_match(one, two) || !str_eq(one, two) ||
                                          str_find(one, '*') >= 0 || str_find(one, '?') >= 0));
    return 0;
}
