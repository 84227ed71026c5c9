/* fuzz_forecast.c - any course of samples: throughput and time are never negative, and no sum
 * wraps.
 *
 * Input: samples of five bytes: how many more, after how long, whether nothing could be sent. */
#include <stdint.h>

#include "base/require.h"
#include "core/forecast.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct forecast f = { 0 };
    int64_t total = 0, now_us = 1;

    for (; size >= 5; bytes += 5, size -= 5) {
        total += (int64_t)bytes[0] << (bytes[1] % 32);
        now_us += (int64_t)(bytes[2] + 1) << (bytes[3] % 32);
        if (bytes[4] % 16 == 15)
            total = 0; /* a counter starts anew with its process */
        forecast_note(&f, total, now_us, bytes[4] % 2 == 1);
        int64_t hour = forecast_per_hour(&f), gone_us = forecast_gone_us(&f, total, now_us);

        require(hour >= 0 && f.count >= 0 && f.span_us >= 0);
        require(gone_us == 0 || gone_us >= now_us);
    }
    return 0;
}
