/* Whatever comes in: what can be converted comes back byte for byte, and nothing that comes back
 * breaks anything. */
#include <stdint.h>

#include "base/auto.h"
#include "base/require.h"
#include "core/format/edi_json.h"
#include "core/format/hl7_xml.h"
#include "core/format/table_json.h"
#include "core/json_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST = 64 << 20, XML = 3, TABLES };

static const struct table_column columns[] = { { STR("a"), 3 }, { STR("b"), 5 } };
static const struct table_rule rules[] = {
    { .header = true },
    { .header = false },
    { .header = true, .separator = '|' },
    { .fixed = true, .columns = columns, .column_count = 2 },
};

static bool forth(unsigned way, struct str in, struct buf *out, struct err *err)
{
    return way < XML    ? edi_to_json((enum edi_kind)way, in, MOST, out, err)
           : way == XML ? hl7_to_xml(in, MOST, out, err)
                        : table_to_json(&rules[way - TABLES], in, MOST, out, err);
}

static bool back(unsigned way, struct str in, struct buf *out, struct err *err)
{
    return way < XML    ? edi_from_json((enum edi_kind)way, in, MOST, out, err)
           : way == XML ? hl7_from_xml(in, MOST, out, err)
                        : table_from_json(&rules[way - TABLES], in, MOST, out, err);
}

static void check_round(unsigned way, struct str in)
{
    AUTO(buf_done) struct buf there = BUF_INIT(MOST);
    AUTO(buf_done) struct buf again = BUF_INIT(MOST);
    struct json_scan scan = { 0 };
    struct err err = { 0 };

    if (!forth(way, in, &there, &err)) {
        require(err.text[0] != '\0' && there.len == 0);
        return;
    }
    if (way != XML)
        require(json_scan_check(&scan, buf_view(&there), &err) && json_scan_check_end(&scan, &err));
    require(back(way, buf_view(&there), &again, &err));
    require(str_eq(buf_view(&again), in));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(buf_done) struct buf out = BUF_INIT(MOST);
    struct err err = { 0 };

    if (size < 1 || size > 1 << 16)
        return 0;
    unsigned way = bytes[0] % (TABLES + 4);
    struct str in = str_mem(bytes + 1, size - 1);

    check_round(way, in);
    if (!back(way, in, &out, &err))
        require(err.text[0] != '\0' && out.len == 0);
    else if (way < XML) /* what we write can be read */
        check_round(way, buf_view(&out));
    return 0;
}
