/* fuzz_config.c - any bytes as a configuration.
 *
 *     clang -fsanitize=fuzzer,address -g -D_GNU_SOURCE -Isrc tests/fuzz/fuzz_config.c \
 *         src/core/{config,expr,grammar,option,problem,units,yaml}*.c \
 *         src/base/{alloc,arena,buf,err,require,str}.c -lyaml -o build/fuzz_config
 *     build/fuzz_config -max_total_time=60 CORPUS
 */
#include <stdlib.h>

#include "app/registry.h"
#include "base/auto.h"
#include "base/require.h"
#include "core/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_report(const struct problem_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        require(list->items[i].place.line > 0 && list->items[i].place.column > 0);
        require(list->items[i].message[0] != '\0');
        require(strchr(list->items[i].message, '\n') == NULL);
    }
}

/* What is left is stable, and valid when the whole was. */
static void check_without_node(struct str text, bool valid)
{
    const struct config_options options = { .connectors = &registry };
    AUTO(buf_done) struct buf once = BUF_INIT(YAML_BYTES), twice = BUF_INIT(YAML_BYTES);
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct err err;

    if (!config_without_node(text, &once, &err))
        return;
    require(config_without_node(buf_view(&once), &twice, &err));
    require(str_eq(buf_view(&once), buf_view(&twice)));
    if (!valid)
        return;
    struct config *config = config_load(buf_view(&once), "fuzz.yaml", &options, &report);

    require(config != NULL);
    config_unref(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct str text = str_mem(bytes, size);
    struct config *config = config_load(text, "fuzz.yaml", &options, &report);

    require((config != NULL) == (report.problems.count == 0));
    check_report(&report.problems);
    check_report(&report.warnings);
    check_without_node(text, config != NULL);
    config_unref(config);
    return 0;
}
