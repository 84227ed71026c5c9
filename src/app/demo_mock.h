/* demo_mock.h - the systems at the other end of `waybill demo`.
 *
 * An HTTP server on a free loopback port with two systems behind it: /orders takes
 * everything at once; /invoices is a system as systems are: every ninth request gets
 * a 503, every thirteenth an answer two seconds late, and once in a while it is down
 * for a quarter of a minute.
 *
 * Threads: a loop of its own; open, close and the counts from any other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct demo_mock;

struct demo_mock_counts {
    uint64_t orders, invoices; /* taken   */
    uint64_t refused;          /* by /invoices */
};

bool demo_mock_open(struct demo_mock **ret, struct err *err);
void demo_mock_close(struct demo_mock *m); /* accepts NULL */

uint16_t demo_mock_port(const struct demo_mock *m);
void demo_mock_count(const struct demo_mock *m, struct demo_mock_counts *ret);
