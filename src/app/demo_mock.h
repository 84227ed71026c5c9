/* demo_mock.h - mock receivers for `waybill demo`.
 *
 * An HTTP server on a free loopback port with two systems: /orders accepts everything at
 * once; /invoices is unreliable: every ninth request gets a 503, every thirteenth an answer
 * two seconds late, and now and then it is down for a quarter of a minute.
 *
 * Threads: has a loop of its own; open, close and read the counts from any other thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct demo_mock;

struct demo_mock_counts {
    uint64_t orders, invoices; /* accepted */
    uint64_t refused;          /* by /invoices */
};

bool demo_mock_open(struct demo_mock **ret, struct err *err);
void demo_mock_close(struct demo_mock *m); /* NULL is fine */

uint16_t demo_mock_port(const struct demo_mock *m);
void demo_mock_count(const struct demo_mock *m, struct demo_mock_counts *ret);
