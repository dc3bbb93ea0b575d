/* SPDX-License-Identifier: MIT */
/* When a cron schedule runs next:
 *
 *     cron_next '30 2 * * *' Europe/Berlin 1774656000 3      seconds since 1970; three times
 *     2026-03-28T02:30:00+0100 CET 1774661400
 *     2026-03-29T03:00:00+0200 CEST 1774746000               2:30 is left out that day
 *     2026-03-30T02:30:00+0200 CEST 1774830600 */
#include "vitro/cron.h"
#include <stdio.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000000)

static void show(const vitro_zone *zone, int64_t at_ns)
{
    struct vitro_local local;

    vitro_zone_at(zone, at_ns, &local);
    int east_m = abs(local.offset_s) / 60;
    printf("%04d-%02d-%02dT%02d:%02d:%02d%c%02d%02d %s %lld\n", local.year, local.month, local.day,
           local.hour, local.minute, local.second, local.offset_s < 0 ? '-' : '+', east_m / 60,
           east_m % 60, local.abbreviation, (long long)(at_ns / SECOND));
}

int main(int argc, char **argv)
{
    struct vitro_clock_error error = {0};

    if (argc != 5) {
        (void)fprintf(stderr, "usage: cron_next TEXT ZONE SECONDS COUNT\n");
        return 2;
    }
    vitro_zone *zone = vitro_zone_open(argv[2], &error);
    vitro_cron *cron = zone ? vitro_cron_parse(argv[1], zone, &error) : NULL;
    int64_t at_ns = strtoll(argv[3], NULL, 10) * SECOND;

    if (!cron)
        (void)fprintf(stderr, "cron_next: %s\n", error.text);
    for (long i = strtol(argv[4], NULL, 10); cron && i > 0; i--) {
        if (vitro_cron_next(cron, at_ns, &at_ns) < 0)
            break;
        show(zone, at_ns);
    }
    int status = cron ? 0 : 1;
    vitro_cron_free(cron);
    vitro_zone_free(zone);
    return status;
}
