/* SPDX-License-Identifier: MIT */
/* Zone files; what is taken can be asked, and crons in it have times that go up. */
#include "base/buf.h"
#include "vitro/cron.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vitro_zone *zone = vitro_zone_parse("fuzz", data, size, NULL);
    vitro_cron *cron = vitro_cron_parse("30 2 * * *", zone, NULL);
    int64_t last_ns = 0, next_ns;
    struct vitro_local local;

    for (int64_t ns = INT64_MIN / 2; zone && ns < INT64_MAX / 2; ns += INT64_MAX / 32)
        vitro_zone_at(zone, ns, &local);
    for (int i = 0; zone && i < 50 && vitro_cron_next(cron, last_ns, &next_ns) == 0; i++) {
        if (next_ns <= last_ns)
            abort();
        vitro_zone_at(zone, next_ns, &local);
        last_ns = next_ns + INT64_C(2592000000000000);
    }
    vitro_cron_free(cron);
    vitro_zone_free(zone);
    return 0;
}
